// RUN: ge-opt %s -p "plan-memory{in-place=true},verify-plan" | filecheck %s
// RUN: ge-opt %s -p "plan-memory" | filecheck %s --check-prefix=OFF

// %b may take over the bytes of %a, which dies there; %c may not take over those of %b, which is read again, nor the
// row that its kernel repeats.

// CHECK: ge.workspace = 33280
// OFF: %b = ge.fusion{{.*}}place = [#ge.place<workspace, {{[1-9][0-9]+}}>]
func.func @main(%x: tensor<64x64xf32>, %row: tensor<1x64xf32>) -> tensor<64x64xf32> {
  // CHECK: ge.fusion{{.*}}place = [#ge.place<workspace, 0>]
  %a = ge.fusion(%v = %x : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
    %s = ge.exp(%v) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    ge.yield %s : tensor<64x64xf32>
  }
  // CHECK: ge.fusion{{.*}}place = [#ge.place<workspace, 0>]
  %b = ge.fusion(%v = %a : tensor<64x64xf32>) -> (tensor<64x64xf32>) {
    %s = ge.exp(%v) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    ge.yield %s : tensor<64x64xf32>
  }
  %r = ge.exp(%row) : (tensor<1x64xf32>) -> tensor<1x64xf32>
  // CHECK: ge.fusion(%v = %b : tensor<64x64xf32>, %w = %r{{.*}}place = [#ge.place<workspace, {{[1-9][0-9]+}}>]
  %c = ge.fusion(%v = %b : tensor<64x64xf32>, %w = %r : tensor<1x64xf32>) -> (tensor<64x64xf32>) {
    %s = ge.add(%v, %w) : (tensor<64x64xf32>, tensor<1x64xf32>) -> tensor<64x64xf32>
    ge.yield %s : tensor<64x64xf32>
  }
  %d = ge.add(%b, %c) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %d : tensor<64x64xf32>
}
