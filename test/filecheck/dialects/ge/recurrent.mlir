// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @lstm
func.func @lstm(%x: tensor<3x2x4xf32>, %w: tensor<1x20x4xf32>, %r: tensor<1x20x5xf32>, %b: tensor<1x40xf32>, %n: tensor<2xi32>, %h: tensor<1x2x5xf32>, %c: tensor<1x2x5xf32>, %p: tensor<1x15xf32>) -> (tensor<3x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>) {
  // CHECK-NEXT: %y, %y_h, %y_c = ge.lstm(%x, %w, %r, %b, %n, %h, %c, %p) {input_forget = false, direction = "forward", hidden_size = 5, activations = ["Sigmoid", "Tanh", "Tanh"], activation_alpha = [0.000000e+00, 0.000000e+00, 0.000000e+00], activation_beta = [0.000000e+00, 0.000000e+00, 0.000000e+00]} : (tensor<3x2x4xf32>, tensor<1x20x4xf32>, tensor<1x20x5xf32>, tensor<1x40xf32>, tensor<2xi32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x15xf32>) -> (tensor<3x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  %y, %y_h, %y_c = ge.lstm(%x, %w, %r, %b, %n, %h, %c, %p) {input_forget = false, direction = "forward", hidden_size = 5, activations = ["Sigmoid", "Tanh", "Tanh"], activation_alpha = [0.000000e+00, 0.000000e+00, 0.000000e+00], activation_beta = [0.000000e+00, 0.000000e+00, 0.000000e+00]} : (tensor<3x2x4xf32>, tensor<1x20x4xf32>, tensor<1x20x5xf32>, tensor<1x40xf32>, tensor<2xi32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x15xf32>) -> (tensor<3x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  func.return %y, %y_h, %y_c : tensor<3x1x2x5xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>
}

// CHECK-LABEL: func.func @gru
func.func @gru(%x: tensor<3x2x4xf16>, %w: tensor<2x15x4xf16>, %r: tensor<2x15x5xf16>, %h: tensor<2x2x5xf16>) -> (tensor<3x2x2x5xf16>, tensor<2x2x5xf16>) {
  // CHECK-NEXT: %y, %y_h = ge.gru(%x, %w, %r, none, none, %h) {linear_before_reset = true, direction = "bidirectional", hidden_size = 5, activations = ["Sigmoid", "Tanh", "Sigmoid", "Tanh"], activation_alpha = [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], activation_beta = [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]} : (tensor<3x2x4xf16>, tensor<2x15x4xf16>, tensor<2x15x5xf16>, tensor<2x2x5xf16>) -> (tensor<3x2x2x5xf16>, tensor<2x2x5xf16>)
  %y, %y_h = ge.gru(%x, %w, %r, none, none, %h) {linear_before_reset = true, direction = "bidirectional", hidden_size = 5, activations = ["Sigmoid", "Tanh", "Sigmoid", "Tanh"], activation_alpha = [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], activation_beta = [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]} : (tensor<3x2x4xf16>, tensor<2x15x4xf16>, tensor<2x15x5xf16>, tensor<2x2x5xf16>) -> (tensor<3x2x2x5xf16>, tensor<2x2x5xf16>)
  func.return %y, %y_h : tensor<3x2x2x5xf16>, tensor<2x2x5xf16>
}

// CHECK-LABEL: func.func @rnn
func.func @rnn(%x: tensor<3x2x4xf32>, %w: tensor<1x5x4xf32>, %r: tensor<1x5x5xf32>) -> (tensor<3x1x2x5xf32>, tensor<1x2x5xf32>) {
  // CHECK-NEXT: %y, %y_h = ge.rnn(%x, %w, %r) {direction = "reverse", hidden_size = 5, activations = ["LeakyRelu"], activation_alpha = [2.500000e-01], activation_beta = [0.000000e+00], clip = 2.000000e+00} : (tensor<3x2x4xf32>, tensor<1x5x4xf32>, tensor<1x5x5xf32>) -> (tensor<3x1x2x5xf32>, tensor<1x2x5xf32>)
  %y, %y_h = ge.rnn(%x, %w, %r) {direction = "reverse", hidden_size = 5, activations = ["LeakyRelu"], activation_alpha = [2.500000e-01], activation_beta = [0.000000e+00], clip = 2.000000e+00} : (tensor<3x2x4xf32>, tensor<1x5x4xf32>, tensor<1x5x5xf32>) -> (tensor<3x1x2x5xf32>, tensor<1x2x5xf32>)
  func.return %y, %y_h : tensor<3x1x2x5xf32>, tensor<1x2x5xf32>
}

// Absent operands between others are none; those at the end are left out.
// CHECK: ge.lstm(%x, %w, %r, none, none, %h, %c) {
func.func @lstm_without_bias(%x: tensor<5x2x3xf32>, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>, %h: tensor<1x2x4xf32>, %c: tensor<1x2x4xf32>) -> tensor<5x1x2x4xf32> {
  %y, %y_h, %y_c = ge.lstm(%x, %w, %r, none, none, %h, %c) {input_forget = false, direction = "forward", hidden_size = 4, activations = ["Sigmoid", "Tanh", "Tanh"], activation_alpha = [0.0, 0.0, 0.0], activation_beta = [0.0, 0.0, 0.0]} : (tensor<5x2x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<5x1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  func.return %y : tensor<5x1x2x4xf32>
}
