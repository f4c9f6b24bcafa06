// RUN: not ge-opt %s -p npu-allocate 2>&1 | filecheck %s

// CHECK: error GE1402: ub overflow: tiles need 200064 bytes at once, ascend910b1 has 196608; use smaller tiles or fewer buffers
// CHECK-NEXT: 200000 bytes  large : 25000xf32, ub x 2 buffers
// CHECK-NEXT: 64 bytes  small : 16xf32, ub
npu.kernel @k kind = vector blocks = 1 args = [] {
  npu.vector(%bid: index) {
    npu.for %i = 0 to 4 step 1 {
      %large = npu.alloc buffers = 2 : !npu.tile<25000xf32, ub>
      %small = npu.alloc : !npu.tile<16xf32, ub>
      npu.vdup %small {scalar = 0.0}
      npu.vdup %large {scalar = 0.0}
      npu.vadds %small, %small {scalar = 1.0}
    }
  }
}
