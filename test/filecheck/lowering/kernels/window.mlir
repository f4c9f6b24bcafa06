// RUN: ge-opt %s --split-input-file -p "lower-kernels{allocate=false sync=false}" | filecheck %s

// The input with -inf around it, then one maximum per cell of the window over every second row and column.

// CHECK:      npu.kernel @k0_kernel kind = vector blocks = 8 args = [x0 : 648xf32 in, y0 : 200xf32 out] {
// CHECK:        npu.for %i = %bid to 8 step 8 {
// CHECK-NEXT:     %x = npu.alloc : !npu.tile<1x11x11xf32, ub>
// CHECK-NEXT:     npu.vdup %x {scalar = "-inf"}
// CHECK-NEXT:     %0 = npu.view %x[12] strides = [121, 11, 1] : !npu.tile<1x11x11xf32, ub> -> !npu.tile<1x9x9xf32, ub>
// CHECK-NEXT:     %1 = npu.view %x0[%i * 81]
// CHECK-NEXT:     npu.load %0, %1
// CHECK:          %2 = npu.view %x[0] strides = [121, 22, 2]
// CHECK-NEXT:     %3 = npu.view %x[1] strides = [121, 22, 2]
// CHECK-NEXT:     npu.vmax %acc, %2, %3
// CHECK-COUNT-7:  npu.vmax %acc, %acc, %
// CHECK-NOT:      npu.vmax
// CHECK:          npu.store
func.func @main(%x: tensor<1x8x9x9xf32>) -> tensor<1x8x5x5xf32> {
  %y = ge.fusion(%0 = %x : tensor<1x8x9x9xf32>) attributes {kernel = #ge.kernel<vector, tile = [5, 5, 1], blocks = 8, scratch = 0>} -> (tensor<1x8x5x5xf32>) {
    %1 = ge.max_pool2d(%0) {ksize = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], dilations = [1, 1], ceil_mode = false, data_format = "NCHW"} : (tensor<1x8x9x9xf32>) -> tensor<1x8x5x5xf32>
    ge.yield %1 : tensor<1x8x5x5xf32>
  }
  func.return %y : tensor<1x8x5x5xf32>
}

// -----

// A depthwise convolution multiplies each cell by its weight, adds, and goes on with what follows; f16 adds in f32.

// CHECK:      npu.vcast %wide, %w
// CHECK:      npu.vmul %acc
// CHECK:      npu.vmul %product
// CHECK-NEXT: npu.vadd %acc, %acc, %product
// CHECK:      npu.vcast %y, %acc
// CHECK:      npu.vrelu
// CHECK:      npu.store
func.func @depthwise(%x: tensor<1x4x4x8xf16>, %f: tensor<8x1x2x2xf16>) -> tensor<1x3x3x8xf16> {
  %y = ge.fusion(%0 = %x : tensor<1x4x4x8xf16>, %1 = %f : tensor<8x1x2x2xf16>) attributes {kernel = #ge.kernel<vector, tile = [3, 3, 8], blocks = 1, scratch = 0>} -> (tensor<1x3x3x8xf16>) {
    %2 = ge.conv2d(%0, %1) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 8, data_format = "NHWC"} : (tensor<1x4x4x8xf16>, tensor<8x1x2x2xf16>) -> tensor<1x3x3x8xf16>
    %3 = ge.relu(%2) : (tensor<1x3x3x8xf16>) -> tensor<1x3x3x8xf16>
    ge.yield %3 : tensor<1x3x3x8xf16>
  }
  func.return %y : tensor<1x3x3x8xf16>
}

// -----

// The taps of a large kernel are loops: the code does not grow with it.

// CHECK:      npu.vdup %acc {scalar = 0.0}
// CHECK:      npu.for %tap = 0 to 9 step 1 {
// CHECK-NEXT:   npu.for %tap_1 = 0 to 9 step 1 {
// CHECK-NEXT:     %[[CELLS:.*]] = npu.view %x[%tap * 20 + %tap_1]
// CHECK-NEXT:     %[[WEIGHT:.*]] = npu.view %w[%tap * 9 + %tap_1]
// CHECK-NEXT:     npu.vmul %product, %[[CELLS]], %[[WEIGHT]]
// CHECK-NEXT:     npu.vadd %acc, %acc, %product
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NOT:  npu.vmul
// CHECK:      npu.store
func.func @large(%x: tensor<1x4x20x20xf32>, %f: tensor<4x1x9x9xf32>) -> tensor<1x4x12x12xf32> {
  %y = ge.fusion(%0 = %x : tensor<1x4x20x20xf32>, %1 = %f : tensor<4x1x9x9xf32>) attributes {kernel = #ge.kernel<vector, tile = [12, 12, 1], blocks = 4, scratch = 0>} -> (tensor<1x4x12x12xf32>) {
    %2 = ge.conv2d(%0, %1) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 4, data_format = "NCHW"} : (tensor<1x4x20x20xf32>, tensor<4x1x9x9xf32>) -> tensor<1x4x12x12xf32>
    ge.yield %2 : tensor<1x4x12x12xf32>
  }
  func.return %y : tensor<1x4x12x12xf32>
}
