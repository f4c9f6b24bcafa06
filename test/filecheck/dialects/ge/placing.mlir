// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @bits
func.func @bits(%x: tensor<3xf32>) -> tensor<3xi32> {
  // CHECK-NEXT: %y = ge.bit_cast(%x) : (tensor<3xf32>) -> tensor<3xi32>
  %y = ge.bit_cast(%x) : (tensor<3xf32>) -> tensor<3xi32>
  func.return %y : tensor<3xi32>
}

// CHECK-LABEL: func.func @cumprod
func.func @cumprod(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: %y = ge.cumprod(%x) {axis = 1, exclusive = true, reverse = false} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %y = ge.cumprod(%x) {axis = 1, exclusive = true, reverse = false} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @col2im
func.func @col2im(%x: tensor<1x8x9xf32>) -> tensor<1x2x4x4xf32> {
  // CHECK-NEXT: %y = ge.col2im(%x) {output_size = [4, 4], ksize = [2, 2], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1]} : (tensor<1x8x9xf32>) -> tensor<1x2x4x4xf32>
  %y = ge.col2im(%x) {output_size = [4, 4], ksize = [2, 2], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1]} : (tensor<1x8x9xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}
