// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @arg_max(
func.func @arg_max(%a: tensor<4x5xi32>) {
  // CHECK-NEXT: %0 = ge.arg_max(%a) {dimension = 1, keep_dims = false, select_last_index = false} : (tensor<4x5xi32>) -> tensor<4xi64>
  %0 = ge.arg_max(%a) {dimension = 1, keep_dims = false, select_last_index = false} : (tensor<4x5xi32>) -> tensor<4xi64>
  // CHECK-NEXT: %1 = ge.arg_max(%a) {dimension = 1, keep_dims = true, select_last_index = false} : (tensor<4x5xi32>) -> tensor<4x1xi64>
  %1 = ge.arg_max(%a) {dimension = 1, keep_dims = true, select_last_index = false} : (tensor<4x5xi32>) -> tensor<4x1xi64>
  func.return
}

// CHECK-LABEL: func.func @arg_min(
func.func @arg_min(%a: tensor<3x4xf32>) {
  // CHECK-NEXT: %0 = ge.arg_min(%a) {dimension = 1, keep_dims = false, select_last_index = false} : (tensor<3x4xf32>) -> tensor<3xi64>
  %0 = ge.arg_min(%a) {dimension = 1, keep_dims = false, select_last_index = false} : (tensor<3x4xf32>) -> tensor<3xi64>
  func.return
}

// CHECK-LABEL: func.func @topk(
func.func @topk(%a: tensor<4x5xi32>, %b: tensor<2x7xf32>, %c: tensor<i64>) {
  // CHECK-NEXT: %0, %1 = ge.topk(%a) {k = 3, dim = 1, largest = true, sorted = true} : (tensor<4x5xi32>) -> (tensor<4x3xi32>, tensor<4x3xi64>)
  %0, %1 = ge.topk(%a) {k = 3, dim = 1, largest = true, sorted = true} : (tensor<4x5xi32>) -> (tensor<4x3xi32>, tensor<4x3xi64>)
  // CHECK-NEXT: %2, %3 = ge.topk(%b, %c) {dim = 1, largest = true, sorted = true} : (tensor<2x7xf32>, tensor<i64>) -> (tensor<2x?xf32>, tensor<2x?xi64>)
  %2, %3 = ge.topk(%b, %c) {dim = 1, largest = true, sorted = true} : (tensor<2x7xf32>, tensor<i64>) -> (tensor<2x?xf32>, tensor<2x?xi64>)
  // CHECK-NEXT: %4, %5 = ge.topk(%a) {k = 3, dim = 1, largest = false, sorted = true} : (tensor<4x5xi32>) -> (tensor<4x3xi32>, tensor<4x3xi64>)
  %4, %5 = ge.topk(%a) {k = 3, dim = 1, largest = false, sorted = true} : (tensor<4x5xi32>) -> (tensor<4x3xi32>, tensor<4x3xi64>)
  func.return
}

// CHECK-LABEL: func.func @cumsum(
func.func @cumsum(%a: tensor<3x4xf32>) {
  // CHECK-NEXT: %0 = ge.cumsum(%a) {axis = 1, exclusive = true, reverse = true} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %0 = ge.cumsum(%a) {axis = 1, exclusive = true, reverse = true} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return
}

// CHECK-LABEL: func.func @hardmax(
func.func @hardmax(%a: tensor<4x5xf32>) {
  // CHECK-NEXT: %0 = ge.hardmax(%a) {axis = 1} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %0 = ge.hardmax(%a) {axis = 1} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  func.return
}
