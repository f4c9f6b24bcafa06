// RUN: ge-opt %s -p group-kernels | filecheck %s

// A product takes transposes of its operands, an activation and a transpose of its result.

// CHECK-LABEL: func.func @all_in_one
// CHECK:         ge.fusion
// CHECK-NEXT:      ge.transpose
// CHECK-NEXT:      ge.matmul
// CHECK-NEXT:      ge.relu
// CHECK-NEXT:      ge.transpose
// CHECK-NEXT:      ge.yield
// CHECK-NOT:     ge.fusion
func.func @all_in_one(%x: tensor<8x6xf32>, %w: tensor<8x5xf32>) -> tensor<5x6xf32> {
  %0 = ge.transpose(%x) {perm = [1, 0]} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %1 = ge.matmul(%0, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
  %2 = ge.relu(%1) : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %3 = ge.transpose(%2) {perm = [1, 0]} : (tensor<6x5xf32>) -> tensor<5x6xf32>
  func.return %3 : tensor<5x6xf32>
}

// A repeated operand has more than one stride per axis: it stays a kernel of its own.

// CHECK-LABEL: func.func @repeated
// CHECK:         ge.fusion
// CHECK-NEXT:      ge.tile
// CHECK-NEXT:      ge.yield
// CHECK:         ge.fusion
// CHECK-NEXT:      ge.matmul
func.func @repeated(%x: tensor<3x4xf32>, %w: tensor<8x5xf32>) -> tensor<6x5xf32> {
  %0 = ge.tile(%x) {multiples = [2, 2]} : (tensor<3x4xf32>) -> tensor<6x8xf32>
  %1 = ge.matmul(%0, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
  func.return %1 : tensor<6x5xf32>
}
