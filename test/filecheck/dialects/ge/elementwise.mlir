// RUN: %ge-roundtrip %s | %filecheck

// CHECK-LABEL: func.func @add(
func.func @add(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>, %c: tensor<3x4xf32>, %d: tensor<f32>, %e: tensor<3x4xi32>, %f: tensor<4xi32>, %g: tensor<0x4xf32>, %h: tensor<1x4xf32>) {
  // CHECK-NEXT: %0 = ge.add(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  %0 = ge.add(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  // CHECK-NEXT: %1 = ge.add(%c, %d) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %1 = ge.add(%c, %d) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %2 = ge.add(%e, %f) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  %2 = ge.add(%e, %f) : (tensor<3x4xi32>, tensor<4xi32>) -> tensor<3x4xi32>
  // CHECK-NEXT: %3 = ge.add(%g, %h) : (tensor<0x4xf32>, tensor<1x4xf32>) -> tensor<0x4xf32>
  %3 = ge.add(%g, %h) : (tensor<0x4xf32>, tensor<1x4xf32>) -> tensor<0x4xf32>
  func.return
}

// CHECK-LABEL: func.func @sub(
func.func @sub(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.sub(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  %0 = ge.sub(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @mul(
func.func @mul(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.mul(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  %0 = ge.mul(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @div(
func.func @div(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.div(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  %0 = ge.div(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @mod(
func.func @mod(%a: tensor<3x4xf32>, %b: tensor<4xf32>) {
  // CHECK-NEXT: %0 = ge.mod(%a, %b) {fmod = false} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %0 = ge.mod(%a, %b) {fmod = false} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  func.return
}

// CHECK-LABEL: func.func @pow(
func.func @pow(%a: tensor<5x7xf32>, %b: tensor<7xf32>) {
  // CHECK-NEXT: %0 = ge.pow(%a, %b) : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  %0 = ge.pow(%a, %b) : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @maximum(
func.func @maximum(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.maximum(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  %0 = ge.maximum(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @minimum(
func.func @minimum(%a: tensor<3x1x4xf32>, %b: tensor<2x1xf32>) {
  // CHECK-NEXT: %0 = ge.minimum(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  %0 = ge.minimum(%a, %b) : (tensor<3x1x4xf32>, tensor<2x1xf32>) -> tensor<3x2x4xf32>
  func.return
}

// CHECK-LABEL: func.func @abs(
func.func @abs(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.abs(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.abs(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @neg(
func.func @neg(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.neg(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.neg(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @sign(
func.func @sign(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.sign(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.sign(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @relu(
func.func @relu(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.relu(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.relu(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @exp(
func.func @exp(%a: tensor<66xf32>) {
  // CHECK-NEXT: %0 = ge.exp(%a) : (tensor<66xf32>) -> tensor<66xf32>
  %0 = ge.exp(%a) : (tensor<66xf32>) -> tensor<66xf32>
  func.return
}

// CHECK-LABEL: func.func @log(
func.func @log(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.log(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.log(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @sqrt(
func.func @sqrt(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.sqrt(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.sqrt(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @rsqrt(
func.func @rsqrt(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.rsqrt(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.rsqrt(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @reciprocal(
func.func @reciprocal(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.reciprocal(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.reciprocal(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @floor(
func.func @floor(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.floor(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.floor(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @ceil(
func.func @ceil(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.ceil(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.ceil(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @round(
func.func @round(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.round(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.round(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @trunc(
func.func @trunc(%a: tensor<5x7xf32>) {
  // CHECK-NEXT: %0 = ge.trunc(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %0 = ge.trunc(%a) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  func.return
}

// CHECK-LABEL: func.func @select(
func.func @select(%a: tensor<3x1xi1>, %b: tensor<3x4xf32>, %c: tensor<4xf32>) {
  // CHECK-NEXT: %0 = ge.select(%a, %b, %c) : (tensor<3x1xi1>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %0 = ge.select(%a, %b, %c) : (tensor<3x1xi1>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  func.return
}

// CHECK-LABEL: func.func @cast(
func.func @cast(%a: tensor<5x7xf32>, %b: tensor<4x3xi32>) {
  // CHECK-NEXT: %0 = ge.cast(%a) : (tensor<5x7xf32>) -> tensor<5x7xi32>
  %0 = ge.cast(%a) : (tensor<5x7xf32>) -> tensor<5x7xi32>
  // CHECK-NEXT: %1 = ge.cast(%b) : (tensor<4x3xi32>) -> tensor<4x3xf16>
  %1 = ge.cast(%b) : (tensor<4x3xi32>) -> tensor<4x3xf16>
  func.return
}

// CHECK-LABEL: func.func @identity(
func.func @identity(%a: tensor<124xf32>) {
  // CHECK-NEXT: %0 = ge.identity(%a) : (tensor<124xf32>) -> tensor<124xf32>
  %0 = ge.identity(%a) : (tensor<124xf32>) -> tensor<124xf32>
  func.return
}

// CHECK-LABEL: func.func @unknown_sizes(
func.func @unknown_sizes(%a: tensor<?x4xbf16>, %b: tensor<?xbf16>, %c: tensor<i1>) attributes {k = 1 : i64} {
  // CHECK-NEXT: %0 = ge.add(%a, %b) : (tensor<?x4xbf16>, tensor<?xbf16>) -> tensor<?x4xbf16>
  %0 = ge.add(%a, %b) : (tensor<?x4xbf16>, tensor<?xbf16>) -> tensor<?x4xbf16>
  // CHECK-NEXT: %1 = ge.select(%c, %0, %b) attributes {note = "kept"} : (tensor<i1>, tensor<?x4xbf16>, tensor<?xbf16>) -> tensor<?x4xbf16>
  %1 = ge.select(%c, %0, %b) attributes {note = "kept"} : (tensor<i1>, tensor<?x4xbf16>, tensor<?xbf16>) -> tensor<?x4xbf16>
  // a result may be typed more closely than what is inferred
  // CHECK-NEXT: %2 = ge.add(%a, %b) : (tensor<?x4xbf16>, tensor<?xbf16>) -> tensor<2x4xbf16>
  %2 = ge.add(%a, %b) : (tensor<?x4xbf16>, tensor<?xbf16>) -> tensor<2x4xbf16>
  func.return
}
