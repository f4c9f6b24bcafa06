// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=residual},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @add_layer_norm(
// CHECK: = ge.add_layer_norm({{.*}}{epsilon = 1.250000e-01}
// CHECK: func.return
func.func @add_layer_norm(%0: tensor<1xf32>, %1: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %2 = ge.add(%0, %1) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %3 = ge.constant dense<1.24914873> : tensor<1xf32>
  %4 = ge.constant dense<-3.500000e+00> : tensor<1xf32>
  %5, %6, %7 = ge.layer_norm(%2, %3, %4) {begin_norm_axis = -1, epsilon = 1.250000e-01} : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
  func.return %5, %2 : tensor<1xf32>, tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @add_add_layer_norm(
// CHECK: = ge.add_layer_norm({{.*}}{epsilon = 1.250000e-01}
// CHECK: func.return
func.func @add_add_layer_norm(%0: tensor<f32>, %1: tensor<2x2x3x3xf32>) -> (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) {
  %2 = ge.constant dense<[[[[1.34021521, -0.492206514, -0.620474875], [0.489842057, 3.568870e-01, 0.105414249], [-9.304680e-01, -0.0292518232, 0.695303202]], [[-1.34421456, -0.457615763, -1.90122271], [-1.28953779, -1.84173501, -0.235091135], [-1.26744652, 0.271264344, 0.156751081]]], [[[-0.18693094, -2.51675963, -0.538692892], [-0.0485009439, 0.113308989, -1.53013575], [-0.477753282, -0.978519082, -0.808837235]], [[1.06089866, -0.807534695, -0.0325217061], [0.884389877, 1.000000e+00, -0.11170195], [0.110464141, 0.0637817755, -1.22505581]]]]> : tensor<2x2x3x3xf32>
  %3 = ge.add(%2, %0) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %4 = ge.add(%1, %3) : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %5 = ge.constant dense<[-0.205930337, -0.000000e+00, 3.500000e+00]> : tensor<3xf32>
  %6 = ge.constant dense<[0.192745909, 6.500000e+00, -0.591028333]> : tensor<3xf32>
  %7, %8, %9 = ge.layer_norm(%4, %5, %6) {begin_norm_axis = 3, epsilon = 1.250000e-01} : (tensor<2x2x3x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x2x3x3xf32>, tensor<2x2x3x1xf32>, tensor<2x2x3x1xf32>)
  func.return %7, %4 : tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @add_rms_norm(
// CHECK: = ge.add_rms_norm({{.*}}{epsilon = 1.250000e-01}
// CHECK: func.return
func.func @add_rms_norm(%0: tensor<2xf32>, %1: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %2 = ge.add(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = ge.constant dense<[-0.971708715, -1.64348137]> : tensor<2xf32>
  %4, %5 = ge.rms_norm(%2, %3) {epsilon = 1.250000e-01} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<1xf32>)
  func.return %4, %2 : tensor<2xf32>, tensor<2xf32>
}
