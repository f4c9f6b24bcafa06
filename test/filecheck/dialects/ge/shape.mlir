// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<2x1x6xf32>, %q: tensor<?x?x768xf32>, %s: tensor<2xi64>) {
  // CHECK-NEXT: %0 = ge.reshape(%x) {shape = [4, -1]} : (tensor<2x1x6xf32>) -> tensor<4x3xf32>
  %0 = ge.reshape(%x) {shape = [4, -1]} : (tensor<2x1x6xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: %1 = ge.reshape(%q) {shape = [0, 0, 12, 64]} : (tensor<?x?x768xf32>) -> tensor<?x?x12x64xf32>
  %1 = ge.reshape(%q) {shape = [0, 0, 12, 64]} : (tensor<?x?x768xf32>) -> tensor<?x?x12x64xf32>
  // CHECK-NEXT: %2 = ge.reshape(%x, %s) : (tensor<2x1x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = ge.reshape(%x, %s) : (tensor<2x1x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %3 = ge.squeeze(%x) {axes = [1]} : (tensor<2x1x6xf32>) -> tensor<2x6xf32>
  %3 = ge.squeeze(%x) {axes = [1]} : (tensor<2x1x6xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: %4 = ge.unsqueeze(%x) {axes = [0, -1]} : (tensor<2x1x6xf32>) -> tensor<1x2x1x6x1xf32>
  %4 = ge.unsqueeze(%x) {axes = [0, -1]} : (tensor<2x1x6xf32>) -> tensor<1x2x1x6x1xf32>
  func.return
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<2x3x4xf32>, %v: tensor<1xi64>, %f: tensor<f32>, %c: tensor<1x8x2x2xf32>, %n: tensor<2xi64>) {
  // CHECK-NEXT: %0 = ge.transpose(%x) {perm = [2, 0, 1]} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %0 = ge.transpose(%x) {perm = [2, 0, 1]} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  // CHECK-NEXT: %1 = ge.concat(%x, %x, %x) {concat_dim = 1} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x9x4xf32>
  %1 = ge.concat(%x, %x, %x) {concat_dim = 1} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x9x4xf32>
  // CHECK-NEXT: %2 = ge.pack(%f, %f) {axis = 0} : (tensor<f32>, tensor<f32>) -> tensor<2xf32>
  %2 = ge.pack(%f, %f) {axis = 0} : (tensor<f32>, tensor<f32>) -> tensor<2xf32>
  // CHECK-NEXT: %3, %4 = ge.unpack(%x) {axis = 0} : (tensor<2x3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  %3, %4 = ge.unpack(%x) {axis = 0} : (tensor<2x3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  // CHECK-NEXT: %5, %6 = ge.split(%x) {size_splits = [1, 3], split_dim = 2} : (tensor<2x3x4xf32>) -> (tensor<2x3x1xf32>, tensor<2x3x3xf32>)
  %5, %6 = ge.split(%x) {size_splits = [1, 3], split_dim = 2} : (tensor<2x3x4xf32>) -> (tensor<2x3x1xf32>, tensor<2x3x3xf32>)
  // CHECK-NEXT: %7 = ge.slice(%x) {begin = [-1], end = [-9223372036854775808], axes = [1], strides = [-1]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %7 = ge.slice(%x) {begin = [-1], end = [-9223372036854775808], axes = [1], strides = [-1]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %8 = ge.slice(%x, none, %v) {begin = [0], axes = [1], strides = [1]} : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x?x4xf32>
  %8 = ge.slice(%x, none, %v) {begin = [0], axes = [1], strides = [1]} : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<2x?x4xf32>
  // CHECK-NEXT: %9 = ge.pad(%x, none, %f) {paddings = [0, 1, 0, 0, 1, -1], mode = "constant"} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x5x3xf32>
  %9 = ge.pad(%x, none, %f) {paddings = [0, 1, 0, 0, 1, -1], mode = "constant"} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x5x3xf32>
  // CHECK-NEXT: %10 = ge.expand(%f) {shape = [2, 3]} : (tensor<f32>) -> tensor<2x3xf32>
  %10 = ge.expand(%f) {shape = [2, 3]} : (tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %11 = ge.tile(%x) {multiples = [1, 2, 3]} : (tensor<2x3x4xf32>) -> tensor<2x6x12xf32>
  %11 = ge.tile(%x) {multiples = [1, 2, 3]} : (tensor<2x3x4xf32>) -> tensor<2x6x12xf32>
  // CHECK-NEXT: %12 = ge.fill(none, %f) {dims = [2, 2]} : (tensor<f32>) -> tensor<2x2xf32>
  %12 = ge.fill(none, %f) {dims = [2, 2]} : (tensor<f32>) -> tensor<2x2xf32>
  // CHECK-NEXT: %13 = ge.fill(%n, %f) : (tensor<2xi64>, tensor<f32>) -> tensor<?x?xf32>
  %13 = ge.fill(%n, %f) : (tensor<2xi64>, tensor<f32>) -> tensor<?x?xf32>
  // CHECK-NEXT: %14 = ge.shape(%x) {start = 1, end = -1} : (tensor<2x3x4xf32>) -> tensor<1xi64>
  %14 = ge.shape(%x) {start = 1, end = -1} : (tensor<2x3x4xf32>) -> tensor<1xi64>
  // CHECK-NEXT: %15 = ge.size(%x) : (tensor<2x3x4xf32>) -> tensor<i32>
  %15 = ge.size(%x) : (tensor<2x3x4xf32>) -> tensor<i32>
  // CHECK-NEXT: %16 = ge.range() {start = 0, limit = 10, delta = 3} : () -> tensor<4xi64>
  %16 = ge.range() {start = 0, limit = 10, delta = 3} : () -> tensor<4xi64>
  // CHECK-NEXT: %17 = ge.range(none, %f) {start = 5.000000e-01, delta = 1.000000e+00} : (tensor<f32>) -> tensor<?xf32>
  %17 = ge.range(none, %f) {start = 0.5, delta = 1.0} : (tensor<f32>) -> tensor<?xf32>
  // CHECK-NEXT: %18 = ge.tril(%x) {diagonal = -1} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %18 = ge.tril(%x) {diagonal = -1} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %19 = ge.triu(%x) {diagonal = 1} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %19 = ge.triu(%x) {diagonal = 1} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %20 = ge.depth_to_space(%c) {block_size = 2, mode = "CRD", data_format = "NCHW"} : (tensor<1x8x2x2xf32>) -> tensor<1x2x4x4xf32>
  %20 = ge.depth_to_space(%c) {block_size = 2, mode = "CRD", data_format = "NCHW"} : (tensor<1x8x2x2xf32>) -> tensor<1x2x4x4xf32>
  // CHECK-NEXT: %21 = ge.space_to_depth(%20) {block_size = 2, mode = "CRD", data_format = "NCHW"} : (tensor<1x2x4x4xf32>) -> tensor<1x8x2x2xf32>
  %21 = ge.space_to_depth(%20) {block_size = 2, mode = "CRD", data_format = "NCHW"} : (tensor<1x2x4x4xf32>) -> tensor<1x8x2x2xf32>
  // CHECK-NEXT: %22 = ge.reverse_sequence(%x, %n) {seq_dim = 1, batch_dim = 0} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2x3x4xf32>
  %22 = ge.reverse_sequence(%x, %n) {seq_dim = 1, batch_dim = 0} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %23 = ge.trans_data(%x) {src_format = "ND", dst_format = "FRACTAL_NZ"} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32, #ge.layout<FRACTAL_NZ>>
  %23 = ge.trans_data(%x) {src_format = "ND", dst_format = "FRACTAL_NZ"} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32, #ge.layout<FRACTAL_NZ>>
  func.return
}
