// RUN: ge-opt %s -p infer-shapes | filecheck %s
// RUN: ge-opt %s -p infer-shapes --pass-statistics 2>&1 >/dev/null | filecheck %s --check-prefix=STATS

// Sizes that the text leaves open follow from the arguments, also inside a fusion and in the function's results.
// STATS: 2 retyped

// CHECK: func.func @main(%x: tensor<2x3x8x8xf32>, %n: tensor<2xi64>) -> (tensor<2x4x4x4xf32>, tensor<?x?xf32>) {
func.func @main(%x: tensor<2x3x8x8xf32>, %n: tensor<2xi64>) -> (tensor<?x4x?x?xf32>, tensor<?x?xf32>) {
  %w = ge.constant #ge.splat<0.5> : tensor<4x3x3x3xf32>
  // CHECK: ge.conv2d{{.*}} -> tensor<2x4x4x4xf32>
  %c = ge.conv2d(%x, %w) {strides = [2, 2], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<?x4x?x?xf32>
  // CHECK-NEXT: ge.fusion(%a = %c : tensor<2x4x4x4xf32>) -> (tensor<2x4x4x4xf32>)
  %f = ge.fusion(%a = %c : tensor<?x4x?x?xf32>) -> (tensor<?x4x?x?xf32>) {
    // CHECK-NEXT: ge.relu(%a) : (tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
    %r = ge.relu(%a) : (tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
    // CHECK-NEXT: ge.yield %r : tensor<2x4x4x4xf32>
    ge.yield %r : tensor<?x4x?x?xf32>
  }
  // A shape known at run time only: what the text says stays.
  // CHECK: ge.reshape(%f, %n) : (tensor<2x4x4x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %y = ge.reshape(%f, %n) : (tensor<?x4x?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %f, %y : tensor<?x4x?x?xf32>, tensor<?x?xf32>
}
