// RUN: ge-opt %s -p integer-products,cse,dce --split-input-file | filecheck %s

// The bias of the sums takes off the zero point of x; scales are a product after them.
// CHECK-LABEL: func.func @conv
// CHECK-NOT: ge.dequantize
// CHECK: ge.reduce_sum(%{{.*}}) {axes = [1, 2, 3], keep_dims = false} : (tensor<4x8x1x1xi32>) -> tensor<4xi32>
// CHECK: ge.conv2d(%x, %w, %{{.*}}) {{.*}} : (tensor<1x8x5x5xui8>, tensor<4x8x1x1xi8>, tensor<4xi32>) -> tensor<1x4x5x5xi32>
// CHECK: ge.cast({{.*}}) : (tensor<1x4x5x5xi32>) -> tensor<1x4x5x5xf32>
// CHECK-NEXT: %y = ge.mul
// CHECK-NEXT: func.return %y
func.func @conv(%x: tensor<1x8x5x5xui8>, %w: tensor<4x8x1x1xi8>) -> tensor<1x4x5x5xf32> {
  %sx = ge.constant dense<0.5> : tensor<f32>
  %zx = ge.constant dense<3> : tensor<ui8>
  %sw = ge.constant dense<[0.5, 0.25, 0.125, 1.0]> : tensor<4xf32>
  %zw = ge.constant dense<0> : tensor<4xi8>
  %a = ge.dequantize(%x, %sx, %zx) {axis = 0} : (tensor<1x8x5x5xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x8x5x5xf32>
  %b = ge.dequantize(%w, %sw, %zw) {axis = 0} : (tensor<4x8x1x1xi8>, tensor<4xf32>, tensor<4xi8>) -> tensor<4x8x1x1xf32>
  %y = ge.conv2d(%a, %b) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<1x8x5x5xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x5x5xf32>
  func.return %y : tensor<1x4x5x5xf32>
}

// -----
// Pads stand for the zero point; a transposed filter stays in place.
// CHECK-LABEL: func.func @pads
// CHECK: ge.pad(%x, none, %{{.*}}) {paddings = [0, 0, 1, 1, 0, 0, 1, 1], mode = "constant"}
// CHECK: ge.conv2d({{.*}}pads = [0, 0, 0, 0]{{.*}}tensor<4x8x3x3xi8>
func.func @pads(%x: tensor<1x8x5x5xui8>, %w: tensor<8x4x3x3xi8>) -> tensor<1x4x5x5xf32> {
  %s = ge.constant dense<0.5> : tensor<f32>
  %zx = ge.constant dense<3> : tensor<ui8>
  %a = ge.dequantize(%x, %s, %zx) {axis = 0} : (tensor<1x8x5x5xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x8x5x5xf32>
  %b = ge.dequantize(%w, %s) {axis = 0} : (tensor<8x4x3x3xi8>, tensor<f32>) -> tensor<8x4x3x3xf32>
  %c = ge.transpose(%b) {perm = [1, 0, 2, 3]} : (tensor<8x4x3x3xf32>) -> tensor<4x8x3x3xf32>
  %y = ge.conv2d(%a, %c) {strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<1x8x5x5xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x5x5xf32>
  func.return %y : tensor<1x4x5x5xf32>
}

// -----
// A scale for each row of the second operand is none for each column; depthwise filters stay with the vector unit.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-4: ge.dequantize
func.func @kept(%x: tensor<4x8xi8>, %w: tensor<8x6xi8>, %i: tensor<1x3x5x5xi8>, %f: tensor<3x1x3x3xi8>) -> (tensor<4x6xf32>, tensor<1x3x3x3xf32>) {
  %s = ge.constant dense<0.5> : tensor<f32>
  %sw = ge.constant dense<0.25> : tensor<8xf32>
  %a = ge.dequantize(%x, %s) {axis = 0} : (tensor<4x8xi8>, tensor<f32>) -> tensor<4x8xf32>
  %b = ge.dequantize(%w, %sw) {axis = 0} : (tensor<8x6xi8>, tensor<8xf32>) -> tensor<8x6xf32>
  %y = ge.matmul(%a, %b) {transpose_x1 = false, transpose_x2 = false} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %c = ge.dequantize(%i, %s) {axis = 0} : (tensor<1x3x5x5xi8>, tensor<f32>) -> tensor<1x3x5x5xf32>
  %d = ge.dequantize(%f, %s) {axis = 0} : (tensor<3x1x3x3xi8>, tensor<f32>) -> tensor<3x1x3x3xf32>
  %z = ge.conv2d(%c, %d) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 3, data_format = "NCHW"} : (tensor<1x3x5x5xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x3x3xf32>
  func.return %y, %z : tensor<4x6xf32>, tensor<1x3x3x3xf32>
}
