// RUN: ge-opt %s -p fold-constants --split-input-file | filecheck %s

// Arithmetic on shapes, and operands that have an attribute form.
// CHECK-LABEL: func.func @sizes
// CHECK-NEXT: %y = ge.reshape(%x) {shape = [2, -1]} : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
// CHECK-NEXT: func.return %y
func.func @sizes(%x: tensor<2x3x4xf32>) -> tensor<?x?xf32> {
  %s = ge.shape(%x) : (tensor<2x3x4xf32>) -> tensor<3xi64>
  %zero = ge.constant dense<0> : tensor<1xi64>
  %batch = ge.gather(%s, %zero) {axis = 0, batch_dims = 0} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
  %rest = ge.constant dense<-1> : tensor<1xi64>
  %shape = ge.concat(%batch, %rest) {concat_dim = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %y = ge.reshape(%x, %shape) : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}

// -----
// Computed in the op's own element type: 8-bit sums wrap, integer quotients are truncated.
// CHECK-LABEL: func.func @dtypes
// CHECK-NEXT: ge.constant dense<[-56, -1]> : tensor<2xi8>
// CHECK-NEXT: ge.constant dense<[-2, 4611686018427387904]> : tensor<2xi64>
func.func @dtypes() -> (tensor<2xi8>, tensor<2xi64>) {
  %a = ge.constant dense<[100, -2]> : tensor<2xi8>
  %b = ge.constant dense<[100, 1]> : tensor<2xi8>
  %c = ge.add(%a, %b) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %d = ge.constant dense<[-5, 9223372036854775807]> : tensor<2xi64>
  %e = ge.constant dense<[2, 2]> : tensor<2xi64>
  %one = ge.constant dense<[0, 1]> : tensor<2xi64>
  %f = ge.div(%d, %e) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %g = ge.add(%f, %one) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  func.return %c, %g : tensor<2xi8>, tensor<2xi64>
}

// -----
// One repeated value stays one; what is made from a large constant stays symbolic.
// CHECK-LABEL: func.func @large
// CHECK-NEXT: %s = ge.constant #ge.splat<3.0> : tensor<4096x1024xf32>
// CHECK-NEXT: %w = ge.constant #ge.weight<"m.bin", 0, 4194304> : tensor<1024x1024xf32>
// CHECK-NEXT: %t = ge.transpose(%w) {perm = [1, 0]}
// CHECK-NEXT: func.return %s, %t
func.func @large() -> (tensor<4096x1024xf32>, tensor<1024x1024xf32>) {
  %one = ge.constant #ge.splat<1.0> : tensor<1x1024xf32>
  %two = ge.constant dense<2.0> : tensor<f32>
  %sum = ge.add(%one, %two) : (tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
  %s = ge.expand(%sum) {shape = [4096, 1024]} : (tensor<1x1024xf32>) -> tensor<4096x1024xf32>
  %w = ge.constant #ge.weight<"m.bin", 0, 4194304> : tensor<1024x1024xf32>
  %t = ge.transpose(%w) {perm = [1, 0]} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  func.return %s, %t : tensor<4096x1024xf32>, tensor<1024x1024xf32>
}

// -----
// Sums of equal numbers are not equal to them: a reduction of a splat is computed, not copied.
// CHECK-LABEL: func.func @reduced
// CHECK-NEXT: ge.constant dense<3.000000e+00> : tensor<1xf32>
func.func @reduced() -> tensor<1xf32> {
  %one = ge.constant #ge.splat<1.0> : tensor<3xf32>
  %sum = ge.reduce_sum(%one) {axes = [0], keep_dims = true} : (tensor<3xf32>) -> tensor<1xf32>
  func.return %sum : tensor<1xf32>
}

// -----
// Not folded: random numbers, a result of a weight whose file is elsewhere, an index that is out of range.
// CHECK-LABEL: func.func @left_alone
// CHECK: ge.bernoulli
// CHECK: ge.reduce_sum
// CHECK: ge.gather
func.func @left_alone() -> (tensor<2xf32>, tensor<f32>, tensor<1xf32>) {
  %half = ge.constant dense<5.0e-01> : tensor<2xf32>
  %random = ge.bernoulli(%half) {seed = 1.0} : (tensor<2xf32>) -> tensor<2xf32>
  %w = ge.constant #ge.weight<"missing.bin", 0, 4000> : tensor<1000xf32>
  %sum = ge.reduce_sum(%w) {axes = [0], keep_dims = false} : (tensor<1000xf32>) -> tensor<f32>
  %at = ge.constant dense<7> : tensor<1xi64>
  %far = ge.gather(%half, %at) {axis = 0, batch_dims = 0} : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32>
  func.return %random, %sum, %far : tensor<2xf32>, tensor<f32>, tensor<1xf32>
}
