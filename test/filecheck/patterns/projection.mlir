// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=projection},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @merge_projections_bias(
// CHECK: = ge.concat({{.*}}{concat_dim = 1}
// CHECK: = ge.concat({{.*}}{concat_dim = 0}
// CHECK: = ge.matmul({{.*}}{transpose_x1 = false, transpose_x2 = false}
// CHECK: = ge.split({{.*}}{size_splits = [1, 1, 2], split_dim = -1}
// CHECK: func.return
func.func @merge_projections_bias(%0: tensor<2x2xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x2xf32>) {
  %1 = ge.constant dense<[[1.000000e+00], [-3.500000e+00]]> : tensor<2x1xf32>
  %2 = ge.constant dense<6.500000e+00> : tensor<1xf32>
  %3 = ge.matmul(%0, %1, %2) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x2xf32>, tensor<2x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
  %4 = ge.constant dense<[[3.500000e+00], [6.500000e+00]]> : tensor<2x1xf32>
  %5 = ge.constant dense<0.000000e+00> : tensor<1xf32>
  %6 = ge.matmul(%0, %4, %5) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x2xf32>, tensor<2x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
  %7 = ge.constant dense<[[3.500000e+00, -1.9466784], [-1.40903413, 0.854639232]]> : tensor<2x2xf32>
  %8 = ge.constant dense<[2.25773048, 0.216930494]> : tensor<2xf32>
  %9 = ge.matmul(%0, %7, %8) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  func.return %3, %6, %9 : tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @merge_projections(
// CHECK: = ge.concat({{.*}}{concat_dim = 1}
// CHECK: = ge.matmul({{.*}}{transpose_x1 = false, transpose_x2 = false}
// CHECK: = ge.split({{.*}}{size_splits = [1, 2, 1], split_dim = -1}
// CHECK: func.return
func.func @merge_projections(%0: tensor<3x3xf32>) -> (tensor<3x1xf32>, tensor<3x2xf32>, tensor<3x1xf32>) {
  %1 = ge.constant dense<[[0.175334841], [0.392094791], [-0.37707445]]> : tensor<3x1xf32>
  %2 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  %3 = ge.constant dense<[[-0.175454229, 1.58753324], [-0.647292435, 0.163841188], [-0.000000e+00, 6.500000e+00]]> : tensor<3x2xf32>
  %4 = ge.matmul(%0, %3) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %5 = ge.constant dense<[[0.88287425], [-1.52937174], [0.00350815151]]> : tensor<3x1xf32>
  %6 = ge.matmul(%0, %5) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  func.return %2, %4, %6 : tensor<3x1xf32>, tensor<3x2xf32>, tensor<3x1xf32>
}

// -----

// CHECK-LABEL: func.func @swiglu_projection(
// CHECK: = ge.concat({{.*}}{concat_dim = 1}
// CHECK: = ge.matmul({{.*}}{transpose_x1 = false, transpose_x2 = false}
// CHECK: = ge.swi_glu({{.*}}{dim = -1}
// CHECK: func.return
func.func @swiglu_projection(%0: tensor<3x1x1xf32>) -> tensor<3x1x1xf32> {
  %1 = ge.constant dense<6.500000e+00> : tensor<1x1xf32>
  %2 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>) -> tensor<3x1x1xf32>
  %3 = ge.swish(%2) {scale = 1.000000e+00} : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %4 = ge.constant dense<-3.500000e+00> : tensor<1x1xf32>
  %5 = ge.matmul(%0, %4) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>) -> tensor<3x1x1xf32>
  %6 = ge.mul(%3, %5) : (tensor<3x1x1xf32>, tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  func.return %6 : tensor<3x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @geglu_projection(
// CHECK: = ge.concat({{.*}}{concat_dim = 1}
// CHECK: = ge.matmul({{.*}}{transpose_x1 = false, transpose_x2 = false}
// CHECK: = ge.ge_glu({{.*}}{approximate = "tanh", activate_left = true, dim = -1}
// CHECK: func.return
func.func @geglu_projection(%0: tensor<3x1x1xf32>) -> tensor<3x1x1xf32> {
  %1 = ge.constant dense<6.500000e+00> : tensor<1x1xf32>
  %2 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>) -> tensor<3x1x1xf32>
  %3 = ge.gelu(%2) {approximate = "tanh"} : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %4 = ge.constant dense<-3.500000e+00> : tensor<1x1xf32>
  %5 = ge.matmul(%0, %4) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>) -> tensor<3x1x1xf32>
  %6 = ge.mul(%3, %5) : (tensor<3x1x1xf32>, tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  func.return %6 : tensor<3x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @ffn_gelu(
// CHECK: = ge.ffn({{.*}}{activation = "gelu"}
// CHECK: func.return
func.func @ffn_gelu(%0: tensor<3x1x1xf32>) -> tensor<3x1x1xf32> {
  %1 = ge.constant dense<6.500000e+00> : tensor<1x1xf32>
  %2 = ge.constant dense<-0.18693094> : tensor<1xf32>
  %3 = ge.matmul(%0, %1, %2) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
  %4 = ge.gelu(%3) {approximate = "none"} : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %5 = ge.constant dense<-3.500000e+00> : tensor<1x1xf32>
  %6 = ge.constant dense<6.500000e+00> : tensor<1xf32>
  %7 = ge.matmul(%4, %5, %6) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
  func.return %7 : tensor<3x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @ffn_gelu_tanh(
// CHECK: = ge.ffn({{.*}}{activation = "fastgelu"}
// CHECK: func.return
func.func @ffn_gelu_tanh(%0: tensor<3x1x1xf32>) -> tensor<3x1x1xf32> {
  %1 = ge.constant dense<6.500000e+00> : tensor<1x1xf32>
  %2 = ge.constant dense<-0.18693094> : tensor<1xf32>
  %3 = ge.matmul(%0, %1, %2) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
  %4 = ge.gelu(%3) {approximate = "tanh"} : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %5 = ge.constant dense<-3.500000e+00> : tensor<1x1xf32>
  %6 = ge.constant dense<6.500000e+00> : tensor<1xf32>
  %7 = ge.matmul(%4, %5, %6) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
  func.return %7 : tensor<3x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @ffn_relu(
// CHECK: = ge.ffn({{.*}}{activation = "relu"}
// CHECK: func.return
func.func @ffn_relu(%0: tensor<3x1x1xf32>) -> tensor<3x1x1xf32> {
  %1 = ge.constant dense<6.500000e+00> : tensor<1x1xf32>
  %2 = ge.constant dense<-0.18693094> : tensor<1xf32>
  %3 = ge.matmul(%0, %1, %2) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
  %4 = ge.relu(%3) : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %5 = ge.constant dense<-3.500000e+00> : tensor<1x1xf32>
  %6 = ge.constant dense<6.500000e+00> : tensor<1xf32>
  %7 = ge.matmul(%4, %5, %6) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
  func.return %7 : tensor<3x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @ffn_silu(
// CHECK: = ge.ffn({{.*}}{activation = "silu"}
// CHECK: func.return
func.func @ffn_silu(%0: tensor<3x1x1xf32>) -> tensor<3x1x2xf32> {
  %1 = ge.constant dense<6.500000e+00> : tensor<1x1xf32>
  %2 = ge.constant dense<-0.18693094> : tensor<1xf32>
  %3 = ge.matmul(%0, %1, %2) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<3x1x1xf32>
  %4 = ge.swish(%3) {scale = 1.000000e+00} : (tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
  %5 = ge.constant dense<[[-0.000000e+00, 0.0761402324]]> : tensor<1x2xf32>
  %6 = ge.constant dense<[1.000000e+00, -1.19928885]> : tensor<2xf32>
  %7 = ge.matmul(%4, %5, %6) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x1x1xf32>, tensor<1x2xf32>, tensor<2xf32>) -> tensor<3x1x2xf32>
  func.return %7 : tensor<3x1x2xf32>
}

// -----

// CHECK-LABEL: func.func @ffn_bias(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.ffn({{.*}}{activation = "gelu"}
// CHECK: func.return
func.func @ffn_bias(%0: tensor<2x2xf32>, %1: tensor<2x3xf32>, %2: tensor<3x3xf32>, %3: tensor<3xf32>) -> tensor<2x3xf32> {
  %4 = ge.ffn(%0, %1, %2, %3) {activation = "gelu"} : (tensor<2x2xf32>, tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %5 = ge.constant dense<[[-0.159866959, 3.500000e+00, 1.0985868]]> : tensor<1x3xf32>
  %6 = ge.add(%4, %5) : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %6 : tensor<2x3xf32>
}
