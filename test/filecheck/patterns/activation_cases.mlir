// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=activation},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @gelu_erf_halves(
// CHECK: = ge.gelu({{.*}}{approximate = "none"}
// CHECK: func.return
func.func @gelu_erf_halves(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<1.4142135623730951> : tensor<f32>
  %2 = ge.div(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %3 = ge.erf(%2) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %4 = ge.constant #ge.splat<0.5> : tensor<f32>
  %5 = ge.mul(%3, %4) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %6 = ge.constant #ge.splat<0.5> : tensor<f32>
  %7 = ge.add(%5, %6) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %8 = ge.mul(%0, %7) : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %8 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @swish(
// CHECK: = ge.swish({{.*}}{scale = 1.000000e+00}
// CHECK: func.return
func.func @swish(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.sigmoid(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.mul(%1, %0) : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @swish_scaled(
// CHECK: = ge.swish({{.*}}{scale = 2.000000e+00}
// CHECK: func.return
func.func @swish_scaled(%0: tensor<1xf32>) -> tensor<1xf32> {
  %1 = ge.constant #ge.splat<2.0> : tensor<1xf32>
  %2 = ge.mul(%0, %1) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %3 = ge.sigmoid(%2) : (tensor<1xf32>) -> tensor<1xf32>
  %4 = ge.mul(%3, %0) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return %4 : tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @mish(
// CHECK: = ge.mish(
// CHECK: func.return
func.func @mish(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.softplus(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.tanh(%1) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %3 = ge.mul(%2, %0) : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %3 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @softplus(
// CHECK: = ge.softplus(
// CHECK: func.return
func.func @softplus(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.exp(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.constant #ge.splat<1.0> : tensor<f32>
  %3 = ge.add(%1, %2) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %4 = ge.log(%3) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %4 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @relu6(
// CHECK: = ge.relu6(
// CHECK: func.return
func.func @relu6(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<0.0> : tensor<f32>
  %2 = ge.constant #ge.splat<6.0> : tensor<f32>
  %3 = ge.clip(%0, %1, %2) : (tensor<2x2x3x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %3 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @relu(
// CHECK: = ge.relu(
// CHECK: func.return
func.func @relu(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<0.0> : tensor<f32>
  %2 = ge.maximum(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @hard_sigmoid(
// CHECK: = ge.hard_sigmoid({{.*}}{alpha = 0.16666666666666666, beta = 5.000000e-01}
// CHECK: func.return
func.func @hard_sigmoid(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<3.0> : tensor<f32>
  %2 = ge.add(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %3 = ge.constant #ge.splat<0.0> : tensor<f32>
  %4 = ge.constant #ge.splat<6.0> : tensor<f32>
  %5 = ge.clip(%2, %3, %4) : (tensor<2x2x3x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %6 = ge.constant #ge.splat<6.0> : tensor<f32>
  %7 = ge.div(%5, %6) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %7 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @hard_sigmoid_clip(
// CHECK: = ge.hard_sigmoid({{.*}}{alpha = 2.000000e+00, beta = -1.500000e+00}
// CHECK: func.return
func.func @hard_sigmoid_clip(%0: tensor<1xf32>) -> tensor<1xf32> {
  %1 = ge.constant #ge.splat<2.0> : tensor<1xf32>
  %2 = ge.mul(%1, %0) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %3 = ge.constant #ge.splat<-1.5> : tensor<1xf32>
  %4 = ge.add(%2, %3) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %5 = ge.constant #ge.splat<0.0> : tensor<f32>
  %6 = ge.constant #ge.splat<1.0> : tensor<f32>
  %7 = ge.clip(%4, %5, %6) : (tensor<1xf32>, tensor<f32>, tensor<f32>) -> tensor<1xf32>
  func.return %7 : tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @sigmoid(
// CHECK: = ge.sigmoid(
// CHECK: func.return
func.func @sigmoid(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.neg(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.exp(%1) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %3 = ge.constant #ge.splat<1.0> : tensor<f32>
  %4 = ge.add(%2, %3) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %5 = ge.constant #ge.splat<1.0> : tensor<f32>
  %6 = ge.div(%5, %4) : (tensor<f32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %6 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @swish_quotient(
// CHECK: = ge.swish({{.*}}{scale = 1.000000e+00}
// CHECK: func.return
func.func @swish_quotient(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.neg(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.exp(%1) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %3 = ge.constant #ge.splat<1.0> : tensor<f32>
  %4 = ge.add(%2, %3) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %5 = ge.div(%0, %4) : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %5 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @sigmoid_tanh(
// CHECK: = ge.sigmoid(
// CHECK: func.return
func.func @sigmoid_tanh(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<0.5> : tensor<f32>
  %2 = ge.mul(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %3 = ge.tanh(%2) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %4 = ge.constant #ge.splat<1.0> : tensor<f32>
  %5 = ge.add(%4, %3) : (tensor<f32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %6 = ge.constant #ge.splat<0.5> : tensor<f32>
  %7 = ge.mul(%5, %6) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %7 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @leaky_relu(
// CHECK: = ge.leaky_relu({{.*}}{negative_slope = 5.000000e-01}
// CHECK: func.return
func.func @leaky_relu(%0: tensor<1xf32>) -> tensor<1xf32> {
  %1 = ge.constant #ge.splat<0.5> : tensor<1xf32>
  %2 = ge.mul(%0, %1) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %3 = ge.maximum(%0, %2) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return %3 : tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @leaky_relu_select(
// CHECK: = ge.leaky_relu({{.*}}{negative_slope = 2.000000e+00}
// CHECK: func.return
func.func @leaky_relu_select(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<0.0> : tensor<f32>
  %2 = ge.greater(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xi1>
  %3 = ge.constant #ge.splat<2.0> : tensor<1xf32>
  %4 = ge.mul(%0, %3) : (tensor<2x2x3x3xf32>, tensor<1xf32>) -> tensor<2x2x3x3xf32>
  %5 = ge.select(%2, %0, %4) : (tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %5 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @relu_select(
// CHECK: = ge.relu(
// CHECK: func.return
func.func @relu_select(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<0.0> : tensor<f32>
  %2 = ge.less(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xi1>
  %3 = ge.constant #ge.splat<0.0> : tensor<f32>
  %4 = ge.select(%2, %3, %0) : (tensor<2x2x3x3xi1>, tensor<f32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %4 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @softsign(
// CHECK: = ge.softsign(
// CHECK: func.return
func.func @softsign(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.abs(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.constant #ge.splat<1.0> : tensor<f32>
  %3 = ge.add(%1, %2) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %4 = ge.div(%0, %3) : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %4 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @elu_select(
// CHECK: = ge.elu({{.*}}{alpha = 1.000000e+00, scale = 1.000000e+00}
// CHECK: func.return
func.func @elu_select(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<0.0> : tensor<f32>
  %2 = ge.greater(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xi1>
  %3 = ge.exp(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %4 = ge.constant #ge.splat<1.0> : tensor<f32>
  %5 = ge.sub(%3, %4) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %6 = ge.select(%2, %0, %5) : (tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %6 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @swiglu_split(
// CHECK: = ge.swi_glu({{.*}}{dim = 1}
// CHECK: func.return
func.func @swiglu_split(%0: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %1, %2 = ge.split(%0) {size_splits = [2, 2], split_dim = 1} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  %3 = ge.swish(%1) {scale = 1.000000e+00} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = ge.mul(%2, %3) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %4 : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func @geglu_split(
// CHECK: = ge.ge_glu({{.*}}{approximate = "none", activate_left = true, dim = 1}
// CHECK: func.return
func.func @geglu_split(%0: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %1, %2 = ge.split(%0) {size_splits = [2, 2], split_dim = 1} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  %3 = ge.gelu(%1) {approximate = "none"} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = ge.mul(%2, %3) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %4 : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func @geglu_tanh_split(
// CHECK: = ge.ge_glu({{.*}}{approximate = "tanh", activate_left = true, dim = 1}
// CHECK: func.return
func.func @geglu_tanh_split(%0: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %1, %2 = ge.split(%0) {size_splits = [2, 2], split_dim = 1} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>)
  %3 = ge.gelu(%1) {approximate = "tanh"} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = ge.mul(%2, %3) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %4 : tensor<3x2xf32>
}
