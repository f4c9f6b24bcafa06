// RUN: ge-opt --verify-rules %S/Inputs/mine.rules | filecheck %s
// RUN: ge-opt --verify-rules %S/Inputs/mine.pdl.mlir --instances 4 | filecheck %s --check-prefix=PDL
// RUN: not ge-opt --verify-rules %S/Inputs/wrong.rules 2>&1 | filecheck %s --check-prefix=WRONG
// RUN: not ge-opt --verify-rules %S/Inputs/unbound.rules 2>&1 | filecheck %s --check-prefix=BAD

// CHECK:      ok square_of_neg value 24 instances of 1 form
// CHECK-NEXT: ok scaled_twice tolerance 24 instances of 1 form
// CHECK-NEXT: 2 of 2 rules hold on 48 instances
// PDL: ok relu_of_abs tolerance 4 instances of 1 form
// WRONG: ok good
// WRONG: WRONG relu6_as_relu value
// WRONG: counterexample: other values
// WRONG: ge.clip
// WRONG: becomes
// WRONG: ge.relu
// WRONG: 1 of 2 rules hold
// BAD: unbound.rules:6: error GE1105

// A function that fails makes the rule wrong; the others are proved all the same.
// RUN: not ge-opt --verify-rules %S/Inputs/failing.py --instances 40 2>&1 | filecheck %s --check-prefix=FAILING
// FAILING: WRONG reciprocal
// FAILING-NEXT: failing.py:6: error GE1105: a function of reciprocal failed at {{.*}}IndexError
// FAILING-NEXT: ok    relu_relu_again
// FAILING-NEXT: 1 of 2 rules hold
