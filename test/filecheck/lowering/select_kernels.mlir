// RUN: ge-opt %s -p "group-kernels{fuse=false},select-kernels" | filecheck %s
// RUN: ge-opt %s -p "group-kernels{fuse=false},select-kernels{target=ascend910b3}" | filecheck %s --check-prefix=B3
// RUN: ge-opt %s -p "group-kernels{fuse=false},select-kernels,select-kernels" | filecheck %s
// RUN: not ge-opt %s -p "select-kernels{target=none}" 2>&1 | filecheck %s --check-prefix=BAD

// BAD: error GE{{[0-9]+}}:{{.*}}none

// As many blocks as the target has vector cores, if there is work for all; whole axes where they fit on the chip.
// CHECK-LABEL: func.func @main
// CHECK:         label = "exp", kernel = #ge.kernel<vector, tile = [{{[0-9]+}}], blocks = 48, scratch = 0>
// B3:            label = "exp", kernel = #ge.kernel<vector, tile = [{{[0-9]+}}], blocks = 40, scratch = 0>
// CHECK:         label = "softmax", kernel = #ge.kernel<vector, tile = [{{[0-9]+}}, 1024], blocks = {{[0-9]+}}, scratch = 0>
// CHECK:         label = "transpose", kernel = #ge.kernel<move, tile = [{{[0-9]+}}], blocks = {{[0-9]+}}, scratch = 0>
// CHECK:         label = "matmul", kernel = #ge.kernel<cube, tile = [{{[0-9]+, [0-9]+, [0-9]+}}], blocks = {{[0-9]+}}, scratch = 0>
func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %a = ge.exp(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %b = ge.softmax(%a) {axes = [1]} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %c = ge.transpose(%b) {perm = [1, 0]} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %y = ge.matmul(%c, %b) {transpose_x1 = false, transpose_x2 = false} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  func.return %y : tensor<1024x1024xf32>
}
