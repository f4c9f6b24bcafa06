// RUN: ge-opt %s -p "apply-rules" | filecheck %s
// RUN: ge-opt %s -p "apply-rules{disable=gelu_erf,hard_swish}" | filecheck %s --check-prefix=OFF

// CHECK-LABEL: @gelu_erf
// OFF-LABEL: @gelu_erf
func.func @gelu_erf(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %root = ge.constant #ge.splat<1.4142135381698608> : tensor<f32>
  %one = ge.constant dense<1.0> : tensor<1x1xf32>
  %half = ge.constant #ge.splat<0.5> : tensor<f32>
  // CHECK-NEXT: %y = ge.gelu(%x) {approximate = "none"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: func.return %y
  // OFF: ge.erf
  %a = ge.div(%x, %root) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %b = ge.erf(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = ge.add(%one, %b) : (tensor<1x1xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %d = ge.mul(%half, %c) : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = ge.mul(%d, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// 1.5 is not the square root of two.
// CHECK-LABEL: @no_gelu
func.func @no_gelu(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %root = ge.constant #ge.splat<1.5> : tensor<f32>
  %one = ge.constant #ge.splat<1.0> : tensor<f32>
  %half = ge.constant #ge.splat<0.5> : tensor<f32>
  // CHECK: ge.erf
  %a = ge.div(%x, %root) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %b = ge.erf(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = ge.add(%b, %one) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %d = ge.mul(%x, %c) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = ge.mul(%d, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: @gelu_tanh
func.func @gelu_tanh(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %three = ge.constant #ge.splat<3.0> : tensor<f32>
  %c = ge.constant #ge.splat<0.044714998453855515> : tensor<f32>
  %k = ge.constant #ge.splat<0.79788458347320557> : tensor<f32>
  %one = ge.constant #ge.splat<1.0> : tensor<f32>
  %half = ge.constant #ge.splat<0.5> : tensor<f32>
  // CHECK-NEXT: %y = ge.gelu(%x) {approximate = "tanh"}
  // CHECK-NEXT: func.return %y
  %h = ge.mul(%x, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %p = ge.pow(%x, %three) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %q = ge.mul(%p, %c) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %r = ge.add(%x, %q) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %s = ge.mul(%r, %k) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %t = ge.tanh(%s) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %u = ge.add(%t, %one) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = ge.mul(%h, %u) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// As Paddle exports it.
// CHECK-LABEL: @hard_swish
// OFF-LABEL: @hard_swish
func.func @hard_swish(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = ge.constant #ge.splat<0.0> : tensor<f32>
  %three = ge.constant #ge.splat<3.0> : tensor<1xf32>
  %six = ge.constant #ge.splat<6.0> : tensor<f32>
  // CHECK-NEXT: %y = ge.hard_swish(%x)
  // CHECK-NEXT: func.return %y
  // OFF: ge.relu6
  %a = ge.add(%x, %three) : (tensor<2x4xf32>, tensor<1xf32>) -> tensor<2x4xf32>
  %b = ge.clip(%a, %zero, %six) : (tensor<2x4xf32>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
  %c = ge.mul(%x, %b) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = ge.div(%c, %six) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: @mish_and_swish
func.func @mish_and_swish(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %one = ge.constant #ge.splat<1.0> : tensor<f32>
  // CHECK-NEXT: %y = ge.mish(%x)
  // CHECK-NEXT: %z = ge.swish(%x) {scale = 1.000000e+00}
  // CHECK-NEXT: func.return %y, %z
  %a = ge.exp(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = ge.add(%a, %one) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %c = ge.log(%b) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %d = ge.tanh(%c) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = ge.mul(%x, %d) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %e = ge.sigmoid(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %z = ge.mul(%e, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %y, %z : tensor<2x4xf32>, tensor<2x4xf32>
}
