// RUN: ge-opt %s --split-input-file -p npu-allocate | filecheck %s

// Plenty of room: nobody shares bytes. Slots of a tile with several buffers lie side by side; sizes are rounded up to
// the space's alignment (32 bytes in ub, 512 in l0a).

// CHECK-LABEL: npu.kernel @apart
npu.kernel @apart kind = vector blocks = 1 args = [] {
  npu.vector(%bid: index) {
    npu.for %i = 0 to 4 step 1 {
      // CHECK: %a = npu.alloc buffers = 2 addr = 0 slot = 32 : !npu.tile<3xf32, ub>
      %a = npu.alloc buffers = 2 : !npu.tile<3xf32, ub>
      // CHECK: %b = npu.alloc addr = 64 : !npu.tile<3xf32, ub>
      %b = npu.alloc : !npu.tile<3xf32, ub>
      npu.vdup %a {scalar = 0.0}
      npu.vdup %b {scalar = 0.0}
    }
  }
}

// -----

// No room for all three: %c is dead before %e comes, and only the vector unit touches them, so they share. %d stays
// apart: the DMA touches it too.

// CHECK-LABEL: npu.kernel @shared
npu.kernel @shared kind = vector blocks = 1 args = [y : 20000xf32 out] {
  npu.vector(%bid: index, %y: !npu.gm<f32>) {
    // CHECK-DAG: %c = npu.alloc addr = [[SHARED:[0-9]+]] :
    // CHECK-DAG: %e = npu.alloc addr = [[SHARED]] :
    %c = npu.alloc : !npu.tile<20000xf32, ub>
    %d = npu.alloc : !npu.tile<20000xf32, ub>
    npu.vdup %c {scalar = 1.0}
    npu.vadd %d, %c, %c
    %e = npu.alloc : !npu.tile<20000xf32, ub>
    npu.vadds %e, %d {scalar = 1.0}
    npu.vadd %d, %d, %e
    %v = npu.view %y[0] : !npu.gm<f32> -> !npu.tile<20000xf32, gm>
    npu.store %v, %d
  }
}

// -----

// A use inside a loop needs the whole loop: %f may not be overwritten by %g, which comes after it in the body.

// CHECK-LABEL: npu.kernel @loop
npu.kernel @loop kind = vector blocks = 1 args = [] {
  npu.vector(%bid: index) {
    // CHECK: %f = npu.alloc addr = 0 :
    %f = npu.alloc : !npu.tile<20000xf32, ub>
    npu.vdup %f {scalar = 0.0}
    npu.for %i = 0 to 4 step 1 {
      npu.vadds %f, %f {scalar = 1.0}
      // CHECK: %g = npu.alloc addr = 80000 :
      %g = npu.alloc : !npu.tile<20000xf32, ub>
      npu.vdup %g {scalar = 0.0}
    }
  }
}
