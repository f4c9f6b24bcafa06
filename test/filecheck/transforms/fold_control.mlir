// RUN: ge-opt %s -p fold-control --split-input-file | filecheck %s
// RUN: ge-opt %s -p 'fold-control{rounds=1}' --split-input-file | filecheck %s --check-prefix=ONE

// The branch of a known condition, in place of the op.
// CHECK-LABEL: @branch
// CHECK-NEXT: ge.constant
// CHECK-NEXT: %r = ge.relu(%x)
// CHECK-NEXT: func.return %r
func.func @branch(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = ge.constant dense<true> : tensor<i1>
  %y = ge.if(%c) : (tensor<i1>) -> tensor<2xf32> {
    %r = ge.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
    ge.yield %r : tensor<2xf32>
  } else {
    ge.yield %x : tensor<2xf32>
  }
  func.return %y : tensor<2xf32>
}

// -----

// A branch inside a branch that is taken.
// CHECK-LABEL: @nested
// CHECK-NOT: ge.if
// CHECK: %n = ge.neg(%x)
// CHECK-NEXT: func.return %n
func.func @nested(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = ge.constant dense<true> : tensor<i1>
  %d = ge.constant dense<false> : tensor<i1>
  %y = ge.if(%c) : (tensor<i1>) -> tensor<2xf32> {
    %z = ge.if(%d) : (tensor<i1>) -> tensor<2xf32> {
      ge.yield %x : tensor<2xf32>
    } else {
      %n = ge.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
      ge.yield %n : tensor<2xf32>
    }
    ge.yield %z : tensor<2xf32>
  } else {
    ge.yield %x : tensor<2xf32>
  }
  func.return %y : tensor<2xf32>
}

// -----

// A loop of few rounds; what it collects is stacked.
// CHECK-LABEL: @rounds
// CHECK: [[A:%.*]] = ge.add(%x, %x)
// CHECK: [[B:%.*]] = ge.add([[A]], %x)
// CHECK: [[C:%.*]] = ge.pack(%x, [[A]]) {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
// CHECK-NEXT: func.return [[B]], [[C]]
// ONE-LABEL: @rounds
// ONE: ge.loop
func.func @rounds(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
  %m = ge.constant dense<2> : tensor<i64>
  %y, %z = ge.loop(%m, none, %x) : (tensor<i64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
  ^body(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<2xf32>):
    %b = ge.add(%a, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    ge.yield %go, %b, %a : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  func.return %y, %z : tensor<2xf32>, tensor<?x2xf32>
}

// -----

// Without rounds a loop is what it starts with.
// CHECK-LABEL: @none
// CHECK: func.return %x
func.func @none(%x: tensor<2xf32>) -> tensor<2xf32> {
  %m = ge.constant dense<0> : tensor<i64>
  %y = ge.loop(%m, none, %x) : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32> {
  ^body(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<2xf32>):
    ge.yield %go, %a : tensor<i1>, tensor<2xf32>
  }
  func.return %y : tensor<2xf32>
}

// -----

// A condition that the body decides keeps the loop.
// CHECK-LABEL: @decides
// CHECK: ge.loop
func.func @decides(%x: tensor<1xf32>) -> tensor<1xf32> {
  %m = ge.constant dense<2> : tensor<i64>
  %zero = ge.constant dense<0.0> : tensor<1xf32>
  %y = ge.loop(%m, none, %x) : (tensor<i64>, tensor<1xf32>) -> tensor<1xf32> {
  ^body(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<1xf32>):
    %b = ge.add(%a, %a) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %p = ge.greater(%b, %zero) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
    ge.yield %p, %b : tensor<1xi1>, tensor<1xf32>
  }
  func.return %y : tensor<1xf32>
}
