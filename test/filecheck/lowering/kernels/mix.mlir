// RUN: ge-opt %s --split-input-file -p "lower-kernels{allocate=false sync=false}" | filecheck %s

// Four tiles of one block go through a ring of two slots. A slot is free at first; the cube waits until it is, then
// says that the tile is there. Each vector takes eight of its sixteen rows; what else it reads is there before.

// CHECK:      npu.kernel @k0_kernel kind = mix blocks = 1 args = [x0 : 512xf32 in, x1 : 128xf32 in, x2 : 1024xf32 in, y0 : 1024xf32 out, ring : 512xf32 workspace] {
// CHECK:      npu.cube(%bid: index
// CHECK:        npu.for %i = 0 to 4 step 1 {
// CHECK:          npu.mmad %acc
// CHECK-NEXT:     npu.cross_core_wait {flag = 1, pipe = FIX, slots = 2}
// CHECK-NEXT:     %[[SLOT:.*]] = npu.view %ring[%bid * 512] slots = 2 slot = 256 : !npu.gm<f32> -> !npu.tile<256xf32, gm>
// CHECK-NEXT:     %[[TILE:.*]] = npu.view %[[SLOT]][0] : !npu.tile<256xf32, gm> -> !npu.tile<16x16xf32, gm>
// CHECK-NEXT:     npu.fixpipe %[[TILE]], %acc
// CHECK-NEXT:     npu.cross_core_set {flag = 0, pipe = FIX}
// CHECK-NEXT:   }
// CHECK-NEXT:   npu.cross_core_wait {flag = 1, pipe = FIX}
// CHECK-NEXT:   npu.cross_core_wait {flag = 2, pipe = FIX}
// CHECK:      npu.vector(%bid_1: index, %sub: index
// CHECK-NEXT:   npu.cross_core_set {flag = 1, pipe = MTE2}
// CHECK-NEXT:   npu.cross_core_set {flag = 2, pipe = MTE2}
// CHECK-NEXT:   npu.for %[[I:.*]] = 0 to 4 step 1 {
// CHECK-NEXT:     npu.view %[[RING:.*]][%bid_1 * 512] slots = 2 slot = 256
// CHECK:          npu.view %[[X2:.*]][%[[I]] * 256 + %sub * 128]
// CHECK-NEXT:     npu.load
// CHECK-NEXT:     npu.cross_core_wait {flag = 0, pipe = MTE2}
// CHECK:          npu.view %{{.*}}[%sub * 128] : !npu.tile<256xf32, gm>
// CHECK-NEXT:     npu.load
// CHECK:          npu.vadd
// CHECK:          npu.vrelu
// CHECK:          npu.store
// CHECK-NEXT:     npu.cross_core_set {flag = 1, pipe = MTE2, slots = 2}
func.func @main(%x: tensor<64x8xf32>, %w: tensor<8x16xf32>, %r: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %y = ge.fusion(%0 = %x : tensor<64x8xf32>, %1 = %w : tensor<8x16xf32>, %2 = %r : tensor<64x16xf32>) attributes {kernel = #ge.kernel<mix, tile = [16, 16, 8], blocks = 1, scratch = 2048>} -> (tensor<64x16xf32>) {
    %3 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = false} : (tensor<64x8xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
    %4 = ge.add(%3, %2) : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
    %5 = ge.relu(%4) : (tensor<64x16xf32>) -> tensor<64x16xf32>
    ge.yield %5 : tensor<64x16xf32>
  }
  func.return %y : tensor<64x16xf32>
}

// -----

// One tile takes one slot. An odd tile is halved unevenly, by code of each vector's own; both wait and answer.

// CHECK:      npu.vector(%bid_1: index, %sub: index
// CHECK-NEXT:   npu.cross_core_set {flag = 1, pipe = MTE2}
// CHECK-NEXT:   npu.view %{{.*}}[%bid_1 * 256] : !npu.gm<f16> -> !npu.tile<256xf16, gm>
// CHECK-NEXT:   npu.cross_core_wait {flag = 0, pipe = MTE2}
// CHECK-NEXT:   npu.for %{{.*}} = %sub to 1 step
// CHECK:          !npu.tile<1x3x3xf16, ub>
// CHECK:        npu.for %{{.*}} = 0 to %sub step
// CHECK:          !npu.tile<1x2x3xf16, ub>
// CHECK:        npu.cross_core_set {flag = 1, pipe = MTE2}
func.func @main(%x: tensor<5x4xf16>, %w: tensor<4x3xf16>) -> tensor<5x3xf16> {
  %y = ge.fusion(%0 = %x : tensor<5x4xf16>, %1 = %w : tensor<4x3xf16>) attributes {kernel = #ge.kernel<mix, tile = [5, 3, 4], blocks = 1, scratch = 512>} -> (tensor<5x3xf16>) {
    %2 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = false} : (tensor<5x4xf16>, tensor<4x3xf16>) -> tensor<5x3xf16>
    %3 = ge.sigmoid(%2) : (tensor<5x3xf16>) -> tensor<5x3xf16>
    ge.yield %3 : tensor<5x3xf16>
  }
  func.return %y : tensor<5x3xf16>
}
