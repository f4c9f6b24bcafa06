// RUN: ge-opt %s --split-input-file -p "apply-rules" | filecheck %s

// fuse_flag = false forbids rules to take an op in; without it this is a mish.
// CHECK-LABEL: func.func @flag(
// CHECK: ge.softplus
// CHECK: ge.tanh
// CHECK-SAME: fuse_flag = false
// CHECK: ge.mul
func.func @flag(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = ge.softplus(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = ge.tanh(%a) attributes {fuse_flag = false} : (tensor<4xf32>) -> tensor<4xf32>
  %y = ge.mul(%x, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @no_flag(
// CHECK-NEXT: ge.mish(%x)
func.func @no_flag(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = ge.softplus(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = ge.tanh(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %y = ge.mul(%x, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
