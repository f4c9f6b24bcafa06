// RUN: ge-opt %s -p "plan-memory,verify-plan" | filecheck %s
// RUN: ge-opt %s -p "plan-memory{reuse=false},verify-plan" | filecheck %s --check-prefix=APART
// RUN: ge-opt %s -p "plan-memory" | ge-opt -p verify-plan --pass-statistics 2>&1 | filecheck %s --check-prefix=STATS

// Outputs are produced in their own buffers; scratch lives while its kernel runs; the view %flat and what depends on
// constants alone (%c, %d) have no place; the bytes of %a last as long as its view.

// STATS: 3 buffers

// CHECK: attributes {ge.workspace = 32768 : i64, ge.workspace_no_reuse = 33280 : i64, ge.workspace_lower_bound = 32768 : i64}
// APART: attributes {ge.workspace = 33280 : i64, ge.workspace_no_reuse = 33280 : i64, ge.workspace_lower_bound = 32768 : i64}
func.func @main(%x: tensor<64x64xf32> {ge.name = "x"}) -> (tensor<64x64xf32> {ge.name = "y"}, tensor<4096xf32> {ge.name = "z"}) {
  // CHECK-NEXT: %c = ge.constant #ge.splat<2.0>
  %c = ge.constant #ge.splat<2.0> : tensor<64x64xf32>
  // CHECK-NEXT: %d = ge.exp(%c) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = ge.exp(%c) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK-NEXT: ge.fusion{{.*}} scratch_place = #ge.place<workspace, 16384>, place = [#ge.place<workspace, 0>]}
  // APART: ge.fusion{{.*}} scratch_place = #ge.place<workspace, 0>, place = [#ge.place<workspace, 512>]}
  %a = ge.fusion(%v = %x : tensor<64x64xf32>, %w = %d : tensor<64x64xf32>) attributes {kernel = #ge.kernel<vector, tile = [64], blocks = 1, scratch = 100>} -> (tensor<64x64xf32>) {
    %s = ge.add(%v, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    ge.yield %s : tensor<64x64xf32>
  }
  // CHECK: %flat = ge.reshape(%a) {shape = [4096]} : (
  %flat = ge.reshape(%a) {shape = [4096]} : (tensor<64x64xf32>) -> tensor<4096xf32>
  // CHECK-NEXT: %e = ge.exp(%flat) attributes {place = [#ge.place<workspace, 16384>]}
  %e = ge.exp(%flat) : (tensor<4096xf32>) -> tensor<4096xf32>
  // CHECK-NEXT: %f = ge.exp(%e) attributes {place = [#ge.place<output, 1>]}
  %f = ge.exp(%e) : (tensor<4096xf32>) -> tensor<4096xf32>
  // CHECK-NEXT: %y = ge.exp(%a) attributes {place = [#ge.place<output, 0>]}
  %y = ge.exp(%a) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %y, %f : tensor<64x64xf32>, tensor<4096xf32>
}
