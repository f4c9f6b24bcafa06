// RUN: ge-opt %s -p group-kernels | filecheck %s

// Element-wise work on a product becomes one mixed kernel with it, whatever else it reads of the same shape or less.

// CHECK-LABEL: func.func @residual
// CHECK:         ge.fusion
// CHECK:           ge.matmul
// CHECK-NEXT:      ge.add
// CHECK-NEXT:      ge.relu
// CHECK-NEXT:      ge.yield
// CHECK-NOT:     ge.fusion
func.func @residual(%x: tensor<8x6xf32>, %w: tensor<6x5xf32>, %r: tensor<8x5xf32>) -> tensor<8x5xf32> {
  %0 = ge.matmul(%x, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
  %1 = ge.add(%0, %r) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  %2 = ge.relu(%1) : (tensor<8x5xf32>) -> tensor<8x5xf32>
  func.return %2 : tensor<8x5xf32>
}

// The product and a value on the way are results too.

// CHECK-LABEL: func.func @several
// CHECK:         %{{.*}}, %{{.*}} = ge.fusion
// CHECK:           %[[Y:.*]] = ge.matmul
// CHECK-NEXT:      %[[S:.*]] = ge.sigmoid(%[[Y]])
// CHECK-NEXT:      ge.yield %[[Y]], %[[S]]
// CHECK-NOT:     ge.fusion
func.func @several(%x: tensor<8x6xf32>, %w: tensor<6x5xf32>) -> (tensor<8x5xf32>, tensor<8x5xf32>) {
  %0 = ge.matmul(%x, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
  %1 = ge.sigmoid(%0) : (tensor<8x5xf32>) -> tensor<8x5xf32>
  func.return %0, %1 : tensor<8x5xf32>, tensor<8x5xf32>
}

// Of two products the later one takes the work over.

// CHECK-LABEL: func.func @two_products
// CHECK:         ge.fusion
// CHECK:           ge.matmul
// CHECK-NEXT:      ge.yield
// CHECK:         ge.fusion
// CHECK:           ge.matmul
// CHECK-NEXT:      ge.mul
// CHECK-NEXT:      ge.yield
func.func @two_products(%x: tensor<8x6xf32>, %w: tensor<6x5xf32>, %v: tensor<6x5xf32>) -> tensor<8x5xf32> {
  %0 = ge.matmul(%x, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
  %1 = ge.matmul(%x, %v) {transpose_x1 = false, transpose_x2 = false} : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
  %2 = ge.mul(%0, %1) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  func.return %2 : tensor<8x5xf32>
}

// What fixpipe can do stays a cube kernel; a reduction keeps its element-wise work; a larger space is none of the
// product's.

// CHECK-LABEL: func.func @apart
// CHECK:         ge.fusion
// CHECK:           ge.matmul
// CHECK-NEXT:      ge.relu
// CHECK-NEXT:      ge.yield
// CHECK:         ge.fusion
// CHECK-DAG:       ge.exp
// CHECK-DAG:       ge.reduce_sum
// CHECK:         ge.fusion
// CHECK-NOT:       ge.matmul
// CHECK:           ge.add
func.func @apart(%x: tensor<8x6xf32>, %w: tensor<6x5xf32>, %r: tensor<3x8x5xf32>) -> (tensor<8x1xf32>, tensor<3x8x5xf32>) {
  %0 = ge.matmul(%x, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
  %1 = ge.relu(%0) : (tensor<8x5xf32>) -> tensor<8x5xf32>
  %2 = ge.exp(%1) : (tensor<8x5xf32>) -> tensor<8x5xf32>
  %3 = ge.reduce_sum(%2) {axes = [1], keep_dims = true} : (tensor<8x5xf32>) -> tensor<8x1xf32>
  %4 = ge.add(%1, %r) : (tensor<8x5xf32>, tensor<3x8x5xf32>) -> tensor<3x8x5xf32>
  func.return %3, %4 : tensor<8x1xf32>, tensor<3x8x5xf32>
}
