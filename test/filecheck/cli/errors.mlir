// RUN: ge-opt %s --split-input-file --verify-diagnostics

func.func @order(%x: i32) -> i32 {
  // expected-error @+1 {{arith.addi uses %b where it is not defined; move its definition}}
  %a = arith.addi %b, %x : i32
  %b = arith.addi %x, %x : i32
  func.return %a : i32
}

// -----

func.func @isolated(%x: i32) {
  func.func @inner() { // expected-error {{out of its IsolatedFromAbove parent}}
    %y = arith.addi %x, %x : i32 // expected-error {{arith.addi uses %x where it is not defined}}
    func.return
  }
  func.return
}

// -----

func.func @several(%x: i32) {
  "test.op"(%p) : (i32) -> () // expected-error {{uses %p}}
  "test.op"(%q) : (i32) -> () // expected-error-re {{uses %[q]}}
  %p, %q = "test.op"() : () -> (i32, i32)
  func.return
}

// -----

func.func @unknown(%x: i32) {
  %y = arith.adi %x, %x : i32 // expected-error {{Operation arith.adi is not registered; did you mean }}
  func.return
}

// -----

func.func @terminator(%x: i32) -> i32 {
  // expected-error @below {{is not a terminator}}
  %y = arith.addi %x, %x : i32
}
