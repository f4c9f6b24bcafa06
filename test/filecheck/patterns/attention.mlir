// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=attention},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @attention(
// CHECK: = ge.transpose({{.*}}{perm = [0, 1, 3, 2]}
// CHECK: = ge.attention({{.*}}{num_heads = 3, num_key_value_heads = 3, scale = -1.500000e+00, input_layout = "BNSD"}
// CHECK: func.return
func.func @attention(%0: tensor<3x3x2x1xf32>, %1: tensor<1xf32>, %2: tensor<3x3x1x1xf32>) -> tensor<3x3x3x1xf32> {
  %3 = ge.constant dense<[[[[-0.725062907, 1.30188525], [0.462868273, -8.659860e-01], [-0.0736691281, -1.26536584]], [[-0.0148136616, 0.491126716], [0.20740658, -1.98344028], [-0.390737593, 0.452387124]], [[2.496550e-01, 1.10205126], [-1.34060979, 0.466892689], [-0.706899047, 0.138354331]]], [[[0.348642528, 0.629650176], [-0.633437037, 0.127852947], [-1.22461045, -1.46698165]], [[0.497850895, -0.111601844], [-1.67540145, -0.907118201], [-0.0385588855, 1.49681652]], [[0.986670792, 7.400230e-01], [-1.84246337, -0.155198395], [0.418873847, 0.335556388]]], [[[0.357675254, -0.291300207], [1.6989311, 1.41750968], [-0.152032852, -1.03771639]], [[1.99461114, -0.61077106], [1.13795316, 1.85022688], [-1.00151289, 0.232009679]], [[-0.405947059, 0.456265211], [0.261832386, 1.88655722], [5.315190e-01, -0.0672189221]]]]> : tensor<3x3x3x2xf32>
  %4 = ge.matmul(%3, %0) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x3x3x2xf32>, tensor<3x3x2x1xf32>) -> tensor<3x3x3x1xf32>
  %5 = ge.constant #ge.splat<-1.5> : tensor<1xf32>
  %6 = ge.mul(%5, %4) : (tensor<1xf32>, tensor<3x3x3x1xf32>) -> tensor<3x3x3x1xf32>
  %7 = ge.add(%1, %6) : (tensor<1xf32>, tensor<3x3x3x1xf32>) -> tensor<3x3x3x1xf32>
  %8 = ge.softmax(%7) {axes = [-1]} : (tensor<3x3x3x1xf32>) -> tensor<3x3x3x1xf32>
  %9 = ge.matmul(%8, %2) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x3x3x1xf32>, tensor<3x3x1x1xf32>) -> tensor<3x3x3x1xf32>
  func.return %9 : tensor<3x3x3x1xf32>
}

// -----

