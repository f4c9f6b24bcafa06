// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @batch_norm(
func.func @batch_norm(%a: tensor<2x6x5x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>, %d: tensor<6xf32>, %e: tensor<6xf32>, %f: tensor<2x5x4x6xf32>) {
  // CHECK-NEXT: %0 = ge.batch_norm(%a, %b, %c, %d, %e) {data_format = "NCHW", epsilon = 1.000000e-03} : (tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x5x4xf32>
  %0 = ge.batch_norm(%a, %b, %c, %d, %e) {data_format = "NCHW", epsilon = 1.000000e-03} : (tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x5x4xf32>
  // CHECK-NEXT: %1 = ge.batch_norm(%f, %b, %c, %d, %e) {data_format = "NHWC", epsilon = 1.000000e-03} : (tensor<2x5x4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x5x4x6xf32>
  %1 = ge.batch_norm(%f, %b, %c, %d, %e) {data_format = "NHWC", epsilon = 1.000000e-03} : (tensor<2x5x4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x5x4x6xf32>
  func.return
}

// CHECK-LABEL: func.func @batch_norm_training(
func.func @batch_norm_training(%a: tensor<2x6x5x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>, %d: tensor<6xf32>, %e: tensor<6xf32>) {
  // CHECK-NEXT: %0, %1, %2 = ge.batch_norm_training(%a, %b, %c, %d, %e) {exponential_avg_factor = 1.000000e-01, data_format = "NCHW", epsilon = 1.000000e-03} : (tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>)
  %0, %1, %2 = ge.batch_norm_training(%a, %b, %c, %d, %e) {exponential_avg_factor = 1.000000e-01, data_format = "NCHW", epsilon = 1.000000e-03} : (tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>)
  func.return
}

// CHECK-LABEL: func.func @instance_norm(
func.func @instance_norm(%a: tensor<2x6x5x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // CHECK-NEXT: %0, %1, %2 = ge.instance_norm(%a, %b, %c) {data_format = "NCHW", epsilon = 1.000000e-03} : (tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x5x4xf32>, tensor<2x6x1x1xf32>, tensor<2x6x1x1xf32>)
  %0, %1, %2 = ge.instance_norm(%a, %b, %c) {data_format = "NCHW", epsilon = 1.000000e-03} : (tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x5x4xf32>, tensor<2x6x1x1xf32>, tensor<2x6x1x1xf32>)
  func.return
}

// CHECK-LABEL: func.func @group_norm(
func.func @group_norm(%a: tensor<2x6x5x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>, %d: tensor<2x5x4x6xf32>) {
  // CHECK-NEXT: %0, %1, %2 = ge.group_norm(%a, %b, %c) {num_groups = 3, data_format = "NCHW", epsilon = 1.000000e-03} : (tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x5x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %0, %1, %2 = ge.group_norm(%a, %b, %c) {num_groups = 3, data_format = "NCHW", epsilon = 1.000000e-03} : (tensor<2x6x5x4xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6x5x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK-NEXT: %3, %4, %5 = ge.group_norm(%d, %b, %c) {num_groups = 3, data_format = "NHWC", epsilon = 1.000000e-03} : (tensor<2x5x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x5x4x6xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %3, %4, %5 = ge.group_norm(%d, %b, %c) {num_groups = 3, data_format = "NHWC", epsilon = 1.000000e-03} : (tensor<2x5x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x5x4x6xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  func.return
}

// CHECK-LABEL: func.func @layer_norm(
func.func @layer_norm(%a: tensor<2x3x4x6xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) {
  // CHECK-NEXT: %0, %1, %2 = ge.layer_norm(%a, %b, %c) {begin_norm_axis = -1, epsilon = 1.000000e-05} : (tensor<2x3x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x1xf32>)
  %0, %1, %2 = ge.layer_norm(%a, %b, %c) {begin_norm_axis = -1, epsilon = 1.000000e-05} : (tensor<2x3x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x1xf32>)
  // CHECK-NEXT: %3, %4, %5 = ge.layer_norm(%a, %b) {begin_norm_axis = 3, epsilon = 1.000000e-05} : (tensor<2x3x4x6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x1xf32>)
  %3, %4, %5 = ge.layer_norm(%a, %b) {begin_norm_axis = 3, epsilon = 1.000000e-05} : (tensor<2x3x4x6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x1xf32>)
  func.return
}

// CHECK-LABEL: func.func @add_layer_norm(
func.func @add_layer_norm(%a: tensor<2x3x4x6xf32>, %b: tensor<2x3x4x6xf32>, %c: tensor<6xf32>, %d: tensor<6xf32>, %e: tensor<6xf32>) {
  // CHECK-NEXT: %0, %1, %2, %3 = ge.add_layer_norm(%a, %b, %c, %d) {epsilon = 1.000000e-06} : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x6xf32>)
  %0, %1, %2, %3 = ge.add_layer_norm(%a, %b, %c, %d) {epsilon = 1.000000e-06} : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x6xf32>)
  // CHECK-NEXT: %4, %5, %6, %7 = ge.add_layer_norm(%a, %b, %c, %d, %e) {epsilon = 1.000000e-06} : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x6xf32>)
  %4, %5, %6, %7 = ge.add_layer_norm(%a, %b, %c, %d, %e) {epsilon = 1.000000e-06} : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x6xf32>)
  func.return
}

