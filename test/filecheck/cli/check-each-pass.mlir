// RUN: ge-opt %s -O2 --check-each-pass 2>&1 >/dev/null | filecheck %s --check-prefix=LEVEL
// RUN: ge-opt %s -O2 --check-each-pass --seed 1 2>/dev/null | filecheck %s --check-prefix=OUT
// RUN: ge-opt %s -p "cse,convert-precision,canonicalize" --check-each-pass 2>&1 >/dev/null | filecheck %s --check-prefix=HALF
// RUN: not ge-opt %s -p "convert-precision" --check-each-pass --tolerance 1e-9 2>&1 >/dev/null | filecheck %s --check-prefix=NARROW
// RUN: ge-opt %s -p "group-kernels,select-kernels,plan-memory,lower-kernels" --check-each-pass 2>&1 >/dev/null | filecheck %s --check-prefix=NPU
// RUN: not ge-opt %s -p "cse,apply-rules,dce" --rules %S/Inputs/relu6_is_relu.py --check-each-pass --reproducer %t 2>&1 >/dev/null | filecheck %s --check-prefix=WRONG
// RUN: filecheck %s --check-prefix=REPRODUCER --input-file %t
// RUN: not ge-opt %s -p cse --seed 1 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not ge-opt %s -p cse --check-each-pass --tolerance -1 2>&1 | filecheck %s --check-prefix=NEGATIVE

// LEVEL: ===- pass check -===
// LEVEL-NEXT: canonicalize: equal
// LEVEL: apply-rules: within {{[0-9.e-]+}} (limit 1e-05)
// LEVEL: group-kernels:
// LEVEL: verify-plan: equal

// OUT: ge.fusion

// HALF: cse: equal
// HALF-NEXT: convert-precision: lowers the precision to f16: within {{[0-9.e-]+}} (limit 0.02)
// HALF-NEXT: canonicalize: equal

// NARROW: error GE1117: pass convert-precision changes output y at [{{[0-9]+}}, {{[0-9]+}}]: {{[-0-9.]+}} before, {{[-0-9.]+}} after (relative difference {{.*}}), limit 1e-09

// NPU: plan-memory: equal
// NPU-NEXT: lower-kernels: equal; its {{[0-9]+}} npu kernels are not executed by the interpreter

// WRONG: error GE1117: pass apply-rules changes output y at [{{[0-9]+}}, {{[0-9]+}}]: {{6.3[0-9]+}} before, {{[0-9.]+}} after
// WRONG-NEXT: rule at fault: relu6_is_relu
// WRONG-NEXT: in pass apply-rules; reproducer: {{.*}}

// REPRODUCER: -p apply-rules,dce --rules {{.*}}relu6_is_relu.py --check-each-pass
// REPRODUCER: ge.relu6

// ALONE: ge-opt: error GE1001: --seed is for --check-each-pass
// NEGATIVE: ge-opt: error GE1001: --tolerance is -1, not 0 or more

func.func @main(%x: tensor<8x64xf32> {ge.name = "x"}, %n: tensor<4xi32> {ge.name = "n"}) -> (tensor<8x64xf32> {ge.name = "y"}, tensor<4xi32> {ge.name = "m"}) {
  %five = ge.constant dense<5.0> : tensor<f32>
  %third = ge.constant dense<3.0> : tensor<f32>
  %t = ge.mul(%x, %five) : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %r = ge.relu6(%t) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %e = ge.erf(%r) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %d = ge.div(%e, %third) : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %y = ge.add(%d, %r) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %m = ge.add(%n, %n) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return %y, %m : tensor<8x64xf32>, tensor<4xi32>
}
