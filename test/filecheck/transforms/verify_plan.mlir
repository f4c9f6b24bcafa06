// RUN: not ge-opt %s -p verify-plan 2>&1 | filecheck %s

// %a is still needed by %c when %b is written over its second half.

// CHECK: error GE1401: %b and %a share bytes 8192 to 16384 of the workspace and are both needed at ge.exp
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {ge.workspace = 32768 : i64, ge.workspace_lower_bound = 32768 : i64} {
  %a = ge.exp(%x) attributes {place = [#ge.place<workspace, 0>]} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = ge.exp(%x) attributes {place = [#ge.place<workspace, 8192>]} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = ge.add(%a, %b) attributes {place = [#ge.place<output, 0>]} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %c : tensor<64x64xf32>
}
