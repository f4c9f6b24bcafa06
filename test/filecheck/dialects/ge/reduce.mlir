// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @reduce_sum(
func.func @reduce_sum(%a: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %0 = ge.reduce_sum(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  %0 = ge.reduce_sum(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  // CHECK-NEXT: %1 = ge.reduce_sum(%a) {axes = [-1], keep_dims = false} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4xf32>
  %1 = ge.reduce_sum(%a) {axes = [-1], keep_dims = false} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %2 = ge.reduce_sum(%a) {axes = [2, 3], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %2 = ge.reduce_sum(%a) {axes = [2, 3], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  func.return
}

// CHECK-LABEL: func.func @reduce_prod(
func.func @reduce_prod(%a: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %0 = ge.reduce_prod(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  %0 = ge.reduce_prod(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  func.return
}

// CHECK-LABEL: func.func @reduce_max(
func.func @reduce_max(%a: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %0 = ge.reduce_max(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  %0 = ge.reduce_max(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  func.return
}

// CHECK-LABEL: func.func @reduce_min(
func.func @reduce_min(%a: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %0 = ge.reduce_min(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  %0 = ge.reduce_min(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  func.return
}

// CHECK-LABEL: func.func @reduce_all(
func.func @reduce_all(%a: tensor<6x2xi1>) {
  // CHECK-NEXT: %0 = ge.reduce_all(%a) {axes = [1], keep_dims = false} : (tensor<6x2xi1>) -> tensor<6xi1>
  %0 = ge.reduce_all(%a) {axes = [1], keep_dims = false} : (tensor<6x2xi1>) -> tensor<6xi1>
  func.return
}

// CHECK-LABEL: func.func @reduce_any(
func.func @reduce_any(%a: tensor<6x2xi1>) {
  // CHECK-NEXT: %0 = ge.reduce_any(%a) {axes = [1], keep_dims = false} : (tensor<6x2xi1>) -> tensor<6xi1>
  %0 = ge.reduce_any(%a) {axes = [1], keep_dims = false} : (tensor<6x2xi1>) -> tensor<6xi1>
  func.return
}

// CHECK-LABEL: func.func @reduce_mean(
func.func @reduce_mean(%a: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %0 = ge.reduce_mean(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  %0 = ge.reduce_mean(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  func.return
}

// CHECK-LABEL: func.func @reduce_sum_square(
func.func @reduce_sum_square(%a: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %0 = ge.reduce_sum_square(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  %0 = ge.reduce_sum_square(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  func.return
}

// CHECK-LABEL: func.func @reduce_log_sum_exp(
func.func @reduce_log_sum_exp(%a: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %0 = ge.reduce_log_sum_exp(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  %0 = ge.reduce_log_sum_exp(%a) {axes = [-1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x1xf32>
  func.return
}

// CHECK-LABEL: func.func @lp_norm(
func.func @lp_norm(%a: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %0 = ge.lp_norm(%a) {p = 1.000000e+00, epsilon = 1.000000e-12, axes = [1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x5xf32>
  %0 = ge.lp_norm(%a) {p = 1.000000e+00, epsilon = 1.000000e-12, axes = [1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x5xf32>
  // CHECK-NEXT: %1 = ge.lp_norm(%a) {p = 2.000000e+00, epsilon = 1.000000e-12, axes = [1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x5xf32>
  %1 = ge.lp_norm(%a) {p = 2.000000e+00, epsilon = 1.000000e-12, axes = [1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x5xf32>
  // CHECK-NEXT: %2 = ge.lp_norm(%a) {p = 3.000000e+00, epsilon = 1.000000e-12, axes = [1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x5xf32>
  %2 = ge.lp_norm(%a) {p = 3.000000e+00, epsilon = 1.000000e-12, axes = [1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x5xf32>
  // CHECK-NEXT: %3 = ge.lp_norm(%a) {p = 0x7ff0000000000000, epsilon = 1.000000e-12, axes = [1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x5xf32>
  %3 = ge.lp_norm(%a) {p = 0x7ff0000000000000, epsilon = 1.000000e-12, axes = [1], keep_dims = true} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x5xf32>
  func.return
}

// CHECK-LABEL: func.func @softmax(
func.func @softmax(%a: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %0 = ge.softmax(%a) {axes = [-1]} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %0 = ge.softmax(%a) {axes = [-1]} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  // CHECK-NEXT: %1 = ge.softmax(%a) {axes = [1]} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %1 = ge.softmax(%a) {axes = [1]} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  // CHECK-NEXT: %2 = ge.softmax(%a) {axes = [2, 3]} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %2 = ge.softmax(%a) {axes = [2, 3]} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  func.return
}

// CHECK-LABEL: func.func @log_softmax(
func.func @log_softmax(%a: tensor<2x3x4x5xf32>) {
  // CHECK-NEXT: %0 = ge.log_softmax(%a) {axes = [-1]} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %0 = ge.log_softmax(%a) {axes = [-1]} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  func.return
}
