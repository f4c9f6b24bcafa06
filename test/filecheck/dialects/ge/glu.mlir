// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @rotary_embedding(
func.func @rotary_embedding(%a: tensor<2x3x4x6xf32>, %b: tensor<4x6xf32>, %c: tensor<4x6xf32>) {
  // CHECK-NEXT: %0 = ge.rotary_embedding(%a, %b, %c) {mode = 0} : (tensor<2x3x4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<2x3x4x6xf32>
  %0 = ge.rotary_embedding(%a, %b, %c) {mode = 0} : (tensor<2x3x4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<2x3x4x6xf32>
  func.return
}

// CHECK-LABEL: func.func @swi_glu(
func.func @swi_glu(%a: tensor<2x3x4x6xf32>) {
  // CHECK-NEXT: %0 = ge.swi_glu(%a) {dim = -1} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x3xf32>
  %0 = ge.swi_glu(%a) {dim = -1} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x3xf32>
  func.return
}

// CHECK-LABEL: func.func @ge_glu(
func.func @ge_glu(%a: tensor<2x3x4x6xf32>) {
  // CHECK-NEXT: %0 = ge.ge_glu(%a) {approximate = "none", activate_left = false, dim = 3} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x3xf32>
  %0 = ge.ge_glu(%a) {approximate = "none", activate_left = false, dim = 3} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x3xf32>
  func.return
}
