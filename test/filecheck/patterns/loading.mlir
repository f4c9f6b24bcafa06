// RUN: ge-opt %s --rules %S/Inputs/mine.py | filecheck %s --check-prefix=PY
// RUN: ge-opt %s --rules %S/Inputs/mine.rules | filecheck %s --check-prefix=TEXT
// RUN: ge-opt %s --rules %S/Inputs/mine.json | filecheck %s --check-prefix=GEJSON
// RUN: ge-opt %s --rules %S/Inputs/mine.json 2>&1 >/dev/null | filecheck %s --check-prefix=REFUSED
// RUN: ge-opt %s --rules %S/Inputs/mine.pdl.mlir | filecheck %s --check-prefix=PDL
// RUN: ge-opt %s --rules %S/Inputs/mine.py --rules %S/Inputs/mine.rules --rules %S/Inputs/mine.pdl.mlir | filecheck %s --check-prefix=ALL
// RUN: ge-opt %s --rules %S/Inputs/mine.py -p "apply-rules{rules=relu_relu}" | filecheck %s --check-prefix=OTHER
// RUN: ge-opt %s --rules %S/Inputs/mine.rules -p "apply-rules{topic=mine}" | filecheck %s --check-prefix=TEXT
// RUN: ge-opt %s --rules %S/Inputs/mine.rules -p "apply-rules{topic=mine strict=true}" | filecheck %s --check-prefix=STRICT
// RUN: ge-opt --rules %S/Inputs/mine.py --print-pipeline | filecheck %s --check-prefix=PIPELINE
// RUN: not ge-opt %s --rules %S/Inputs/unknown_op.py 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not ge-opt %s --rules %S/Inputs/crash.py 2>&1 | filecheck %s --check-prefix=CRASH
// RUN: not ge-opt %s --rules %S/Inputs/syntax.py 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: not ge-opt %s --rules %S/Inputs/unbound.rules 2>&1 | filecheck %s --check-prefix=UNBOUND
// RUN: not ge-opt %s --rules %S/Inputs/broken.json 2>&1 | filecheck %s --check-prefix=BROKEN
// RUN: not ge-opt %s --rules %S/Inputs/native.pdl.mlir 2>&1 | filecheck %s --check-prefix=NATIVE
// RUN: not ge-opt %s --rules %S/Inputs/none.rules 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not ge-opt %s --rules %s 2>&1 | filecheck %s --check-prefix=KIND
// RUN: not ge-opt %s --rules %S/Inputs/mine.py --rules %S/Inputs/mine.py -p "apply-rules{rules=abs_aps}" 2>&1 | filecheck %s --check-prefix=NAME

// PIPELINE: apply-rules{rules="abs_abs"}
// UNKNOWN: Inputs/unknown_op.py:6: error GE1105: the ge dialect has no op abbs; did you mean abs
// CRASH: Inputs/crash.py:4: error GE1115: RuntimeError: no rules today
// SYNTAX: Inputs/syntax.py:3: error GE1115: Python: invalid syntax; near 'def broken(:'; the file has to run as a Python module: docs/patterns.md
// UNBOUND: Inputs/unbound.rules:6: error GE1105: y is no parameter and no name
// BROKEN: Inputs/broken.json:3: error GE1115: {{JSON}}:
// NATIVE: Inputs/native.pdl.mlir:4: error GE1116: native: pdl.apply_native_constraint: native constraints are C++
// NONE: Inputs/none.rules: error GE1002: cannot read
// KIND: loading.mlir: error GE1013: unknown kind of rule file; known are .py, .rules, .json, .pdl.mlir
// NAME: error GE1107: no rule named abs_aps; did you mean abs_abs

func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x4xf32>) {
  %c = ge.constant #ge.splat<2.0> : tensor<f32>
  %d = ge.constant #ge.splat<3.0> : tensor<f32>
  // PY:          %b = ge.abs(%x)
  // PY-NEXT:     %r = ge.relu(%b)
  // PDL:         %a = ge.abs(%x)
  // PDL-NEXT:    %b = ge.abs(%a)
  // PDL-NEXT:    %n = ge.neg
  // ALL:         %b = ge.abs(%x)
  // ALL-NEXT:    %q = ge.square(%x)
  // OTHER:       %a = ge.abs(%x)
  // OTHER-NEXT:  %b = ge.abs(%a)
  %a = ge.abs(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = ge.abs(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %r = ge.relu(%b) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // TEXT:        %r = ge.relu
  // TEXT-NEXT:   %q = ge.square(%x)
  // TEXT:        %{{.*}} = ge.constant #ge.splat<6.0> : tensor<f32>
  // TEXT-NEXT:   %t = ge.mul(%x, %{{.*}})
  // STRICT:      %q = ge.square(%x)
  // STRICT:      %s = ge.mul
  // STRICT-NEXT: %t = ge.mul
  // REFUSED:     mine.json:28: warning GE1116: Elsewhere: the ge dialect has no op for GE type ScaledSquareSum
  // GEJSON:      %n = ge.neg
  // GEJSON-NEXT:   %u = ge.reduce_sum_square(%n) {axes = [1], keep_dims = true}
  %n = ge.neg(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = ge.square(%n) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %u = ge.reduce_sum(%q) {axes = [1], keep_dims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %s = ge.mul(%x, %c) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %t = ge.mul(%s, %d) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  func.return %r, %u, %t : tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x4xf32>
}
