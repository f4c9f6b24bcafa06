// RUN: ge-opt %s -p "apply-rules{rules=conv2d_scale,add_zero}" --debug-rule conv2d_scale --debug-rule add_zero 2>&1 >/dev/null | filecheck %s --check-prefix=WHY
// RUN: ge-opt %s -p "apply-rules{rules=add_zero}" --trace-rules 2>&1 >/dev/null | filecheck %s --check-prefix=TRACE
// RUN: ge-opt %s -p "apply-rules{rules=conv2d_scale,add_zero,relu_relu}" --rule-stats 2>&1 >/dev/null | filecheck %s --check-prefix=STATS
// RUN: not ge-opt %s -p apply-rules --debug-rule conv_scale 2>&1 | filecheck %s --check-prefix=UNKNOWN

// WHY-DAG: debug-rule add_zero: node Add_5 (ge.add): matched
// WHY-DAG: debug-rule conv2d_scale: node Mul_4, Add_5 (ge.mul): 2 of 2 ops, at node Conv_3 (ge.conv2d) one value per channel: no
// WHY-DAG: debug-rule conv2d_scale: node Mul_6 (ge.mul): 1 of 2 ops, operand is no ge.conv2d

// TRACE:      rule add_zero at node Add_5 (ge.add)
// TRACE-NEXT:   before:
// TRACE-NEXT:     %z = ge.constant #ge.splat<0.0> : tensor<8xf32>
// TRACE-NEXT:     %r = ge.add(%y, %z)
// TRACE-NEXT:   after:
// TRACE-NEXT:     %r is now %y

// STATS:      rule statistics: 3 rules, {{[0-9]+}} iterations
// STATS-NEXT:   rule {{ +}} tried matched {{ +}} ms rejected by
// STATS-NEXT:   add_zero {{ +}} 1 {{ +}} 1
// STATS-NEXT:   conv2d_scale {{.*}} one value per channel (1)
// STATS-NEXT:   1 rules found no root

// UNKNOWN: error GE1107: no rule named conv_scale; did you mean

func.func @main(%x: tensor<1x4x8x8xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %w = ge.constant #ge.splat<0.5> : tensor<4x4x1x1xf32>
  %c = ge.constant #ge.splat<2.0> : tensor<8xf32>
  %z = ge.constant #ge.splat<0.0> : tensor<8xf32>
  %a = ge.conv2d(%x, %w) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> loc("Conv_3")
  %y = ge.mul(%a, %c) : (tensor<1x4x8x8xf32>, tensor<8xf32>) -> tensor<1x4x8x8xf32> loc("Mul_4")
  %r = ge.add(%y, %z) : (tensor<1x4x8x8xf32>, tensor<8xf32>) -> tensor<1x4x8x8xf32> loc("Add_5")
  %m = ge.mul(%x, %c) : (tensor<1x4x8x8xf32>, tensor<8xf32>) -> tensor<1x4x8x8xf32> loc("Mul_6")
  func.return %r, %m : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}
