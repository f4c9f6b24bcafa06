// RUN: %ge-roundtrip %s | %filecheck
// RUN: %ge-opt %s -p "dce,cse" | %filecheck

// Generators are neither merged nor dropped.
// CHECK-LABEL: func.func @random
func.func @random(%x: tensor<2x3xf16>, %p: tensor<4xf32>) {
  // CHECK-NEXT: %0 = ge.random_uniform() {low = 0.000000e+00, high = 1.000000e+00, shape = [2, 3]} : () -> tensor<2x3xf32>
  %0 = ge.random_uniform() {shape = [2, 3], low = 0, high = 1} : () -> tensor<2x3xf32>
  // CHECK-NEXT: %1 = ge.random_uniform() {low = 0.000000e+00, high = 1.000000e+00, shape = [2, 3]} : () -> tensor<2x3xf32>
  %1 = ge.random_uniform() {shape = [2, 3], low = 0, high = 1} : () -> tensor<2x3xf32>
  // CHECK-NEXT: %2 = ge.random_normal(%x) {mean = 0.000000e+00, scale = 2.000000e+00, seed = 1.500000e+00} : (tensor<2x3xf16>) -> tensor<2x3xf16>
  %2 = ge.random_normal(%x) {mean = 0, scale = 2, seed = 1.5} : (tensor<2x3xf16>) -> tensor<2x3xf16>
  // CHECK-NEXT: %3 = ge.bernoulli(%p) : (tensor<4xf32>) -> tensor<4xi1>
  %3 = ge.bernoulli(%p) : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: %4 = ge.multinomial(%x) {sample_size = 5} : (tensor<2x3xf16>) -> tensor<2x5xi64>
  %4 = ge.multinomial(%x) {sample_size = 5} : (tensor<2x3xf16>) -> tensor<2x5xi64>
  func.return
}
