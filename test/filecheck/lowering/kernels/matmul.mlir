// RUN: ge-opt %s --split-input-file -p "lower-kernels{allocate=false sync=false}" | filecheck %s

// [B, S, K] x [K, N] has B * S = 40 rows: two tiles of 16, one for each block, then one of 8. k = 32 in two chunks.

// CHECK:      npu.kernel @k0_kernel kind = cube blocks = 2 args = [x0 : 1280xf32 in, x1 : 768xf32 in, x2 : 24xf32 in, y0 : 960xf32 out] {
// CHECK:        npu.load_bias %bias_1, %bias
// CHECK:        npu.view %x0[%bid * 512] strides = [32, 1] : !npu.gm<f32> -> !npu.tile<16x16xf32, gm>
// CHECK:        npu.load2d %a0
// CHECK:        npu.load2d %b0
// CHECK:        npu.mmad %acc, %a0, %b0, %bias_1 {init = true}
// CHECK:        npu.view %x0[%bid * 512 + 16] strides = [32, 1]
// CHECK:        npu.mmad %acc, %a0_1, %b0_1
// CHECK:        npu.fixpipe
// CHECK-SAME:   {relu = relu}
// CHECK:        npu.for %once = %bid to 1 step
// CHECK:          npu.view %x0[1024] strides = [32, 1] : !npu.gm<f32> -> !npu.tile<8x16xf32, gm>
// CHECK:          npu.mmad
// CHECK:          npu.mmad
// CHECK:          npu.fixpipe
// CHECK-NOT:      npu.mmad
func.func @main(%x: tensor<2x20x32xf32>, %w: tensor<32x24xf32>, %b: tensor<24xf32>) -> tensor<2x20x24xf32> {
  %y = ge.fusion(%0 = %x : tensor<2x20x32xf32>, %1 = %w : tensor<32x24xf32>, %2 = %b : tensor<24xf32>) attributes {kernel = #ge.kernel<cube, tile = [16, 24, 16], blocks = 2, scratch = 0>} -> (tensor<2x20x24xf32>) {
    %3 = ge.matmul(%0, %1, %2) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x20x32xf32>, tensor<32x24xf32>, tensor<24xf32>) -> tensor<2x20x24xf32>
    %4 = ge.relu(%3) : (tensor<2x20x24xf32>) -> tensor<2x20x24xf32>
    ge.yield %4 : tensor<2x20x24xf32>
  }
  func.return %y : tensor<2x20x24xf32>
}

// -----

// A transposed operand and a transposed result are strides; 16-bit types turn on the way into L0, for nothing. Chunks
// of k come in two slots, the first one with code of its own because it starts the sum.

// CHECK:      npu.kernel @k0_kernel kind = cube blocks = 1
// CHECK:        npu.view %x1[0] strides = [512, 1] : !npu.gm<f16> -> !npu.tile<24x128xf16, gm>
// CHECK:        npu.view %b[0] strides = [1, 128] : !npu.tile<24x128xf16, l1> -> !npu.tile<64x24xf16, l1>
// CHECK:        npu.mmad %acc, %a0, %b0 {init = true}
// CHECK:        npu.mmad %acc, %a0_1, %b0_1
// CHECK:        npu.for %kc = 0 to 3 step 1 {
// CHECK-NEXT:     %a_1 = npu.alloc buffers = 2 : !npu.tile<16x128xf16, l1>
// CHECK:          %b_1 = npu.alloc buffers = 2 : !npu.tile<24x128xf16, l1>
// CHECK:          npu.mmad %acc
// CHECK:          npu.mmad %acc
// CHECK:        %[[Y:.*]] = npu.view %y0[0] : !npu.gm<f16> -> !npu.tile<24x16xf16, gm>
// CHECK-NEXT:   %[[ACC:.*]] = npu.view %acc[0] strides = [1, 24] : !npu.tile<16x24xf32, l0c> -> !npu.tile<24x16xf32, l0c>
// CHECK-NEXT:   npu.fixpipe %[[Y]], %[[ACC]]
func.func @turned(%x: tensor<16x512xf16>, %w: tensor<24x512xf16>) -> tensor<24x16xf16> {
  %y = ge.fusion(%0 = %x : tensor<16x512xf16>, %1 = %w : tensor<24x512xf16>) attributes {kernel = #ge.kernel<cube, tile = [16, 24, 64], blocks = 1, scratch = 0>} -> (tensor<24x16xf16>) {
    %2 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = true} : (tensor<16x512xf16>, tensor<24x512xf16>) -> tensor<16x24xf16>
    %3 = ge.transpose(%2) {perm = [1, 0]} : (tensor<16x24xf16>) -> tensor<24x16xf16>
    ge.yield %3 : tensor<24x16xf16>
  }
  func.return %y : tensor<24x16xf16>
}
