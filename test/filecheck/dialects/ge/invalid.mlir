// RUN: %ge-opt %s --split-input-file --verify-diagnostics

func.func @channels(%x: tensor<1x3x8x8xf32>, %w: tensor<4x4x3x3xf32>) {
  // expected-error @+1 {{x has 3 channels, the filter takes 4 in each of 1 groups}}
  %y = ge.conv2d(%x, %w) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<1x3x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

func.func @conv_result(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{result type is 1x4x8x8xf32, inferred 1x4x6x6xf32}}
  %y = ge.conv2d(%x, %w) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  func.return
}

// -----

func.func @format(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // expected-error @+1 {{"CHWN" is not one of NCHW, }}
  %y = ge.conv2d(%x, %w) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "CHWN"} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return
}

// -----

func.func @transposed(%x: tensor<1x4x8x8xf32>, %w: tensor<3x4x2x2xf32>) {
  // expected-error @+1 {{x has 4 channels, the filter takes 3}}
  %y = ge.conv2d_transpose(%x, %w) {strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, output_padding = [0, 0], data_format = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<3x4x2x2xf32>) -> tensor<1x4x16x16xf32>
  func.return
}

// -----

func.func @product(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+1 {{do not multiply: 3 against 4}}
  %y = ge.matmul(%a, %b) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

func.func @mixed(%a: tensor<2x3xf32>, %b: tensor<3x5xf16>) {
  // expected-error @+1 {{element types differ: f32, f16}}
  %y = ge.matmul(%a, %b) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x3xf32>, tensor<3x5xf16>) -> tensor<2x5xf32>
  func.return
}

// -----

func.func @unwritten(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+1 {{transpose_x2}}
  %y = ge.matmul(%a, %b) {transpose_x1 = false} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

func.func @label(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{label k of ij->k is in no operand}}
  %y = ge.einsum(%a) {equation = "ij->k"} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @window(%x: tensor<1x3x2x2xf32>) {
  // expected-error @+1 {{a window of 3 does not fit into 2 + 0 elements}}
  %y = ge.max_pool2d(%x) {ksize = [3, 3], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false, data_format = "NCHW"} : (tensor<1x3x2x2xf32>) -> tensor<1x3x1x1xf32>
  func.return
}

// -----

func.func @resize_both(%x: tensor<1x1x2x2xf32>) {
  // expected-error @+1 {{resize takes either scales or sizes}}
  %y = ge.resize(%x) {mode = "nearest", coordinate_transformation_mode = "asymmetric"} : (tensor<1x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  func.return
}

// -----

func.func @elements(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{[2, 3] does not reshape to [4, 2]}}
  %y = ge.reshape(%x) {shape = [4, 2]} : (tensor<2x3xf32>) -> tensor<4x2xf32>
  func.return
}

// -----

func.func @twice(%x: tensor<2x3xf32>, %s: tensor<2xi64>) {
  // expected-error @+1 {{operand shape and attribute shape exclude each other}}
  %y = ge.reshape(%x, %s) {shape = [3, 2]} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @never(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{shape is given neither as an attribute nor as an operand}}
  %y = ge.expand(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @perm(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{perm [0, 0] is no permutation of 2 axes}}
  %y = ge.transpose(%x) {perm = [0, 0]} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @parts(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{sizes [1, 1] do not split 3 elements}}
  %a, %b = ge.split(%x) {size_splits = [1, 1], split_dim = 1} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @results(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{ge.split has 2 results, not 1}}
  %a = ge.split(%x) {size_splits = [1, 2], split_dim = 1} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  func.return
}

// -----

func.func @mode(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{"mirror" is not one of constant, reflect, edge, wrap}}
  %a = ge.pad(%x) {paddings = [0, 0, 0, 0], mode = "mirror"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @float_index(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{indices are f32, integers are needed}}
  %a = ge.gather(%x, %x) {axis = 0, batch_dims = 0} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x3xf32>
  func.return
}

// -----

func.func @updates(%x: tensor<4x5xf32>, %n: tensor<3x1xi32>, %v: tensor<2x5xf32>) {
  // expected-error @+1 {{updates are 2x5xf32, [3, 5] is needed}}
  %a = ge.scatter_nd(%x, %n, %v) {reduction = "none"} : (tensor<4x5xf32>, tensor<3x1xi32>, tensor<2x5xf32>) -> tensor<4x5xf32>
  func.return
}

// -----

func.func @scales(%x: tensor<4x5xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{3xf32 does not fit axis 1 of 4x5xf32}}
  %a = ge.quantize(%x, %s) {axis = 1} : (tensor<4x5xf32>, tensor<3xf32>) -> tensor<4x5xi8>
  func.return
}

// -----

func.func @unknown(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{ge.tile has no attribute repeats (it has: multiples)}}
  %a = ge.tile(%x) {repeats = [1, 2]} : (tensor<4x5xf32>) -> tensor<4x10xf32>
  func.return
}

// -----

func.func @fuse_flag(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{fuse_flag is true or false, not "no"}}
  %a = ge.relu(%x) attributes {fuse_flag = "no"} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  func.return
}
