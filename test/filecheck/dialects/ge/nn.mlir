// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>, %b: tensor<6xf32>, %v: tensor<1x4x4x8x8xf16>,
                        %u: tensor<6x4x1x3x3xf16>, %t: tensor<4x3x2x2xf32>, %n: tensor<1x?x?x4xf32>) {
  // CHECK-NEXT: %0 = ge.conv2d(%x, %w, %b) {strides = [2, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 2, data_format = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<1x6x4x8xf32>
  %0 = ge.conv2d(%x, %w, %b) {strides = [2, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 2, data_format = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<1x6x4x8xf32>
  // CHECK-NEXT: %1 = ge.conv2d(%n, %w) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 2, data_format = "NHWC"} : (tensor<1x?x?x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x?x?x6xf32>
  %1 = ge.conv2d(%n, %w) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 2, data_format = "NHWC"} : (tensor<1x?x?x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x?x?x6xf32>
  // CHECK-NEXT: %2 = ge.conv3d(%v, %u) {strides = [1, 2, 2], pads = [0, 1, 1, 0, 1, 1], dilations = [1, 1, 1], groups = 1, data_format = "NCDHW"}
  // CHECK-SAME: -> tensor<1x6x4x4x4xf16>
  %2 = ge.conv3d(%v, %u) {strides = [1, 2, 2], pads = [0, 1, 1, 0, 1, 1], dilations = [1, 1, 1], groups = 1, data_format = "NCDHW"} : (tensor<1x4x4x8x8xf16>, tensor<6x4x1x3x3xf16>) -> tensor<1x6x4x4x4xf16>
  // CHECK-NEXT: %3 = ge.conv2d_transpose(%x, %t) {strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, output_padding = [1, 0], data_format = "NCHW"}
  // CHECK-SAME: -> tensor<1x3x17x16xf32>
  %3 = ge.conv2d_transpose(%x, %t) {strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, output_padding = [1, 0], data_format = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<4x3x2x2xf32>) -> tensor<1x3x17x16xf32>
  func.return
}

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<2x3x4xf32>, %b: tensor<5x4xf32>, %c: tensor<5xf32>, %i: tensor<2x4xi8>, %j: tensor<4x5xui8>,
                    %s: tensor<5xf32>) {
  // CHECK-NEXT: %0 = ge.matmul(%a, %b, %c) {transpose_x1 = false, transpose_x2 = true} : (tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %0 = ge.matmul(%a, %b, %c) {transpose_x1 = false, transpose_x2 = true} : (tensor<2x3x4xf32>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  // CHECK-NEXT: %1 = ge.matmul(%i, %j) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x4xi8>, tensor<4x5xui8>) -> tensor<2x5xi32>
  %1 = ge.matmul(%i, %j) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x4xi8>, tensor<4x5xui8>) -> tensor<2x5xi32>
  // CHECK-NEXT: %2 = ge.quant_matmul(%i, %j, %s, none, %c) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x4xi8>, tensor<4x5xui8>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x5xf16>
  %2 = ge.quant_matmul(%i, %j, %s, none, %c) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x4xi8>, tensor<4x5xui8>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x5xf16>
  // CHECK-NEXT: %3 = ge.bias_add(%0, %c) {data_format = "NHWC"} : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %3 = ge.bias_add(%0, %c) {data_format = "NHWC"} : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  // CHECK-NEXT: %4 = ge.einsum(%a, %b) {equation = "bij,kj->bik"} : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
  %4 = ge.einsum(%a, %b) {equation = "bij,kj->bik"} : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
  func.return
}
