// RUN: ge-opt %s | ge-opt | filecheck %s

// The blocks of transformers, and scales of narrow floats.

// CHECK-LABEL: @attention
func.func @attention(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x16xf32>, %m: tensor<8x8xi1>) {
  // CHECK: ge.attention(%q, %k, %v, none, %m) {num_heads = 4, num_key_value_heads = 2, scale = {{.*}}, input_layout = "BNSD", mask_value = {{.*}}}
  %0 = ge.attention(%q, %k, %v, none, %m) {num_heads = 4, num_key_value_heads = 2, scale = 0.25, input_layout = "BNSD", mask_value = -10000.0} : (tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<8x8xi1>) -> tensor<1x4x8x16xf32>
  func.return
}

// CHECK-LABEL: @ffn
func.func @ffn(%x: tensor<2x8x16xf32>, %w1: tensor<16x32xf32>, %w2: tensor<32x16xf32>) {
  // CHECK: ge.ffn(%x, %w1, %w2) {activation = "gelu"}
  %0 = ge.ffn(%x, %w1, %w2) {activation = "gelu"} : (tensor<2x8x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  func.return
}

// CHECK-LABEL: @scale
func.func @scale(%x: tensor<4xf32>) {
  // CHECK: ge.cast_scale(%x) {saturate = true, round_mode = "up"} : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  %0 = ge.cast_scale(%x) {saturate = true, round_mode = "up"} : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  func.return
}
