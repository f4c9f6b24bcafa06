// RUN: ge-opt %s | ge-opt | filecheck %s

// Convolutions that nn.mlir leaves out.

// CHECK-LABEL: @depthwise
func.func @depthwise(%x: tensor<1x8x6x6xf32>, %f: tensor<8x1x3x3xf32>) -> tensor<1x8x6x6xf32> {
  // CHECK: ge.conv2d(%x, %f) {strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 8, data_format = "NCHW"}
  %y = ge.conv2d(%x, %f) {strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 8, data_format = "NCHW"} : (tensor<1x8x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x6x6xf32>
  func.return %y : tensor<1x8x6x6xf32>
}

// CHECK-LABEL: @volume
func.func @volume(%x: tensor<1x2x3x3x3xf32>, %f: tensor<2x4x2x2x2xf32>) -> tensor<1x4x4x4x4xf32> {
  // CHECK: ge.conv3d_transpose(%x, %f) {strides = [1, 1, 1]
  %y = ge.conv3d_transpose(%x, %f) {strides = [1, 1, 1], pads = [0, 0, 0, 0, 0, 0], dilations = [1, 1, 1], groups = 1, output_padding = [0, 0, 0], data_format = "NCDHW"} : (tensor<1x2x3x3x3xf32>, tensor<2x4x2x2x2xf32>) -> tensor<1x4x4x4x4xf32>
  func.return %y : tensor<1x4x4x4x4xf32>
}
