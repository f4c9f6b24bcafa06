// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @indices
func.func @indices(%x: tensor<4x5xf32>, %i: tensor<2x3xi64>, %u: tensor<2x3xf32>, %n: tensor<3x1xi32>, %v: tensor<3x5xf32>,
                   %on: tensor<1xf32>, %d: tensor<i64>) {
  // CHECK-NEXT: %0 = ge.gather(%x, %i) {axis = 0, batch_dims = 0} : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<2x3x5xf32>
  %0 = ge.gather(%x, %i) {axis = 0, batch_dims = 0} : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<2x3x5xf32>
  // CHECK-NEXT: %1 = ge.gather_elements(%x, %i) {dim = 1} : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  %1 = ge.gather_elements(%x, %i) {dim = 1} : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  // CHECK-NEXT: %2 = ge.gather_nd(%x, %n) {batch_dims = 0} : (tensor<4x5xf32>, tensor<3x1xi32>) -> tensor<3x5xf32>
  %2 = ge.gather_nd(%x, %n) {batch_dims = 0} : (tensor<4x5xf32>, tensor<3x1xi32>) -> tensor<3x5xf32>
  // CHECK-NEXT: %3 = ge.scatter_elements(%x, %i, %u) {axis = 1, reduction = "add"} : (tensor<4x5xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<4x5xf32>
  %3 = ge.scatter_elements(%x, %i, %u) {axis = 1, reduction = "add"} : (tensor<4x5xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<4x5xf32>
  // CHECK-NEXT: %4 = ge.scatter_nd(%x, %n, %v) {reduction = "none"} : (tensor<4x5xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %4 = ge.scatter_nd(%x, %n, %v) {reduction = "none"} : (tensor<4x5xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  // CHECK-NEXT: %5 = ge.one_hot(%i, none, %on, %on) {depth = 7, axis = -1} : (tensor<2x3xi64>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x7xf32>
  %5 = ge.one_hot(%i, none, %on, %on) {depth = 7, axis = -1} : (tensor<2x3xi64>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x7xf32>
  // CHECK-NEXT: %6 = ge.one_hot(%i, %d, %on, %on) {axis = 0} : (tensor<2x3xi64>, tensor<i64>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x2x3xf32>
  %6 = ge.one_hot(%i, %d, %on, %on) {axis = 0} : (tensor<2x3xi64>, tensor<i64>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x2x3xf32>
  // CHECK-NEXT: %7 = ge.nonzero(%x) : (tensor<4x5xf32>) -> tensor<2x?xi64>
  %7 = ge.nonzero(%x) : (tensor<4x5xf32>) -> tensor<2x?xi64>
  func.return
}
