// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=matmul},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @matmul_bias(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.matmul({{.*}}{transpose_x1 = false, transpose_x2 = false}
// CHECK: func.return
func.func @matmul_bias(%0: tensor<3x1x1xf32>, %1: tensor<1x1xf32>) -> tensor<3x1x1xf32> {
  %2 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>) -> tensor<3x1x1xf32>
  %3 = ge.constant dense<6.500000e+00> : tensor<1x1xf32>
  %4 = ge.add(%3, %2) : (tensor<1x1xf32>, tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  func.return %4 : tensor<3x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @matmul_bias_bias(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.add(
// CHECK: = ge.matmul({{.*}}{transpose_x1 = true, transpose_x2 = false}
// CHECK: func.return
func.func @matmul_bias_bias(%0: tensor<2x3x2x2xf32>, %1: tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32> {
  %2 = ge.constant dense<[6.500000e+00, 0.192745909]> : tensor<2xf32>
  %3 = ge.matmul(%0, %1, %2) {transpose_x1 = true, transpose_x2 = false} : (tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>, tensor<2xf32>) -> tensor<2x3x2x2xf32>
  %4 = ge.constant dense<[0.130951211, -1.53683496]> : tensor<2xf32>
  %5 = ge.add(%3, %4) : (tensor<2x3x2x2xf32>, tensor<2xf32>) -> tensor<2x3x2x2xf32>
  func.return %5 : tensor<2x3x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @matmul_scale(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.mul(
// CHECK: = ge.mul(
// CHECK: = ge.matmul({{.*}}{transpose_x1 = false, transpose_x2 = false}
// CHECK: func.return
func.func @matmul_scale(%0: tensor<3x1x1xf32>) -> tensor<3x1x1xf32> {
  %1 = ge.constant dense<6.500000e+00> : tensor<1x1xf32>
  %2 = ge.constant dense<-0.18693094> : tensor<1xf32>
  %3 = ge.matmul(%0, %1, %2) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
  %4 = ge.constant dense<0.000000e+00> : tensor<1xf32>
  %5 = ge.mul(%3, %4) : (tensor<3x1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
  func.return %5 : tensor<3x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @matmul_transpose_x1(
// CHECK: = ge.matmul({{.*}}{transpose_x1 = false, transpose_x2 = true}
// CHECK: func.return
func.func @matmul_transpose_x1(%0: tensor<3x3x1xf32>, %1: tensor<3x1xf32>, %2: tensor<3xf32>) -> tensor<3x3x3xf32> {
  %3 = ge.transpose(%0) {perm = [0, 2, 1]} : (tensor<3x3x1xf32>) -> tensor<3x1x3xf32>
  %4 = ge.matmul(%3, %1, %2) {transpose_x1 = true, transpose_x2 = true} : (tensor<3x1x3xf32>, tensor<3x1xf32>, tensor<3xf32>) -> tensor<3x3x3xf32>
  func.return %4 : tensor<3x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @matmul_transpose_x2(
// CHECK: = ge.matmul({{.*}}{transpose_x1 = false, transpose_x2 = true}
// CHECK: func.return
func.func @matmul_transpose_x2(%0: tensor<3x2x2xf32>, %1: tensor<2xf32>) -> tensor<3x3x2xf32> {
  %2 = ge.transpose(%0) {perm = [0, 2, 1]} : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  %3 = ge.constant dense<[[[1.46040678, -0.463583767], [0.771721184, 0.378676057], [-2.61355948, 2.503980e-01]], [[-0.0613440797, 0.0832173526], [-1.07687497, -0.269347042], [-0.178258762, 1.18809426]], [[0.334427059, -0.00555503042], [1.528970e+00, -0.555247903], [-0.389430314, -1.81675506]]]> : tensor<3x3x2xf32>
  %4 = ge.matmul(%3, %2, %1) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x3x2xf32>, tensor<3x2x2xf32>, tensor<2xf32>) -> tensor<3x3x2xf32>
  func.return %4 : tensor<3x3x2xf32>
}
