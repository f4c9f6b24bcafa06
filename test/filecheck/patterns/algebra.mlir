// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=algebra},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @and_true(
// CHECK: func.return
func.func @and_true(%0: tensor<2x2x3x3xi1>) -> tensor<2x2x3x3xi1> {
  %1 = ge.constant #ge.splat<1> : tensor<i1>
  %2 = ge.logical_and(%0, %1) : (tensor<2x2x3x3xi1>, tensor<i1>) -> tensor<2x2x3x3xi1>
  func.return %2 : tensor<2x2x3x3xi1>
}

// -----

// CHECK-LABEL: func.func @or_false(
// CHECK: func.return
func.func @or_false(%0: tensor<2x2x3x3xi1>) -> tensor<2x2x3x3xi1> {
  %1 = ge.constant #ge.splat<0> : tensor<i1>
  %2 = ge.logical_or(%0, %1) : (tensor<2x2x3x3xi1>, tensor<i1>) -> tensor<2x2x3x3xi1>
  func.return %2 : tensor<2x2x3x3xi1>
}

// -----

// CHECK-LABEL: func.func @select_same(
// CHECK: func.return
func.func @select_same(%0: tensor<1xi1>, %1: tensor<1xf32>) -> tensor<1xf32> {
  %2 = ge.select(%0, %1, %1) : (tensor<1xi1>, tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return %2 : tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @pow_half(
// CHECK: = ge.sqrt(
// CHECK: func.return
func.func @pow_half(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<0.5> : tensor<f32>
  %2 = ge.pow(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @rsqrt(
// CHECK: = ge.rsqrt(
// CHECK: func.return
func.func @rsqrt(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.sqrt(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.constant #ge.splat<1.0> : tensor<f32>
  %3 = ge.div(%2, %1) : (tensor<f32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %3 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @sub_neg(
// CHECK: = ge.add(
// CHECK: func.return
func.func @sub_neg(%0: tensor<2x2x3x3xf32>, %1: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %2 = ge.neg(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %3 = ge.sub(%1, %2) : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %3 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @add_neg(
// CHECK: = ge.sub(
// CHECK: func.return
func.func @add_neg(%0: tensor<2x2x3x3xf32>, %1: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %2 = ge.neg(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %3 = ge.add(%2, %1) : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %3 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @mul_minus_one(
// CHECK: = ge.neg(
// CHECK: func.return
func.func @mul_minus_one(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.constant #ge.splat<-1.0> : tensor<f32>
  %2 = ge.mul(%0, %1) : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @div_constant(
// CHECK: = ge.mul(
// CHECK: func.return
func.func @div_constant(%0: tensor<1xf32>) -> tensor<1xf32> {
  %1 = ge.constant #ge.splat<2.0> : tensor<1xf32>
  %2 = ge.div(%0, %1) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return %2 : tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @log_exp(
// CHECK: func.return
func.func @log_exp(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.exp(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.log(%1) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @abs_neg(
// CHECK: = ge.abs(
// CHECK: func.return
func.func @abs_neg(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.neg(%0) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.abs(%1) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @not_not(
// CHECK-NEXT: func.return %x
func.func @not_not(%x: tensor<4xi1>) -> tensor<4xi1> {
  %a = ge.logical_not(%x) : (tensor<4xi1>) -> tensor<4xi1>
  %y = ge.logical_not(%a) : (tensor<4xi1>) -> tensor<4xi1>
  func.return %y : tensor<4xi1>
}

// -----

// CHECK-LABEL: func.func @select_not(
// CHECK-NEXT: ge.select(%c, %b, %a)
func.func @select_not(%c: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %n = ge.logical_not(%c) : (tensor<4xi1>) -> tensor<4xi1>
  %y = ge.select(%n, %a, %b) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @avg_pool_whole(
// CHECK-NEXT: ge.reduce_mean(%0) {axes = [2, 3], keep_dims = true}
// CHECK-NEXT: func.return
func.func @avg_pool_whole(%0: tensor<1x320x2x2xf32>) -> tensor<1x320x1x1xf32> {
  %1 = ge.avg_pool2d(%0) {ksize = [320, 320], strides = [320, 320], pads = [0, 0, 0, 0], ceil_mode = true, count_include_pad = true, data_format = "NCHW"} : (tensor<1x320x2x2xf32>) -> tensor<1x320x1x1xf32>
  func.return %1 : tensor<1x320x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @max_pool_whole(
// CHECK-NEXT: ge.reduce_max(%0) {axes = [1, 2], keep_dims = true}
// CHECK-NEXT: func.return
func.func @max_pool_whole(%0: tensor<1x7x7x16xf32>) -> tensor<1x1x1x16xf32> {
  %1 = ge.max_pool2d(%0) {ksize = [7, 7], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false, data_format = "NHWC"} : (tensor<1x7x7x16xf32>) -> tensor<1x1x1x16xf32>
  func.return %1 : tensor<1x1x1x16xf32>
}
