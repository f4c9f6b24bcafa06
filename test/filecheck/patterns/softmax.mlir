// RUN: ge-opt %s -p "apply-rules{topic=softmax}" | filecheck %s

// CHECK-LABEL: @softmax
func.func @softmax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // CHECK-NEXT: %y = ge.softmax(%x) {axes = [-1]}
  // CHECK-NEXT: func.return %y
  %m = ge.reduce_max(%x) {axes = [-1], keep_dims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %d = ge.sub(%x, %m) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %e = ge.exp(%d) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %s = ge.reduce_sum(%e) {axes = [-1], keep_dims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %y = ge.div(%e, %s) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// The maximum over other axes only changes rounding, but the sum over other axes is another function.
// CHECK-LABEL: @other_axes
func.func @other_axes(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // CHECK: ge.div
  %m = ge.reduce_max(%x) {axes = [0], keep_dims = true} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %d = ge.sub(%x, %m) : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %e = ge.exp(%d) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %s = ge.reduce_sum(%e) {axes = [-1], keep_dims = false} : (tensor<2x4xf32>) -> tensor<2xf32>
  %t = ge.unsqueeze(%s) {axes = [1]} : (tensor<2xf32>) -> tensor<2x1xf32>
  %y = ge.div(%e, %t) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
