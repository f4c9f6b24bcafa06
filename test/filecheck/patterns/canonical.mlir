// RUN: ge-opt %s -p "apply-rules{level=1}" | filecheck %s

// CHECK-LABEL: @neutral
func.func @neutral(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = ge.constant #ge.splat<0.0> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<1xf32>
  %a = ge.add(%zero, %x) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = ge.mul(%a, %one) : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  %c = ge.sub(%b, %zero) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %d = ge.identity(%c) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: func.return %x
  func.return %d : tensor<2x3xf32>
}

// A zero of higher rank changes the type: the sum stays.
// CHECK-LABEL: @rank_raising_zero
func.func @rank_raising_zero(%x: tensor<3xf32>) -> tensor<1x3xf32> {
  %zero = ge.constant #ge.splat<0.0> : tensor<1x1xf32>
  // CHECK: ge.add
  %a = ge.add(%x, %zero) : (tensor<3xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  func.return %a : tensor<1x3xf32>
}

// Zero minus x is no x.
// CHECK-LABEL: @zero_minus
func.func @zero_minus(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = ge.constant #ge.splat<0.0> : tensor<f32>
  // CHECK: ge.sub
  %a = ge.sub(%zero, %x) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %a : tensor<3xf32>
}

// CHECK-LABEL: @transposes
func.func @transposes(%x: tensor<2x3x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x3x4xf32>) {
  // CHECK-NEXT: %b = ge.transpose(%x) {perm = [1, 0, 2]} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %a = ge.transpose(%x) {perm = [2, 0, 1]} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %b = ge.transpose(%a) {perm = [2, 1, 0]} : (tensor<4x2x3xf32>) -> tensor<3x2x4xf32>
  %c = ge.transpose(%b) {perm = [1, 0, 2]} : (tensor<3x2x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: func.return %b, %x
  func.return %b, %c : tensor<3x2x4xf32>, tensor<2x3x4xf32>
}

// CHECK-LABEL: @views
func.func @views(%x: tensor<2x1x3xf32>) -> (tensor<1x6xf32>, tensor<2x1x3xf32>) {
  %a = ge.squeeze(%x) {axes = [1]} : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
  %b = ge.reshape(%a) {shape = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK-NEXT: %c = ge.reshape(%x) {shape = [1, 6]} : (tensor<2x1x3xf32>) -> tensor<1x6xf32>
  %c = ge.unsqueeze(%b) {axes = [0]} : (tensor<6xf32>) -> tensor<1x6xf32>
  %d = ge.unsqueeze(%a) {axes = [1]} : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
  // CHECK-NEXT: func.return %c, %x
  func.return %c, %d : tensor<1x6xf32>, tensor<2x1x3xf32>
}

// f16 to f32 keeps every value, f32 to f16 does not.
// CHECK-LABEL: @casts
func.func @casts(%x: tensor<4xf16>, %y: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>) {
  %a = ge.cast(%x) : (tensor<4xf16>) -> tensor<4xf32>
  %b = ge.cast(%a) : (tensor<4xf32>) -> tensor<4xf16>
  // CHECK-NEXT: %c = ge.cast(%y)
  // CHECK-NEXT: %d = ge.cast(%c)
  %c = ge.cast(%y) : (tensor<4xf32>) -> tensor<4xf16>
  %d = ge.cast(%c) : (tensor<4xf16>) -> tensor<4xf32>
  // CHECK-NEXT: func.return %x, %d
  func.return %b, %d : tensor<4xf16>, tensor<4xf32>
}

// CHECK-LABEL: @halves
func.func @halves(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %four = ge.constant #ge.splat<4.0> : tensor<f32>
  %three = ge.constant #ge.splat<3.0> : tensor<f32>
  %two = ge.constant #ge.splat<2> : tensor<i32>
  // CHECK: [[Q:%.*]] = ge.constant #ge.splat<0.25>
  // CHECK: ge.mul(%x, [[Q]])
  %a = ge.div(%x, %four) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: ge.div(%x, %three)
  %b = ge.div(%x, %three) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: ge.div(%i, %two)
  %c = ge.div(%i, %two) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// What is inside a kernel is decided: rules leave it alone.
// CHECK-LABEL: @fused
func.func @fused(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: ge.identity
  %y = ge.fusion(%v = %x : tensor<4xf32>) -> (tensor<4xf32>) {
    %i = ge.identity(%v) : (tensor<4xf32>) -> tensor<4xf32>
    ge.yield %i : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
