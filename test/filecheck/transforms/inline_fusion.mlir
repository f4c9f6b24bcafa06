// RUN: ge-opt %s -p inline-fusion | filecheck %s
// RUN: ge-opt %s -p inline-fusion,group-kernels | filecheck %s --check-prefix=AGAIN

// The ops of a kernel return to the graph; the number it held joins the constants.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %c = ge.constant #ge.splat<2.0> : tensor<f32>
// CHECK-NEXT: %m = ge.mul(%x, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %y = ge.relu(%m) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>

// AGAIN: ge.fusion(%x_1 = %x : tensor<4xf32>) attributes {label = "mul_relu"}
// AGAIN-NEXT: ge.constant #ge.splat<2.0>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = ge.fusion(%a = %x : tensor<4xf32>) attributes {label = "mul_relu", kernel = #ge.kernel<vector, tile = [4], blocks = 1, scratch = 0>} -> (tensor<4xf32>) {
    %c = ge.constant #ge.splat<2.0> : tensor<f32>
    %m = ge.mul(%a, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %y = ge.relu(%m) : (tensor<4xf32>) -> tensor<4xf32>
    ge.yield %y : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
