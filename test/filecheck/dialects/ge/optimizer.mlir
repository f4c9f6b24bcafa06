// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @apply_momentum(
func.func @apply_momentum(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>, %c: tensor<f32>, %d: tensor<3x4xf32>, %e: tensor<f32>) {
  // CHECK-NEXT: %0, %1 = ge.apply_momentum(%a, %b, %c, %d, %e) {use_nesterov = false} : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>, tensor<f32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  %0, %1 = ge.apply_momentum(%a, %b, %c, %d, %e) {use_nesterov = false} : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>, tensor<f32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  func.return
}

// CHECK-LABEL: func.func @apply_adam(
func.func @apply_adam(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>, %c: tensor<3x4xf32>, %d: tensor<f32>, %e: tensor<f32>, %f: tensor<f32>, %g: tensor<f32>, %h: tensor<f32>, %i: tensor<f32>, %j: tensor<3x4xf32>) {
  // CHECK-NEXT: %0, %1, %2 = ge.apply_adam(%a, %b, %c, %d, %e, %f, %g, %h, %i, %j) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
  %0, %1, %2 = ge.apply_adam(%a, %b, %c, %d, %e, %f, %g, %h, %i, %j) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
  func.return
}

// CHECK-LABEL: func.func @apply_adam_w(
func.func @apply_adam_w(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>, %c: tensor<3x4xf32>, %d: tensor<f32>, %e: tensor<f32>, %f: tensor<f32>, %g: tensor<f32>, %h: tensor<f32>, %i: tensor<f32>, %j: tensor<f32>, %k: tensor<3x4xf32>) {
  // CHECK-NEXT: %0, %1, %2 = ge.apply_adam_w(%a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
  %0, %1, %2 = ge.apply_adam_w(%a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
  func.return
}

// CHECK-LABEL: func.func @lamb_apply_optimizer_assign(
func.func @lamb_apply_optimizer_assign(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>, %c: tensor<3x4xf32>, %d: tensor<3x4xf32>, %e: tensor<f32>, %f: tensor<f32>, %g: tensor<f32>, %h: tensor<f32>, %i: tensor<f32>, %j: tensor<f32>, %k: tensor<f32>, %l: tensor<f32>) {
  // CHECK-NEXT: %0, %1, %2 = ge.lamb_apply_optimizer_assign(%a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
  %0, %1, %2 = ge.lamb_apply_optimizer_assign(%a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
  func.return
}

// CHECK-LABEL: func.func @lamb_apply_weight_assign(
func.func @lamb_apply_weight_assign(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<3x4xf32>, %e: tensor<3x4xf32>) {
  // CHECK-NEXT: %0 = ge.lamb_apply_weight_assign(%a, %b, %c, %d, %e) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %0 = ge.lamb_apply_weight_assign(%a, %b, %c, %d, %e) : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return
}
