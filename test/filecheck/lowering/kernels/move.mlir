// RUN: ge-opt %s --split-input-file -p "lower-kernels{allocate=false sync=false}" | filecheck %s

// A transpose is strides of the load; each block takes a part of the result.

// CHECK:      npu.kernel @k0_kernel kind = vector blocks = 2 args = [x0 : 2048xf16 in, y0 : 2048xf16 out] {
// CHECK:        npu.for %i = %bid to 2 step 2 {
// CHECK-NEXT:     %x = npu.alloc buffers = 2 : !npu.tile<16x64xf16, ub>
// CHECK-NEXT:     %0 = npu.view %x0[%i * 16] strides = [1, 32] : !npu.gm<f16> -> !npu.tile<16x64xf16, gm>
// CHECK-NEXT:     npu.load %x, %0
// CHECK-NEXT:     %1 = npu.view %y0[%i * 1024] : !npu.gm<f16> -> !npu.tile<16x64xf16, gm>
// CHECK-NEXT:     npu.store %1, %x
func.func @main(%x: tensor<64x32xf16>) -> tensor<32x64xf16> {
  %y = ge.fusion(%0 = %x : tensor<64x32xf16>) attributes {kernel = #ge.kernel<move, tile = [1024], blocks = 2, scratch = 0>} -> (tensor<32x64xf16>) {
    %1 = ge.transpose(%0) {perm = [1, 0]} : (tensor<64x32xf16>) -> tensor<32x64xf16>
    ge.yield %1 : tensor<32x64xf16>
  }
  func.return %y : tensor<32x64xf16>
}

// -----

// One copy for each operand.

// CHECK-LABEL: func.func @concat
// CHECK:      npu.view %x0[{{.*}}] : !npu.gm<f32> -> !npu.tile<2x3xf32, gm>
// CHECK:      npu.view %y0[%{{[^+]*}}] strides = [8, 1]
// CHECK:      npu.view %x1[{{.*}}] : !npu.gm<f32> -> !npu.tile<2x5xf32, gm>
// CHECK:      npu.view %y0[%{{.*}} + 3] strides = [8, 1]
func.func @concat(%x: tensor<2x3xf32>, %z: tensor<2x5xf32>) -> tensor<2x8xf32> {
  %y = ge.fusion(%0 = %x : tensor<2x3xf32>, %1 = %z : tensor<2x5xf32>) attributes {kernel = #ge.kernel<move, tile = [64], blocks = 1, scratch = 0>} -> (tensor<2x8xf32>) {
    %2 = ge.concat(%0, %1) {concat_dim = 1} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
    ge.yield %2 : tensor<2x8xf32>
  }
  func.return %y : tensor<2x8xf32>
}

// -----

// Runs of equal steps: down to the edge by a negative stride, up again, and one element mirrored at the other edge.

// CHECK-LABEL: func.func @mirror
// CHECK:      npu.view %x0[%{{.*}} + 2] strides = [-1] : !npu.gm<f32> -> !npu.tile<3xf32, gm>
// CHECK:      npu.view %x0[%{{.*}} + 1] : !npu.gm<f32> -> !npu.tile<4xf32, gm>
// CHECK:      npu.view %y0[%{{.*}} + 3] : !npu.gm<f32> -> !npu.tile<4xf32, gm>
// CHECK:      npu.view %x0[{{.*}}3] : !npu.gm<f32> -> !npu.tile<1xf32, gm>
// CHECK:      npu.view %y0[7]
func.func @mirror(%x: tensor<5xf32>) -> tensor<8xf32> {
  %y = ge.fusion(%0 = %x : tensor<5xf32>) attributes {kernel = #ge.kernel<move, tile = [64], blocks = 1, scratch = 0>} -> (tensor<8xf32>) {
    %1 = ge.pad(%0) {paddings = [2, 1], mode = "reflect"} : (tensor<5xf32>) -> tensor<8xf32>
    ge.yield %1 : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// -----

// Rows by index.

// CHECK:      npu.load %ids
// CHECK:      npu.gather_rows %rows, %{{.*}}, %ids
// CHECK:      npu.store %{{.*}}, %rows
func.func @gather(%x: tensor<10x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  %y = ge.fusion(%0 = %x : tensor<10x4xf32>, %1 = %i : tensor<3xi64>) attributes {kernel = #ge.kernel<move, tile = [64], blocks = 1, scratch = 0>} -> (tensor<3x4xf32>) {
    %2 = ge.gather(%0, %1) {axis = 0, batch_dims = 0} : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
    ge.yield %2 : tensor<3x4xf32>
  }
  func.return %y : tensor<3x4xf32>
}

// -----

// A copy first, then the rows over it.

// CHECK:      npu.load %x, %{{.*}}
// CHECK:      npu.store %{{.*}}, %x
// CHECK:      npu.load %ids
// CHECK:      npu.load %updates
// CHECK:      npu.scatter_rows %{{.*}}, %updates, %ids {mode = add}
func.func @scatter(%x: tensor<10x4xf32>, %i: tensor<3x1xi64>, %u: tensor<3x4xf32>) -> tensor<10x4xf32> {
  %y = ge.fusion(%0 = %x : tensor<10x4xf32>, %1 = %i : tensor<3x1xi64>, %2 = %u : tensor<3x4xf32>) attributes {kernel = #ge.kernel<move, tile = [16, 4], blocks = 1, scratch = 0>} -> (tensor<10x4xf32>) {
    %3 = ge.scatter_nd(%0, %1, %2) {reduction = "add"} : (tensor<10x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<10x4xf32>
    ge.yield %3 : tensor<10x4xf32>
  }
  func.return %y : tensor<10x4xf32>
}
