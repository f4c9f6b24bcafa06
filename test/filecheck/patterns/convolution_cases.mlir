// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=convolution},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @conv2d_scale(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.reshape({{.*}}{shape = [-1, 1, 1, 1]}
// CHECK: = ge.mul(
// CHECK: = ge.mul(
// CHECK: = ge.conv2d({{.*}}{strides = [2, 2], pads = [0, 0, 0, 0], dilations = [2, 2], groups = 2, data_format = "NHWC"}
// CHECK: func.return
func.func @conv2d_scale(%0: tensor<1x5x5x2xf32>) -> tensor<1x3x2x4xf32> {
  %1 = ge.constant dense<[[[[1.14522195, -1.32352781]]], [[[-0.794642389, 0.646903396]]], [[[-3.500000e+00, -0.463169873]]], [[[-0.0972869247, 1.25701499]]]]> : tensor<4x1x1x2xf32>
  %2 = ge.constant dense<[-3.500000e+00, -0.120770447, -0.197284222, -1.1140672]> : tensor<4xf32>
  %3 = ge.conv2d(%0, %1, %2) {strides = [2, 2], pads = [0, 0, 0, 0], dilations = [2, 2], groups = 2, data_format = "NHWC"} : (tensor<1x5x5x2xf32>, tensor<4x1x1x2xf32>, tensor<4xf32>) -> tensor<1x3x2x4xf32>
  %4 = ge.constant dense<-1.68820417> : tensor<1x1xf32>
  %5 = ge.mul(%3, %4) : (tensor<1x3x2x4xf32>, tensor<1x1xf32>) -> tensor<1x3x2x4xf32>
  func.return %5 : tensor<1x3x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @conv3d_scale(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.reshape({{.*}}{shape = [-1, 1, 1, 1, 1]}
// CHECK: = ge.mul(
// CHECK: = ge.mul(
// CHECK: = ge.conv3d({{.*}}{strides = [2, 2, 1], pads = [0, 1, 1, 0, 1, 1], dilations = [2, 1, 2], groups = 3, data_format = "NCDHW"}
// CHECK: func.return
func.func @conv3d_scale(%0: tensor<1x6x3x3x4xf32>) -> tensor<1x6x1x3x4xf32> {
  %1 = ge.constant dense<[[[[[0.506986439, 1.7888732]], [[0.796885788, 1.48963594]]], [[[-0.248487532, 0.717160821]], [[2.70550632, -1.22353446]]]], [[[[1.17626894, 1.69794416]], [[0.421127588, 0.765212417]]], [[[1.27963448, -0.670295179]], [[0.417411715, -0.888004959]]]], [[[[-0.691247046, -0.631562769]], [[-0.146268278, 0.149775639]]], [[[-3.500000e+00, -1.45090866]], [[2.02677536, 1.1835289]]]], [[[[0.743562758, -0.366530389]], [[-0.091306664, 0.561166406]]], [[[0.421439976, -1.72106242]], [[0.759279251, 2.98824763]]]], [[[[-1.89328992, 1.01967764]], [[0.378501981, -0.114415221]]], [[[1.40701568, -1.21359634]], [[0.167094991, 6.500000e+00]]]], [[[[-0.202098548, -0.429263026]], [[0.117977224, -0.45675534]]], [[[1.58916879, -0.931847751]], [[0.896931291, -1.2866838]]]]]> : tensor<6x2x2x1x2xf32>
  %2 = ge.constant dense<[-1.14858103, -1.08995044, 1.48088288, 0.119196922, 1.58473086, 0.332607388]> : tensor<6xf32>
  %3 = ge.conv3d(%0, %1, %2) {strides = [2, 2, 1], pads = [0, 1, 1, 0, 1, 1], dilations = [2, 1, 2], groups = 3, data_format = "NCDHW"} : (tensor<1x6x3x3x4xf32>, tensor<6x2x2x1x2xf32>, tensor<6xf32>) -> tensor<1x6x1x3x4xf32>
  %4 = ge.constant dense<-0.49041754> : tensor<f32>
  %5 = ge.mul(%4, %3) : (tensor<f32>, tensor<1x6x1x3x4xf32>) -> tensor<1x6x1x3x4xf32>
  func.return %5 : tensor<1x6x1x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @conv2d_transpose_scale(
// CHECK: = ge.reshape({{.*}}{shape = [2, -1, 2, 1, 2]}
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.expand({{.*}}{shape = [4]}
// CHECK: = ge.reshape({{.*}}{shape = [2, 1, 2, 1, 1]}
// CHECK: = ge.mul(
// CHECK: = ge.reshape({{.*}}{shape = [2, 2, 1, 2]}
// CHECK: = ge.mul(
// CHECK: = ge.conv2d_transpose({{.*}}{strides = [2, 2], pads = [0, 0, 0, 0], dilations = [2, 2], groups = 2, output_padding = [0, 0], data_format = "NHWC"}
// CHECK: func.return
func.func @conv2d_transpose_scale(%0: tensor<1x5x5x2xf32>) -> tensor<1x9x11x4xf32> {
  %1 = ge.constant dense<[[[[1.14522195, -1.32352781]], [[-0.794642389, 0.646903396]]], [[[-3.500000e+00, -0.463169873]], [[-0.0972869247, 1.25701499]]]]> : tensor<2x2x1x2xf32>
  %2 = ge.constant dense<[-3.500000e+00, -0.120770447, -0.197284222, -1.1140672]> : tensor<4xf32>
  %3 = ge.conv2d_transpose(%0, %1, %2) {strides = [2, 2], pads = [0, 0, 0, 0], dilations = [2, 2], groups = 2, output_padding = [0, 0], data_format = "NHWC"} : (tensor<1x5x5x2xf32>, tensor<2x2x1x2xf32>, tensor<4xf32>) -> tensor<1x9x11x4xf32>
  %4 = ge.constant dense<-1.68820417> : tensor<1x1xf32>
  %5 = ge.mul(%3, %4) : (tensor<1x9x11x4xf32>, tensor<1x1xf32>) -> tensor<1x9x11x4xf32>
  func.return %5 : tensor<1x9x11x4xf32>
}

// -----

// CHECK-LABEL: func.func @conv3d_transpose_scale(
// CHECK: = ge.reshape({{.*}}{shape = [1, -1, 1, 1, 2, 1]}
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.expand({{.*}}{shape = [1]}
// CHECK: = ge.reshape({{.*}}{shape = [1, 1, 1, 1, 1, 1]}
// CHECK: = ge.mul(
// CHECK: = ge.reshape({{.*}}{shape = [1, 1, 1, 2, 1]}
// CHECK: = ge.mul(
// CHECK: = ge.conv3d_transpose({{.*}}{strides = [1, 2, 2], pads = [1, 0, 0, 0, 1, 1], dilations = [2, 2, 2], groups = 1, output_padding = [0, 0, 0], data_format = "NCDHW"}
// CHECK: func.return
func.func @conv3d_transpose_scale(%0: tensor<2x1x4x4x3xf32>) -> tensor<2x1x3x8x4xf32> {
  %1 = ge.constant dense<[[[[[3.500000e+00], [-0.0218116697]]]]]> : tensor<1x1x1x2x1xf32>
  %2 = ge.constant dense<3.500000e+00> : tensor<1xf32>
  %3 = ge.conv3d_transpose(%0, %1, %2) {strides = [1, 2, 2], pads = [1, 0, 0, 0, 1, 1], dilations = [2, 2, 2], groups = 1, output_padding = [0, 0, 0], data_format = "NCDHW"} : (tensor<2x1x4x4x3xf32>, tensor<1x1x1x2x1xf32>, tensor<1xf32>) -> tensor<2x1x3x8x4xf32>
  %4 = ge.constant dense<0.051710695> : tensor<f32>
  %5 = ge.mul(%3, %4) : (tensor<2x1x3x8x4xf32>, tensor<f32>) -> tensor<2x1x3x8x4xf32>
  func.return %5 : tensor<2x1x3x8x4xf32>
}

// -----

// CHECK-LABEL: func.func @conv2d_bias(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.expand({{.*}}{shape = [2]}
// CHECK: = ge.add(
// CHECK: = ge.conv2d({{.*}}{strides = [1, 1], pads = [0, 0, 1, 0], dilations = [2, 1], groups = 1, data_format = "NHWC"}
// CHECK: func.return
func.func @conv2d_bias(%0: tensor<2x4x5x2xf32>, %1: tensor<2x2x2x2xf32>) -> tensor<2x3x4x2xf32> {
  %2 = ge.constant dense<[3.500000e+00, 6.500000e+00]> : tensor<2xf32>
  %3 = ge.conv2d(%0, %1, %2) {strides = [1, 1], pads = [0, 0, 1, 0], dilations = [2, 1], groups = 1, data_format = "NHWC"} : (tensor<2x4x5x2xf32>, tensor<2x2x2x2xf32>, tensor<2xf32>) -> tensor<2x3x4x2xf32>
  %4 = ge.constant dense<-0.000000e+00> : tensor<f32>
  %5 = ge.add(%4, %3) : (tensor<f32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x2xf32>
  func.return %5 : tensor<2x3x4x2xf32>
}

// -----

// CHECK-LABEL: func.func @conv3d_bias(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.expand({{.*}}{shape = [4]}
// CHECK: = ge.add(
// CHECK: = ge.conv3d({{.*}}{strides = [2, 2, 2], pads = [0, 0, 1, 1, 0, 0], dilations = [2, 1, 1], groups = 2, data_format = "NDHWC"}
// CHECK: func.return
func.func @conv3d_bias(%0: tensor<1x5x3x5x2xf32>, %1: tensor<4x1x1x1x1xf32>) -> tensor<1x3x2x3x4xf32> {
  %2 = ge.constant dense<[-5.079610e-01, 3.500000e+00, 6.500000e+00, 1.000000e+00]> : tensor<4xf32>
  %3 = ge.conv3d(%0, %1, %2) {strides = [2, 2, 2], pads = [0, 0, 1, 1, 0, 0], dilations = [2, 1, 1], groups = 2, data_format = "NDHWC"} : (tensor<1x5x3x5x2xf32>, tensor<4x1x1x1x1xf32>, tensor<4xf32>) -> tensor<1x3x2x3x4xf32>
  %4 = ge.constant dense<-3.500000e+00> : tensor<1xf32>
  %5 = ge.add(%3, %4) : (tensor<1x3x2x3x4xf32>, tensor<1xf32>) -> tensor<1x3x2x3x4xf32>
  func.return %5 : tensor<1x3x2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @conv2d_transpose_bias(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.expand({{.*}}{shape = [2]}
// CHECK: = ge.add(
// CHECK: = ge.conv2d_transpose({{.*}}{strides = [2, 2], pads = [1, 1, 0, 0], dilations = [2, 1], groups = 1, output_padding = [0, 0], data_format = "NHWC"}
// CHECK: func.return
func.func @conv2d_transpose_bias(%0: tensor<1x3x5x2xf32>, %1: tensor<2x2x2x1xf32>) -> tensor<1x6x8x2xf32> {
  %2 = ge.constant dense<[6.500000e+00, -0.829149604]> : tensor<2xf32>
  %3 = ge.conv2d_transpose(%0, %1, %2) {strides = [2, 2], pads = [1, 1, 0, 0], dilations = [2, 1], groups = 1, output_padding = [0, 0], data_format = "NHWC"} : (tensor<1x3x5x2xf32>, tensor<2x2x2x1xf32>, tensor<2xf32>) -> tensor<1x6x8x2xf32>
  %4 = ge.constant dense<[-0.0270832274, 6.500000e+00]> : tensor<2xf32>
  %5 = ge.add(%3, %4) : (tensor<1x6x8x2xf32>, tensor<2xf32>) -> tensor<1x6x8x2xf32>
  func.return %5 : tensor<1x6x8x2xf32>
}

// -----

// CHECK-LABEL: func.func @conv3d_transpose_bias(
// CHECK: = ge.reshape({{.*}}{shape = [-1]}
// CHECK: = ge.expand({{.*}}{shape = [4]}
// CHECK: = ge.add(
// CHECK: = ge.conv3d_transpose({{.*}}{strides = [2, 2, 2], pads = [0, 0, 1, 1, 0, 0], dilations = [2, 1, 1], groups = 2, output_padding = [0, 0, 0], data_format = "NDHWC"}
// CHECK: func.return
func.func @conv3d_transpose_bias(%0: tensor<1x5x3x5x2xf32>, %1: tensor<2x2x1x1x1xf32>) -> tensor<1x8x5x8x4xf32> {
  %2 = ge.constant dense<[-5.079610e-01, 3.500000e+00, 6.500000e+00, 1.000000e+00]> : tensor<4xf32>
  %3 = ge.conv3d_transpose(%0, %1, %2) {strides = [2, 2, 2], pads = [0, 0, 1, 1, 0, 0], dilations = [2, 1, 1], groups = 2, output_padding = [0, 0, 0], data_format = "NDHWC"} : (tensor<1x5x3x5x2xf32>, tensor<2x2x1x1x1xf32>, tensor<4xf32>) -> tensor<1x8x5x8x4xf32>
  %4 = ge.constant dense<-3.500000e+00> : tensor<1xf32>
  %5 = ge.add(%3, %4) : (tensor<1x8x5x8x4xf32>, tensor<1xf32>) -> tensor<1x8x5x8x4xf32>
  func.return %5 : tensor<1x8x5x8x4xf32>
}

// -----

// CHECK-LABEL: func.func @bias_add_constant(
// CHECK: = ge.conv2d({{.*}}{strides = [2, 2], pads = [0, 0, 0, 0], dilations = [2, 2], groups = 2, data_format = "NHWC"}
// CHECK: func.return
func.func @bias_add_constant(%0: tensor<1x5x5x2xf32>, %1: tensor<4x1x1x2xf32>, %2: tensor<4xf32>) -> tensor<1x3x2x4xf32> {
  %3 = ge.conv2d(%0, %1) {strides = [2, 2], pads = [0, 0, 0, 0], dilations = [2, 2], groups = 2, data_format = "NHWC"} : (tensor<1x5x5x2xf32>, tensor<4x1x1x2xf32>) -> tensor<1x3x2x4xf32>
  %4 = ge.bias_add(%3, %2) {data_format = "NHWC"} : (tensor<1x3x2x4xf32>, tensor<4xf32>) -> tensor<1x3x2x4xf32>
  func.return %4 : tensor<1x3x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @conv2d_batch_norm(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.add(
// CHECK: = ge.sqrt(
// CHECK: = ge.div(
// CHECK: = ge.reshape({{.*}}{shape = [-1, 1, 1, 1]}
// CHECK: = ge.mul(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.sub(
// CHECK: = ge.mul(
// CHECK: = ge.add(
// CHECK: = ge.cast(
// CHECK: = ge.conv2d({{.*}}{strides = [2, 2], pads = [0, 0, 0, 0], dilations = [2, 2], groups = 2, data_format = "NHWC"}
// CHECK: func.return
func.func @conv2d_batch_norm(%0: tensor<1x5x5x2xf32>) -> tensor<1x3x2x4xf32> {
  %1 = ge.constant dense<[[[[1.14522195, -1.32352781]]], [[[-0.794642389, 0.646903396]]], [[[-3.500000e+00, -0.463169873]]], [[[-0.0972869247, 1.25701499]]]]> : tensor<4x1x1x2xf32>
  %2 = ge.constant dense<[-3.500000e+00, -0.120770447, -0.197284222, -1.1140672]> : tensor<4xf32>
  %3 = ge.conv2d(%0, %1, %2) {strides = [2, 2], pads = [0, 0, 0, 0], dilations = [2, 2], groups = 2, data_format = "NHWC"} : (tensor<1x5x5x2xf32>, tensor<4x1x1x2xf32>, tensor<4xf32>) -> tensor<1x3x2x4xf32>
  %4 = ge.constant dense<[1.05212641, -0.00539956056, 0.583382368, 0.000000e+00]> : tensor<4xf32>
  %5 = ge.constant dense<[-3.500000e+00, -0.623943567, 6.500000e+00, 0.493013293]> : tensor<4xf32>
  %6 = ge.constant dense<[-1.05448461, 0.259839088, -0.857956469, 0.000000e+00]> : tensor<4xf32>
  %7 = ge.constant dense<[0.612839818, 2.37856698, 1.09660852, 1.99609649]> : tensor<4xf32>
  %8 = ge.batch_norm(%3, %4, %5, %6, %7) {data_format = "NHWC", epsilon = 1.250000e-01} : (tensor<1x3x2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x3x2x4xf32>
  func.return %8 : tensor<1x3x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @conv3d_batch_norm(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.add(
// CHECK: = ge.sqrt(
// CHECK: = ge.div(
// CHECK: = ge.reshape({{.*}}{shape = [-1, 1, 1, 1, 1]}
// CHECK: = ge.mul(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.sub(
// CHECK: = ge.mul(
// CHECK: = ge.add(
// CHECK: = ge.cast(
// CHECK: = ge.conv3d({{.*}}{strides = [2, 2, 1], pads = [0, 1, 0, 1, 0, 0], dilations = [1, 1, 2], groups = 3, data_format = "NDHWC"}
// CHECK: func.return
func.func @conv3d_batch_norm(%0: tensor<2x4x3x4x6xf32>) -> tensor<2x3x2x2x3xf32> {
  %1 = ge.constant dense<[[[[[-0.718292058, 0.0921138301], [-0.641175747, 0.551658273]]], [[[-0.724541843, -0.0385002233], [0.978839159, 2.57166886]]]], [[[[-1.00764322, -0.464507759], [-0.839835703, 0.784328341]]], [[[-1.1480993, 6.500000e+00], [-0.0296012834, -0.978678524]]]], [[[[-3.500000e+00, 3.500000e+00], [-2.10044026, -1.4454782]]], [[[-0.413034081, 0.148230642], [-0.185759991, -1.7739687]]]]]> : tensor<3x2x1x2x2xf32>
  %2 = ge.constant dense<[0.000000e+00, -0.802186251, 3.500000e+00]> : tensor<3xf32>
  %3 = ge.conv3d(%0, %1, %2) {strides = [2, 2, 1], pads = [0, 1, 0, 1, 0, 0], dilations = [1, 1, 2], groups = 3, data_format = "NDHWC"} : (tensor<2x4x3x4x6xf32>, tensor<3x2x1x2x2xf32>, tensor<3xf32>) -> tensor<2x3x2x2x3xf32>
  %4 = ge.constant dense<[1.000000e+00, 3.500000e+00, 6.500000e+00]> : tensor<3xf32>
  %5 = ge.constant dense<[-1.10111368, 0.867901504, 3.500000e+00]> : tensor<3xf32>
  %6 = ge.constant dense<[1.000000e+00, 3.500000e+00, -3.500000e+00]> : tensor<3xf32>
  %7 = ge.constant dense<[0.491091758, 0.91478008, 1.31986511]> : tensor<3xf32>
  %8 = ge.batch_norm(%3, %4, %5, %6, %7) {data_format = "NDHWC", epsilon = 1.250000e-01} : (tensor<2x3x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2x2x3xf32>
  func.return %8 : tensor<2x3x2x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @conv2d_transpose_batch_norm(
// CHECK: = ge.cast(
// CHECK: = ge.reshape({{.*}}{shape = [2, -1, 2, 1, 2]}
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.add(
// CHECK: = ge.sqrt(
// CHECK: = ge.div(
// CHECK: = ge.expand({{.*}}{shape = [4]}
// CHECK: = ge.reshape({{.*}}{shape = [2, 1, 2, 1, 1]}
// CHECK: = ge.mul(
// CHECK: = ge.reshape({{.*}}{shape = [2, 2, 1, 2]}
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.sub(
// CHECK: = ge.mul(
// CHECK: = ge.add(
// CHECK: = ge.cast(
// CHECK: = ge.conv2d_transpose({{.*}}{strides = [2, 2], pads = [0, 0, 0, 0], dilations = [2, 2], groups = 2, output_padding = [0, 0], data_format = "NHWC"}
// CHECK: func.return
func.func @conv2d_transpose_batch_norm(%0: tensor<1x5x5x2xf32>) -> tensor<1x9x11x4xf32> {
  %1 = ge.constant dense<[[[[1.14522195, -1.32352781]], [[-0.794642389, 0.646903396]]], [[[-3.500000e+00, -0.463169873]], [[-0.0972869247, 1.25701499]]]]> : tensor<2x2x1x2xf32>
  %2 = ge.constant dense<[-3.500000e+00, -0.120770447, -0.197284222, -1.1140672]> : tensor<4xf32>
  %3 = ge.conv2d_transpose(%0, %1, %2) {strides = [2, 2], pads = [0, 0, 0, 0], dilations = [2, 2], groups = 2, output_padding = [0, 0], data_format = "NHWC"} : (tensor<1x5x5x2xf32>, tensor<2x2x1x2xf32>, tensor<4xf32>) -> tensor<1x9x11x4xf32>
  %4 = ge.constant dense<[1.05212641, -0.00539956056, 0.583382368, 0.000000e+00]> : tensor<4xf32>
  %5 = ge.constant dense<[-3.500000e+00, -0.623943567, 6.500000e+00, 0.493013293]> : tensor<4xf32>
  %6 = ge.constant dense<[-1.05448461, 0.259839088, -0.857956469, 0.000000e+00]> : tensor<4xf32>
  %7 = ge.constant dense<[0.612839818, 2.37856698, 1.09660852, 1.99609649]> : tensor<4xf32>
  %8 = ge.batch_norm(%3, %4, %5, %6, %7) {data_format = "NHWC", epsilon = 1.250000e-01} : (tensor<1x9x11x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x9x11x4xf32>
  func.return %8 : tensor<1x9x11x4xf32>
}

// -----

// CHECK-LABEL: func.func @conv3d_transpose_batch_norm(
// CHECK: = ge.cast(
// CHECK: = ge.reshape({{.*}}{shape = [3, -1, 2, 1, 2, 2]}
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.add(
// CHECK: = ge.sqrt(
// CHECK: = ge.div(
// CHECK: = ge.expand({{.*}}{shape = [6]}
// CHECK: = ge.reshape({{.*}}{shape = [3, 1, 2, 1, 1, 1]}
// CHECK: = ge.mul(
// CHECK: = ge.reshape({{.*}}{shape = [3, 2, 1, 2, 2]}
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.cast(
// CHECK: = ge.sub(
// CHECK: = ge.mul(
// CHECK: = ge.add(
// CHECK: = ge.cast(
// CHECK: = ge.conv3d_transpose({{.*}}{strides = [1, 1, 1], pads = [1, 1, 1, 1, 0, 0], dilations = [1, 1, 2], groups = 3, output_padding = [0, 0, 0], data_format = "NCDHW"}
// CHECK: func.return
func.func @conv3d_transpose_batch_norm(%0: tensor<1x3x4x3x5xf32>) -> tensor<1x6x2x3x6xf32> {
  %1 = ge.constant dense<[[[[[0.132513434, 0.220759839], [-0.911828876, -6.409490e-01]]], [[[0.792586744, 0.349056274], [-0.680248439, 2.039891]]]], [[[[2.30917764, -1.46246243], [-0.000000e+00, 2.50899434]]], [[[0.783898652, 0.221060142], [-0.208056837, -0.54119426]]]], [[[[-0.212514699, -0.550729394], [0.000000e+00, -0.398153663]]], [[[-0.4411515, -1.20216072], [-0.0495898761, -0.894121647]]]]]> : tensor<3x2x1x2x2xf32>
  %2 = ge.constant dense<[-0.307806224, 7.591170e-01, 0.000000e+00, 1.34072256, 0.0340780616, -0.74870038]> : tensor<6xf32>
  %3 = ge.conv3d_transpose(%0, %1, %2) {strides = [1, 1, 1], pads = [1, 1, 1, 1, 0, 0], dilations = [1, 1, 2], groups = 3, output_padding = [0, 0, 0], data_format = "NCDHW"} : (tensor<1x3x4x3x5xf32>, tensor<3x2x1x2x2xf32>, tensor<6xf32>) -> tensor<1x6x2x3x6xf32>
  %4 = ge.constant dense<[-0.730998516, -3.500000e+00, -0.0398688503, 1.05915797, 0.647759795, -1.3375895]> : tensor<6xf32>
  %5 = ge.constant dense<[1.29657328, 0.139415249, 6.500000e+00, 0.617079794, 1.000000e+00, -1.05871952]> : tensor<6xf32>
  %6 = ge.constant dense<[-8.510500e-01, -0.121788934, -3.500000e+00, 0.437310547, 1.04672432, -0.490483493]> : tensor<6xf32>
  %7 = ge.constant dense<[0.622767448, 0.281472951, 0.753678918, 0.843394339, 0.500440061, 2.06843472]> : tensor<6xf32>
  %8 = ge.batch_norm(%3, %4, %5, %6, %7) {data_format = "NCDHW", epsilon = 1.250000e-01} : (tensor<1x6x2x3x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<1x6x2x3x6xf32>
  func.return %8 : tensor<1x6x2x3x6xf32>
}

// -----

// CHECK-LABEL: func.func @pad_conv2d(
// CHECK: = ge.conv2d({{.*}}{strides = [2, 1], pads = [1, 1, 1, 1], dilations = [1, 2], groups = 1, data_format = "NCHW"}
// CHECK: func.return
func.func @pad_conv2d(%0: tensor<1x2x4x4xf32>, %1: tensor<2x2x2x2xf32>, %2: tensor<2xf32>) -> tensor<1x2x3x4xf32> {
  %3 = ge.pad(%0) {paddings = [0, 0, 0, 0, 0, 0, 0, 0], mode = "constant"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %4 = ge.conv2d(%3, %1, %2) {strides = [2, 1], pads = [1, 1, 1, 1], dilations = [1, 2], groups = 1, data_format = "NCHW"} : (tensor<1x2x4x4xf32>, tensor<2x2x2x2xf32>, tensor<2xf32>) -> tensor<1x2x3x4xf32>
  func.return %4 : tensor<1x2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @pad_conv3d(
// CHECK: = ge.conv3d({{.*}}{strides = [1, 2, 1], pads = [0, 1, 1, 0, 0, 0], dilations = [1, 1, 1], groups = 1, data_format = "NCDHW"}
// CHECK: func.return
func.func @pad_conv3d(%0: tensor<1x2x4x4x4xf32>, %1: tensor<2x2x1x1x1xf32>, %2: tensor<2xf32>) -> tensor<1x2x4x3x5xf32> {
  %3 = ge.pad(%0) {paddings = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0], mode = "constant"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x4x4x4xf32>
  %4 = ge.conv3d(%3, %1, %2) {strides = [1, 2, 1], pads = [0, 1, 1, 0, 0, 0], dilations = [1, 1, 1], groups = 1, data_format = "NCDHW"} : (tensor<1x2x4x4x4xf32>, tensor<2x2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x3x5xf32>
  func.return %4 : tensor<1x2x4x3x5xf32>
}
