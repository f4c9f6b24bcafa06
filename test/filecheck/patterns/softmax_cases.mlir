// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=softmax},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @log_softmax(
// CHECK: = ge.log_softmax({{.*}}{axes = [-1]}
// CHECK: func.return
func.func @log_softmax() -> tensor<2x2x3x3xf32> {
  %0 = ge.constant dense<[[[[1.34021521, -0.492206514, -0.620474875], [0.489842057, 3.568870e-01, 0.105414249], [-9.304680e-01, -0.0292518232, 0.695303202]], [[-1.34421456, -0.457615763, -1.90122271], [-1.28953779, -1.84173501, -0.235091135], [-1.26744652, 0.271264344, 0.156751081]]], [[[-0.18693094, -2.51675963, -0.538692892], [-0.0485009439, 0.113308989, -1.53013575], [-0.477753282, -0.978519082, -0.808837235]], [[1.06089866, -0.807534695, -0.0325217061], [0.884389877, 1.000000e+00, -0.11170195], [0.110464141, 0.0637817755, -1.22505581]]]]> : tensor<2x2x3x3xf32>
  %1 = ge.softmax(%0) {axes = [-1]} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %2 = ge.log(%1) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %2 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @log_softmax_parts(
// CHECK: = ge.log_softmax({{.*}}{axes = [-1]}
// CHECK: func.return
func.func @log_softmax_parts(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.reduce_max(%0) {axes = [-1], keep_dims = true} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x1xf32>
  %2 = ge.sub(%0, %1) : (tensor<2x2x3x3xf32>, tensor<2x2x3x1xf32>) -> tensor<2x2x3x3xf32>
  %3 = ge.exp(%2) : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %4 = ge.reduce_sum(%3) {axes = [-1], keep_dims = true} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x1xf32>
  %5 = ge.log(%4) : (tensor<2x2x3x1xf32>) -> tensor<2x2x3x1xf32>
  %6 = ge.sub(%2, %5) : (tensor<2x2x3x3xf32>, tensor<2x2x3x1xf32>) -> tensor<2x2x3x3xf32>
  func.return %6 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @softmax_in_f32(
// CHECK-NEXT: ge.softmax(%x) {axes = [1]}
// CHECK-NEXT: func.return
func.func @softmax_in_f32(%x: tensor<2x3xf16>) -> tensor<2x3xf16> {
  %a = ge.cast(%x) : (tensor<2x3xf16>) -> tensor<2x3xf32>
  %b = ge.softmax(%a) {axes = [1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = ge.cast(%b) : (tensor<2x3xf32>) -> tensor<2x3xf16>
  func.return %y : tensor<2x3xf16>
}

// -----

// A result that stays in f32 is more exact than a softmax of f16.
// CHECK-LABEL: func.func @wide_result(
// CHECK-NEXT: ge.cast
// CHECK-NEXT: ge.softmax
func.func @wide_result(%x: tensor<2x3xf16>) -> tensor<2x3xf32> {
  %a = ge.cast(%x) : (tensor<2x3xf16>) -> tensor<2x3xf32>
  %b = ge.softmax(%a) {axes = [1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %b : tensor<2x3xf32>
}
