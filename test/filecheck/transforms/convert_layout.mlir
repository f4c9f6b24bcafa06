// RUN: ge-opt %s -p "convert-layout,dce" | filecheck %s
// RUN: ge-opt %s -p convert-layout --pass-statistics 2>&1 | filecheck %s --check-prefix=STATS

// STATS: 9 ops converted
// STATS: 2 transposes made

// One transpose at the input; the residual add, the concat and the mean work channels last; the per-channel constant
// of rank 3 becomes a row, the filters stay as they are; after the mean nothing is left to transpose.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<1x3x16x16xf32> {ge.name = "x"}) -> (tensor<1x16xf32> {ge.name = "y"}, tensor<1x16x8x8xf32> {ge.name = "z"}) {
  %w = ge.constant #ge.weight<"w.bin", 0, 864> : tensor<8x3x3x3xf32>
  %w2 = ge.constant #ge.splat<0.5> : tensor<8x8x1x1xf32>
  // CHECK: %c = ge.constant #ge.weight<"w.bin", 864, 32> : tensor<8x1x1xf32>
  %c = ge.constant #ge.weight<"w.bin", 864, 32> : tensor<8x1x1xf32>
  // CHECK-NEXT: %x.last = ge.transpose(%x) {perm = [0, 2, 3, 1]}
  // CHECK-NEXT: %a = ge.conv2d(%x.last, %w) {{.*}} data_format = "NHWC"} : (tensor<1x16x16x3xf32>, tensor<8x3x3x3xf32>) -> tensor<1x16x16x8xf32>
  %a = ge.conv2d(%x, %w) {strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<1x3x16x16xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x16x16xf32>
  // CHECK-NEXT: %0 = ge.reshape(%c) {shape = [8]} : (tensor<8x1x1xf32>) -> tensor<8xf32>
  // CHECK-NEXT: %b = ge.mul(%a, %0) : (tensor<1x16x16x8xf32>, tensor<8xf32>) -> tensor<1x16x16x8xf32>
  %b = ge.mul(%a, %c) : (tensor<1x8x16x16xf32>, tensor<8x1x1xf32>) -> tensor<1x8x16x16xf32>
  // CHECK-NEXT: %d = ge.max_pool2d(%b) {{.*}} data_format = "NHWC"} : (tensor<1x16x16x8xf32>) -> tensor<1x8x8x8xf32>
  %d = ge.max_pool2d(%b) {ksize = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], ceil_mode = false, data_format = "NCHW"} : (tensor<1x8x16x16xf32>) -> tensor<1x8x8x8xf32>
  // CHECK-NEXT: %e = ge.conv2d(%d, %w2) {{.*}} data_format = "NHWC"}
  %e = ge.conv2d(%d, %w2) {strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  // CHECK-NEXT: ge.add
  %f = ge.add(%d, %e) : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  // CHECK-NEXT: %g = ge.concat(%f, %d) {concat_dim = 3} : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x8x16xf32>
  %g = ge.concat(%f, %d) {concat_dim = 1} : (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x16x8x8xf32>
  // CHECK-NEXT: %h = ge.relu(%g) : (tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  %h = ge.relu(%g) : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  // CHECK-NEXT: %m = ge.reduce_mean(%h) {axes = [1, 2], keep_dims = true} : (tensor<1x8x8x16xf32>) -> tensor<1x1x1x16xf32>
  %m = ge.reduce_mean(%h) {axes = [2, 3], keep_dims = true} : (tensor<1x16x8x8xf32>) -> tensor<1x16x1x1xf32>
  // CHECK-NEXT: %y = ge.reshape(%m) {shape = [1, 16]} : (tensor<1x1x1x16xf32>) -> tensor<1x16xf32>
  %y = ge.reshape(%m) {shape = [1, -1]} : (tensor<1x16x1x1xf32>) -> tensor<1x16xf32>
  // CHECK-NEXT: %h.first = ge.transpose(%h) {perm = [0, 3, 1, 2]} : (tensor<1x8x8x16xf32>) -> tensor<1x16x8x8xf32>
  // CHECK-NEXT: func.return %y, %h.first
  func.return %y, %h : tensor<1x16xf32>, tensor<1x16x8x8xf32>
}
