// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=normalisation},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @layer_norm_gamma(
// CHECK: = ge.reshape({{.*}}{shape = [3]}
// CHECK: = ge.layer_norm({{.*}}{begin_norm_axis = -3, epsilon = 1.250000e-01}
// CHECK: func.return
func.func @layer_norm_gamma(%0: tensor<2x2x3x3xf32>, %1: tensor<3xf32>) -> tensor<2x2x3x3xf32> {
  %2 = ge.constant #ge.splat<1.0> : tensor<f32>
  %3, %4, %5 = ge.layer_norm(%0, %2) {begin_norm_axis = -3, epsilon = 1.250000e-01} : (tensor<2x2x3x3xf32>, tensor<f32>) -> (tensor<2x2x3x3xf32>, tensor<2x1x1x1xf32>, tensor<2x1x1x1xf32>)
  %6 = ge.mul(%1, %3) : (tensor<3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %6 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @layer_norm_beta(
// CHECK: = ge.reshape({{.*}}{shape = [3]}
// CHECK: = ge.layer_norm({{.*}}{begin_norm_axis = -3, epsilon = 1.250000e-01}
// CHECK: func.return
func.func @layer_norm_beta(%0: tensor<2x2x3x3xf32>, %1: tensor<2x3x3xf32>, %2: tensor<3xf32>) -> tensor<2x2x3x3xf32> {
  %3, %4, %5 = ge.layer_norm(%0, %1) {begin_norm_axis = -3, epsilon = 1.250000e-01} : (tensor<2x2x3x3xf32>, tensor<2x3x3xf32>) -> (tensor<2x2x3x3xf32>, tensor<2x1x1x1xf32>, tensor<2x1x1x1xf32>)
  %6 = ge.add(%2, %3) : (tensor<3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %6 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @rms_norm_in_f32(
// CHECK: = ge.reshape({{.*}}{shape = [3]}
// CHECK: = ge.rms_norm({{.*}}{epsilon = 1.000000e-05}
// CHECK: func.return
func.func @rms_norm_in_f32(%0: tensor<1x2x3xf16>, %1: tensor<1x3xf16>) -> tensor<1x2x3xf16> {
  %2 = ge.cast(%0) : (tensor<1x2x3xf16>) -> tensor<1x2x3xf32>
  %3 = ge.constant #ge.splat<2.0> : tensor<f32>
  %4 = ge.pow(%2, %3) : (tensor<1x2x3xf32>, tensor<f32>) -> tensor<1x2x3xf32>
  %5 = ge.reduce_mean(%4) {axes = [-1], keep_dims = true} : (tensor<1x2x3xf32>) -> tensor<1x2x1xf32>
  %6 = ge.constant #ge.splat<1.0e-05> : tensor<1xf32>
  %7 = ge.add(%6, %5) : (tensor<1xf32>, tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  %8 = ge.sqrt(%7) : (tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  %9 = ge.div(%2, %8) : (tensor<1x2x3xf32>, tensor<1x2x1xf32>) -> tensor<1x2x3xf32>
  %10 = ge.cast(%9) : (tensor<1x2x3xf32>) -> tensor<1x2x3xf16>
  %11 = ge.mul(%10, %1) : (tensor<1x2x3xf16>, tensor<1x3xf16>) -> tensor<1x2x3xf16>
  func.return %11 : tensor<1x2x3xf16>
}

// -----

// CHECK-LABEL: func.func @layer_norm_tensorflow(
// CHECK: = ge.reshape({{.*}}{shape = [3]}
// CHECK: = ge.reshape({{.*}}{shape = [3]}
// CHECK: = ge.layer_norm({{.*}}{begin_norm_axis = -1, epsilon = 1.250000e-01}
// CHECK: func.return
func.func @layer_norm_tensorflow(%0: tensor<3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>) -> tensor<3xf32> {
  %3 = ge.reduce_mean(%0) {axes = [0], keep_dims = true} : (tensor<3xf32>) -> tensor<1xf32>
  %4 = ge.sub(%0, %3) : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xf32>
  %5 = ge.constant #ge.splat<2.0> : tensor<f32>
  %6 = ge.pow(%4, %5) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %7 = ge.reduce_mean(%6) {axes = [0], keep_dims = true} : (tensor<3xf32>) -> tensor<1xf32>
  %8 = ge.constant #ge.splat<0.125> : tensor<1xf32>
  %9 = ge.add(%7, %8) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %10 = ge.rsqrt(%9) : (tensor<1xf32>) -> tensor<1xf32>
  %11 = ge.mul(%1, %10) : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xf32>
  %12 = ge.mul(%0, %11) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %13 = ge.mul(%3, %11) : (tensor<1xf32>, tensor<3xf32>) -> tensor<3xf32>
  %14 = ge.sub(%2, %13) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %15 = ge.add(%12, %14) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %15 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @layer_norm_in_f32(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.layer_norm({{.*}}{begin_norm_axis = -1, epsilon = 1.250000e-01}
// CHECK: func.return
func.func @layer_norm_in_f32(%0: tensor<1xf16>) -> tensor<1xf16> {
  %1 = ge.cast(%0) : (tensor<1xf16>) -> tensor<1xf32>
  %2 = ge.constant dense<-0.147254631> : tensor<1xf32>
  %3 = ge.constant dense<3.500000e+00> : tensor<1xf32>
  %4, %5, %6 = ge.layer_norm(%1, %2, %3) {begin_norm_axis = -1, epsilon = 1.250000e-01} : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
  %7 = ge.cast(%4) : (tensor<1xf32>) -> tensor<1xf16>
  func.return %7 : tensor<1xf16>
}

// -----

// CHECK-LABEL: func.func @group_norm(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.group_norm({{.*}}{num_groups = 2, data_format = "NCHW", epsilon = 1.250000e-01}
// CHECK: func.return
func.func @group_norm(%0: tensor<2x4x3x2xf32>) -> tensor<2x4x3x2xf32> {
  %1 = ge.reshape(%0) {shape = [2, 2, 12]} : (tensor<2x4x3x2xf32>) -> tensor<2x2x12xf32>
  %2 = ge.constant #ge.splat<1.0> : tensor<2xf32>
  %3 = ge.constant #ge.splat<0.0> : tensor<2xf32>
  %4, %5, %6 = ge.instance_norm(%1, %2, %3) {data_format = "NCL", epsilon = 1.250000e-01} : (tensor<2x2x12xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2x12xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>)
  %7 = ge.reshape(%4) {shape = [2, 4, 3, 2]} : (tensor<2x2x12xf32>) -> tensor<2x4x3x2xf32>
  %8 = ge.constant dense<[[[0.898763895]], [[-3.500000e+00]], [[-1.32352781]], [[-0.794642389]]]> : tensor<4x1x1xf32>
  %9 = ge.mul(%7, %8) : (tensor<2x4x3x2xf32>, tensor<4x1x1xf32>) -> tensor<2x4x3x2xf32>
  %10 = ge.constant dense<[[[-1.1140672]], [[-0.0115214679]], [[-0.443581223]], [[6.500000e+00]]]> : tensor<4x1x1xf32>
  %11 = ge.add(%10, %9) : (tensor<4x1x1xf32>, tensor<2x4x3x2xf32>) -> tensor<2x4x3x2xf32>
  func.return %11 : tensor<2x4x3x2xf32>
}

// -----

// CHECK-LABEL: func.func @batch_norm_affine(
// CHECK: = ge.add(
// CHECK: = ge.sqrt(
// CHECK: = ge.div(
// CHECK: = ge.reshape({{.*}}{shape = [-1, 1, 1, 1]}
// CHECK: = ge.cast(
// CHECK: = ge.mul(
// CHECK: = ge.mul(
// CHECK: = ge.sub(
// CHECK: = ge.reshape({{.*}}{shape = [-1, 1, 1, 1]}
// CHECK: = ge.cast(
// CHECK: = ge.add(
// CHECK: func.return
func.func @batch_norm_affine(%0: tensor<2x2x3x3x1xf32>) -> tensor<2x2x3x3x1xf32> {
  %1 = ge.constant dense<[-3.500000e+00, 0.000000e+00]> : tensor<2xf32>
  %2 = ge.constant dense<[1.43852258, 1.000000e+00]> : tensor<2xf32>
  %3 = ge.constant dense<[0.898763895, 6.500000e+00]> : tensor<2xf32>
  %4 = ge.constant dense<[0.939403892, 0.577213407]> : tensor<2xf32>
  %5 = ge.batch_norm(%0, %1, %2, %3, %4) {data_format = "NCDHW", epsilon = 1.250000e-01} : (tensor<2x2x3x3x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x3x3x1xf32>
  func.return %5 : tensor<2x2x3x3x1xf32>
}

// -----

// CHECK-LABEL: func.func @rms_norm_plain(
// CHECK: %[[ONES:.*]] = ge.constant #ge.splat<1.0> : tensor<4xf32>
// CHECK: = ge.rms_norm(%{{.*}}, %[[ONES]]) {epsilon = 1.000000e-05}
// CHECK: func.return
func.func @rms_norm_plain(%0: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %1 = ge.constant #ge.splat<2.0> : tensor<f32>
  %2 = ge.pow(%0, %1) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %3 = ge.reduce_mean(%2) {axes = [2], keep_dims = true} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
  %4 = ge.constant #ge.splat<1.0e-05> : tensor<f32>
  %5 = ge.add(%3, %4) : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %6 = ge.rsqrt(%5) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %7 = ge.mul(%0, %6) : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  func.return %7 : tensor<2x3x4xf32>
}
