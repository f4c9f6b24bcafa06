// RUN: ge-opt %S/../../data/ppocr_cls/ppocr_cls.onnx | filecheck %s
// RUN: ge-opt %S/../../data/ppocr_cls/ppocr_cls.onnx -p 'specialize-shapes{shapes="x:1,3,48,192"}' | filecheck %s --check-prefix=FIXED
// RUN: ge-opt %S/../../data/ppocr_cls/ppocr_cls.onnx --print-debuginfo | filecheck %s --check-prefix=NAMES

// A trained model: two sizes have the name "?", which does not make them equal, and the batch is given as -1.
// CHECK: func.func @main(%x: tensor<?x3x?x?xf32> {ge.name = "x", ge.dims = ["?", "3", "?", "?"]}) -> (tensor<?x2xf32> {ge.name = "save_infer_model/scale_0.tmp_1"})
// CHECK-NEXT: ge.constant dense<"0x{{.*}}"> : tensor<8x3x3x3xf32>
// CHECK-NEXT: ge.conv2d(%x, %conv1_weights) {strides = [2, 2], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, data_format = "NCHW"} : (tensor<?x3x?x?xf32>, tensor<8x3x3x3xf32>) -> tensor<?x8x?x?xf32>
// Weights above 1 kB stay in the file.
// CHECK: ge.constant #ge.weight<"{{.*}}ppocr_cls.onnx", 1167, 1600> : tensor<200x2xf32>

// The arithmetic on sizes ends in a constant shape.
// FIXED: func.func @main(%x: tensor<1x3x48x192xf32> {ge.name = "x"}) -> (tensor<1x2xf32> {
// FIXED-NOT: ge.shape
// FIXED: ge.reshape(%{{.*}}) {shape = [-1, 200]} : (tensor<1x200x1x1xf32>) -> tensor<1x200xf32>
// FIXED: ge.softmax(%{{.*}}) {axes = [1]} : (tensor<1x2xf32>) -> tensor<1x2xf32>

// Each op keeps the name of its node.
// NAMES: ge.conv2d{{.*}} loc("Conv@0")
