// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @equal(
func.func @equal(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.equal(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  %0 = ge.equal(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  func.return
}

// CHECK-LABEL: func.func @not_equal(
func.func @not_equal(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.not_equal(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  %0 = ge.not_equal(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  func.return
}

// CHECK-LABEL: func.func @greater(
func.func @greater(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.greater(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  %0 = ge.greater(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  func.return
}

// CHECK-LABEL: func.func @greater_equal(
func.func @greater_equal(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.greater_equal(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  %0 = ge.greater_equal(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  func.return
}

// CHECK-LABEL: func.func @less(
func.func @less(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.less(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  %0 = ge.less(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  func.return
}

// CHECK-LABEL: func.func @less_equal(
func.func @less_equal(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.less_equal(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  %0 = ge.less_equal(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_and(
func.func @logical_and(%a: tensor<3x4xi1>, %b: tensor<4xi1>) {
  // CHECK-NEXT: %0 = ge.logical_and(%a, %b) : (tensor<3x4xi1>, tensor<4xi1>) -> tensor<3x4xi1>
  %0 = ge.logical_and(%a, %b) : (tensor<3x4xi1>, tensor<4xi1>) -> tensor<3x4xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_or(
func.func @logical_or(%a: tensor<3x4xi1>, %b: tensor<4xi1>) {
  // CHECK-NEXT: %0 = ge.logical_or(%a, %b) : (tensor<3x4xi1>, tensor<4xi1>) -> tensor<3x4xi1>
  %0 = ge.logical_or(%a, %b) : (tensor<3x4xi1>, tensor<4xi1>) -> tensor<3x4xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_xor(
func.func @logical_xor(%a: tensor<3x4xi1>, %b: tensor<4xi1>) {
  // CHECK-NEXT: %0 = ge.logical_xor(%a, %b) : (tensor<3x4xi1>, tensor<4xi1>) -> tensor<3x4xi1>
  %0 = ge.logical_xor(%a, %b) : (tensor<3x4xi1>, tensor<4xi1>) -> tensor<3x4xi1>
  func.return
}

// CHECK-LABEL: func.func @logical_not(
func.func @logical_not(%a: tensor<9xi1>) {
  // CHECK-NEXT: %0 = ge.logical_not(%a) : (tensor<9xi1>) -> tensor<9xi1>
  %0 = ge.logical_not(%a) : (tensor<9xi1>) -> tensor<9xi1>
  func.return
}

// CHECK-LABEL: func.func @bitwise_and(
func.func @bitwise_and(%a: tensor<3x4xi32>, %b: tensor<4xi32>) {
  // CHECK-NEXT: %0 = ge.bitwise_and(%a, %b) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  %0 = ge.bitwise_and(%a, %b) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  func.return
}

// CHECK-LABEL: func.func @bitwise_or(
func.func @bitwise_or(%a: tensor<3x4xi32>, %b: tensor<4xi32>) {
  // CHECK-NEXT: %0 = ge.bitwise_or(%a, %b) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  %0 = ge.bitwise_or(%a, %b) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  func.return
}

// CHECK-LABEL: func.func @bitwise_xor(
func.func @bitwise_xor(%a: tensor<3x4xi32>, %b: tensor<4xi32>) {
  // CHECK-NEXT: %0 = ge.bitwise_xor(%a, %b) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  %0 = ge.bitwise_xor(%a, %b) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  func.return
}

// CHECK-LABEL: func.func @bitwise_not(
func.func @bitwise_not(%a: tensor<9xi32>) {
  // CHECK-NEXT: %0 = ge.bitwise_not(%a) : (tensor<9xi32>) -> tensor<9xi32>
  %0 = ge.bitwise_not(%a) : (tensor<9xi32>) -> tensor<9xi32>
  func.return
}

// CHECK-LABEL: func.func @left_shift(
func.func @left_shift(%a: tensor<3x4xi32>, %b: tensor<4xi32>) {
  // CHECK-NEXT: %0 = ge.left_shift(%a, %b) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  %0 = ge.left_shift(%a, %b) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  func.return
}

// CHECK-LABEL: func.func @right_shift(
func.func @right_shift(%a: tensor<3x4xi32>, %b: tensor<4xi32>) {
  // CHECK-NEXT: %0 = ge.right_shift(%a, %b) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  %0 = ge.right_shift(%a, %b) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  func.return
}
