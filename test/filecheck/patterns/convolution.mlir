// RUN: ge-opt %s -p "apply-rules{topic=convolution,canonical}" | filecheck %s
// RUN: ge-opt %s -p "apply-rules{rules=conv2d_batch_norm}" --print-debuginfo | filecheck %s --check-prefix=LOC

// CHECK-LABEL: @conv_bn
func.func @conv_bn(%x: tensor<1x4x8x8xf32>, %shared: tensor<6x2x3x3xf32>) -> tensor<1x6x6x6xf32> {
  %w = ge.constant #ge.weight<"m.onnx", 0, 432> : tensor<6x2x3x3xf32>
  %s = ge.constant #ge.weight<"m.onnx", 432, 24> : tensor<6xf32>
  %o = ge.constant #ge.weight<"m.onnx", 456, 24> : tensor<6xf32>
  %m = ge.constant #ge.weight<"m.onnx", 480, 24> : tensor<6xf32>
  %v = ge.constant #ge.weight<"m.onnx", 504, 24> : tensor<6xf32>
  // CHECK:      [[VAR:%.*]] = ge.add(%v, %{{.*}})
  // CHECK-NEXT: [[DEV:%.*]] = ge.sqrt([[VAR]])
  // CHECK-NEXT: [[F:%.*]] = ge.div(%s, [[DEV]])
  // CHECK-NEXT: [[F4:%.*]] = ge.reshape([[F]]) {shape = [-1, 1, 1, 1]} : (tensor<6xf32>) -> tensor<6x1x1x1xf32>
  // CHECK-NEXT: [[W:%.*]] = ge.mul(%w, [[F4]])
  // CHECK-NEXT: [[MF:%.*]] = ge.mul(%m, [[F]])
  // CHECK-NEXT: [[B:%.*]] = ge.sub(%o, [[MF]])
  // CHECK-NEXT: %y = ge.conv2d(%x, [[W]], [[B]]) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 2, data_format = "NCHW"}
  // CHECK-NEXT: func.return %y
  // LOC: ge.conv2d({{.*}} loc(fused["conv", "norm"])
  %c = ge.conv2d(%x, %w) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 2, data_format = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x6x6xf32> loc("conv")
  %y = ge.batch_norm(%c, %s, %o, %m, %v) {epsilon = 1.0e-5, data_format = "NCHW"} : (tensor<1x6x6x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<1x6x6x6xf32> loc("norm")
  func.return %y : tensor<1x6x6x6xf32>
}

// The convolution has another user: its result is needed as it is.
// CHECK-LABEL: @other_user
func.func @other_user(%x: tensor<1x4x8x8xf32>) -> (tensor<1x6x8x8xf32>, tensor<1x6x8x8xf32>) {
  %w = ge.constant #ge.splat<0.5> : tensor<6x4x1x1xf32>
  %s = ge.constant #ge.splat<2.0> : tensor<1x6x1x1xf32>
  // CHECK: ge.conv2d
  // CHECK-NEXT: ge.mul
  %c = ge.conv2d(%x, %w) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x8x8xf32>
  %y = ge.mul(%c, %s) : (tensor<1x6x8x8xf32>, tensor<1x6x1x1xf32>) -> tensor<1x6x8x8xf32>
  func.return %c, %y : tensor<1x6x8x8xf32>, tensor<1x6x8x8xf32>
}

// A factor and an offset per channel, with channels last; the bias is one value for all channels.
// CHECK-LABEL: @scale_and_bias
func.func @scale_and_bias(%x: tensor<1x8x8x4xf32>) -> tensor<1x8x8x6xf32> {
  %w = ge.constant #ge.splat<0.5> : tensor<6x4x1x1xf32>
  %s = ge.constant #ge.weight<"m.onnx", 0, 24> : tensor<6xf32>
  %t = ge.constant #ge.splat<2.0> : tensor<1xf32>
  // CHECK:      [[F:%.*]] = ge.reshape(%s) {shape = [6, 1, 1, 1]}
  // CHECK-NEXT: [[W:%.*]] = ge.mul(%w, [[F]])
  // CHECK-NEXT: [[B:%.*]] = ge.expand(%t) {shape = [6]}
  // CHECK-NEXT: %y = ge.conv2d(%x, [[W]], [[B]])
  // CHECK-NEXT: func.return %y
  %c = ge.conv2d(%x, %w) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "NHWC"} : (tensor<1x8x8x4xf32>, tensor<6x4x1x1xf32>) -> tensor<1x8x8x6xf32>
  %a = ge.mul(%s, %c) : (tensor<6xf32>, tensor<1x8x8x6xf32>) -> tensor<1x8x8x6xf32>
  %y = ge.add(%a, %t) : (tensor<1x8x8x6xf32>, tensor<1xf32>) -> tensor<1x8x8x6xf32>
  func.return %y : tensor<1x8x8x6xf32>
}

// A factor along the rows is none per channel.
// CHECK-LABEL: @other_axis
func.func @other_axis(%x: tensor<1x4x8x8xf32>) -> tensor<1x6x8x8xf32> {
  %w = ge.constant #ge.splat<0.5> : tensor<6x4x1x1xf32>
  %s = ge.constant #ge.weight<"m.onnx", 0, 32> : tensor<8x1xf32>
  // CHECK: ge.conv2d
  // CHECK-NEXT: ge.mul
  %c = ge.conv2d(%x, %w) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x8x8xf32>
  %y = ge.mul(%c, %s) : (tensor<1x6x8x8xf32>, tensor<8x1xf32>) -> tensor<1x6x8x8xf32>
  func.return %y : tensor<1x6x8x8xf32>
}
