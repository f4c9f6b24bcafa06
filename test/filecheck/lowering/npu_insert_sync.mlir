// RUN: ge-opt %s --split-input-file -p npu-insert-sync | filecheck %s

// One after the other: the vector unit waits for the load, the store for the vector unit. Inside the vector unit a
// barrier does.

// CHECK-LABEL: npu.kernel @straight
npu.kernel @straight kind = vector blocks = 1 args = [x : 64xf32 in, y : 64xf32 out] {
  npu.vector(%bid: index, %x: !npu.gm<f32>, %y: !npu.gm<f32>) {
    %t = npu.alloc addr = 0 : !npu.tile<64xf32, ub>
    %0 = npu.view %x[0] : !npu.gm<f32> -> !npu.tile<64xf32, gm>
    %1 = npu.view %y[0] : !npu.gm<f32> -> !npu.tile<64xf32, gm>
    // CHECK:      npu.load %t, %0
    // CHECK-NEXT: npu.set_flag {src = MTE2, dst = V, id = 0}
    // CHECK-NEXT: npu.wait_flag {src = MTE2, dst = V, id = 0}
    // CHECK-NEXT: npu.vexp %t, %t
    // CHECK-NEXT: npu.pipe_barrier {pipe = V}
    // CHECK-NEXT: npu.vadds %t, %t {scalar = 1.0}
    // CHECK-NEXT: npu.set_flag {src = V, dst = MTE3, id = 0}
    // CHECK-NEXT: npu.wait_flag {src = V, dst = MTE3, id = 0}
    // CHECK-NEXT: npu.store %1, %t
    // CHECK-NEXT: }
    npu.load %t, %0
    npu.vexp %t, %t
    npu.vadds %t, %t {scalar = 1.0}
    npu.store %1, %t
  }
}

// -----

// Two slots: the load of an iteration waits for the store of two iterations before. The two ids of each flag take
// turns as the slots do; those that guard the slots are raised before the loop and taken back after it.

// CHECK-LABEL: npu.kernel @double_buffer
npu.kernel @double_buffer kind = vector blocks = 1 args = [x : 512xf32 in, y : 512xf32 out] {
  npu.vector(%bid: index, %x: !npu.gm<f32>, %y: !npu.gm<f32>) {
    // CHECK:      npu.set_flag {src = MTE3, dst = MTE2, id = 0}
    // CHECK-NEXT: npu.set_flag {src = MTE3, dst = MTE2, id = 1}
    // CHECK-NEXT: npu.for %i
    npu.for %i = 0 to 512 step 64 {
      %t = npu.alloc buffers = 2 addr = 0 slot = 256 : !npu.tile<64xf32, ub>
      %0 = npu.view %x[%i] : !npu.gm<f32> -> !npu.tile<64xf32, gm>
      %1 = npu.view %y[%i] : !npu.gm<f32> -> !npu.tile<64xf32, gm>
      // CHECK:      npu.wait_flag {src = MTE3, dst = MTE2, id = 0, slots = 2}
      // CHECK-NEXT: npu.load %t
      // CHECK-NEXT: npu.set_flag {src = MTE2, dst = V, id = 0, slots = 2}
      // CHECK-NEXT: npu.wait_flag {src = MTE2, dst = V, id = 0, slots = 2}
      // CHECK-NEXT: npu.vexp %t, %t
      // CHECK-NEXT: npu.set_flag {src = V, dst = MTE3, id = 0, slots = 2}
      // CHECK-NEXT: npu.wait_flag {src = V, dst = MTE3, id = 0, slots = 2}
      // CHECK-NEXT: npu.store %1, %t
      // CHECK-NEXT: npu.set_flag {src = MTE3, dst = MTE2, id = 0, slots = 2}
      // CHECK-NEXT: }
      npu.load %t, %0
      npu.vexp %t, %t
      npu.store %1, %t
    }
    // CHECK-NEXT: npu.wait_flag {src = MTE3, dst = MTE2, id = 0}
    // CHECK-NEXT: npu.wait_flag {src = MTE3, dst = MTE2, id = 1}
    // CHECK-NEXT: }
  }
}

// -----

// One flag for both loads: the queue of MTE2 is in order, so the second says the first is done too. A loop as a whole
// waits for what came before it, and what comes after waits for the loop.

// CHECK-LABEL: npu.kernel @accumulate
npu.kernel @accumulate kind = vector blocks = 1 args = [x : 64xf32 in, y : 64xf32 out] {
  npu.vector(%bid: index, %x: !npu.gm<f32>, %y: !npu.gm<f32>) {
    %a = npu.alloc addr = 0 : !npu.tile<64xf32, ub>
    %b = npu.alloc addr = 256 : !npu.tile<64xf32, ub>
    %0 = npu.view %x[0] : !npu.gm<f32> -> !npu.tile<64xf32, gm>
    %1 = npu.view %y[0] : !npu.gm<f32> -> !npu.tile<64xf32, gm>
    // CHECK:      npu.load %a, %0
    // CHECK-NEXT: npu.load %b, %0
    // CHECK-NEXT: npu.set_flag {src = MTE2, dst = V, id = 0}
    // CHECK-NEXT: npu.wait_flag {src = MTE2, dst = V, id = 0}
    // CHECK-NEXT: npu.for
    // CHECK-NEXT:   npu.pipe_barrier {pipe = V}
    // CHECK-NEXT:   npu.vadd %a, %a, %b
    // CHECK-NEXT: }
    // CHECK-NEXT: npu.set_flag {src = V, dst = MTE3, id = 0}
    // CHECK-NEXT: npu.wait_flag {src = V, dst = MTE3, id = 0}
    // CHECK-NEXT: npu.store %1, %a
    npu.load %a, %0
    npu.load %b, %0
    npu.for %i = 0 to 8 step 1 {
      npu.vadd %a, %a, %b
    }
    npu.store %1, %a
  }
}

