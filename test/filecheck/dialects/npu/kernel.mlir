// RUN: ge-opt %s | filecheck %s
// RUN: ge-opt %s --print-op-generic | ge-opt | filecheck %s

// Structure: kernels, functions, loops with affine bounds, tiles and views.

// CHECK: npu.kernel @add kind = vector blocks = 8 args = [x : 4096xf32 in, "a b:0" : 4096xf32 out] {
npu.kernel @add kind = vector blocks = 8 args = [x : 4096xf32 in, "a b:0" : 4096xf32 out] {
  // CHECK-NEXT: npu.vector(%bid: index, %x: !npu.gm<f32>, %y: !npu.gm<f32>) {
  npu.vector(%bid: index, %x: !npu.gm<f32>, %y: !npu.gm<f32>) {
    // CHECK-NEXT: npu.for %i = %bid * 512 to %bid * 512 + 512 step 128 {
    npu.for %i = %bid * 512 to %bid * 512 + 512 step 128 {
      // CHECK-NEXT: %t = npu.alloc buffers = 2 : !npu.tile<2x64xf32, ub>
      %t = npu.alloc buffers = 2 : !npu.tile<2x64xf32, ub>
      // CHECK-NEXT: %s = npu.alloc buffers = 2 addr = 0 slot = 512 : !npu.tile<f32, ub>
      %s = npu.alloc buffers = 2 addr = 0 slot = 512 : !npu.tile<f32, ub>
      // CHECK-NEXT: %0 = npu.view %x[%i + %bid * 4 + -4] : !npu.gm<f32> -> !npu.tile<2x64xf32, gm>
      %0 = npu.view %x[-4 + %i + %bid * 2 + %bid * 2] : !npu.gm<f32> -> !npu.tile<2x64xf32, gm>
      // CHECK-NEXT: %1 = npu.view %t[0] strides = [0, 1] : !npu.tile<2x64xf32, ub> -> !npu.tile<8x64xf32, ub>
      %1 = npu.view %t[0] strides = [0, 1] : !npu.tile<2x64xf32, ub> -> !npu.tile<8x64xf32, ub>
      // CHECK-NEXT: npu.load %t, %0
      npu.load %t, %0
      // CHECK-NEXT: npu.vadds %t, %t {scalar = 1.0e-05} attributes {note = "kept"}
      npu.vadds %t, %t {scalar = 1.0e-05} attributes {note = "kept"}
      // CHECK-NEXT: npu.vmaxs %t, %t {scalar = "-inf"}
      npu.vmaxs %t, %t {scalar = "-inf"}
      // CHECK-NEXT: npu.vmuls %t, %t {scalar = -3}
      npu.vmuls %t, %t {scalar = -3}
      // CHECK-NEXT: npu.set_flag {src = V, dst = MTE3, id = 1, slots = 2}
      npu.set_flag {src = V, dst = MTE3, id = 1, slots = 2}
      // CHECK-NEXT: npu.pipe_barrier {pipe = ALL}
      npu.pipe_barrier {pipe = ALL}
    }
  }
}

// CHECK: npu.kernel @mix kind = mix blocks = 1 args = [] {
npu.kernel @mix kind = mix blocks = 1 args = [] {
  // CHECK-NEXT: npu.cube(%bid: index) {
  npu.cube(%bid: index) {
    // CHECK: npu.load3d %a, %x {kernel = [3, 3], strides = [2, 2], pads = [1, 0, 1, 1], taps = [0, 9], out_w = 7}
    %x = npu.alloc : !npu.tile<2x14x16xf16, l1>
    %a = npu.alloc : !npu.tile<7x144xf16, l0a>
    npu.load3d %a, %x {kernel = [3, 3], strides = [2, 2], pads = [1, 0, 1, 1], taps = [0, 9], out_w = 7}
    // CHECK: npu.mmad %c, %a, %b {init = true}
    %b = npu.alloc : !npu.tile<144x32xf16, l0b>
    %c = npu.alloc : !npu.tile<7x32xf32, l0c>
    npu.mmad %c, %a, %b {init = true}
    // CHECK-NEXT: npu.cross_core_set {flag = 3, pipe = FIX}
    npu.cross_core_set {flag = 3, pipe = FIX}
  }
  // CHECK: npu.vector(%bid_1: index, %sub: index) {
  npu.vector(%bid: index, %sub: index) {
    // CHECK-NEXT: npu.cross_core_wait {flag = 3, pipe = MTE2}
    npu.cross_core_wait {flag = 3, pipe = MTE2}
  }
}

// A ring in global memory: iterations of a loop take its slots in turn, and a cross-core flag of each slot.

// CHECK: npu.kernel @ring kind = mix blocks = 2 args = [r : 256xf32 workspace] {
npu.kernel @ring kind = mix blocks = 2 args = [r : 256xf32 workspace] {
  npu.cube(%bid: index, %r: !npu.gm<f32>) {
    npu.for %i = 0 to 4 step 1 {
      %c = npu.alloc : !npu.tile<8x8xf32, l0c>
      // CHECK: npu.cross_core_wait {flag = 1, pipe = FIX, slots = 2}
      npu.cross_core_wait {flag = 1, pipe = FIX, slots = 2}
      // CHECK-NEXT: %0 = npu.view %r[%bid * 128] slots = 2 slot = 64 : !npu.gm<f32> -> !npu.tile<64xf32, gm>
      %0 = npu.view %r[%bid * 128] slots = 2 slot = 64 : !npu.gm<f32> -> !npu.tile<64xf32, gm>
      %1 = npu.view %0[0] strides = [1, 8] : !npu.tile<64xf32, gm> -> !npu.tile<8x8xf32, gm>
      npu.fixpipe %1, %c
    }
  }
  npu.vector(%bid: index, %sub: index, %r: !npu.gm<f32>) {
  }
}
