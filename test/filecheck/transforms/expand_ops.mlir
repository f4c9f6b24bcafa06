// RUN: ge-opt %s --split-input-file -p expand-ops | filecheck %s

// Squares, pooling over the channels, and a power. The pass leaves what has a kernel alone.
// CHECK-LABEL: func.func @lrn
// CHECK-NEXT:    %r = ge.relu(%x)
// CHECK-NEXT:    %0 = ge.reshape(%r) {shape = [1, 6, 1, 16]}
// CHECK-NEXT:    %1 = ge.mul(%0, %0)
// CHECK-NEXT:    %2 = ge.avg_pool2d(%1) {ksize = [5, 1], strides = [1, 1], pads = [2, 0, 2, 0], ceil_mode = false, count_include_pad = true, data_format = "NHWC"}
// CHECK:         ge.pow
// CHECK-NEXT:    ge.div
// CHECK-NEXT:    %y = ge.reshape
func.func @lrn(%x: tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32> {
  %r = ge.relu(%x) : (tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32>
  %y = ge.lrn(%r) {depth_radius = 2, bias = 1.0, alpha = 0.5, beta = 0.75, data_format = "NCHW"} : (tensor<1x6x4x4xf32>) -> tensor<1x6x4x4xf32>
  func.return %y : tensor<1x6x4x4xf32>
}

// -----

// An integer factor is a repetition; no element is computed.
// CHECK-LABEL: func.func @nearest
// CHECK-NEXT:    ge.reshape(%x) {shape = [1, 2, 1, 2, 1, 8]}
// CHECK-NEXT:    ge.expand({{.*}}) {shape = [1, 2, 2, 2, 3, 8]}
// CHECK-NEXT:    %y = ge.reshape({{.*}}) {shape = [1, 4, 6, 8]}
func.func @nearest(%x: tensor<1x2x2x8xf32>) -> tensor<1x4x6x8xf32> {
  %y = ge.resize(%x) {scales = [1.0, 2.0, 3.0, 1.0], mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"} : (tensor<1x2x2x8xf32>) -> tensor<1x4x6x8xf32>
  func.return %y : tensor<1x4x6x8xf32>
}

// -----

// Batches become one table whose rows are numbered through; the numbers of first rows are constants.
// CHECK-LABEL: func.func @batches
// CHECK:         ge.range() {start = 0, limit = 20, delta = 5}
// CHECK:         ge.reshape(%x) {shape = [20, 3]}
// CHECK:         ge.gather({{.*}}) {axis = 0, batch_dims = 0} : (tensor<20x3xf32>, tensor<4x1x2xi64>)
func.func @batches(%x: tensor<4x5x3xf32>, %i: tensor<4x2xi64>) -> tensor<4x2x3xf32> {
  %y = ge.gather(%x, %i) {axis = 1, batch_dims = 1} : (tensor<4x5x3xf32>, tensor<4x2xi64>) -> tensor<4x2x3xf32>
  func.return %y : tensor<4x2x3xf32>
}

// -----

// Operands without elements go.
// CHECK-LABEL: func.func @concat
// CHECK-NOT:     ge.concat
// CHECK:         func.return %x
func.func @concat(%x: tensor<2x3xf32>, %e: tensor<0x3xf32>) -> tensor<2x3xf32> {
  %y = ge.concat(%e, %x) {concat_dim = 0} : (tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// Where the expansion has no kernel either, the op stays as it is: here the pooling of f64 is one, the erf is not.
// CHECK-LABEL: func.func @stays
// CHECK:         %e = ge.erf(%x)
// CHECK:         ge.max_pool2d
// CHECK:         ge.max_pool2d
// CHECK:         %s, %z = ge.topk(%e, %k)
func.func @stays(%x: tensor<1x1x4x4x4xf64>, %k: tensor<1xi64>) -> (tensor<1x1x2x2x2xf64>, tensor<1x1x4x4x?xf64>) {
  %e = ge.erf(%x) : (tensor<1x1x4x4x4xf64>) -> tensor<1x1x4x4x4xf64>
  %y = ge.max_pool3d(%e) {ksize = [2, 2, 2], strides = [2, 2, 2], pads = [0, 0, 0, 0, 0, 0], dilations = [1, 1, 1], ceil_mode = false, data_format = "NCDHW"} : (tensor<1x1x4x4x4xf64>) -> tensor<1x1x2x2x2xf64>
  %s, %z = ge.topk(%e, %k) {dim = 4, largest = true, sorted = true} : (tensor<1x1x4x4x4xf64>, tensor<1xi64>) -> (tensor<1x1x4x4x?xf64>, tensor<1x1x4x4x?xi64>)
  func.return %y, %s : tensor<1x1x2x2x2xf64>, tensor<1x1x4x4x?xf64>
}

// -----

// Windows that are too large to hold come apart: over columns, then over rows.

// CHECK-LABEL: func.func @large_windows(
// CHECK-NEXT: %[[MAX:.*]] = ge.max_pool2d(%x) {ksize = [1, 64], strides = [1, 32], pads = [0, 0, 0, 4], dilations = [1, 1]
// CHECK-NEXT: ge.max_pool2d(%[[MAX]]) {ksize = [70, 1], strides = [16, 1], pads = [0, 0, 2, 0], dilations = [1, 1]
// CHECK-NEXT: %[[MEAN:.*]] = ge.avg_pool2d(%x) {ksize = [1, 64]
// CHECK-NEXT: ge.avg_pool2d(%[[MEAN]]) {ksize = [64, 1]
// CHECK-NEXT: func.return
func.func @large_windows(%x: tensor<1x8x134x124xf32>) -> (tensor<1x8x5x3xf32>, tensor<1x8x3x2xf32>) {
  %0 = ge.max_pool2d(%x) {ksize = [70, 64], strides = [16, 32], pads = [0, 0, 2, 4], dilations = [1, 1], ceil_mode = false, data_format = "NCHW"} : (tensor<1x8x134x124xf32>) -> tensor<1x8x5x3xf32>
  %1 = ge.avg_pool2d(%x) {ksize = [64, 64], strides = [32, 32], pads = [0, 0, 0, 0], ceil_mode = false, count_include_pad = false, data_format = "NCHW"} : (tensor<1x8x134x124xf32>) -> tensor<1x8x3x2xf32>
  func.return %0, %1 : tensor<1x8x5x3xf32>, tensor<1x8x3x2xf32>
}
