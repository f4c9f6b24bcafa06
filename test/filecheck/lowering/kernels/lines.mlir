// RUN: ge-opt %s --split-input-file -p "lower-kernels{allocate=false sync=false}" | filecheck %s

// Lines along the middle axis are loaded with it last; one instruction sorts them all, and two of 50 are stored.

// CHECK:      npu.kernel @k0_kernel kind = vector blocks = 3 args = [x0 : 900xf32 in, y0 : 36xf32 out, y1 : 36xi64 out] {
// CHECK:        npu.for %i = %bid to 3 step 3 {
// CHECK:          %[[X:.*]] = npu.view %x0[%i * 300] strides = [300, 1, 6] : !npu.gm<f32> -> !npu.tile<1x6x50xf32, gm>
// CHECK-NEXT:     npu.load %x, %[[X]]
// CHECK:          npu.vsort %sorted, %order, %x {descending = true}
// CHECK:          %[[V:.*]] = npu.view %y0[%i * 12] strides = [12, 1, 6] : !npu.gm<f32> -> !npu.tile<1x6x2xf32, gm>
// CHECK:          npu.store %[[V]]
// CHECK:          npu.store
func.func @main(%x: tensor<3x50x6xf32>) -> (tensor<3x2x6xf32>, tensor<3x2x6xi64>) {
  %v, %i = ge.fusion(%0 = %x : tensor<3x50x6xf32>) attributes {kernel = #ge.kernel<vector, tile = [1, 6], blocks = 3, scratch = 0>} -> (tensor<3x2x6xf32>, tensor<3x2x6xi64>) {
    %1, %2 = ge.topk(%0) {k = 2, dim = 1, largest = true, sorted = true} : (tensor<3x50x6xf32>) -> (tensor<3x2x6xf32>, tensor<3x2x6xi64>)
    ge.yield %1, %2 : tensor<3x2x6xf32>, tensor<3x2x6xi64>
  }
  func.return %v, %i : tensor<3x2x6xf32>, tensor<3x2x6xi64>
}

// -----

// Halves are added in f32 and rounded once.

// CHECK:      npu.vcast %wide, %x
// CHECK-NEXT: npu.vcumsum %sums, %wide {reverse = true}
// CHECK-NEXT: npu.vcast %y, %sums
func.func @sums(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %y = ge.fusion(%0 = %x : tensor<4x8xf16>) attributes {kernel = #ge.kernel<vector, tile = [4, 1], blocks = 1, scratch = 0>} -> (tensor<4x8xf16>) {
    %1 = ge.cumsum(%0) {axis = 1, exclusive = false, reverse = true} : (tensor<4x8xf16>) -> tensor<4x8xf16>
    ge.yield %1 : tensor<4x8xf16>
  }
  func.return %y : tensor<4x8xf16>
}
