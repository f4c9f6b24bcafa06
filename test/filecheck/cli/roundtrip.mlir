// RUN: %ge-roundtrip %s | %filecheck

// CHECK: func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %a = "test.op"(%x) {ints = [1 : i64, 2 : i64], name = "n", one = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  %a = "test.op"(%x) {ints = [1, 2], name = "n", one = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32> loc("node")
  func.return %a : tensor<4xf32>
}