// CHECK-LABEL: func.func @rms_norm(
func.func @rms_norm(%a: tensor<2x3x4x6xf32>, %b: tensor<6xf32>) {
  // CHECK-NEXT: %0, %1 = ge.rms_norm(%a, %b) {epsilon = 1.000000e-06} : (tensor<2x3x4x6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>)
  %0, %1 = ge.rms_norm(%a, %b) {epsilon = 1.000000e-06} : (tensor<2x3x4x6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>)
  func.return
}

// CHECK-LABEL: func.func @add_rms_norm(
func.func @add_rms_norm(%a: tensor<2x3x4x6xf32>, %b: tensor<2x3x4x6xf32>, %c: tensor<6xf32>) {
  // CHECK-NEXT: %0, %1, %2 = ge.add_rms_norm(%a, %b, %c) {epsilon = 1.000000e-06} : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x6xf32>)
  %0, %1, %2 = ge.add_rms_norm(%a, %b, %c) {epsilon = 1.000000e-06} : (tensor<2x3x4x6xf32>, tensor<2x3x4x6xf32>, tensor<6xf32>) -> (tensor<2x3x4x6xf32>, tensor<2x3x4x1xf32>, tensor<2x3x4x6xf32>)
  func.return
}

// CHECK-LABEL: func.func @mvn(
func.func @mvn(%a: tensor<2x3x4x6xf32>) {
  // CHECK-NEXT: %0 = ge.mvn(%a) {axes = [0, 2, 3], epsilon = 1.000000e-09} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %0 = ge.mvn(%a) {axes = [0, 2, 3], epsilon = 1.000000e-09} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  func.return
}

// CHECK-LABEL: func.func @lrn(
func.func @lrn(%a: tensor<2x3x4x6xf32>) {
  // CHECK-NEXT: %0 = ge.lrn(%a) {depth_radius = 1, bias = 1.000000e+00, alpha = 2.000000e-01, beta = 7.500000e-01, data_format = "NCHW"} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %0 = ge.lrn(%a) {depth_radius = 1, bias = 1.000000e+00, alpha = 2.000000e-01, beta = 7.500000e-01, data_format = "NCHW"} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  // CHECK-NEXT: %1 = ge.lrn(%a) {depth_radius = 1, depth_radius_end = 2, bias = 1.000000e+00, alpha = 2.000000e-01, beta = 7.500000e-01, data_format = "NHWC"} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %1 = ge.lrn(%a) {depth_radius = 1, depth_radius_end = 2, bias = 1.000000e+00, alpha = 2.000000e-01, beta = 7.500000e-01, data_format = "NHWC"} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  func.return
}
