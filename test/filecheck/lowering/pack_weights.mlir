// RUN: ge-opt %s -p pack-weights | filecheck %s

// The columns (output channels) of the filter go innermost, at compile time; the kernel reads it back turned.

// CHECK:      %[[F:.*]] = ge.transpose(%f) {perm = [2, 3, 1, 0]} : (tensor<16x8x3x3xf32>) -> tensor<3x3x8x16xf32>
// CHECK-NEXT: ge.fusion(%{{.*}} = %x : tensor<1x6x6x8xf32>, %[[P:.*]] = %[[F]] : tensor<3x3x8x16xf32>)
// CHECK-NEXT:   ge.transpose(%[[P]]) {perm = [3, 2, 0, 1]} : (tensor<3x3x8x16xf32>) -> tensor<16x8x3x3xf32>
// CHECK-NEXT:   ge.conv2d
func.func @main(%x: tensor<1x6x6x8xf32>) -> tensor<1x6x6x16xf32> {
  %f = ge.constant #ge.splat<0.5> : tensor<16x8x3x3xf32>
  %y = ge.fusion(%0 = %x : tensor<1x6x6x8xf32>, %1 = %f : tensor<16x8x3x3xf32>) -> (tensor<1x6x6x16xf32>) {
    %2 = ge.conv2d(%0, %1) {strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, data_format = "NHWC"} : (tensor<1x6x6x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x6x6x16xf32>
    ge.yield %2 : tensor<1x6x6x16xf32>
  }
  func.return %y : tensor<1x6x6x16xf32>
}

// What is no constant, is read by others too, or has 16 bits stays as it is.

// CHECK-LABEL: func.func @others
// CHECK-NOT:   ge.transpose
func.func @others(%x: tensor<6x8xf32>, %w: tensor<16x8xf32>, %h: tensor<6x8xf16>) -> (tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf16>) {
  %c = ge.constant #ge.splat<0.5> : tensor<16x8xf32>
  %n = ge.constant #ge.splat<0.5> : tensor<16x8xf16>
  %a = ge.fusion(%0 = %x : tensor<6x8xf32>, %1 = %w : tensor<16x8xf32>) -> (tensor<6x16xf32>) {
    %2 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = true} : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
    ge.yield %2 : tensor<6x16xf32>
  }
  %d = ge.relu(%c) : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %b = ge.fusion(%0 = %x : tensor<6x8xf32>, %1 = %c : tensor<16x8xf32>) -> (tensor<6x16xf32>) {
    %2 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = true} : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
    ge.yield %2 : tensor<6x16xf32>
  }
  %e = ge.fusion(%0 = %h : tensor<6x8xf16>, %1 = %n : tensor<16x8xf16>) -> (tensor<6x16xf16>) {
    %2 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = true} : (tensor<6x8xf16>, tensor<16x8xf16>) -> tensor<6x16xf16>
    ge.yield %2 : tensor<6x16xf16>
  }
  func.return %a, %b, %e : tensor<6x16xf32>, tensor<6x16xf32>, tensor<6x16xf16>
}
