// RUN: ge-opt %s -p "cse, dce" | filecheck %s
// RUN: ge-opt %s -O1 --print-pipeline | filecheck %s --check-prefix=LEVEL
// RUN: ge-opt %s -O1 --disable cse --disable add_zero --print-pipeline | filecheck %s --check-prefix=WITHOUT
// RUN: ge-opt %s -p cse --print-ir-before=cse --print-ir-after=cse 2>&1 >/dev/null | filecheck %s --check-prefix=DUMP
// RUN: ge-opt %s -p "cse,cse" --print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: ge-opt %s -p cse --pass-statistics 2>&1 | filecheck %s --check-prefix=STATS
// RUN: ge-opt %s -p cse --time-passes --verify-each 2>&1 | filecheck %s --check-prefix=TIME
// RUN: ge-opt %s --print-debuginfo | filecheck %s --check-prefix=LOC

// LEVEL: canonicalize,cse,{{.*}}apply-rules{level=1},{{.*}}group-kernels{fuse=false},{{.*}}plan-memory
// WITHOUT-NOT: cse
// WITHOUT: apply-rules{level=1 disable="add_zero"}
// DUMP: IR before cse
// DUMP: IR after cse
// CHANGE: IR after cse (changed)
// CHANGE-NOT: (changed)
// STATS: cse: -1 ops
// STATS-NEXT: -1 arith.addi
// TIME: ms {{.*}} verify input
// TIME-NEXT: ms {{.*}} cse
// TIME-NEXT: ms {{.*}} verify after cse

// CHECK: func.func @f
func.func @f(%x: i32) -> (i32, i32) {
  // CHECK-NEXT: %a = arith.addi %x, %x : i32
  // CHECK-NEXT: func.return %a, %a
  // LOC: arith.addi {{.*}} loc("first")
  %a = arith.addi %x, %x : i32 loc("first")
  %b = arith.addi %x, %x : i32 loc(fused["second", "third"])
  func.return %a, %b : i32, i32
}
