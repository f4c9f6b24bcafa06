// RUN: ge-opt %s --split-input-file -p group-kernels | filecheck %s
// RUN: ge-opt %s --split-input-file -p "group-kernels{fuse=false}" | filecheck %s --check-prefix=APART

// Element-wise ops in a row are one kernel; a number in its code is no operand. fuse=false gives each op its own.
// CHECK-LABEL: func.func @chain
// CHECK:         %y = ge.fusion(%x_1 = %x : tensor<4x8xf32>, %z_1 = %z : tensor<8xf32>) attributes {label = "mul_add_relu"} -> (tensor<4x8xf32>) {
// CHECK-NEXT:      %c_1 = ge.constant #ge.splat<2.0> : tensor<f32>
// CHECK-NEXT:      %a = ge.mul(%x_1, %c_1)
// CHECK-NEXT:      %b = ge.add(%a, %z_1)
// CHECK-NEXT:      %y_1 = ge.relu(%b)
// CHECK-NEXT:      ge.yield %y_1
// CHECK-NOT:     ge.fusion
// APART-LABEL: func.func @chain
// APART:         %a = ge.fusion(%x_1 = %x : tensor<4x8xf32>) attributes {label = "mul"}
// APART:         %b = ge.fusion(%a_1 = %a : tensor<4x8xf32>, %z_1 = %z : tensor<8xf32>) attributes {label = "add"}
// APART:         %y = ge.fusion(%b_1 = %b : tensor<4x8xf32>) attributes {label = "relu"}
func.func @chain(%x: tensor<4x8xf32>, %z: tensor<8xf32>) -> tensor<4x8xf32> {
  %c = ge.constant #ge.splat<2.0> : tensor<f32>
  %a = ge.mul(%x, %c) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %b = ge.add(%a, %z) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %y = ge.relu(%b) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// -----

// A reduction and what follows it over the same axes share a kernel with what comes before.
// CHECK-LABEL: func.func @softmax
// CHECK:         label = "add_softmax"
// CHECK-NOT:     ge.fusion
func.func @softmax(%x: tensor<2x4x8xf32>, %m: tensor<2x1x8xf32>) -> tensor<2x4x8xf32> {
  %a = ge.add(%x, %m) : (tensor<2x4x8xf32>, tensor<2x1x8xf32>) -> tensor<2x4x8xf32>
  %y = ge.softmax(%a) {axes = [-1]} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  func.return %y : tensor<2x4x8xf32>
}

// -----

// Reductions over different axes do not.
// CHECK-LABEL: func.func @two_axes
// CHECK:         %a = ge.fusion({{.*}}) attributes {label = "softmax"}
// CHECK:         %y = ge.fusion({{.*}}) attributes {label = "softmax"}
func.func @two_axes(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = ge.softmax(%x) {axes = [0]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = ge.softmax(%a) {axes = [1]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// -----

// The norm is computed once; each product that reads it is a kernel of its own. Unread statistics are not stored.
// CHECK-LABEL: func.func @branches
// CHECK:         %n = ge.fusion({{.*}}) attributes {label = "layer_norm"} -> (tensor<4x8xf32>) {
// CHECK:           ge.yield %n_1 : tensor<4x8xf32>
// CHECK:         %a = ge.fusion(%n_1 = %n : tensor<4x8xf32>, %w_1 = %w : tensor<8x8xf32>) attributes {label = "matmul"}
// CHECK:         %b = ge.fusion(%n_1 = %n : tensor<4x8xf32>, %w_1 = %w : tensor<8x8xf32>) attributes {label = "matmul"}
func.func @branches(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %n, %m, %r = ge.layer_norm(%x, %g, %g) {begin_norm_axis = 1, epsilon = 1.0e-05} : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  %a = ge.matmul(%n, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b = ge.matmul(%n, %w) {transpose_x1 = false, transpose_x2 = true} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  func.return %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Fixpipe does the activation; the squeezed values are another kernel's.
// CHECK-LABEL: func.func @conv
// CHECK:         label = "conv2d_relu"
// CHECK:         label = "reduce_mean"
func.func @conv(%x: tensor<1x6x6x8xf32>, %f: tensor<16x8x3x3xf32>) -> tensor<1x1x1x16xf32> {
  %c = ge.conv2d(%x, %f) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "NHWC"} : (tensor<1x6x6x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x4x4x16xf32>
  %r = ge.relu(%c) : (tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xf32>
  %y = ge.reduce_mean(%r) {axes = [1, 2], keep_dims = true} : (tensor<1x4x4x16xf32>) -> tensor<1x1x1x16xf32>
  func.return %y : tensor<1x1x1x16xf32>
}

// -----

// A transpose is done while its one reader loads; one with two readers stays a kernel.
// CHECK-LABEL: func.func @reads
// CHECK:         %y = ge.fusion(%x_1 = %x : tensor<8x4xf32>, %z_1 = %z : tensor<4x8xf32>) attributes {label = "transpose_add"}
// CHECK:         %u = ge.fusion(%z_1 = %z : tensor<4x8xf32>) attributes {label = "transpose"}
// CHECK:         label = "exp"
// CHECK:         label = "softmax"
func.func @reads(%x: tensor<8x4xf32>, %z: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %t = ge.transpose(%x) {perm = [1, 0]} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %y = ge.add(%t, %z) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %u = ge.transpose(%z) {perm = [1, 0]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %e = ge.exp(%u) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = ge.softmax(%u) {axes = [0]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %y, %e, %s : tensor<4x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// exp and add would fit, but the running sum of exp, which another kernel computes, lies between.
// CHECK-LABEL: func.func @no_cycle
// CHECK:         %e = ge.fusion({{.*}}) attributes {label = "exp"}
// CHECK:         %c = ge.fusion(%e_1 = %e : tensor<4x8xf32>) attributes {label = "cumsum"}
// CHECK:         %y = ge.fusion({{.*}}) attributes {label = "add"}
func.func @no_cycle(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = ge.exp(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = ge.cumsum(%e) {axis = 0, exclusive = false, reverse = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = ge.add(%e, %c) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// -----

// What depends on constants alone is no kernel: its value is an operand.
// CHECK-LABEL: func.func @constants
// CHECK:         %d = ge.neg(%w)
// CHECK:         ge.fusion(%x_1 = %x : tensor<2x3xf32>, %d_1 = %d : tensor<3xf32>) attributes {label = "add"}
func.func @constants(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %w = ge.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %d = ge.neg(%w) : (tensor<3xf32>) -> tensor<3xf32>
  %y = ge.add(%x, %d) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// Views and ops for the host stay outside.
// CHECK-LABEL: func.func @host
// CHECK:         %a = ge.fusion({{.*}}) attributes {label = "relu"}
// CHECK:         %v = ge.reshape(%a)
// CHECK:         %y = ge.nonzero(%v)
func.func @host(%x: tensor<4xf32>) -> tensor<2x?xi64> {
  %a = ge.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %v = ge.reshape(%a) {shape = [2, 2]} : (tensor<4xf32>) -> tensor<2x2xf32>
  %y = ge.nonzero(%v) : (tensor<2x2xf32>) -> tensor<2x?xi64>
  func.return %y : tensor<2x?xi64>
}
