// RUN: ge-opt %s --split-input-file -p "lower-kernels{allocate=false sync=false}" | filecheck %s

// Tiles of two output rows; the filter comes once. The first tile has a row of zeros above, the last one below, so
// each has code of its own. A step takes three taps of eight channels.

// CHECK:      npu.kernel @k0_kernel kind = cube blocks = 1 args = [x0 : 288xf32 in, x1 : 1152xf32 in, y0 : 576xf32 out] {
// CHECK:        %[[B:.*]] = npu.view %b[0] strides = [1, 16, 128] : !npu.tile<3x3x8x16xf32, l1> -> !npu.tile<16x8x9xf32, l1>
// CHECK-NEXT:   %[[F:.*]] = npu.view %x1[0] : !npu.gm<f32> -> !npu.tile<16x8x9xf32, gm>
// CHECK-NEXT:   npu.load %[[B]], %[[F]]
// CHECK:        npu.view %x0[0] : !npu.gm<f32> -> !npu.tile<3x6x8xf32, gm>
// CHECK:        npu.load3d %a0, %{{.*}} {kernel = [3, 3], pads = [1, 0, 1, 1], taps = [0, 3], out_w = 6}
// CHECK:        npu.mmad %acc, %a0, %b0 {init = true}
// CHECK:        npu.load3d %a0_1, %{{.*}} {kernel = [3, 3], pads = [1, 0, 1, 1], taps = [3, 6], out_w = 6}
// CHECK:        npu.load3d %a0, %{{.*}} {kernel = [3, 3], pads = [1, 0, 1, 1], taps = [6, 9], out_w = 6}
// CHECK:        npu.fixpipe
// CHECK:        npu.view %x0[48] : !npu.gm<f32> -> !npu.tile<4x6x8xf32, gm>
// CHECK:        npu.load3d %{{.*}} {kernel = [3, 3], pads = [0, 0, 1, 1], taps = [0, 3], out_w = 6}
// CHECK:        npu.fixpipe
// CHECK:        npu.view %x0[144] : !npu.gm<f32> -> !npu.tile<3x6x8xf32, gm>
// CHECK:        npu.load3d %{{.*}} {kernel = [3, 3], pads = [0, 1, 1, 1], taps = [0, 3], out_w = 6}
// CHECK:        npu.fixpipe
func.func @main(%x: tensor<1x6x6x8xf32>, %f: tensor<16x8x3x3xf32>) -> tensor<1x6x6x16xf32> {
  %y = ge.fusion(%0 = %x : tensor<1x6x6x8xf32>, %1 = %f : tensor<16x8x3x3xf32>) attributes {kernel = #ge.kernel<cube, tile = [12, 16, 32], blocks = 1, scratch = 0>} -> (tensor<1x6x6x16xf32>) {
    %2 = ge.conv2d(%0, %1) {strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, data_format = "NHWC"} : (tensor<1x6x6x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x6x6x16xf32>
    ge.yield %2 : tensor<1x6x6x16xf32>
  }
  func.return %y : tensor<1x6x6x16xf32>
}

// -----

// One tap and no pads: a product of matrices, here over every second pixel.

// CHECK:      npu.kernel @k0_kernel kind = cube blocks = 1
// CHECK-NOT:    npu.load3d
// CHECK:        npu.view %x0[0] strides = [36, 12, 2] : !npu.gm<f32> -> !npu.tile<8x3x3xf32, gm>
func.func @pointwise(%x: tensor<1x8x6x6xf32>, %f: tensor<16x8x1x1xf32>) -> tensor<1x16x3x3xf32> {
  %y = ge.fusion(%0 = %x : tensor<1x8x6x6xf32>, %1 = %f : tensor<16x8x1x1xf32>) attributes {kernel = #ge.kernel<cube, tile = [16, 16, 16], blocks = 1, scratch = 0>} -> (tensor<1x16x3x3xf32>) {
    %2 = ge.conv2d(%0, %1) {strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<1x8x6x6xf32>, tensor<16x8x1x1xf32>) -> tensor<1x16x3x3xf32>
    ge.yield %2 : tensor<1x16x3x3xf32>
  }
  func.return %y : tensor<1x16x3x3xf32>
}

// -----

// Stride 2, kernel 3: output rows (and columns) alternate between one tap and two, four products in all, the one of
// a single tap as matrices.

// CHECK:      npu.kernel @k0_kernel kind = cube blocks = 1
// CHECK:        npu.load2d
// CHECK:        npu.load3d {{.*}} {kernel = [1, 2]
// CHECK:        npu.load3d {{.*}} {kernel = [2, 1]
// CHECK:        npu.load3d {{.*}} {kernel = [2, 2]
func.func @transposed(%x: tensor<1x8x4x4xf32>, %f: tensor<8x16x3x3xf32>) -> tensor<1x16x8x8xf32> {
  %y = ge.fusion(%0 = %x : tensor<1x8x4x4xf32>, %1 = %f : tensor<8x16x3x3xf32>) attributes {kernel = #ge.kernel<cube, tile = [16, 16, 64], blocks = 1, scratch = 0>} -> (tensor<1x16x8x8xf32>) {
    %2 = ge.conv2d_transpose(%0, %1) {strides = [2, 2], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, output_padding = [1, 1], data_format = "NCHW"} : (tensor<1x8x4x4xf32>, tensor<8x16x3x3xf32>) -> tensor<1x16x8x8xf32>
    ge.yield %2 : tensor<1x16x8x8xf32>
  }
  func.return %y : tensor<1x16x8x8xf32>
}
