// RUN: ge-opt %s -p "apply-rules{topic=fusion level=2}" | filecheck %s
// RUN: ge-opt %s -p "apply-rules{topic=elementwise,memory}" | filecheck %s --check-prefix=GROUPS
// RUN: not ge-opt %s -p "apply-rules{topic=fuson}" 2>&1 | filecheck %s --check-prefix=TYPO

// Groups of fusions stand for their topics, and fusion for all of them; canonical forms (here x + 0) are no fusion.

// CHECK-LABEL: func.func @main(
// CHECK:       ge.add
// CHECK:       ge.gelu
// CHECK:       ge.matmul(%{{.*}}, %w, %{{.*}})
// GROUPS:      ge.gelu
// GROUPS:      ge.matmul(%{{.*}}, %{{.*}}) {
// GROUPS-NEXT: ge.add(
// TYPO: error GE1107: no topic named fuson; did you mean fusion?
func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %bias: tensor<3xf32>) -> tensor<2x3xf32> {
  %zero = ge.constant #ge.splat<0.0> : tensor<f32>
  %0 = ge.add(%x, %zero) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %root = ge.constant #ge.splat<1.41421354> : tensor<f32>
  %half = ge.constant #ge.splat<0.5> : tensor<f32>
  %one = ge.constant #ge.splat<1.0> : tensor<f32>
  %1 = ge.div(%0, %root) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = ge.erf(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = ge.add(%2, %one) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %4 = ge.mul(%0, %3) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = ge.mul(%4, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %6 = ge.matmul(%5, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %7 = ge.add(%6, %bias) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %7 : tensor<2x3xf32>
}