// -----

// Bytes, not tiles, decide: the halves of %t do not depend on each other; %u lies where %t lay.

// CHECK-LABEL: npu.kernel @bytes
npu.kernel @bytes kind = vector blocks = 1 args = [x : 64xf32 in] {
  npu.vector(%bid: index, %x: !npu.gm<f32>) {
    %t = npu.alloc addr = 0 : !npu.tile<64xf32, ub>
    %u = npu.alloc addr = 128 : !npu.tile<64xf32, ub>
    %lo = npu.view %t[0] : !npu.tile<64xf32, ub> -> !npu.tile<32xf32, ub>
    %hi = npu.view %t[32] : !npu.tile<64xf32, ub> -> !npu.tile<32xf32, ub>
    // CHECK:      npu.vdup %lo
    // CHECK-NEXT: npu.vdup %hi
    // CHECK-NEXT: npu.pipe_barrier {pipe = V}
    // CHECK-NEXT: npu.vdup %u
    npu.vdup %lo {scalar = 1.0}
    npu.vdup %hi {scalar = 2.0}
    npu.vdup %u {scalar = 3.0}
  }
}

// -----

// Global memory: what the store wrote is loaded again. Rows of one column each do not overlap, however far apart their
// elements lie, so the stores of the iterations need no order.

// CHECK-LABEL: npu.kernel @global
npu.kernel @global kind = vector blocks = 1 args = [w : 1024xf32 inout] {
  npu.vector(%bid: index, %w: !npu.gm<f32>) {
    %t = npu.alloc addr = 0 : !npu.tile<32x8xf32, ub>
    npu.vdup %t {scalar = 1.0}
    // CHECK:      npu.wait_flag {src = V, dst = MTE3, id = 0}
    // CHECK-NEXT: npu.for
    npu.for %i = 0 to 32 step 8 {
      %0 = npu.view %w[%i] strides = [32, 1] : !npu.gm<f32> -> !npu.tile<32x8xf32, gm>
      // CHECK-NEXT: npu.view
      // CHECK-NEXT: npu.store
      // CHECK-NEXT: }
      npu.store %0, %t
    }
    // CHECK-NEXT: npu.set_flag {src = MTE3, dst = MTE2, id = 0}
    // CHECK:      npu.wait_flag {src = MTE3, dst = MTE2, id = 0}
    // CHECK-NEXT: npu.load
    %1 = npu.view %w[0] : !npu.gm<f32> -> !npu.tile<32x8xf32, gm>
    npu.load %t, %1
  }
}

// -----

// The accumulator of the cube needs no barrier between products; l0 tiles with two slots let loads run ahead.

// CHECK-LABEL: npu.kernel @matmul
npu.kernel @matmul kind = cube blocks = 1 args = [y : 256xf32 out] {
  npu.cube(%bid: index, %y: !npu.gm<f32>) {
    %a1 = npu.alloc addr = 0 : !npu.tile<16x64xf16, l1>
    %b1 = npu.alloc addr = 2048 : !npu.tile<64x16xf16, l1>
    %c = npu.alloc addr = 0 : !npu.tile<16x16xf32, l0c>
    npu.for %k = 0 to 64 step 16 {
      %a0 = npu.alloc buffers = 2 addr = 0 slot = 512 : !npu.tile<16x16xf16, l0a>
      %b0 = npu.alloc buffers = 2 addr = 0 slot = 512 : !npu.tile<16x16xf16, l0b>
      %a = npu.view %a1[%k] strides = [64, 1] : !npu.tile<16x64xf16, l1> -> !npu.tile<16x16xf16, l1>
      %b = npu.view %b1[%k * 16] : !npu.tile<64x16xf16, l1> -> !npu.tile<16x16xf16, l1>
      // CHECK:      npu.wait_flag {src = M, dst = MTE1, id = 0, slots = 2}
      // CHECK-NEXT: npu.load2d %a0, %a
      // CHECK-NEXT: npu.load2d %b0, %b
      // CHECK-NEXT: npu.set_flag {src = MTE1, dst = M, id = 0, slots = 2}
      // CHECK-NEXT: npu.wait_flag {src = MTE1, dst = M, id = 0, slots = 2}
      // CHECK-NEXT: npu.mmad %c, %a0, %b0
      // CHECK-NEXT: npu.set_flag {src = M, dst = MTE1, id = 0, slots = 2}
      // CHECK-NEXT: }
      npu.load2d %a0, %a
      npu.load2d %b0, %b
      npu.mmad %c, %a0, %b0
    }
    // CHECK: npu.wait_flag {src = M, dst = FIX, id = 0}
    // CHECK-NEXT: npu.fixpipe
    %v = npu.view %y[0] : !npu.gm<f32> -> !npu.tile<16x16xf32, gm>
    npu.fixpipe %v, %c
  }
}
