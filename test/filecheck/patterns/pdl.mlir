// RUN: ge-opt --rules %S/Inputs/mine.py --dump-pdl | filecheck %s
// RUN: ge-opt --rules %S/Inputs/mine.rules --dump-pdl | filecheck %s --check-prefix=SOME
// RUN: ge-opt --rules %S/Inputs/mine.py --rules %S/Inputs/mine.rules --dump-rules | filecheck %s --check-prefix=TEXT
// RUN: ge-opt --rules %S/Inputs/mine.pdl.mlir --dump-rules | filecheck %s --check-prefix=NOT

// CHECK:      builtin.module {
// CHECK-NEXT:   pdl.pattern @abs_abs : benefit(2) {
// CHECK-NEXT:     %[[t0:.*]] = pdl.type
// CHECK-NEXT:     %x = pdl.operand : %[[t0]]
// CHECK-NEXT:     %[[t1:.*]] = pdl.type
// CHECK-NEXT:     %[[a:.*]] = pdl.operation "ge.abs" (%x : !pdl.value) -> (%[[t1]] : !pdl.type)
// CHECK-NEXT:     %[[v:.*]] = pdl.result 0 of %[[a]]
// CHECK-NEXT:     %[[t2:.*]] = pdl.type
// CHECK-NEXT:     %[[b:.*]] = pdl.operation "ge.abs" (%[[v]] : !pdl.value) -> (%[[t2]] : !pdl.type)
// CHECK-NEXT:     pdl.rewrite %[[b]] {
// CHECK-NEXT:       %[[n:.*]] = pdl.operation "ge.abs" (%x : !pdl.value) -> (%[[t2]] : !pdl.type)
// CHECK-NEXT:       pdl.replace %[[b]] with %[[n]]

// SOME: pdl.pattern @square_of_neg
// SOME: // scaled_twice: PDL cannot say it: the condition 'float' is a function

// TEXT:      rule abs_abs(x) exact=bits level=2 topic=mine:
// TEXT-NEXT:   "The absolute value of an absolute value."
// TEXT-NEXT:   abs(abs(x))
// TEXT-NEXT:   => abs(x)
// TEXT:      rule scaled_twice(x, c: number, d: number) exact=tolerance level=2 topic=mine:
// TEXT-NEXT:   x * c * d
// TEXT-NEXT:   => x * {c * d}
// TEXT-NEXT:   where "float": x.dtype.is_float

// NOT: # relu_of_abs cannot be written as text: the condition {{.*}} is a Python function
