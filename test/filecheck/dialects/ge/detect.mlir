// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @suppress
func.func @suppress(%boxes: tensor<1x6x4xf32>, %scores: tensor<1x2x6xf32>, %most: tensor<i64>, %iou: tensor<f32>) -> tensor<?x3xi64> {
  // CHECK-NEXT: %y = ge.non_max_suppression(%boxes, %scores, %most, %iou) {center_point_box = false} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<f32>) -> tensor<?x3xi64>
  %y = ge.non_max_suppression(%boxes, %scores, %most, %iou) {center_point_box = false} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<f32>) -> tensor<?x3xi64>
  func.return %y : tensor<?x3xi64>
}

// CHECK-LABEL: func.func @roi
func.func @roi(%x: tensor<1x3x8x8xf32>, %rois: tensor<5x4xf32>, %batches: tensor<5xi64>) -> tensor<5x3x2x3xf32> {
  // CHECK-NEXT: %y = ge.roi_align(%x, %rois, %batches) {mode = "avg", output_height = 2, output_width = 3, sampling_ratio = 2, spatial_scale = 5.000000e-01, half_pixel = true} : (tensor<1x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x3xf32>
  %y = ge.roi_align(%x, %rois, %batches) {mode = "avg", output_height = 2, output_width = 3, sampling_ratio = 2, spatial_scale = 5.000000e-01, half_pixel = true} : (tensor<1x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x3xf32>
  func.return %y : tensor<5x3x2x3xf32>
}

// CHECK-LABEL: func.func @unique
func.func @unique(%x: tensor<3x4xi32>) -> (tensor<3x?xi32>, tensor<?xi64>, tensor<4xi64>, tensor<?xi64>) {
  // CHECK-NEXT: %y, %indices, %inverse, %counts = ge.unique(%x) {axis = 1, sorted = true} : (tensor<3x4xi32>) -> (tensor<3x?xi32>, tensor<?xi64>, tensor<4xi64>, tensor<?xi64>)
  %y, %indices, %inverse, %counts = ge.unique(%x) {axis = 1, sorted = true} : (tensor<3x4xi32>) -> (tensor<3x?xi32>, tensor<?xi64>, tensor<4xi64>, tensor<?xi64>)
  func.return %y, %indices, %inverse, %counts : tensor<3x?xi32>, tensor<?xi64>, tensor<4xi64>, tensor<?xi64>
}

// CHECK-LABEL: func.func @all
func.func @all(%x: tensor<3x4xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<12xi64>, tensor<?xi64>) {
  // CHECK-NEXT: %y, %indices, %inverse, %counts = ge.unique(%x) {sorted = false} : (tensor<3x4xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<12xi64>, tensor<?xi64>)
  %y, %indices, %inverse, %counts = ge.unique(%x) {sorted = false} : (tensor<3x4xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<12xi64>, tensor<?xi64>)
  func.return %y, %indices, %inverse, %counts : tensor<?xf32>, tensor<?xi64>, tensor<12xi64>, tensor<?xi64>
}

// CHECK-LABEL: func.func @det
func.func @det(%x: tensor<2x3x3xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %y = ge.det(%x) : (tensor<2x3x3xf32>) -> tensor<2xf32>
  %y = ge.det(%x) : (tensor<2x3x3xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// CHECK-LABEL: func.func @deform
func.func @deform(%x: tensor<1x2x5x5xf32>, %filter: tensor<4x2x2x2xf32>, %offset: tensor<1x8x4x4xf32>, %bias: tensor<4xf32>, %mask: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
  // CHECK-NEXT: %y = ge.deform_conv(%x, %filter, %offset, %bias, %mask) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, offset_groups = 1} : (tensor<1x2x5x5xf32>, tensor<4x2x2x2xf32>, tensor<1x8x4x4xf32>, tensor<4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %y = ge.deform_conv(%x, %filter, %offset, %bias, %mask) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, offset_groups = 1} : (tensor<1x2x5x5xf32>, tensor<4x2x2x2xf32>, tensor<1x8x4x4xf32>, tensor<4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  func.return %y : tensor<1x4x4x4xf32>
}
