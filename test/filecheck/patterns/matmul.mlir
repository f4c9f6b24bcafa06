// RUN: ge-opt %s -p "apply-rules{topic=matmul,canonical}" | filecheck %s

// CHECK-LABEL: @bias
func.func @bias(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<1x8xf32>) -> tensor<2x8xf32> {
  // CHECK-NEXT: [[B:%.*]] = ge.reshape(%b) {shape = [-1]} : (tensor<1x8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: %y = ge.matmul(%x, %w, [[B]]) {transpose_x1 = false, transpose_x2 = false}
  %a = ge.matmul(%x, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %y = ge.add(%b, %a) : (tensor<1x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}

// One value per row is no bias.
// CHECK-LABEL: @per_row
func.func @per_row(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>, %b: tensor<2x1xf32>) -> tensor<2x8xf32> {
  // CHECK: ge.add
  %a = ge.matmul(%x, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %y = ge.add(%a, %b) : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}

// CHECK-LABEL: @transposes
func.func @transposes(%x: tensor<3x2x4xf32>, %w: tensor<3x2x8xf32>) -> tensor<3x4x8xf32> {
  // CHECK-NEXT: %y = ge.matmul(%x, %w) {transpose_x1 = true, transpose_x2 = false}
  %t = ge.transpose(%x) {perm = [0, 2, 1]} : (tensor<3x2x4xf32>) -> tensor<3x4x2xf32>
  %u = ge.transpose(%w) {perm = [0, 2, 1]} : (tensor<3x2x8xf32>) -> tensor<3x8x2xf32>
  %y = ge.matmul(%t, %u) {transpose_x1 = false, transpose_x2 = true} : (tensor<3x4x2xf32>, tensor<3x8x2xf32>) -> tensor<3x4x8xf32>
  func.return %y : tensor<3x4x8xf32>
}

// CHECK-LABEL: @scale
func.func @scale(%x: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %w = ge.constant #ge.weight<"m.onnx", 0, 128> : tensor<8x4xf32>
  %b = ge.constant #ge.weight<"m.onnx", 128, 32> : tensor<8xf32>
  %s = ge.constant #ge.weight<"m.onnx", 160, 32> : tensor<8xf32>
  // CHECK:      [[S:%.*]] = ge.reshape(%s) {shape = [8, 1]}
  // CHECK-NEXT: [[W:%.*]] = ge.mul(%w, [[S]])
  // CHECK-NEXT: [[B:%.*]] = ge.mul(%b, %s)
  // CHECK-NEXT: ge.matmul(%x, [[W]], [[B]]) {transpose_x1 = false, transpose_x2 = true}
  %a = ge.matmul(%x, %w, %b) {transpose_x1 = false, transpose_x2 = true} : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %y = ge.mul(%a, %s) : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  func.return %y : tensor<2x8xf32>
}
