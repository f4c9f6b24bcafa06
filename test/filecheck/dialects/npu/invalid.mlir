// RUN: ge-opt %s --split-input-file --verify-diagnostics

npu.kernel @k kind = cube blocks = 1 args = [] {
  // expected-error@-1 {{a cube kernel holds npu.cube, not npu.vector}}
  npu.vector(%bid: index) {
  }
}

// -----

npu.kernel @k kind = vector blocks = 1 args = [x : 4xf32 in] {
  // expected-error@-1 {{npu.vector takes 1 index and the kernel's 1 arguments in order}}
  npu.vector(%bid: index) {
  }
}

// -----

npu.kernel @k kind = vector blocks = 1 args = [] {
  npu.vector(%bid: index) {
    %t = npu.alloc : !npu.tile<8xf32, ub>
    %u = npu.alloc : !npu.tile<8xf32, l1>
    // expected-error@+1 {{operand 'a' lies in l1, vabs takes ub}}
    npu.vabs %t, %u
  }
}

// -----

npu.kernel @k kind = vector blocks = 1 args = [] {
  npu.vector(%bid: index) {
    // expected-error@+1 {{several buffers need a loop that takes them in turn}}
    %t = npu.alloc buffers = 2 : !npu.tile<8xf32, ub>
  }
}

// -----

npu.kernel @k kind = vector blocks = 1 args = [] {
  npu.vector(%bid: index) {
    %t = npu.alloc : !npu.tile<8xf32, ub>
    // expected-error@+1 {{a view of ub cannot lie in l1}}
    %v = npu.view %t[0] : !npu.tile<8xf32, ub> -> !npu.tile<8xf32, l1>
  }
}

// -----

npu.kernel @k kind = vector blocks = 1 args = [] {
  npu.vector(%bid: index) {
    // expected-error@+1 {{tile is used before it is defined}}
    npu.vabs %t, %t
  }
}

// -----

npu.kernel @k kind = vector blocks = 1 args = [] {
  npu.vector(%bid: index) {
    %t = npu.alloc : !npu.tile<8xf32, ub>
    npu.for %i = 0 to 2 step 1 {
      // expected-error@+1 {{only a view of a kernel argument has slots}}
      %v = npu.view %t[0] slots = 2 slot = 4 : !npu.tile<8xf32, ub> -> !npu.tile<4xf32, ub>
    }
  }
}

// -----

npu.kernel @k kind = vector blocks = 1 args = [x : 8xf32 in] {
  npu.vector(%bid: index, %x: !npu.gm<f32>) {
    // expected-error@+1 {{slots need a loop that takes them in turn}}
    %v = npu.view %x[0] slots = 2 slot = 4 : !npu.gm<f32> -> !npu.tile<4xf32, gm>
  }
}

// -----

npu.kernel @k kind = vector blocks = 1 args = [x : 8xf32 in] {
  npu.vector(%bid: index, %x: !npu.gm<f32>) {
    npu.for %i = 0 to 2 step 1 {
      // expected-error@+1 {{slots and slot come together}}
      %v = npu.view %x[0] slots = 2 : !npu.gm<f32> -> !npu.tile<4xf32, gm>
    }
  }
}

// -----

npu.kernel @k kind = mix blocks = 1 args = [] {
  npu.cube(%bid: index) {
    // expected-error@+1 {{cross-core flags 9 to 12 are not within 0 to 10}}
    npu.cross_core_set {flag = 9, pipe = FIX, slots = 4}
  }
  npu.vector(%bid: index, %sub: index) {
  }
}
