// RUN: ge-opt %s --split-input-file | ge-opt --split-input-file | filecheck %s

// Bodies read values of the outside; a loop's take the count, the condition and what is carried.

// CHECK-LABEL: @branch
func.func @branch(%x: tensor<2xf32> {ge.name = "x"}, %c: tensor<i1> {ge.name = "c"}) -> (tensor<?xf32> {ge.name = "y"}) {
  // CHECK: %y = ge.if(%c) : (tensor<i1>) -> tensor<?xf32> {
  // CHECK-NEXT: %r = ge.relu(%x)
  // CHECK-NEXT: ge.yield %r : tensor<2xf32>
  // CHECK-NEXT: } else {
  // CHECK-NEXT: %d = ge.concat(%x, %x)
  // CHECK-NEXT: ge.yield %d : tensor<4xf32>
  // CHECK-NEXT: }
  %y = ge.if(%c) : (tensor<i1>) -> tensor<?xf32> {
    %r = ge.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
    ge.yield %r : tensor<2xf32>
  } else {
    %d = ge.concat(%x, %x) {concat_dim = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    ge.yield %d : tensor<4xf32>
  }
  func.return %y : tensor<?xf32>
}

// -----

// CHECK-LABEL: @loop
func.func @loop(%x: tensor<2xf32> {ge.name = "x"}, %m: tensor<i64> {ge.name = "m"}, %c: tensor<i1> {ge.name = "c"}) -> (tensor<2xf32> {ge.name = "y"}, tensor<?x2xf32> {ge.name = "z"}) {
  // CHECK: %y, %z = ge.loop(%m, none, %x) : (tensor<i64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
  // CHECK-NEXT: ^{{.*}}(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<2xf32>):
  // CHECK-NEXT: ge.add(%a, %x)
  // CHECK-NEXT: ge.yield %go, %b, %a : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  %y, %z = ge.loop(%m, none, %x) : (tensor<i64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
  ^body(%i: tensor<i64>, %go: tensor<i1>, %a: tensor<2xf32>):
    %b = ge.add(%a, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    ge.yield %go, %b, %a : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  // CHECK: ge.loop(none, %c) : (tensor<i1>) -> () {
  ge.loop(none, %c) : (tensor<i1>) -> () {
  ^body(%i: tensor<i64>, %go: tensor<i1>):
    ge.yield %c : tensor<i1>
  }
  func.return %y, %z : tensor<2xf32>, tensor<?x2xf32>
}

// -----

// CHECK-LABEL: @waits
func.func @waits(%x: tensor<2x3xf32> {ge.name = "x"}, %a: tensor<1xi64> {ge.name = "a"}) -> (!ge.value {ge.name = "y"}) {
  // CHECK: ge.late(%x, %a) {format = "onnx", node = "y0 = Unsqueeze (x0, x1)", opset = 13} : (tensor<2x3xf32>, tensor<1xi64>) -> !ge.value
  %y = ge.late(%x, %a) {format = "onnx", node = "y0 = Unsqueeze (x0, x1)", opset = 13} : (tensor<2x3xf32>, tensor<1xi64>) -> !ge.value
  func.return %y : !ge.value
}

// -----

// CHECK-LABEL: @unreached
func.func @unreached(%x: tensor<2xf32> {ge.name = "x"}, %c: tensor<i1> {ge.name = "c"}) -> (!ge.value {ge.name = "y"}) {
  %y = ge.if(%c) : (tensor<i1>) -> !ge.value {
    ge.yield %x : tensor<2xf32>
  } else {
    // CHECK: ge.fail() {message = "sizes differ"} : () -> !ge.value
    %f = ge.fail() {message = "sizes differ"} : () -> !ge.value
    ge.yield %f : !ge.value
  }
  func.return %y : !ge.value
}

// -----

// CHECK-LABEL: @sequences
func.func @sequences(%x: tensor<2x3xf32> {ge.name = "x"}, %p: tensor<i64> {ge.name = "p"}) -> (!ge.value {ge.name = "y"}) {
  // CHECK: ge.sequence_construct(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> !ge.value
  %s = ge.sequence_construct(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> !ge.value
  // CHECK: ge.sequence_construct() : () -> !ge.value
  %none = ge.sequence_construct() : () -> !ge.value
  // CHECK: ge.sequence_insert(%s, %x, %p)
  %t = ge.sequence_insert(%s, %x, %p) : (!ge.value, tensor<2x3xf32>, tensor<i64>) -> !ge.value
  // CHECK: ge.sequence_erase(%t) :
  %u = ge.sequence_erase(%t) : (!ge.value) -> !ge.value
  // CHECK: ge.sequence_length(%u) : (!ge.value) -> tensor<i64>
  %n = ge.sequence_length(%u) : (!ge.value) -> tensor<i64>
  // CHECK: ge.sequence_at(%u, %p)
  %e = ge.sequence_at(%u, %p) : (!ge.value, tensor<i64>) -> !ge.value
  // CHECK: ge.sequence_split(%x, %n) {axis = 1, keepdims = true}
  %v = ge.sequence_split(%x, %n) {axis = 1, keepdims = true} : (tensor<2x3xf32>, tensor<i64>) -> !ge.value
  // CHECK: ge.sequence_concat(%v) {axis = 1, new_axis = false}
  %w = ge.sequence_concat(%v) {axis = 1, new_axis = false} : (!ge.value) -> !ge.value
  // CHECK: ge.optional() : () -> !ge.value
  %o = ge.optional() : () -> !ge.value
  // CHECK: ge.optional_has_element(%o) : (!ge.value) -> tensor<i1>
  %h = ge.optional_has_element(%o) : (!ge.value) -> tensor<i1>
  // CHECK: ge.optional_get_element(%o)
  %g = ge.optional_get_element(%o) : (!ge.value) -> !ge.value
  func.return %u : !ge.value
}

// -----

// CHECK-LABEL: @text
func.func @text(%x: !ge.text {ge.name = "x"}) -> (!ge.text {ge.name = "y"}) {
  // CHECK: ge.text() {value = ["a", "b c"], shape = [2]} : () -> !ge.text
  %t = ge.text() {value = ["a", "b c"], shape = [2]} : () -> !ge.text
  // CHECK: ge.text_concat(%x, %t) : (!ge.text, !ge.text) -> !ge.text
  %c = ge.text_concat(%x, %t) : (!ge.text, !ge.text) -> !ge.text
  // CHECK: ge.text_equal(%x, %t) : (!ge.text, !ge.text) -> !ge.value
  %e = ge.text_equal(%x, %t) : (!ge.text, !ge.text) -> !ge.value
  // CHECK: ge.text_split(%x) {delimiter = ",", maxsplit = 2} : (!ge.text) -> (!ge.text, !ge.value)
  %s, %n = ge.text_split(%x) {delimiter = ",", maxsplit = 2} : (!ge.text) -> (!ge.text, !ge.value)
  // CHECK: ge.text_match(%x) {pattern = "a+"}
  %m = ge.text_match(%x) {pattern = "a+"} : (!ge.text) -> !ge.value
  // CHECK: ge.text_normalize(%x) {action = "LOWER", case_sensitive = false, stopwords = ["the"]}
  %y = ge.text_normalize(%x) {action = "LOWER", case_sensitive = false, stopwords = ["the"]} : (!ge.text) -> !ge.text
  func.return %y : !ge.text
}
