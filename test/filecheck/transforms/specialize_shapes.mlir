// RUN: ge-opt %s -p 'specialize-shapes{shapes="a:b:2,3,8;n:?"}' | filecheck %s
// RUN: not ge-opt %s -p 'specialize-shapes{shapes="b:2,3,8"}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not ge-opt %s -p 'specialize-shapes{shapes="a:b:2,3,9"}' 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not ge-opt %s -p 'specialize-shapes{shapes="a:b:2,x"}' 2>&1 | filecheck %s --check-prefix=FORM

// NAME: error GE1004: the graph has no input 'b'; its inputs are a:b, n
// SIZE: error GE1004: shape a:b:2,3,9 does not fit input 'a:b' of type ?x?x8xf32
// FORM: error GE1001

// Types, the arithmetic on sizes and operands that become constant; sizes still unknown keep their names.
// CHECK: func.func @main(%x: tensor<2x3x8xf32> {ge.name = "a:b"}, %n: tensor<?xf32> {ge.name = "n", ge.dims = ["len"]}) -> (tensor<6x8xf32>, tensor<3xi64>, tensor<?xf32>)
func.func @main(%x: tensor<?x?x8xf32> {ge.name = "a:b", ge.dims = ["N", "T", "8"]}, %n: tensor<?xf32> {ge.name = "n", ge.dims = ["len"]}) -> (tensor<?x8xf32>, tensor<?xi64>, tensor<?xf32>) {
  // CHECK-NEXT: %y = ge.reshape(%x) {shape = [6, 8]} : (tensor<2x3x8xf32>) -> tensor<6x8xf32>
  // CHECK-NEXT: %r = ge.constant dense<[0, 1, 2]> : tensor<3xi64>
  // CHECK-NEXT: %e = ge.exp(%n) : (tensor<?xf32>) -> tensor<?xf32>
  // CHECK-NEXT: func.return %y, %r, %e
  %s = ge.shape(%x) {start = 0, end = 2} : (tensor<?x?x8xf32>) -> tensor<2xi64>
  %rows = ge.reduce_prod(%s) {axes = [0], keep_dims = true} : (tensor<2xi64>) -> tensor<1xi64>
  %eight = ge.constant dense<8> : tensor<1xi64>
  %shape = ge.concat(%rows, %eight) {concat_dim = 0} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %y = ge.reshape(%x, %shape) : (tensor<?x?x8xf32>, tensor<2xi64>) -> tensor<?x8xf32>
  %t = ge.slice(%s) {begin = [1], end = [2], axes = [0], strides = [1]} : (tensor<2xi64>) -> tensor<1xi64>
  %limit = ge.reshape(%t) {shape = []} : (tensor<1xi64>) -> tensor<i64>
  %r = ge.range(none, %limit) {start = 0, delta = 1} : (tensor<i64>) -> tensor<?xi64>
  %e = ge.exp(%n) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y, %r, %e : tensor<?x8xf32>, tensor<?xi64>, tensor<?xf32>
}
