// Blocks in any order are fine as long as they dominate; module bodies are graphs.
// RUN: ge-opt %s | filecheck %s

// CHECK: builtin.module
"test.op"(%late) : (i32) -> ()
%late = "test.op"() : () -> i32

// CHECK: func.func @loop
func.func @loop(%n: i32) {
  "test.termop"()[^body] : () -> ()
^exit:
  "test.op"(%v) : (i32) -> ()
  func.return
^body:
  %v = "test.op"() : () -> i32
  "test.termop"()[^exit] : () -> ()
}
