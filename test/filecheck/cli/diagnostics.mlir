// What is wrong with expectations is an error itself.
// RUN: not ge-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: diagnostics.mlir:[[# @LINE + 1]]:1: error GE1113: expected error was not produced: never
// expected-error {{never}}
func.func @fine() {
  func.return
}

// -----

// CHECK: diagnostics.mlir:[[# @LINE + 1]]:1: error GE1113: unexpected error: Operation nosuch.op is not registered
nosuch.op
