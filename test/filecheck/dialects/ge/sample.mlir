// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @sample
func.func @sample(%x: tensor<1x3x4x5xf32>, %g: tensor<1x2x2x2xf32>) -> tensor<1x3x2x2xf32> {
  // CHECK-NEXT: %y = ge.grid_sample(%x, %g) {interpolation_mode = "bilinear", padding_mode = "zeros", align_corners = false} : (tensor<1x3x4x5xf32>, tensor<1x2x2x2xf32>) -> tensor<1x3x2x2xf32>
  %y = ge.grid_sample(%x, %g) {interpolation_mode = "bilinear", padding_mode = "zeros", align_corners = false} : (tensor<1x3x4x5xf32>, tensor<1x2x2x2xf32>) -> tensor<1x3x2x2xf32>
  func.return %y : tensor<1x3x2x2xf32>
}
