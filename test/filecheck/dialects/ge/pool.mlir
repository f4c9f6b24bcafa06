// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @pools
func.func @pools(%x: tensor<1x4x7x7xf32>, %n: tensor<1x7x7x4xf32>, %v: tensor<1x4x4x4x4xf32>) {
  // CHECK-NEXT: %0 = ge.max_pool2d(%x) {ksize = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], dilations = [1, 1], ceil_mode = false, data_format = "NCHW"} : (tensor<1x4x7x7xf32>) -> tensor<1x4x4x4xf32>
  %0 = ge.max_pool2d(%x) {ksize = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], dilations = [1, 1], ceil_mode = false, data_format = "NCHW"} : (tensor<1x4x7x7xf32>) -> tensor<1x4x4x4xf32>
  // CHECK-NEXT: %1, %2 = ge.max_pool2d_with_argmax(%n) {ksize = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = true, data_format = "NHWC"} : (tensor<1x7x7x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi64>)
  %1, %2 = ge.max_pool2d_with_argmax(%n) {ksize = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = true, data_format = "NHWC"} : (tensor<1x7x7x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi64>)
  // CHECK-NEXT: %3 = ge.max_pool3d(%v) {ksize = [2, 2, 2], strides = [2, 2, 2], pads = [0, 0, 0, 0, 0, 0], dilations = [1, 1, 1], ceil_mode = false, data_format = "NCDHW"}
  %3 = ge.max_pool3d(%v) {ksize = [2, 2, 2], strides = [2, 2, 2], pads = [0, 0, 0, 0, 0, 0], dilations = [1, 1, 1], ceil_mode = false, data_format = "NCDHW"} : (tensor<1x4x4x4x4xf32>) -> tensor<1x4x2x2x2xf32>
  // CHECK-NEXT: %4 = ge.avg_pool2d(%x) {ksize = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], ceil_mode = true, count_include_pad = true, data_format = "NCHW"} : (tensor<1x4x7x7xf32>) -> tensor<1x4x4x4xf32>
  %4 = ge.avg_pool2d(%x) {ksize = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], ceil_mode = true, count_include_pad = true, data_format = "NCHW"} : (tensor<1x4x7x7xf32>) -> tensor<1x4x4x4xf32>
  // CHECK-NEXT: %5 = ge.avg_pool3d(%v) {ksize = [4, 4, 4], strides = [1, 1, 1], pads = [0, 0, 0, 0, 0, 0], ceil_mode = false, count_include_pad = false, data_format = "NCDHW"}
  %5 = ge.avg_pool3d(%v) {ksize = [4, 4, 4], strides = [1, 1, 1], pads = [0, 0, 0, 0, 0, 0], ceil_mode = false, count_include_pad = false, data_format = "NCDHW"} : (tensor<1x4x4x4x4xf32>) -> tensor<1x4x1x1x1xf32>
  // CHECK-NEXT: %6 = ge.lp_pool2d(%x) {p = 2, ksize = [2, 2], strides = [1, 1], pads = [0, 0, 0, 0]} : (tensor<1x4x7x7xf32>) -> tensor<1x4x6x6xf32>
  %6 = ge.lp_pool2d(%x) {p = 2, ksize = [2, 2], strides = [1, 1], pads = [0, 0, 0, 0]} : (tensor<1x4x7x7xf32>) -> tensor<1x4x6x6xf32>
  // CHECK-NEXT: %7 = ge.adaptive_avg_pool2d(%x) {output_size = [2, 3]} : (tensor<1x4x7x7xf32>) -> tensor<1x4x2x3xf32>
  %7 = ge.adaptive_avg_pool2d(%x) {output_size = [2, 3]} : (tensor<1x4x7x7xf32>) -> tensor<1x4x2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @resizes
func.func @resizes(%x: tensor<1x4x7x7xf32>, %s: tensor<4xf32>) {
  // CHECK-NEXT: %0 = ge.resize(%x) {scales = [1.000000e+00, 1.000000e+00, 2.000000e+00, 5.000000e-01], mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"} : (tensor<1x4x7x7xf32>) -> tensor<1x4x14x3xf32>
  %0 = ge.resize(%x) {scales = [1, 1, 2, 0.5], mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"} : (tensor<1x4x7x7xf32>) -> tensor<1x4x14x3xf32>
  // CHECK-NEXT: %1 = ge.resize(%x) {sizes = [5, 9], axes = [2, 3], mode = "cubic", coordinate_transformation_mode = "half_pixel", cubic_coeff_a = -5.000000e-01, exclude_outside = true}
  // CHECK-SAME: -> tensor<1x4x5x9xf32>
  %1 = ge.resize(%x) {sizes = [5, 9], axes = [2, 3], mode = "cubic", coordinate_transformation_mode = "half_pixel", cubic_coeff_a = -0.5, exclude_outside = true} : (tensor<1x4x7x7xf32>) -> tensor<1x4x5x9xf32>
  // CHECK-NEXT: %2 = ge.resize(%x, none, %s) {mode = "linear", coordinate_transformation_mode = "align_corners"} : (tensor<1x4x7x7xf32>, tensor<4xf32>) -> tensor<?x?x?x?xf32>
  %2 = ge.resize(%x, none, %s) {mode = "linear", coordinate_transformation_mode = "align_corners"} : (tensor<1x4x7x7xf32>, tensor<4xf32>) -> tensor<?x?x?x?xf32>
  func.return
}
