// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=rotary},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @rotary_halves(
// CHECK: = ge.rotary_embedding({{.*}}{mode = 0}
// CHECK: func.return
func.func @rotary_halves(%0: tensor<3x2x4xf32>, %1: tensor<4xf32>) -> tensor<3x2x4xf32> {
  %2 = ge.constant dense<0.000000e+00> : tensor<f32>
  %3 = ge.mul(%0, %2) : (tensor<3x2x4xf32>, tensor<f32>) -> tensor<3x2x4xf32>
  %4 = ge.slice(%0) {begin = [2], end = [4], axes = [-1], strides = [1]} : (tensor<3x2x4xf32>) -> tensor<3x2x2xf32>
  %5 = ge.neg(%4) : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  %6 = ge.slice(%0) {begin = [0], end = [2], axes = [-1], strides = [1]} : (tensor<3x2x4xf32>) -> tensor<3x2x2xf32>
  %7 = ge.concat(%5, %6) {concat_dim = -1} : (tensor<3x2x2xf32>, tensor<3x2x2xf32>) -> tensor<3x2x4xf32>
  %8 = ge.mul(%7, %1) : (tensor<3x2x4xf32>, tensor<4xf32>) -> tensor<3x2x4xf32>
  %9 = ge.add(%8, %3) : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  func.return %9 : tensor<3x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @rotary_halves_split(
// CHECK: = ge.rotary_embedding({{.*}}{mode = 0}
// CHECK: func.return
func.func @rotary_halves_split(%0: tensor<2xf32>, %1: tensor<1xf32>, %2: tensor<2xf32>) -> tensor<2xf32> {
  %3 = ge.mul(%1, %0) : (tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4, %5 = ge.split(%0) {size_splits = [1, 1], split_dim = 0} : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xf32>)
  %6 = ge.neg(%5) : (tensor<1xf32>) -> tensor<1xf32>
  %7 = ge.concat(%6, %4) {concat_dim = 0} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %8 = ge.mul(%7, %2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %9 = ge.add(%8, %3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %9 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @rotary_part(
// CHECK-NEXT: %[[PART:.*]] = ge.slice(%x) {begin = [0], end = [4], axes = [3], strides = [1]}
// CHECK-NEXT: ge.rotary_embedding(%[[PART]], %cos, %sin) {mode = 0}
// CHECK-NEXT: func.return
func.func @rotary_part(%x: tensor<1x4x9x8xf32>, %cos: tensor<1x1x9x4xf32>, %sin: tensor<1x1x9x4xf32>) -> tensor<1x4x9x4xf32> {
  %part = ge.slice(%x) {begin = [0], end = [4], axes = [3], strides = [1]} : (tensor<1x4x9x8xf32>) -> tensor<1x4x9x4xf32>
  %0 = ge.mul(%part, %cos) : (tensor<1x4x9x4xf32>, tensor<1x1x9x4xf32>) -> tensor<1x4x9x4xf32>
  %low = ge.slice(%x) {begin = [0], end = [2], axes = [3], strides = [1]} : (tensor<1x4x9x8xf32>) -> tensor<1x4x9x2xf32>
  %high = ge.slice(%x) {begin = [2], end = [4], axes = [3], strides = [1]} : (tensor<1x4x9x8xf32>) -> tensor<1x4x9x2xf32>
  %neg = ge.neg(%high) : (tensor<1x4x9x2xf32>) -> tensor<1x4x9x2xf32>
  %turned = ge.concat(%neg, %low) {concat_dim = 3} : (tensor<1x4x9x2xf32>, tensor<1x4x9x2xf32>) -> tensor<1x4x9x4xf32>
  %1 = ge.mul(%turned, %sin) : (tensor<1x4x9x4xf32>, tensor<1x1x9x4xf32>) -> tensor<1x4x9x4xf32>
  %2 = ge.add(%0, %1) : (tensor<1x4x9x4xf32>, tensor<1x4x9x4xf32>) -> tensor<1x4x9x4xf32>
  func.return %2 : tensor<1x4x9x4xf32>
}
