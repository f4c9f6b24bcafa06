// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=canonical},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @add_zero(
// CHECK: func.return
func.func @add_zero(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<0.0> : tensor<f32>
  %2 = ge.add(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @sub_zero(
// CHECK: func.return
func.func @sub_zero(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<0.0> : tensor<f32>
  %2 = ge.sub(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @mul_one(
// CHECK: func.return
func.func @mul_one(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<1.0> : tensor<f32>
  %2 = ge.mul(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @div_one(
// CHECK: func.return
func.func @div_one(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<1.0> : tensor<f32>
  %2 = ge.div(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @pow_one(
// CHECK: func.return
func.func @pow_one(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<1.0> : tensor<f32>
  %2 = ge.pow(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @remove_identity(
// CHECK: func.return
func.func @remove_identity(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.identity(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %1 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @neg_neg(
// CHECK: func.return
func.func @neg_neg(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.neg(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.neg(%1) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @relu_relu(
// CHECK: = ge.relu(
// CHECK: func.return
func.func @relu_relu(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.relu(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.relu(%1) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @cast_same(
// CHECK: func.return
func.func @cast_same(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.cast(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %1 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @cast_cast(
// CHECK: func.return
func.func @cast_cast(%0: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %1 = ge.cast(%0) : (tensor<3x1xf32>) -> tensor<3x1xf64>
  %2 = ge.cast(%1) : (tensor<3x1xf64>) -> tensor<3x1xf32>
  func.return %2 : tensor<3x1xf32>
}

// -----

// CHECK-LABEL: func.func @transpose_transpose(
// CHECK: = ge.transpose({{.*}}{perm = [0, 2, 3, 1]}
// CHECK: func.return
func.func @transpose_transpose() -> tensor<2x3x3x2xf32> {
  %0 = ge.constant dense<[[[[1.34021521, -0.492206514, -0.620474875], [0.489842057, 3.568870e-01, 0.105414249], [-9.304680e-01, -0.0292518232, 1.000000e+00]], [[-1.34421456, -0.457615763, -1.90122271], [-1.28953779, -1.84173501, -0.235091135], [-1.26744652, 0.271264344, 0.156751081]]], [[[-0.18693094, -2.51675963, -0.538692892], [-0.0485009439, 0.113308989, -1.53013575], [-0.477753282, -0.978519082, -0.808837235]], [[1.06089866, -0.807534695, -0.0325217061], [0.884389877, -0.583600461, -0.11170195], [0.110464141, 0.0637817755, -1.22505581]]]]> : tensor<2x2x3x3xf32>
  %1 = ge.transpose(%0) {perm = [0, 2, 1, 3]} : (tensor<2x2x3x3xf32>) -> tensor<2x3x2x3xf32>
  %2 = ge.transpose(%1) {perm = [0, 1, 3, 2]} : (tensor<2x3x2x3xf32>) -> tensor<2x3x3x2xf32>
  func.return %2 : tensor<2x3x3x2xf32>
}

// -----

// CHECK-LABEL: func.func @transpose_identity(
// CHECK: func.return
func.func @transpose_identity(%0: tensor<2xf32>) -> tensor<2xf32> {
  %1 = ge.transpose(%0) {perm = [0]} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @view_view(
// CHECK: = ge.reshape({{.*}}{shape = [1, 36]}
// CHECK: func.return
func.func @view_view(%0: tensor<2x2x3x3xf32>) -> tensor<1x36xf32> {
  %1 = ge.reshape(%0) {shape = [-1]} : (tensor<2x2x3x3xf32>) -> tensor<36xf32>
  %2 = ge.reshape(%1) {shape = [1, 36]} : (tensor<36xf32>) -> tensor<1x36xf32>
  func.return %2 : tensor<1x36xf32>
}

// -----

// CHECK-LABEL: func.func @reshape_same(
// CHECK: func.return
func.func @reshape_same(%0: tensor<3x1x1xf32>) -> tensor<3x1x1xf32> {
  %1 = ge.reshape(%0) {shape = [3, 1, 1]} : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  func.return %1 : tensor<3x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @expand_same(
// CHECK: func.return
func.func @expand_same(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.expand(%0) {shape = [2, 2, 3, 3]} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %1 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @pad_zero(
// CHECK: func.return
func.func @pad_zero(%0: tensor<3xf32>, %1: tensor<f32>) -> tensor<3xf32> {
  %2 = ge.pad(%0, none, %1) {paddings = [0, 0], mode = "constant"} : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %2 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @concat_one(
// CHECK: func.return
func.func @concat_one(%0: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %1 = ge.concat(%0) {concat_dim = 0} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %1 : tensor<1x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @div_power_of_two(
// CHECK: = ge.mul(
// CHECK: func.return
func.func @div_power_of_two(%0: tensor<1xf32>) -> tensor<1xf32> {
  %1 = ge.constant #ge.splat<2.0> : tensor<1xf32>
  %2 = ge.div(%0, %1) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return %2 : tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @add_add_constants(
// CHECK: = ge.add(
// CHECK: = ge.add(
// CHECK: func.return
func.func @add_add_constants(%0: tensor<2x3x2x3xf32>) -> tensor<2x3x2x3xf32> {
  %1 = ge.constant dense<[-1.99774635, -0.000000e+00, 0.362839788]> : tensor<3xf32>
  %2 = ge.add(%0, %1) : (tensor<2x3x2x3xf32>, tensor<3xf32>) -> tensor<2x3x2x3xf32>
  %3 = ge.constant dense<[[1.0985868], [-3.500000e+00]]> : tensor<2x1xf32>
  %4 = ge.add(%2, %3) : (tensor<2x3x2x3xf32>, tensor<2x1xf32>) -> tensor<2x3x2x3xf32>
  func.return %4 : tensor<2x3x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @mul_mul_constants(
// CHECK: = ge.mul(
// CHECK: = ge.mul(
// CHECK: func.return
func.func @mul_mul_constants(%0: tensor<2x3x2x3xf32>) -> tensor<2x3x2x3xf32> {
  %1 = ge.constant dense<[-1.99774635, -0.000000e+00, 0.362839788]> : tensor<3xf32>
  %2 = ge.mul(%0, %1) : (tensor<2x3x2x3xf32>, tensor<3xf32>) -> tensor<2x3x2x3xf32>
  %3 = ge.constant dense<[[1.0985868], [-3.500000e+00]]> : tensor<2x1xf32>
  %4 = ge.mul(%2, %3) : (tensor<2x3x2x3xf32>, tensor<2x1xf32>) -> tensor<2x3x2x3xf32>
  func.return %4 : tensor<2x3x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @mul_of_affine(
// CHECK: = ge.mul(
// CHECK: = ge.mul(
// CHECK: = ge.mul(
// CHECK: = ge.add(
// CHECK: func.return
func.func @mul_of_affine(%0: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %1 = ge.constant dense<[[-0.623943567, 1.000000e+00], [3.500000e+00, -0.176406071]]> : tensor<2x2xf32>
  %2 = ge.mul(%1, %0) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = ge.constant dense<[[1.000000e+00, 0.000000e+00]]> : tensor<1x2xf32>
  %4 = ge.add(%3, %2) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = ge.constant dense<[[-0.975152314], [3.500000e+00]]> : tensor<2x1xf32>
  %6 = ge.mul(%4, %5) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  func.return %6 : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @transpose_ones(
// CHECK-NEXT: = ge.reshape(%0) {shape = [9, 1, 8]}
// CHECK-NEXT: func.return
func.func @transpose_ones(%0: tensor<1x9x8xf32>) -> tensor<9x1x8xf32> {
  %1 = ge.transpose(%0) {perm = [1, 0, 2]} : (tensor<1x9x8xf32>) -> tensor<9x1x8xf32>
  func.return %1 : tensor<9x1x8xf32>
}
