// RUN: ge-opt %s --split-input-file -p "lower-kernels{allocate=false sync=false}" | filecheck %s

// A row that all tiles share is loaded once; the number is an immediate; tiles come in two slots. 100 rows are 33 tiles
// of 3, one per block, and a last row for the block that is next.

// CHECK:      npu.kernel @k0_kernel kind = vector blocks = 34 args = [x0 : 100000xf32 in, x1 : 1000xf32 in, y0 : 100000xf32 out] {
// CHECK:        npu.load %x, %{{.*}}
// CHECK-NEXT:   npu.for %i = %bid to 33 step 34 {
// CHECK-NEXT:     %x_1 = npu.alloc buffers = 2 : !npu.tile<3x1000xf32, ub>
// CHECK-NEXT:     %[[X:.*]] = npu.view %x0[%i * 3000] : !npu.gm<f32> -> !npu.tile<3x1000xf32, gm>
// CHECK-NEXT:     npu.load %x_1, %[[X]]
// CHECK-NEXT:     %[[A:.*]] = npu.alloc : !npu.tile<3x1000xf32, ub>
// CHECK-NEXT:     npu.vmuls %[[A]], %x_1 {scalar = 2.0}
// CHECK-NEXT:     %[[Y:.*]] = npu.alloc : !npu.tile<3x1000xf32, ub>
// CHECK-NEXT:     %[[Z:.*]] = npu.view %x[0] strides = [0, 1]
// CHECK-NEXT:     npu.vadd %[[Y]], %[[A]], %[[Z]]
// CHECK-NEXT:     %[[T:.*]] = npu.view %y0[%i * 3000]
// CHECK-NEXT:     npu.store %[[T]], %[[Y]]
// CHECK:        npu.for %once = %bid to 34 step
// CHECK-NEXT:     npu.for %once_1 = 33 to %bid + 1 step
// CHECK:            npu.view %x0[99000] : !npu.gm<f32> -> !npu.tile<1x1000xf32, gm>
func.func @main(%x: tensor<100x1000xf32>, %z: tensor<1000xf32>) -> tensor<100x1000xf32> {
  %y = ge.fusion(%0 = %x : tensor<100x1000xf32>, %1 = %z : tensor<1000xf32>) attributes {kernel = #ge.kernel<vector, tile = [3, 1000], blocks = 34, scratch = 0>} -> (tensor<100x1000xf32>) {
    %c = ge.constant #ge.splat<2.0> : tensor<f32>
    %2 = ge.mul(%0, %c) : (tensor<100x1000xf32>, tensor<f32>) -> tensor<100x1000xf32>
    %3 = ge.add(%2, %1) : (tensor<100x1000xf32>, tensor<1000xf32>) -> tensor<100x1000xf32>
    ge.yield %3 : tensor<100x1000xf32>
  }
  func.return %y : tensor<100x1000xf32>
}

// -----

// A row in one tile: softmax is five instructions on it.

// CHECK-LABEL: func.func @softmax
// CHECK:        npu.for %i = %bid to 2 step 2
// CHECK:        npu.vreduce_max
// CHECK:        npu.vsub
// CHECK:        npu.vexp
// CHECK:        npu.vreduce_sum
// CHECK:        npu.vdiv
// CHECK-NOT:    npu.for
func.func @softmax(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %y = ge.fusion(%0 = %x : tensor<2x64xf32>) attributes {kernel = #ge.kernel<vector, tile = [1, 64], blocks = 2, scratch = 0>} -> (tensor<2x64xf32>) {
    %1 = ge.softmax(%0) {axes = [1]} : (tensor<2x64xf32>) -> tensor<2x64xf32>
    ge.yield %1 : tensor<2x64xf32>
  }
  func.return %y : tensor<2x64xf32>
}

// -----

// A row too long for one tile is read three times: for the maximum, the sum, the result.

// CHECK-LABEL: func.func @long
// CHECK:      npu.for %i = %bid to 2 step 2 {
// CHECK-NEXT:   %r = npu.alloc
// CHECK-NEXT:   npu.vdup %r {scalar = "-inf"}
// CHECK-NEXT:   npu.for %{{.*}} = 0 to 4 step 1 {
// CHECK:          npu.vreduce_max %{{.*}}, %{{.*}} {accumulate = true}
// CHECK:        npu.vdup %r_1 {scalar = 0.0}
// CHECK-NEXT:   npu.for %{{.*}} = 0 to 4 step 1 {
// CHECK:          npu.vexp
// CHECK:          npu.vreduce_sum %{{.*}}, %{{.*}} {accumulate = true}
// CHECK:        npu.for %{{.*}} = 0 to 4 step 1 {
// CHECK:          npu.vexp
// CHECK:          npu.vdiv
// CHECK:          npu.store
func.func @long(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %y = ge.fusion(%0 = %x : tensor<2x64xf32>) attributes {kernel = #ge.kernel<vector, tile = [1, 16], blocks = 2, scratch = 0>} -> (tensor<2x64xf32>) {
    %1 = ge.softmax(%0) {axes = [1]} : (tensor<2x64xf32>) -> tensor<2x64xf32>
    ge.yield %1 : tensor<2x64xf32>
  }
  func.return %y : tensor<2x64xf32>
}

// -----

// A transpose inside is the load's strides.

// CHECK-LABEL: func.func @turned
// CHECK:      npu.view %x0[{{.*}}] strides = [1, 4] : !npu.gm<f32> -> !npu.tile<4x8xf32, gm>
// CHECK-NOT:  npu.vcopy
func.func @turned(%x: tensor<8x4xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = ge.fusion(%0 = %x : tensor<8x4xf32>, %1 = %z : tensor<4x8xf32>) attributes {kernel = #ge.kernel<vector, tile = [4, 8], blocks = 1, scratch = 0>} -> (tensor<4x8xf32>) {
    %2 = ge.transpose(%0) {perm = [1, 0]} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %3 = ge.add(%2, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ge.yield %3 : tensor<4x8xf32>
  }
  func.return %y : tensor<4x8xf32>
}
