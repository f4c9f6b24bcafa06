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
