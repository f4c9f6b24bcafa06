// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @square(
func.func @square(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.square(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.square(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @log1p(
func.func @log1p(%a: tensor<40xf32>) {
  // CHECK-NEXT: %0 = ge.log1p(%a) : (tensor<40xf32>) -> tensor<40xf32>
  %0 = ge.log1p(%a) : (tensor<40xf32>) -> tensor<40xf32>
  func.return
}

// CHECK-LABEL: func.func @expm1(
func.func @expm1(%a: tensor<40xf32>) {
  // CHECK-NEXT: %0 = ge.expm1(%a) : (tensor<40xf32>) -> tensor<40xf32>
  %0 = ge.expm1(%a) : (tensor<40xf32>) -> tensor<40xf32>
  func.return
}

// CHECK-LABEL: func.func @sin(
func.func @sin(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.sin(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.sin(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @cos(
func.func @cos(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.cos(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.cos(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @tan(
func.func @tan(%a: tensor<40xf32>) {
  // CHECK-NEXT: %0 = ge.tan(%a) : (tensor<40xf32>) -> tensor<40xf32>
  %0 = ge.tan(%a) : (tensor<40xf32>) -> tensor<40xf32>
  func.return
}

// CHECK-LABEL: func.func @asin(
func.func @asin(%a: tensor<40xf32>) {
  // CHECK-NEXT: %0 = ge.asin(%a) : (tensor<40xf32>) -> tensor<40xf32>
  %0 = ge.asin(%a) : (tensor<40xf32>) -> tensor<40xf32>
  func.return
}

// CHECK-LABEL: func.func @acos(
func.func @acos(%a: tensor<66xf32>) {
  // CHECK-NEXT: %0 = ge.acos(%a) : (tensor<66xf32>) -> tensor<66xf32>
  %0 = ge.acos(%a) : (tensor<66xf32>) -> tensor<66xf32>
  func.return
}

// CHECK-LABEL: func.func @atan(
func.func @atan(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.atan(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.atan(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @sinh(
func.func @sinh(%a: tensor<40xf32>) {
  // CHECK-NEXT: %0 = ge.sinh(%a) : (tensor<40xf32>) -> tensor<40xf32>
  %0 = ge.sinh(%a) : (tensor<40xf32>) -> tensor<40xf32>
  func.return
}

// CHECK-LABEL: func.func @cosh(
func.func @cosh(%a: tensor<66xf32>) {
  // CHECK-NEXT: %0 = ge.cosh(%a) : (tensor<66xf32>) -> tensor<66xf32>
  %0 = ge.cosh(%a) : (tensor<66xf32>) -> tensor<66xf32>
  func.return
}

// CHECK-LABEL: func.func @asinh(
func.func @asinh(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.asinh(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.asinh(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @acosh(
func.func @acosh(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.acosh(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.acosh(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @atanh(
func.func @atanh(%a: tensor<40xf32>) {
  // CHECK-NEXT: %0 = ge.atanh(%a) : (tensor<40xf32>) -> tensor<40xf32>
  %0 = ge.atanh(%a) : (tensor<40xf32>) -> tensor<40xf32>
  func.return
}

// CHECK-LABEL: func.func @is_nan(
func.func @is_nan(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.is_nan(%a) : (tensor<124xf32>) -> tensor<124xi1>
  %0 = ge.is_nan(%a) : (tensor<124xf32>) -> tensor<124xi1>
  func.return
}

// CHECK-LABEL: func.func @is_inf(
func.func @is_inf(%a: tensor<4xf32>) {
  // CHECK-NEXT: %0 = ge.is_inf(%a) {detect_negative = false, detect_positive = false} : (tensor<4xf32>) -> tensor<4xi1>
  %0 = ge.is_inf(%a) {detect_negative = false, detect_positive = false} : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: %1 = ge.is_inf(%a) {detect_negative = false, detect_positive = true} : (tensor<4xf32>) -> tensor<4xi1>
  %1 = ge.is_inf(%a) {detect_negative = false, detect_positive = true} : (tensor<4xf32>) -> tensor<4xi1>
  func.return
}
