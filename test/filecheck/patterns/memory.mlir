// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=memory},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @split_concat(
// CHECK: func.return
func.func @split_concat(%0: tensor<2xf32>) -> tensor<2xf32> {
  %1, %2 = ge.split(%0) {size_splits = [1, 1], split_dim = 0} : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xf32>)
  %3 = ge.concat(%1, %2) {concat_dim = 0} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  func.return %3 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @concat_slices(
// CHECK: func.return
func.func @concat_slices(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.slice(%0) {begin = [0], end = [1], axes = [0]} : (tensor<2x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %2 = ge.slice(%0) {begin = [1], end = [100], axes = [0]} : (tensor<2x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %3 = ge.concat(%1, %2) {concat_dim = 0} : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %3 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @slice_all(
// CHECK: func.return
func.func @slice_all(%0: tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32> {
  %1 = ge.slice(%0) {begin = [0], end = [4611686018427387904], axes = [0], strides = [1]} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  func.return %1 : tensor<2x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @slice_slice(
// CHECK-NEXT: = ge.slice(%0) {begin = [2], end = [3], axes = [0], strides = [1]}
// CHECK-NEXT: func.return
func.func @slice_slice(%0: tensor<4x2xf32>) -> tensor<1x2xf32> {
  %1 = ge.slice(%0) {begin = [1], end = [4611686018427387904], axes = [0], strides = [1]} : (tensor<4x2xf32>) -> tensor<3x2xf32>
  %2 = ge.slice(%1) {begin = [1], end = [2], axes = [0], strides = [1]} : (tensor<3x2xf32>) -> tensor<1x2xf32>
  func.return %2 : tensor<1x2xf32>
}

// -----

// CHECK-LABEL: func.func @slice_concat_first(
// CHECK: func.return
func.func @slice_concat_first(%0: tensor<1x2x3x3xf32>, %1: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %2 = ge.concat(%0, %1) {concat_dim = 0} : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %3 = ge.slice(%2) {begin = [0], end = [1], axes = [0], strides = [1]} : (tensor<2x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %3 : tensor<1x2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @pad_pad(
// CHECK: = ge.pad({{.*}}{paddings = [0, 0, 0, 0, 1, 0], mode = "constant"}
// CHECK: func.return
func.func @pad_pad(%0: tensor<1x2x2xf32>) -> tensor<1x3x2xf32> {
  %1 = ge.constant #ge.splat<2.0> : tensor<1xf32>
  %2 = ge.pad(%0, none, %1) {paddings = [0, 0, 0, 0, 0, 0], mode = "constant"} : (tensor<1x2x2xf32>, tensor<1xf32>) -> tensor<1x2x2xf32>
  %3 = ge.constant #ge.splat<2.0> : tensor<f32>
  %4 = ge.pad(%2, none, %3) {paddings = [0, 0, 0, 0, 1, 0], mode = "constant"} : (tensor<1x2x2xf32>, tensor<f32>) -> tensor<1x3x2xf32>
  func.return %4 : tensor<1x3x2xf32>
}

// -----

// CHECK-LABEL: func.func @quantize_dequantize_quantize(
// CHECK: func.return
func.func @quantize_dequantize_quantize(%0: tensor<3xui8>, %1: tensor<ui8>) -> tensor<3xui8> {
  %2 = ge.constant #ge.splat<3.0> : tensor<f32>
  %3 = ge.dequantize(%0, %2, %1) {axis = 0} : (tensor<3xui8>, tensor<f32>, tensor<ui8>) -> tensor<3xf32>
  %4 = ge.quantize(%3, %2, %1) {axis = 0} : (tensor<3xf32>, tensor<f32>, tensor<ui8>) -> tensor<3xui8>
  func.return %4 : tensor<3xui8>
}

// -----

// CHECK-LABEL: func.func @concat_empty(
// CHECK-NEXT: func.return %x
func.func @concat_empty(%x: tensor<1x2x3xf16>, %c: tensor<1x2x0xf16>) -> tensor<1x2x3xf16> {
  %y = ge.concat(%c, %x) {concat_dim = 2} : (tensor<1x2x0xf16>, tensor<1x2x3xf16>) -> tensor<1x2x3xf16>
  func.return %y : tensor<1x2x3xf16>
}

// -----

// CHECK-LABEL: func.func @gather_one(
// CHECK-NEXT: [[S:%.*]] = ge.slice(%x) {begin = [1], end = [2], axes = [1], strides = [1]}
// CHECK-NEXT: ge.reshape([[S]]) {shape = [2, 5]}
func.func @gather_one(%x: tensor<2x4x5xf32>) -> tensor<2x5xf32> {
  %i = ge.constant dense<1> : tensor<i64>
  %y = ge.gather(%x, %i) {axis = 1, batch_dims = 0} : (tensor<2x4x5xf32>, tensor<i64>) -> tensor<2x5xf32>
  func.return %y : tensor<2x5xf32>
}

// -----

// An index counted from the end is left alone.
// CHECK-LABEL: func.func @gather_last(
// CHECK: ge.gather
func.func @gather_last(%x: tensor<2x4x5xf32>) -> tensor<2x5xf32> {
  %i = ge.constant dense<-1> : tensor<i64>
  %y = ge.gather(%x, %i) {axis = 1, batch_dims = 0} : (tensor<2x4x5xf32>, tensor<i64>) -> tensor<2x5xf32>
  func.return %y : tensor<2x5xf32>
}

// -----

// CHECK-LABEL: func.func @view_activation_view(
// CHECK-NEXT: [[G:%.*]] = ge.gelu(%x) {approximate = "tanh"} : (tensor<4x6xf32>)
// CHECK-NEXT: ge.reshape([[G]]) {shape = [4, 6]}
func.func @view_activation_view(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = ge.reshape(%x) {shape = [2, 2, 6]} : (tensor<4x6xf32>) -> tensor<2x2x6xf32>
  %b = ge.gelu(%a) {approximate = "tanh"} : (tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %y = ge.reshape(%b) {shape = [4, 6]} : (tensor<2x2x6xf32>) -> tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// -----

// The transpose of keys as PyTorch's exporter writes it: three axes at a time.

// CHECK-LABEL: func.func @split_transposed(
// CHECK: ge.reshape({{.*}}{shape = [1, 4, 9, 8]}
// CHECK: ge.transpose({{.*}}{perm = [0, 1, 3, 2]}
// CHECK-NEXT: func.return
func.func @split_transposed(%0: tensor<1x2x2x9x8xf32>) -> tensor<1x4x8x9xf32> {
  %1 = ge.reshape(%0) {shape = [4, 9, 8]} : (tensor<1x2x2x9x8xf32>) -> tensor<4x9x8xf32>
  %2 = ge.transpose(%1) {perm = [0, 2, 1]} : (tensor<4x9x8xf32>) -> tensor<4x8x9xf32>
  %3 = ge.reshape(%2) {shape = [1, 4, 8, 9]} : (tensor<4x8x9xf32>) -> tensor<1x4x8x9xf32>
  func.return %3 : tensor<1x4x8x9xf32>
}
