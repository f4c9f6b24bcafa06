// RUN: ge-opt %s -p "apply-rules{topic=normalisation,canonical}" | filecheck %s
// RUN: ge-opt %s -p "apply-rules{strict=true}" | filecheck %s --check-prefix=STRICT

// CHECK-LABEL: @layer_norm
// STRICT-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %g = ge.constant #ge.weight<"m.onnx", 0, 32> : tensor<8xf32>
  %b = ge.constant #ge.weight<"m.onnx", 32, 32> : tensor<8xf32>
  %two = ge.constant #ge.splat<2.0> : tensor<f32>
  %eps = ge.constant #ge.splat<1.0e-5> : tensor<f32>
  // CHECK: %y, {{%.*}}, {{%.*}} = ge.layer_norm(%x, %g, %b) {begin_norm_axis = 2, epsilon = 1.000000e-05}
  // CHECK-NEXT: func.return %y
  // STRICT: ge.sqrt
  %m = ge.reduce_mean(%x) {axes = [-1], keep_dims = true} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
  %d = ge.sub(%x, %m) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
  %q = ge.pow(%d, %two) : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %v = ge.reduce_mean(%q) {axes = [-1], keep_dims = true} : (tensor<2x4x8xf32>) -> tensor<2x4x1xf32>
  %e = ge.add(%v, %eps) : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4x1xf32>
  %r = ge.sqrt(%e) : (tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
  %n = ge.div(%d, %r) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
  %s = ge.mul(%n, %g) : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %y = ge.add(%s, %b) : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  func.return %y : tensor<2x4x8xf32>
}

// Over an axis in the middle it is no layer norm.
// CHECK-LABEL: @middle_axis
func.func @middle_axis(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %eps = ge.constant #ge.splat<1.0e-5> : tensor<f32>
  // CHECK-NOT: ge.layer_norm
  %m = ge.reduce_mean(%x) {axes = [1], keep_dims = true} : (tensor<2x4x8xf32>) -> tensor<2x1x8xf32>
  %d = ge.sub(%x, %m) : (tensor<2x4x8xf32>, tensor<2x1x8xf32>) -> tensor<2x4x8xf32>
  %q = ge.mul(%d, %d) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %v = ge.reduce_mean(%q) {axes = [1], keep_dims = true} : (tensor<2x4x8xf32>) -> tensor<2x1x8xf32>
  %e = ge.add(%v, %eps) : (tensor<2x1x8xf32>, tensor<f32>) -> tensor<2x1x8xf32>
  %r = ge.rsqrt(%e) : (tensor<2x1x8xf32>) -> tensor<2x1x8xf32>
  %y = ge.mul(%d, %r) : (tensor<2x4x8xf32>, tensor<2x1x8xf32>) -> tensor<2x4x8xf32>
  func.return %y : tensor<2x4x8xf32>
}

// CHECK-LABEL: @rms_norm
func.func @rms_norm(%x: tensor<2x8xf32>, %g: tensor<8xf32>) -> tensor<2x8xf32> {
  %two = ge.constant #ge.splat<2.0> : tensor<f32>
  %one = ge.constant #ge.splat<1.0> : tensor<f32>
  %eps = ge.constant #ge.splat<1.0e-6> : tensor<f32>
  // CHECK-NEXT: %y, {{%.*}} = ge.rms_norm(%x, %g) {epsilon = 1.000000e-06}
  // CHECK-NEXT: func.return %y
  %q = ge.pow(%x, %two) : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %v = ge.reduce_mean(%q) {axes = [-1], keep_dims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %e = ge.add(%v, %eps) : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %r = ge.sqrt(%e) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %i = ge.div(%one, %r) : (tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %n = ge.mul(%x, %i) : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %y = ge.mul(%g, %n) : (tensor<8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}

// A batch norm that no convolution can take in.
// CHECK-LABEL: @batch_norm
func.func @batch_norm(%x: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %s = ge.constant #ge.splat<1.0> : tensor<3xf32>
  %o = ge.constant #ge.splat<0.5> : tensor<3xf32>
  %m = ge.constant #ge.splat<0.25> : tensor<3xf32>
  %v = ge.constant #ge.splat<2.0> : tensor<3xf32>
  // CHECK:      [[F:%.*]] = ge.reshape({{.*}}) {shape = [-1, 1, 1]}
  // CHECK:      [[A:%.*]] = ge.mul(%x, [[F]])
  // CHECK:      [[T:%.*]] = ge.reshape({{.*}}) {shape = [-1, 1, 1]}
  // CHECK-NEXT: %y = ge.add([[A]], [[T]])
  %y = ge.batch_norm(%x, %s, %o, %m, %v) {epsilon = 1.0e-5, data_format = "NCHW"} : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
  func.return %y : tensor<2x3x4x4xf32>
}
