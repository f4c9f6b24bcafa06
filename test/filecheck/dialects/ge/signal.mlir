// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @dft
func.func @dft(%x: tensor<2x8x1xf32>) -> tensor<2x4x2xf32> {
  // CHECK-NEXT: %y = ge.dft(%x) {axis = 1, length = 6, inverse = false, onesided = true} : (tensor<2x8x1xf32>) -> tensor<2x4x2xf32>
  %y = ge.dft(%x) {axis = 1, length = 6, inverse = false, onesided = true} : (tensor<2x8x1xf32>) -> tensor<2x4x2xf32>
  func.return %y : tensor<2x4x2xf32>
}

// CHECK-LABEL: func.func @back
func.func @back(%x: tensor<2x4x2xf32>) -> tensor<2x6x1xf32> {
  // CHECK-NEXT: %y = ge.dft(%x) {axis = 1, length = 6, inverse = true, onesided = true} : (tensor<2x4x2xf32>) -> tensor<2x6x1xf32>
  %y = ge.dft(%x) {axis = 1, length = 6, inverse = true, onesided = true} : (tensor<2x4x2xf32>) -> tensor<2x6x1xf32>
  func.return %y : tensor<2x6x1xf32>
}

// CHECK-LABEL: func.func @stft
func.func @stft(%x: tensor<2x20x1xf32>, %window: tensor<8xf32>) -> tensor<2x5x5x2xf32> {
  // CHECK-NEXT: %y = ge.stft(%x, %window) {frame_step = 3, frame_length = 8, onesided = true} : (tensor<2x20x1xf32>, tensor<8xf32>) -> tensor<2x5x5x2xf32>
  %y = ge.stft(%x, %window) {frame_step = 3, frame_length = 8, onesided = true} : (tensor<2x20x1xf32>, tensor<8xf32>) -> tensor<2x5x5x2xf32>
  func.return %y : tensor<2x5x5x2xf32>
}
