// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @quantisation
func.func @quantisation(%x: tensor<4x5xf32>, %s: tensor<5xf32>, %z: tensor<5xi8>, %t: tensor<f16>) {
  // CHECK-NEXT: %0 = ge.quantize(%x, %s, %z) {axis = 1} : (tensor<4x5xf32>, tensor<5xf32>, tensor<5xi8>) -> tensor<4x5xi8>
  %0 = ge.quantize(%x, %s, %z) {axis = 1} : (tensor<4x5xf32>, tensor<5xf32>, tensor<5xi8>) -> tensor<4x5xi8>
  // CHECK-NEXT: %1 = ge.quantize(%x, %t) {axis = 0} : (tensor<4x5xf32>, tensor<f16>) -> tensor<4x5xi16>
  %1 = ge.quantize(%x, %t) {axis = 0} : (tensor<4x5xf32>, tensor<f16>) -> tensor<4x5xi16>
  // CHECK-NEXT: %2 = ge.dequantize(%0, %s, %z) {axis = 1} : (tensor<4x5xi8>, tensor<5xf32>, tensor<5xi8>) -> tensor<4x5xf32>
  %2 = ge.dequantize(%0, %s, %z) {axis = 1} : (tensor<4x5xi8>, tensor<5xf32>, tensor<5xi8>) -> tensor<4x5xf32>
  // CHECK-NEXT: %3, %4, %5 = ge.dynamic_quantize(%x) : (tensor<4x5xf32>) -> (tensor<4x5xui8>, tensor<f32>, tensor<ui8>)
  %3, %4, %5 = ge.dynamic_quantize(%x) : (tensor<4x5xf32>) -> (tensor<4x5xui8>, tensor<f32>, tensor<ui8>)
  func.return
}
