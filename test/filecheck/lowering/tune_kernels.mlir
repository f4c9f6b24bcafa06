// RUN: ge-opt %s -p tune-kernels | filecheck %s
// RUN: ge-opt %s -p "tune-kernels{budget=0}" | filecheck %s --check-prefix NONE
// RUN: ge-opt %s -p "tune-kernels{target=ascend910b3}" | filecheck %s --check-prefix B3

// One core and small tiles are a poor start: all cores, or as many as there are tiles, are found within a few steps.
// Equal groups get equal kernels.

// CHECK-LABEL: func.func @main
// CHECK: kernel = #ge.kernel<vector, tile = [{{[0-9]+}}], blocks = 48, scratch = 0>
// CHECK: kernel = #ge.kernel<vector, tile = [{{[0-9]+}}], blocks = 48, scratch = 0>
// B3: kernel = #ge.kernel<vector, tile = [{{[0-9]+}}], blocks = 40, scratch = 0>
// Without a budget nothing changes.
// NONE: kernel = #ge.kernel<vector, tile = [512], blocks = 1, scratch = 0>
// NONE: kernel = #ge.kernel<vector, tile = [512], blocks = 1, scratch = 0>
func.func @main(%x: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %a = ge.fusion(%x_1 = %x : tensor<1024x1024xf32>) attributes {label = "sigmoid", kernel = #ge.kernel<vector, tile = [512], blocks = 1, scratch = 0>} -> (tensor<1024x1024xf32>) {
    %y = ge.sigmoid(%x_1) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    ge.yield %y : tensor<1024x1024xf32>
  }
  %b = ge.fusion(%x_2 = %a : tensor<1024x1024xf32>) attributes {label = "sigmoid", kernel = #ge.kernel<vector, tile = [512], blocks = 1, scratch = 0>} -> (tensor<1024x1024xf32>) {
    %y = ge.sigmoid(%x_2) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    ge.yield %y : tensor<1024x1024xf32>
  }
  func.return %a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// A kernel with scratch keeps its tile: the scratch was planned for it.
// CHECK-LABEL: func.func @scratch
// CHECK: kernel = #ge.kernel<vector, tile = [512], blocks = 1, scratch = 64>
func.func @scratch(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %a = ge.fusion(%x_1 = %x : tensor<1024x1024xf32>) attributes {label = "sigmoid", kernel = #ge.kernel<vector, tile = [512], blocks = 1, scratch = 64>} -> (tensor<1024x1024xf32>) {
    %y = ge.sigmoid(%x_1) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    ge.yield %y : tensor<1024x1024xf32>
  }
  func.return %a : tensor<1024x1024xf32>
}

// Scratch of a mixed kernel follows its tile: all cores, rings of up to four slots of 512 bytes and more.
// CHECK-LABEL: func.func @mixed
// CHECK: kernel = #ge.kernel<mix, tile = [{{[0-9]+, [0-9]+, [0-9]+}}], blocks = 24, scratch = {{[1-9][0-9]+}}>
// NONE: kernel = #ge.kernel<mix, tile = [16, 64, 64], blocks = 1, scratch = 8192>
func.func @mixed(%x: tensor<1024x64xf32>, %w: tensor<64x256xf32>) -> tensor<1024x256xf32> {
  %y = ge.fusion(%0 = %x : tensor<1024x64xf32>, %1 = %w : tensor<64x256xf32>) attributes {label = "matmul_sigmoid", kernel = #ge.kernel<mix, tile = [16, 64, 64], blocks = 1, scratch = 8192>} -> (tensor<1024x256xf32>) {
    %2 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = false} : (tensor<1024x64xf32>, tensor<64x256xf32>) -> tensor<1024x256xf32>
    %3 = ge.sigmoid(%2) : (tensor<1024x256xf32>) -> tensor<1024x256xf32>
    ge.yield %3 : tensor<1024x256xf32>
  }
  func.return %y : tensor<1024x256xf32>
}
