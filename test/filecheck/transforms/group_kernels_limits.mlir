// RUN: ge-opt %s --split-input-file -p group-kernels | filecheck %s
// RUN: ge-opt %s --split-input-file -p "group-kernels{recompute=false}" | filecheck %s --check-prefix=STORED
// RUN: ge-opt %s --split-input-file -p "group-kernels{max-ops=2}" | filecheck %s --check-prefix=TWO
// RUN: ge-opt %s --split-input-file -p "group-kernels{forbid=exp_neg}" | filecheck %s --check-prefix=FORBID
// RUN: ge-opt %s --split-input-file -p "group-kernels{elementwise=false}" | filecheck %s --check-prefix=APART

// A chain is one kernel, unless a limit cuts it, and the text says which.
// CHECK-LABEL: func.func @chain(
// CHECK: label = "exp_neg_abs"}
// TWO-LABEL: func.func @chain(
// TWO: label = "exp_neg", cut = "max_fusion_ops=2"}
// TWO: label = "abs"}
// FORBID-LABEL: func.func @chain(
// FORBID: label = "exp", cut = "exp_neg is off"}
// FORBID: label = "neg_abs"}
// APART-LABEL: func.func @chain(
// APART: label = "exp"}
// APART: label = "neg"}
// APART: label = "abs"}
func.func @chain(%x: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %a = ge.exp(%x) : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %b = ge.neg(%a) : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %c = ge.abs(%b) : (tensor<256x512xf32>) -> tensor<256x512xf32>
  func.return %c : tensor<256x512xf32>
}

// -----

// fuse_flag = false keeps an op by itself.
// CHECK-LABEL: func.func @flag(
// CHECK: label = "exp"}
// CHECK: label = "neg"}
// CHECK: label = "abs"}
func.func @flag(%x: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %a = ge.exp(%x) : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %b = ge.neg(%a) attributes {fuse_flag = false} : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %c = ge.abs(%b) : (tensor<256x512xf32>) -> tensor<256x512xf32>
  func.return %c : tensor<256x512xf32>
}

// -----

// Two kernels read the product with a number: each computes it again, which is cheaper than to store it.
// CHECK-LABEL: func.func @cheap(
// CHECK: label = "mul_softmax"}
// CHECK: label = "mul_reduce_sum"}
// STORED-LABEL: func.func @cheap(
// STORED: label = "mul_softmax"}
// STORED: label = "reduce_sum"}
func.func @cheap(%x: tensor<4096x512xf32>) -> (tensor<4096x512xf32>, tensor<1x512xf32>) {
  %c = ge.constant #ge.splat<3.0> : tensor<f32>
  %y = ge.mul(%x, %c) : (tensor<4096x512xf32>, tensor<f32>) -> tensor<4096x512xf32>
  %s = ge.softmax(%y) {axes = [1]} : (tensor<4096x512xf32>) -> tensor<4096x512xf32>
  %t = ge.reduce_sum(%y) {axes = [0], keep_dims = true} : (tensor<4096x512xf32>) -> tensor<1x512xf32>
  func.return %s, %t : tensor<4096x512xf32>, tensor<1x512xf32>
}

// -----

// The same with a gelu: stored, since it costs more than the traffic.
// CHECK-LABEL: func.func @dear(
// CHECK: label = "gelu_softmax"}
// CHECK: label = "reduce_sum"}
func.func @dear(%x: tensor<4096x512xf32>) -> (tensor<4096x512xf32>, tensor<1x512xf32>) {
  %y = ge.gelu(%x) {approximate = "none"} : (tensor<4096x512xf32>) -> tensor<4096x512xf32>
  %s = ge.softmax(%y) {axes = [1]} : (tensor<4096x512xf32>) -> tensor<4096x512xf32>
  %t = ge.reduce_sum(%y) {axes = [0], keep_dims = true} : (tensor<4096x512xf32>) -> tensor<1x512xf32>
  func.return %s, %t : tensor<4096x512xf32>, tensor<1x512xf32>
}

// -----

// A layer norm feeds a branch that goes through a product and one that waits for it: computed once, kept apart.
// CHECK-LABEL: func.func @branches(
// CHECK: label = "layer_norm_relu"}
// CHECK: label = "matmul"}
// CHECK: label = "softmax_mul"}
func.func @branches(%x: tensor<4096x512xf32>, %g: tensor<512xf32>, %w: tensor<512x512xf32>) -> tensor<4096x512xf32> {
  %y, %m, %r = ge.layer_norm(%x, %g) {begin_norm_axis = 1, epsilon = 1.0e-5} : (tensor<4096x512xf32>, tensor<512xf32>) -> (tensor<4096x512xf32>, tensor<4096x1xf32>, tensor<4096x1xf32>)
  %a = ge.relu(%y) : (tensor<4096x512xf32>) -> tensor<4096x512xf32>
  %p = ge.matmul(%a, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<4096x512xf32>, tensor<512x512xf32>) -> tensor<4096x512xf32>
  %s = ge.softmax(%p) {axes = [1]} : (tensor<4096x512xf32>) -> tensor<4096x512xf32>
  %b = ge.mul(%s, %y) : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x512xf32>
  func.return %b : tensor<4096x512xf32>
}

// -----

// A chain of one batch has one reader at each step: one kernel, nothing is computed twice.
// CHECK-LABEL: func.func @single(
// CHECK: label = "layer_norm_relu_mul"}
func.func @single(%x: tensor<1x512xf32>, %g: tensor<512xf32>) -> tensor<1x512xf32> {
  %c = ge.constant #ge.splat<3.0> : tensor<f32>
  %y, %m, %r = ge.layer_norm(%x, %g) {begin_norm_axis = 1, epsilon = 1.0e-5} : (tensor<1x512xf32>, tensor<512xf32>) -> (tensor<1x512xf32>, tensor<1x1xf32>, tensor<1x1xf32>)
  %a = ge.relu(%y) : (tensor<1x512xf32>) -> tensor<1x512xf32>
  %b = ge.mul(%a, %c) : (tensor<1x512xf32>, tensor<f32>) -> tensor<1x512xf32>
  func.return %b : tensor<1x512xf32>
}
