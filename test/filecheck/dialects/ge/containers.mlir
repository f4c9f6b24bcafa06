// RUN: ge-opt %s | ge-opt | filecheck %s

// What holds values and ops: constants in their forms, and the ops of one kernel.

// CHECK-LABEL: @containers
func.func @containers(%x: tensor<2x8xf32> {ge.name = "x"}) -> (tensor<2x8xf32> {ge.name = "y"}) {
  // CHECK: ge.constant dense<1.{{.*}}> : tensor<1xf32>
  %one = ge.constant dense<1.0> : tensor<1xf32>
  // CHECK: ge.constant #ge.splat<{{.*}}> : tensor<2x8xf32>
  %half = ge.constant #ge.splat<0.5> : tensor<2x8xf32>
  // CHECK: ge.fusion(%{{.*}} = %x : tensor<2x8xf32>, %{{.*}} = %half : tensor<2x8xf32>) attributes {label = "relu_mul"} -> (tensor<2x8xf32>) {
  // CHECK-NEXT: ge.relu
  // CHECK-NEXT: ge.mul
  // CHECK-NEXT: ge.yield
  %f = ge.fusion(%a = %x : tensor<2x8xf32>, %b = %half : tensor<2x8xf32>) attributes {label = "relu_mul"} -> (tensor<2x8xf32>) {
    %r = ge.relu(%a) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %m = ge.mul(%r, %b) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    ge.yield %m : tensor<2x8xf32>
  }
  %y = ge.add(%f, %one) : (tensor<2x8xf32>, tensor<1xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}
