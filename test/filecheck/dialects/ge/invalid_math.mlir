// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func @shapes(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error @+1 {{shapes [2, 3], [2, 4] do not broadcast}}
  %0 = ge.add(%a, %b) : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @types(%a: tensor<2xf32>, %b: tensor<2xf16>) {
  // expected-error @+1 {{element types differ: f32, f16}}
  %0 = ge.mul(%a, %b) : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  func.return
}

// -----

func.func @result(%a: tensor<2xf32>) {
  // expected-error @+1 {{result type is 3xf32, inferred 2xf32}}
  %0 = ge.exp(%a) : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @integers(%a: tensor<2xi32>) {
  // expected-error @+1 {{ge.tanh takes floats, not i32}}
  %0 = ge.tanh(%a) : (tensor<2xi32>) -> tensor<2xi32>
  func.return
}

// -----

func.func @condition(%a: tensor<2xi8>, %b: tensor<2xf32>) {
  // expected-error @+1 {{condition of ge.select takes bool, not i8}}
  %0 = ge.select(%a, %b, %b) : (tensor<2xi8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @comparison(%a: tensor<2xf32>) {
  // expected-error @+1 {{result type is 2xf32, inferred 2xi1}}
  %0 = ge.less(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @axis(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is out of range for rank 2}}
  %0 = ge.reduce_sum(%a) {axes = [2], keep_dims = true} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @twice(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{axes [1, -1] name one axis twice}}
  %0 = ge.softmax(%a) {axes = [1, -1]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @kept(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result type is 2xf32, inferred 2x1xf32}}
  %0 = ge.reduce_max(%a) {axes = [1], keep_dims = true} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @missing(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{keep_dims}}
  %0 = ge.reduce_max(%a) {axes = [1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @parameter(%a: tensor<1x3x2x2xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{ge.batch_norm needs parameters of 3 elements, got 4xf32}}
  %0 = ge.batch_norm(%a, %b, %b, %b, %b) {data_format = "NCHW", epsilon = 1.0e-05} : (tensor<1x3x2x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x3x2x2xf32>
  func.return
}

// -----

func.func @gamma(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{do not broadcast}}
  %0, %1 = ge.rms_norm(%a, %b) {epsilon = 1.0e-06} : (tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>)
  func.return
}

// -----

func.func @both(%a: tensor<2x3xf32>, %k: tensor<i64>) {
  // expected-error @+1 {{exclude each other}}
  %0, %1 = ge.topk(%a, %k) {k = 2, dim = 1, largest = true, sorted = true} : (tensor<2x3xf32>, tensor<i64>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
  func.return
}

// -----

func.func @form(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{"fast" is not one of none, tanh}}
  %0 = ge.gelu(%a) {approximate = "fast"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @unknown(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{ge.elu has no attribute gamma (it has: alpha, scale)}}
  %0 = ge.elu(%a) {gamma = 1.0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
