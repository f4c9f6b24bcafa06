// RUN: %ge-opt %s --split-input-file --verify-diagnostics

func.func @count(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  // expected-error @+1 {{ge.if has 1 results, a body yields 2}}
  %y = ge.if(%c) : (tensor<i1>) -> tensor<2xf32> {
    ge.yield %x, %x : tensor<2xf32>, tensor<2xf32>
  } else {
    ge.yield %x : tensor<2xf32>
  }
  func.return %y : tensor<2xf32>
}

// -----

func.func @type(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<3xf32> {
  // expected-error @+1 {{a body yields tensor<2xf32>, the result is tensor<3xf32>}}
  %y = ge.if(%c) : (tensor<i1>) -> tensor<3xf32> {
    ge.yield %x : tensor<2xf32>
  } else {
    ge.yield %x : tensor<2xf32>
  }
  func.return %y : tensor<3xf32>
}

// -----

func.func @arguments(%x: tensor<2xf32>, %m: tensor<i64>) -> tensor<2xf32> {
  // expected-error @+1 {{the body of ge.loop has 2 arguments, 3 are needed}}
  %y = ge.loop(%m, none, %x) : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32> {
  ^body(%i: tensor<i64>, %go: tensor<i1>):
    ge.yield %go, %x : tensor<i1>, tensor<2xf32>
  }
  func.return %y : tensor<2xf32>
}

// -----

func.func @carried(%x: tensor<2xf32>, %m: tensor<i64>) -> tensor<2xf32> {
  // expected-error @+1 {{ge.loop carries tensor<2xf32> but yields tensor<4xf32>}}
  %y = ge.loop(%m, none, %x) : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32> {
  ^body(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<2xf32>):
    %b = ge.concat(%a, %a) {concat_dim = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    ge.yield %go, %b : tensor<i1>, tensor<4xf32>
  }
  func.return %y : tensor<2xf32>
}
