// RUN: ge-opt %s -p apply-rules | filecheck %s
// RUN: ge-opt %s -p apply-rules --pass-statistics 2>&1 | filecheck %s --check-prefix=STATS
// RUN: ge-opt %s -p "apply-rules{rules=swish}" | filecheck %s --check-prefix=ONE
// RUN: ge-opt %s -p "apply-rules{topic=canonical,softmax}" | filecheck %s --check-prefix=TOPIC
// RUN: ge-opt %s -p "apply-rules{level=1}" | filecheck %s --check-prefix=TOPIC
// RUN: ge-opt %s -p "apply-rules{disable=add_zero,activation}" | filecheck %s --check-prefix=LESS
// RUN: ge-opt %s -p "apply-rules{strict=true}" | filecheck %s --check-prefix=TOPIC
// RUN: ge-opt %s -p "apply-rules{strict=true keep=swish}" | filecheck %s
// RUN: ge-opt %s -p "apply-rules{strict=true keep=activation}" | filecheck %s
// RUN: ge-opt %s -p "apply-rules{strict=true keep=activation disable=swish}" | filecheck %s --check-prefix=TOPIC
// RUN: ge-opt %s -p "apply-rules{level=0 keep=swish disable=activation}" | filecheck %s --check-prefix=ONE
// RUN: not ge-opt %s -p "apply-rules{keep=swisch}" 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not ge-opt %s -p "apply-rules{rules=swisch}" 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not ge-opt %s -p "apply-rules{topic=fusoin}" 2>&1 | filecheck %s --check-prefix=TOPICS

// STATS-DAG: add_zero
// STATS-DAG: swish
// UNKNOWN: error GE1107: no rule named swisch; did you mean swish
// TOPICS: error GE1107: no topic named fusoin

func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = ge.constant #ge.splat<0.0> : tensor<f32>
  // CHECK:      func.func @main
  // CHECK-NEXT: %y = ge.swish(%x)
  // ONE:        %a = ge.add
  // ONE-NEXT:   %y = ge.swish(%a)
  // TOPIC:      func.func @main
  // TOPIC-NEXT: %s = ge.sigmoid(%x)
  // TOPIC-NEXT: %y = ge.mul
  // LESS:       %a = ge.add
  // LESS-NEXT:  %s = ge.sigmoid
  %a = ge.add(%x, %zero) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %s = ge.sigmoid(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %y = ge.mul(%s, %a) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
