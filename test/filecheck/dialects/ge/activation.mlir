// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @relu6(
func.func @relu6(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.relu6(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.relu6(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @leaky_relu(
func.func @leaky_relu(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.leaky_relu(%a) {negative_slope = 1.000000e-01} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.leaky_relu(%a) {negative_slope = 1.000000e-01} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @prelu(
func.func @prelu(%a: tensor<2x3x4x5xf32>, %b: tensor<3x1x1xf32>) {
  // CHECK-NEXT: %0 = ge.prelu(%a, %b) : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %0 = ge.prelu(%a, %b) : (tensor<2x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
  func.return
}

// CHECK-LABEL: func.func @elu(
func.func @elu(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.elu(%a) {alpha = 1.500000e+00, scale = 1.250000e+00} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.elu(%a) {alpha = 1.500000e+00, scale = 1.250000e+00} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @selu(
func.func @selu(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.selu(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.selu(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @celu(
func.func @celu(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.celu(%a) {alpha = 2.000000e+00} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.celu(%a) {alpha = 2.000000e+00} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @gelu(
func.func @gelu(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.gelu(%a) {approximate = "none"} : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.gelu(%a) {approximate = "none"} : (tensor<124xf32>) -> tensor<124xf32>
  // CHECK-NEXT: %1 = ge.gelu(%a) {approximate = "tanh"} : (tensor<124xf32>) -> tensor<124xf32>
  %1 = ge.gelu(%a) {approximate = "tanh"} : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @swish(
func.func @swish(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.swish(%a) {scale = 1.000000e+00} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.swish(%a) {scale = 1.000000e+00} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @hard_swish(
func.func @hard_swish(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.hard_swish(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.hard_swish(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @hard_sigmoid(
func.func @hard_sigmoid(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.hard_sigmoid(%a) {alpha = 2.000000e-01, beta = 5.000000e-01} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.hard_sigmoid(%a) {alpha = 2.000000e-01, beta = 5.000000e-01} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @sigmoid(
func.func @sigmoid(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.sigmoid(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.sigmoid(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @tanh(
func.func @tanh(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.tanh(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.tanh(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @softsign(
func.func @softsign(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.softsign(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.softsign(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @erf(
func.func @erf(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.erf(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.erf(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @mish(
func.func @mish(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.mish(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.mish(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @log_sigmoid(
func.func @log_sigmoid(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.log_sigmoid(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.log_sigmoid(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @softplus(
func.func @softplus(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.softplus(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.softplus(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @thresholded_relu(
func.func @thresholded_relu(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.thresholded_relu(%a) {alpha = 7.000000e-01} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.thresholded_relu(%a) {alpha = 7.000000e-01} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @shrink(
func.func @shrink(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.shrink(%a) {lambd = 5.000000e-01, bias = 2.500000e-01} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.shrink(%a) {lambd = 5.000000e-01, bias = 2.500000e-01} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @clip(
func.func @clip(%a: tensor<5x7xf32>, %b: tensor<f32>, %c: tensor<f32>) {
  // CHECK-NEXT: %0 = ge.clip(%a, %b, %c) : (tensor<5x7xf32>, tensor<f32>, tensor<f32>) -> tensor<5x7xf32>
  %0 = ge.clip(%a, %b, %c) : (tensor<5x7xf32>, tensor<f32>, tensor<f32>) -> tensor<5x7xf32>
  // CHECK-NEXT: %1 = ge.clip(%a, none, %b) : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  %1 = ge.clip(%a, none, %b) : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  // CHECK-NEXT: %2 = ge.clip(%a, %b) : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  %2 = ge.clip(%a, %b) : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  func.return
}