// CHECK-LABEL: func.func @attention_masked(
// CHECK: = ge.transpose({{.*}}{perm = [0, 1, 2, 3]}
// CHECK: = ge.attention({{.*}}{num_heads = 3, num_key_value_heads = 3, scale = 5.000000e-01, input_layout = "BNSD", mask_value = 1.000000e+00}
// CHECK: func.return
func.func @attention_masked(%0: tensor<3x3x2x3xf32>, %1: tensor<3x3x2x3xf32>, %2: tensor<3x3x2x1xi1>, %3: tensor<3x3x2x3xf32>) -> tensor<3x3x2x3xf32> {
  %4 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = true} : (tensor<3x3x2x3xf32>, tensor<3x3x2x3xf32>) -> tensor<3x3x2x2xf32>
  %5 = ge.constant #ge.splat<0.5> : tensor<f32>
  %6 = ge.mul(%4, %5) : (tensor<3x3x2x2xf32>, tensor<f32>) -> tensor<3x3x2x2xf32>
  %7 = ge.constant #ge.splat<1.0> : tensor<f32>
  %8 = ge.select(%2, %7, %6) : (tensor<3x3x2x1xi1>, tensor<f32>, tensor<3x3x2x2xf32>) -> tensor<3x3x2x2xf32>
  %9 = ge.softmax(%8) {axes = [-1]} : (tensor<3x3x2x2xf32>) -> tensor<3x3x2x2xf32>
  %10 = ge.matmul(%9, %3) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x3x2x2xf32>, tensor<3x3x2x3xf32>) -> tensor<3x3x2x3xf32>
  func.return %10 : tensor<3x3x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @attention_kept(
// CHECK: = ge.transpose({{.*}}{perm = [0, 1, 2, 3]}
// CHECK: = ge.logical_not(
// CHECK: = ge.attention({{.*}}{num_heads = 3, num_key_value_heads = 3, scale = 5.000000e-01, input_layout = "BNSD", mask_value = 1.000000e+00}
// CHECK: func.return
func.func @attention_kept(%0: tensor<3x3x2x3xf32>, %1: tensor<3x3x2x3xf32>, %2: tensor<3x3x2x1xi1>, %3: tensor<3x3x2x3xf32>) -> tensor<3x3x2x3xf32> {
  %4 = ge.matmul(%0, %1) {transpose_x1 = false, transpose_x2 = true} : (tensor<3x3x2x3xf32>, tensor<3x3x2x3xf32>) -> tensor<3x3x2x2xf32>
  %5 = ge.constant #ge.splat<0.5> : tensor<f32>
  %6 = ge.mul(%4, %5) : (tensor<3x3x2x2xf32>, tensor<f32>) -> tensor<3x3x2x2xf32>
  %7 = ge.constant #ge.splat<1.0> : tensor<f32>
  %8 = ge.select(%2, %6, %7) : (tensor<3x3x2x1xi1>, tensor<3x3x2x2xf32>, tensor<f32>) -> tensor<3x3x2x2xf32>
  %9 = ge.softmax(%8) {axes = [-1]} : (tensor<3x3x2x2xf32>) -> tensor<3x3x2x2xf32>
  %10 = ge.matmul(%9, %3) {transpose_x1 = false, transpose_x2 = false} : (tensor<3x3x2x2xf32>, tensor<3x3x2x3xf32>) -> tensor<3x3x2x3xf32>
  func.return %10 : tensor<3x3x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @attention_scaled_query(
// CHECK: = ge.attention({{.*}}{num_heads = 3, num_key_value_heads = 3, scale = 1.000000e+00, input_layout = "BNSD", mask_value = -1.000000e+02}
// CHECK: func.return
func.func @attention_scaled_query(%0: tensor<1x3x1x3xf32>, %1: tensor<1x3x1x3xf32>, %2: tensor<1x1xf32>, %3: tensor<1xi1>) -> tensor<1x3x1x3xf32> {
  %4 = ge.constant #ge.splat<2.0> : tensor<f32>
  %5 = ge.mul(%0, %4) : (tensor<1x3x1x3xf32>, tensor<f32>) -> tensor<1x3x1x3xf32>
  %6 = ge.constant dense<[[[[-0.726057768, 3.500000e+00, -0.219303802]], [[0.272672355, -1.43200612, -1.7486012]], [[-1.06606591, -2.04172754, 0.000000e+00]]]]> : tensor<1x3x1x3xf32>
  %7 = ge.attention(%5, %6, %1, %2, %3) {num_heads = 3, num_key_value_heads = 3, scale = 5.000000e-01, input_layout = "BNSD", mask_value = -1.000000e+02} : (tensor<1x3x1x3xf32>, tensor<1x3x1x3xf32>, tensor<1x3x1x3xf32>, tensor<1x1xf32>, tensor<1xi1>) -> tensor<1x3x1x3xf32>
  func.return %7 : tensor<1x3x1x3xf32>
}

// -----

// CHECK-LABEL: func.func @attention_scaled_key(
// CHECK: = ge.attention({{.*}}{num_heads = 3, num_key_value_heads = 3, scale = 1.000000e+00, input_layout = "BNSD", mask_value = -1.000000e+02}
// CHECK: func.return
func.func @attention_scaled_key(%0: tensor<1x3x1x3xf32>, %1: tensor<1x3x1x3xf32>, %2: tensor<1x1xf32>, %3: tensor<1xi1>) -> tensor<1x3x1x3xf32> {
  %4 = ge.constant #ge.splat<2.0> : tensor<f32>
  %5 = ge.mul(%0, %4) : (tensor<1x3x1x3xf32>, tensor<f32>) -> tensor<1x3x1x3xf32>
  %6 = ge.constant dense<[[[[-0.726057768, 3.500000e+00, -0.219303802]], [[0.272672355, -1.43200612, -1.7486012]], [[-1.06606591, -2.04172754, 0.000000e+00]]]]> : tensor<1x3x1x3xf32>
  %7 = ge.attention(%6, %5, %1, %2, %3) {num_heads = 3, num_key_value_heads = 3, scale = 5.000000e-01, input_layout = "BNSD", mask_value = -1.000000e+02} : (tensor<1x3x1x3xf32>, tensor<1x3x1x3xf32>, tensor<1x3x1x3xf32>, tensor<1x1xf32>, tensor<1xi1>) -> tensor<1x3x1x3xf32>
  func.return %7 : tensor<1x3x1x3xf32>
}

// -----

// CHECK-LABEL: func.func @attention_scaled_moved_query(
// CHECK: = ge.transpose({{.*}}{perm = [0, 1, 2, 3]}
// CHECK: = ge.attention({{.*}}{num_heads = 1, num_key_value_heads = 1, scale = -7.500000e-01, input_layout = "BNSD", mask_value = -1.000000e+02}
// CHECK: func.return
func.func @attention_scaled_moved_query(%0: tensor<2x1x1x2xf32>, %1: tensor<2x1x1x2xf32>, %2: tensor<2x1x1x2xf32>, %3: tensor<1x1xf32>, %4: tensor<1xi1>) -> tensor<2x1x1x2xf32> {
  %5 = ge.constant #ge.splat<-1.5> : tensor<f32>
  %6 = ge.mul(%0, %5) : (tensor<2x1x1x2xf32>, tensor<f32>) -> tensor<2x1x1x2xf32>
  %7 = ge.transpose(%6) {perm = [0, 1, 2, 3]} : (tensor<2x1x1x2xf32>) -> tensor<2x1x1x2xf32>
  %8 = ge.attention(%7, %1, %2, %3, %4) {num_heads = 1, num_key_value_heads = 1, scale = 5.000000e-01, input_layout = "BNSD", mask_value = -1.000000e+02} : (tensor<2x1x1x2xf32>, tensor<2x1x1x2xf32>, tensor<2x1x1x2xf32>, tensor<1x1xf32>, tensor<1xi1>) -> tensor<2x1x1x2xf32>
  func.return %8 : tensor<2x1x1x2xf32>
}

// -----

// CHECK-LABEL: func.func @attention_scaled_moved_key(
// CHECK: = ge.transpose({{.*}}{perm = [0, 1, 2, 3]}
// CHECK: = ge.attention({{.*}}{num_heads = 1, num_key_value_heads = 1, scale = -7.500000e-01, input_layout = "BNSD", mask_value = -1.000000e+02}
// CHECK: func.return
func.func @attention_scaled_moved_key(%0: tensor<2x1x1x2xf32>, %1: tensor<2x1x1x2xf32>, %2: tensor<2x1x1x2xf32>, %3: tensor<1x1xf32>, %4: tensor<1xi1>) -> tensor<2x1x1x2xf32> {
  %5 = ge.constant #ge.splat<-1.5> : tensor<f32>
  %6 = ge.mul(%0, %5) : (tensor<2x1x1x2xf32>, tensor<f32>) -> tensor<2x1x1x2xf32>
  %7 = ge.transpose(%6) {perm = [0, 1, 2, 3]} : (tensor<2x1x1x2xf32>) -> tensor<2x1x1x2xf32>
  %8 = ge.attention(%1, %7, %2, %3, %4) {num_heads = 1, num_key_value_heads = 1, scale = 5.000000e-01, input_layout = "BNSD", mask_value = -1.000000e+02} : (tensor<2x1x1x2xf32>, tensor<2x1x1x2xf32>, tensor<2x1x1x2xf32>, tensor<1x1xf32>, tensor<1xi1>) -> tensor<2x1x1x2xf32>
  func.return %8 : tensor<2x1x1x2xf32>
}

// -----

// CHECK-LABEL: func.func @attention_grouped(
// CHECK: = ge.attention({{.*}}{num_heads = 4, num_key_value_heads = 2, scale = 5.000000e-01, input_layout = "BNSD", mask_value = -1.000000e+02}
// CHECK: func.return
func.func @attention_grouped(%0: tensor<2x2x3x2xf32>, %1: tensor<2x2x3x2xf32>, %2: tensor<2x4x5x2xf32>, %3: tensor<2x1x1x3xf32>, %4: tensor<3xi1>) -> tensor<2x4x5x2xf32> {
  %5 = ge.unsqueeze(%0) {axes = [2]} : (tensor<2x2x3x2xf32>) -> tensor<2x2x1x3x2xf32>
  %6 = ge.expand(%5) {shape = [2, 2, 2, 3, 2]} : (tensor<2x2x1x3x2xf32>) -> tensor<2x2x2x3x2xf32>
  %7 = ge.reshape(%6) {shape = [2, 4, 3, 2]} : (tensor<2x2x2x3x2xf32>) -> tensor<2x4x3x2xf32>
  %8 = ge.unsqueeze(%1) {axes = [2]} : (tensor<2x2x3x2xf32>) -> tensor<2x2x1x3x2xf32>
  %9 = ge.expand(%8) {shape = [2, 2, 2, 3, 2]} : (tensor<2x2x1x3x2xf32>) -> tensor<2x2x2x3x2xf32>
  %10 = ge.reshape(%9) {shape = [2, 4, 3, 2]} : (tensor<2x2x2x3x2xf32>) -> tensor<2x4x3x2xf32>
  %11 = ge.attention(%2, %7, %10, %3, %4) {num_heads = 4, num_key_value_heads = 4, scale = 5.000000e-01, input_layout = "BNSD", mask_value = -1.000000e+02} : (tensor<2x4x5x2xf32>, tensor<2x4x3x2xf32>, tensor<2x4x3x2xf32>, tensor<2x1x1x3xf32>, tensor<3xi1>) -> tensor<2x4x5x2xf32>
  func.return %11 : tensor<2x4x5x2xf32>
}

// -----

// CHECK-LABEL: func.func @attention_bsh(
// CHECK: = ge.reshape({{.*}}{shape = [2, 3, 8]}
// CHECK: = ge.reshape({{.*}}{shape = [2, 5, 8]}
// CHECK: = ge.reshape({{.*}}{shape = [2, 5, 8]}
// CHECK: = ge.attention({{.*}}{num_heads = 4, num_key_value_heads = 4, scale = 5.000000e-01, input_layout = "BSH", mask_value = -1.000000e+02}
// CHECK: = ge.reshape({{.*}}{shape = [2, 3, 4, 2]}
// CHECK: func.return
func.func @attention_bsh(%0: tensor<2x3x4x2xf32>, %1: tensor<2x5x4x2xf32>, %2: tensor<2x5x4x2xf32>, %3: tensor<2x1x1x5xf32>, %4: tensor<5xi1>) -> tensor<2x3x4x2xf32> {
  %5 = ge.transpose(%0) {perm = [0, 2, 1, 3]} : (tensor<2x3x4x2xf32>) -> tensor<2x4x3x2xf32>
  %6 = ge.transpose(%1) {perm = [0, 2, 1, 3]} : (tensor<2x5x4x2xf32>) -> tensor<2x4x5x2xf32>
  %7 = ge.transpose(%2) {perm = [0, 2, 1, 3]} : (tensor<2x5x4x2xf32>) -> tensor<2x4x5x2xf32>
  %8 = ge.attention(%5, %6, %7, %3, %4) {num_heads = 4, num_key_value_heads = 4, scale = 5.000000e-01, input_layout = "BNSD", mask_value = -1.000000e+02} : (tensor<2x4x3x2xf32>, tensor<2x4x5x2xf32>, tensor<2x4x5x2xf32>, tensor<2x1x1x5xf32>, tensor<5xi1>) -> tensor<2x4x3x2xf32>
  %9 = ge.transpose(%8) {perm = [0, 2, 1, 3]} : (tensor<2x4x3x2xf32>) -> tensor<2x3x4x2xf32>
  func.return %9 : tensor<2x3x4x2xf32>
}

// -----

// CHECK-LABEL: func.func @attention_merged(
// CHECK: = ge.attention({{.*}}{num_heads = 4, num_key_value_heads = 2, scale = 5.000000e-01, input_layout = "BSH", mask_value = -1.000000e+02}
// CHECK: func.return
func.func @attention_merged(%0: tensor<2x3x16xf32>, %1: tensor<2x1x1x3xf32>, %2: tensor<3xi1>) -> tensor<2x3x8xf32> {
  %3, %4, %5 = ge.split(%0) {size_splits = [8, 4, 4], split_dim = 2} : (tensor<2x3x16xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>)
  %6 = ge.attention(%3, %4, %5, %1, %2) {num_heads = 4, num_key_value_heads = 2, scale = 5.000000e-01, input_layout = "BSH", mask_value = -1.000000e+02} : (tensor<2x3x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x1x1x3xf32>, tensor<3xi1>) -> tensor<2x3x8xf32>
  func.return %6 : tensor<2x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @attention_packed_split(
// CHECK: = ge.reshape({{.*}}{shape = [2, 3, 12]}
// CHECK: = ge.attention({{.*}}{num_heads = 2, num_key_value_heads = 2, scale = 5.000000e-01, input_layout = "BSH", mask_value = -1.000000e+02}
// CHECK: = ge.reshape({{.*}}{shape = [2, 3, 2, 2]}
// CHECK: func.return
func.func @attention_packed_split(%0: tensor<3xi1>) -> tensor<2x3x2x2xf32> {
  %1 = ge.constant dense<[[[[[1.34021521, -0.492206514], [-0.620474875, 0.489842057]], [[3.568870e-01, 0.105414249], [-9.304680e-01, -0.0292518232]], [[0.695303202, -1.34421456], [-0.457615763, -1.90122271]]], [[[-1.28953779, -1.84173501], [-0.235091135, -1.26744652]], [[0.271264344, 0.156751081], [-0.18693094, -2.51675963]], [[-0.538692892, -0.0485009439], [0.113308989, -1.53013575]]], [[[-0.477753282, -0.978519082], [-0.808837235, 1.06089866]], [[-0.807534695, -0.0325217061], [0.884389877, -0.583600461]], [[-0.11170195, 0.110464141], [0.0637817755, -1.22505581]]]], [[[[0.0761402324, 1.35882342], [-1.54714465, 0.859382689]], [[0.119354025, -0.641470373], [2.00041652, 0.762259722]], [[-1.19928885, 0.0745162293], [0.576689601, -0.188782126]]], [[[0.682910264, -0.0665173233], [0.667247534, 1.43852258]], [[-0.675662279, 0.203138605], [0.000000e+00, 0.127268419]], [[-1.18719459, -0.579301596], [-0.196195975, 0.898763895]]], [[[1.14522195, -1.32352781], [-0.794642389, 0.646903396]], [[-1.99241984, -0.463169873], [1.000000e+00, 1.25701499]], [[0.689403892, -0.327213407], [-0.368575901, -0.250195414]]]]]> : tensor<2x3x3x2x2xf32>
  %2 = ge.transpose(%1) {perm = [2, 0, 3, 1, 4]} : (tensor<2x3x3x2x2xf32>) -> tensor<3x2x2x3x2xf32>
  %3, %4, %5 = ge.split(%2) {size_splits = [1, 1, 1], split_dim = 0} : (tensor<3x2x2x3x2xf32>) -> (tensor<1x2x2x3x2xf32>, tensor<1x2x2x3x2xf32>, tensor<1x2x2x3x2xf32>)
  %6 = ge.squeeze(%3) {axes = [0]} : (tensor<1x2x2x3x2xf32>) -> tensor<2x2x3x2xf32>
  %7 = ge.squeeze(%4) {axes = [0]} : (tensor<1x2x2x3x2xf32>) -> tensor<2x2x3x2xf32>
  %8 = ge.squeeze(%5) {axes = [0]} : (tensor<1x2x2x3x2xf32>) -> tensor<2x2x3x2xf32>
  %9 = ge.constant dense<[[-0.0241436139, 0.668381035, -0.339869559], [1.05212641, -0.00539956056, 0.583382368], [-1.2908932, 0.346680045, -1.68820417]]> : tensor<3x3xf32>
  %10 = ge.attention(%6, %7, %8, %9, %0) {num_heads = 2, num_key_value_heads = 2, scale = 5.000000e-01, input_layout = "BNSD", mask_value = -1.000000e+02} : (tensor<2x2x3x2xf32>, tensor<2x2x3x2xf32>, tensor<2x2x3x2xf32>, tensor<3x3xf32>, tensor<3xi1>) -> tensor<2x2x3x2xf32>
  %11 = ge.transpose(%10) {perm = [0, 2, 1, 3]} : (tensor<2x2x3x2xf32>) -> tensor<2x3x2x2xf32>
  func.return %11 : tensor<2x3x2x2xf32>
}

// -----

// CHECK-LABEL: func.func @attention_packed_slices(
// CHECK: = ge.reshape({{.*}}{shape = [2, 3, 12]}
// CHECK: = ge.attention({{.*}}{num_heads = 2, num_key_value_heads = 2, scale = 5.000000e-01, input_layout = "BSH", mask_value = -1.000000e+02}
// CHECK: = ge.reshape({{.*}}{shape = [2, 3, 2, 2]}
// CHECK: func.return
func.func @attention_packed_slices(%0: tensor<3x3xf32>, %1: tensor<3xi1>) -> tensor<2x3x2x2xf32> {
  %2 = ge.constant dense<[[[[[1.34021521, -0.492206514], [-0.620474875, 0.489842057]], [[3.568870e-01, 0.105414249], [-9.304680e-01, -0.0292518232]], [[0.695303202, -1.34421456], [-0.457615763, -1.90122271]]], [[[-1.28953779, -1.84173501], [-0.235091135, -1.26744652]], [[0.271264344, 0.156751081], [-0.18693094, -2.51675963]], [[-0.538692892, -0.0485009439], [0.113308989, -1.53013575]]], [[[-0.477753282, -0.978519082], [-0.808837235, 1.06089866]], [[-0.807534695, -0.0325217061], [0.884389877, -0.583600461]], [[-0.11170195, 0.110464141], [0.0637817755, -1.22505581]]]], [[[[0.0761402324, 1.35882342], [-1.54714465, 0.859382689]], [[0.119354025, -0.641470373], [2.00041652, 0.762259722]], [[-1.19928885, 0.0745162293], [0.576689601, -0.188782126]]], [[[0.682910264, -0.0665173233], [0.667247534, 1.43852258]], [[-0.675662279, 0.203138605], [0.000000e+00, 0.127268419]], [[-1.18719459, -0.579301596], [-0.196195975, 0.898763895]]], [[[1.14522195, -1.32352781], [-0.794642389, 0.646903396]], [[-1.99241984, -0.463169873], [1.000000e+00, 1.25701499]], [[0.689403892, -0.327213407], [-0.368575901, -0.250195414]]]]]> : tensor<2x3x3x2x2xf32>
  %3 = ge.transpose(%2) {perm = [2, 0, 3, 1, 4]} : (tensor<2x3x3x2x2xf32>) -> tensor<3x2x2x3x2xf32>
  %4 = ge.slice(%3) {begin = [0], end = [1], axes = [0], strides = [1]} : (tensor<3x2x2x3x2xf32>) -> tensor<1x2x2x3x2xf32>
  %5 = ge.squeeze(%4) {axes = [0]} : (tensor<1x2x2x3x2xf32>) -> tensor<2x2x3x2xf32>
  %6 = ge.slice(%3) {begin = [1], end = [2], axes = [0], strides = [1]} : (tensor<3x2x2x3x2xf32>) -> tensor<1x2x2x3x2xf32>
  %7 = ge.squeeze(%6) {axes = [0]} : (tensor<1x2x2x3x2xf32>) -> tensor<2x2x3x2xf32>
  %8 = ge.slice(%3) {begin = [2], end = [3], axes = [0], strides = [1]} : (tensor<3x2x2x3x2xf32>) -> tensor<1x2x2x3x2xf32>
  %9 = ge.squeeze(%8) {axes = [0]} : (tensor<1x2x2x3x2xf32>) -> tensor<2x2x3x2xf32>
  %10 = ge.attention(%5, %7, %9, %0, %1) {num_heads = 2, num_key_value_heads = 2, scale = 5.000000e-01, input_layout = "BNSD", mask_value = -1.000000e+02} : (tensor<2x2x3x2xf32>, tensor<2x2x3x2xf32>, tensor<2x2x3x2xf32>, tensor<3x3xf32>, tensor<3xi1>) -> tensor<2x2x3x2xf32>
  %11 = ge.transpose(%10) {perm = [0, 2, 1, 3]} : (tensor<2x2x3x2xf32>) -> tensor<2x3x2x2xf32>
  func.return %11 : tensor<2x3x2x2xf32>
}

// -----

// Weights of rows without a score, which are no numbers, become zero: as PyTorch's exporter writes masked attention.

// CHECK-LABEL: func.func @attention_without_scores(
// CHECK-NOT: ge.is_nan
// CHECK: = ge.attention({{.*}}{num_heads = 3, num_key_value_heads = 3, scale = 1.000000e+00, input_layout = "BNSD", nan_value = 0.000000e+00}
// CHECK: func.return
func.func @attention_without_scores(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x5x6xf32>, %v: tensor<2x3x6x5xf32>, %mask: tensor<4x6xf32>) -> tensor<2x3x4x5xf32> {
  %zero = ge.constant #ge.splat<0.0> : tensor<f32>
  %scores = ge.matmul(%q, %k) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x3x4x5xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
  %masked = ge.add(%scores, %mask) : (tensor<2x3x4x6xf32>, tensor<4x6xf32>) -> tensor<2x3x4x6xf32>
  %weights = ge.softmax(%masked) {axes = [3]} : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %none = ge.is_nan(%weights) : (tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xi1>
  %safe = ge.select(%none, %zero, %weights) : (tensor<2x3x4x6xi1>, tensor<f32>, tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %y = ge.matmul(%safe, %v) {transpose_x1 = false, transpose_x2 = false} : (tensor<2x3x4x6xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x4x5xf32>
  func.return %y : tensor<2x3x4x5xf32>
}

// -----

// Heads in the batch, as models before PyTorch's own attention wrote it: no mask.

// CHECK-LABEL: func.func @attention_flat(
// CHECK: = ge.reshape(%q) {shape = [6, 1, 3, 4]}
// CHECK: = ge.attention({{.*}}{num_heads = 1, num_key_value_heads = 1, scale = 5.000000e-01, input_layout = "BNSD"} : (tensor<6x1x3x4xf32>
// CHECK: = ge.reshape({{.*}}{shape = [6, 3, 2]}
// CHECK-NEXT: func.return
func.func @attention_flat(%q: tensor<6x3x4xf32>, %k: tensor<6x5x4xf32>, %v: tensor<6x5x2xf32>) -> tensor<6x3x2xf32> {
  %half = ge.constant #ge.splat<0.5> : tensor<f32>
  %product = ge.matmul(%q, %k) {transpose_x1 = false, transpose_x2 = true} : (tensor<6x3x4xf32>, tensor<6x5x4xf32>) -> tensor<6x3x5xf32>
  %scores = ge.mul(%product, %half) : (tensor<6x3x5xf32>, tensor<f32>) -> tensor<6x3x5xf32>
  %weights = ge.softmax(%scores) {axes = [-1]} : (tensor<6x3x5xf32>) -> tensor<6x3x5xf32>
  %y = ge.matmul(%weights, %v) {transpose_x1 = false, transpose_x2 = false} : (tensor<6x3x5xf32>, tensor<6x5x2xf32>) -> tensor<6x3x2xf32>
  func.return %y : tensor<6x3x2xf32>
}

// -----

// With a mask, for which scores are told apart by head.

// CHECK-LABEL: func.func @attention_flat_masked(
// CHECK: = ge.reshape(%q) {shape = [2, 3, 3, 4]}
// CHECK: = ge.attention({{.*}}, %mask) {num_heads = 3, num_key_value_heads = 3, scale = 1.000000e+00, input_layout = "BNSD"}
// CHECK: = ge.reshape({{.*}}{shape = [6, 3, 2]}
// CHECK-NEXT: func.return
func.func @attention_flat_masked(%q: tensor<6x3x4xf32>, %k: tensor<6x4x5xf32>, %v: tensor<6x5x2xf32>, %mask: tensor<2x1x3x5xf32>) -> tensor<6x3x2xf32> {
  %product = ge.matmul(%q, %k) {transpose_x1 = false, transpose_x2 = false} : (tensor<6x3x4xf32>, tensor<6x4x5xf32>) -> tensor<6x3x5xf32>
  %heads = ge.reshape(%product) {shape = [2, 3, 3, 5]} : (tensor<6x3x5xf32>) -> tensor<2x3x3x5xf32>
  %masked = ge.add(%heads, %mask) : (tensor<2x3x3x5xf32>, tensor<2x1x3x5xf32>) -> tensor<2x3x3x5xf32>
  %scores = ge.reshape(%masked) {shape = [6, 3, 5]} : (tensor<2x3x3x5xf32>) -> tensor<6x3x5xf32>
  %weights = ge.softmax(%scores) {axes = [-1]} : (tensor<6x3x5xf32>) -> tensor<6x3x5xf32>
  %y = ge.matmul(%weights, %v) {transpose_x1 = false, transpose_x2 = false} : (tensor<6x3x5xf32>, tensor<6x5x2xf32>) -> tensor<6x3x2xf32>
  func.return %y : tensor<6x3x2xf32>
}

// -----

// Heads that a reshape put into the batch are found again.

// CHECK-LABEL: func.func @attention_flat_heads(
// CHECK-NEXT: = ge.attention(%q, %k, %v) {num_heads = 3, num_key_value_heads = 3, scale = 5.000000e-01, input_layout = "BNSD"}
// CHECK-NEXT: = ge.reshape({{.*}}{shape = [6, 1, 4, 5]}
// CHECK-NEXT: func.return
func.func @attention_flat_heads(%q: tensor<2x3x4x5xf32>, %k: tensor<2x3x7x5xf32>, %v: tensor<2x3x7x5xf32>) -> tensor<6x1x4x5xf32> {
  %0 = ge.reshape(%q) {shape = [6, 1, 4, 5]} : (tensor<2x3x4x5xf32>) -> tensor<6x1x4x5xf32>
  %1 = ge.reshape(%k) {shape = [6, 1, 7, 5]} : (tensor<2x3x7x5xf32>) -> tensor<6x1x7x5xf32>
  %2 = ge.reshape(%v) {shape = [6, 1, 7, 5]} : (tensor<2x3x7x5xf32>) -> tensor<6x1x7x5xf32>
  %3 = ge.attention(%0, %1, %2) {num_heads = 1, num_key_value_heads = 1, scale = 5.000000e-01, input_layout = "BNSD"} : (tensor<6x1x4x5xf32>, tensor<6x1x7x5xf32>, tensor<6x1x7x5xf32>) -> tensor<6x1x4x5xf32>
  func.return %3 : tensor<6x1x4x5xf32>
}
