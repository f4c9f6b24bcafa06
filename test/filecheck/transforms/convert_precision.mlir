// RUN: ge-opt %s --split-input-file -p convert-precision | filecheck %s
// RUN: ge-opt %s --split-input-file -p "convert-precision{to=bf16}" | filecheck %s --check-prefix=BF16
// RUN: not ge-opt %s --split-input-file -p "convert-precision{to=f8}" 2>&1 | filecheck %s --check-prefix=BAD

// BAD: error GE1001: unknown precision f8

// Casts stand at the border only; the two ops between work in half precision.
// CHECK-LABEL: func.func @border(%x: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %0 = ge.cast(%x) : (tensor<4xf32>) -> tensor<4xf16>
// CHECK-NEXT:    %a = ge.exp(%0) : (tensor<4xf16>) -> tensor<4xf16>
// CHECK-NEXT:    %y = ge.relu(%a) : (tensor<4xf16>) -> tensor<4xf16>
// CHECK-NEXT:    %[[Y:.*]] = ge.cast(%y) : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT:    func.return %[[Y]]
// BF16-LABEL: func.func @border
// BF16:         %a = ge.exp(%{{.*}}) : (tensor<4xbf16>) -> tensor<4xbf16>
func.func @border(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = ge.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %y = ge.relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A constant beyond the range of f16 is clamped to it, an infinite one stays; bf16 has the range of f32.
// CHECK-LABEL: func.func @masks
// CHECK:         ge.constant dense<-6.550400e+04> : tensor<f16>
// CHECK:         ge.constant dense<0xfc00> : tensor<f16>
// BF16-LABEL: func.func @masks
// BF16:          ge.constant dense<-9.969210e+37> : tensor<bf16>
func.func @masks(%x: tensor<4xf32>) -> tensor<4xf32> {
  %low = ge.constant #ge.splat<-1.0e+38> : tensor<f32>
  %inf = ge.constant #ge.splat<bits 0xfff0000000000000> : tensor<f32>
  %a = ge.maximum(%x, %low) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = ge.maximum(%a, %inf) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// An op about f32 keeps it, between casts; integers and positions are not touched.
// CHECK-LABEL: func.func @kept
// CHECK:         %[[A:.*]] = ge.exp(%{{.*}}) : (tensor<4xf16>) -> tensor<4xf16>
// CHECK:         %[[W:.*]] = ge.cast(%[[A]]) : (tensor<4xf16>) -> tensor<4xf32>
// CHECK:         ge.dynamic_quantize(%[[W]]) : (tensor<4xf32>)
// CHECK:         ge.add(%i, %i) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
func.func @kept(%x: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xui8>, tensor<4xi64>) {
  %a = ge.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %q, %s, %z = ge.dynamic_quantize(%a) : (tensor<4xf32>) -> (tensor<4xui8>, tensor<f32>, tensor<ui8>)
  %j = ge.add(%i, %i) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  func.return %q, %j : tensor<4xui8>, tensor<4xi64>
}
