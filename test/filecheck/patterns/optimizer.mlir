// RUN: ge-opt %s --split-input-file -p "apply-rules{topic=optimizer},dce" | filecheck %s
// One case of every rule: what is left of its left side.

// CHECK-LABEL: func.func @sgd_momentum(
// CHECK: = ge.apply_momentum({{.*}}{use_nesterov = false}
// CHECK: func.return
func.func @sgd_momentum(%0: tensor<1xf32>, %1: tensor<1xf32>, %2: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %3 = ge.constant #ge.splat<2.0> : tensor<1xf32>
  %4 = ge.mul(%3, %0) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %5 = ge.add(%1, %4) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %6 = ge.constant #ge.splat<0.5> : tensor<1xf32>
  %7 = ge.mul(%6, %5) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %8 = ge.sub(%2, %7) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return %8, %5 : tensor<1xf32>, tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @sgd_nesterov(
// CHECK: = ge.apply_momentum({{.*}}{use_nesterov = true}
// CHECK: func.return
func.func @sgd_nesterov(%0: tensor<1xf32>, %1: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %2 = ge.constant #ge.splat<2.0> : tensor<1xf32>
  %3 = ge.mul(%2, %0) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %4 = ge.add(%1, %3) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %5 = ge.mul(%2, %4) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %6 = ge.add(%1, %5) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %7 = ge.constant #ge.splat<0.5> : tensor<f32>
  %8 = ge.mul(%7, %6) : (tensor<f32>, tensor<1xf32>) -> tensor<1xf32>
  %9 = ge.constant dense<-0.000000e+00> : tensor<1xf32>
  %10 = ge.sub(%9, %8) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  func.return %10, %4 : tensor<1xf32>, tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @adam(
// CHECK: = ge.apply_adam(
// CHECK: func.return
func.func @adam(%0: tensor<2x3xf32>, %1: tensor<2x3xf32>, %2: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %3 = ge.constant #ge.splat<0.75> : tensor<f32>
  %4 = ge.mul(%0, %3) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %5 = ge.constant #ge.splat<0.25> : tensor<f32>
  %6 = ge.mul(%5, %1) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %7 = ge.add(%4, %6) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %8 = ge.constant #ge.splat<0.75> : tensor<f32>
  %9 = ge.mul(%2, %8) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %10 = ge.mul(%1, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %11 = ge.constant #ge.splat<0.25> : tensor<f32>
  %12 = ge.mul(%11, %10) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %13 = ge.add(%12, %9) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %14 = ge.sqrt(%13) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %15 = ge.constant #ge.splat<0.5> : tensor<f32>
  %16 = ge.div(%14, %15) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %17 = ge.constant #ge.splat<0.125> : tensor<1xf32>
  %18 = ge.add(%17, %16) : (tensor<1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %19 = ge.div(%7, %18) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %20 = ge.constant #ge.splat<0.5> : tensor<f32>
  %21 = ge.mul(%19, %20) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %22 = ge.constant dense<[[-2.53251958, 6.500000e+00, -1.49217176], [-1.2964406, -0.634958863, 1.27259123]]> : tensor<2x3xf32>
  %23 = ge.sub(%22, %21) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %23, %7, %13 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @adamw(
// CHECK: = ge.apply_adam_w(
// CHECK: func.return
func.func @adamw(%0: tensor<2x3xf32>, %1: tensor<2x3xf32>, %2: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %3 = ge.constant #ge.splat<0.875> : tensor<1xf32>
  %4 = ge.mul(%0, %3) : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  %5 = ge.constant #ge.splat<0.75> : tensor<1xf32>
  %6 = ge.mul(%5, %1) : (tensor<1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %7 = ge.constant dense<[[-0.304587692, -1.02688968, -1.28952658], [-0.0481764823, 0.88287425, -1.52937174]]> : tensor<2x3xf32>
  %8 = ge.constant #ge.splat<0.25> : tensor<1xf32>
  %9 = ge.mul(%7, %8) : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  %10 = ge.add(%9, %6) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %11 = ge.constant #ge.splat<0.75> : tensor<f32>
  %12 = ge.mul(%11, %2) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %13 = ge.mul(%7, %7) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %14 = ge.constant #ge.splat<0.25> : tensor<1xf32>
  %15 = ge.mul(%14, %13) : (tensor<1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %16 = ge.add(%12, %15) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %17 = ge.sqrt(%16) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %18 = ge.constant #ge.splat<0.5> : tensor<f32>
  %19 = ge.div(%17, %18) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %20 = ge.constant #ge.splat<0.125> : tensor<f32>
  %21 = ge.add(%19, %20) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %22 = ge.div(%10, %21) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %23 = ge.constant #ge.splat<0.5> : tensor<1xf32>
  %24 = ge.mul(%22, %23) : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  %25 = ge.sub(%4, %24) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %25, %10, %16 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @lamb_update(
// CHECK: = ge.lamb_apply_optimizer_assign(
// CHECK: func.return
func.func @lamb_update(%0: tensor<2x3xf32>, %1: tensor<2x3xf32>, %2: tensor<2x3xf32>, %3: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %4 = ge.constant #ge.splat<0.75> : tensor<f32>
  %5 = ge.mul(%4, %0) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = ge.constant #ge.splat<0.25> : tensor<f32>
  %7 = ge.mul(%6, %1) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %8 = ge.add(%7, %5) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %9 = ge.constant #ge.splat<0.75> : tensor<f32>
  %10 = ge.mul(%2, %9) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %11 = ge.mul(%1, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %12 = ge.constant #ge.splat<0.25> : tensor<f32>
  %13 = ge.mul(%12, %11) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %14 = ge.add(%10, %13) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %15 = ge.sqrt(%14) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %16 = ge.constant #ge.splat<0.125> : tensor<1xf32>
  %17 = ge.add(%15, %16) : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  %18 = ge.div(%8, %17) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %19 = ge.constant #ge.splat<0.125> : tensor<f32>
  %20 = ge.mul(%19, %3) : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %21 = ge.add(%20, %18) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %21, %14, %8 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @lamb_weights(
// CHECK: = ge.lamb_apply_weight_assign(
// CHECK: func.return
func.func @lamb_weights(%0: tensor<3xf32>, %1: tensor<f32>, %2: tensor<1xf32>, %3: tensor<3xf32>) -> tensor<3xf32> {
  %4 = ge.constant #ge.splat<0.0> : tensor<f32>
  %5 = ge.greater(%0, %4) : (tensor<3xf32>, tensor<f32>) -> tensor<3xi1>
  %6 = ge.constant #ge.splat<0.0> : tensor<f32>
  %7 = ge.greater(%1, %6) : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %8 = ge.div(%0, %1) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %9 = ge.constant #ge.splat<1.0> : tensor<f32>
  %10 = ge.select(%7, %8, %9) : (tensor<i1>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %11 = ge.constant #ge.splat<1.0> : tensor<f32>
  %12 = ge.select(%5, %10, %11) : (tensor<3xi1>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %13 = ge.mul(%2, %12) : (tensor<1xf32>, tensor<3xf32>) -> tensor<3xf32>
  %14 = ge.constant #ge.splat<0.5> : tensor<1xf32>
  %15 = ge.mul(%13, %14) : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xf32>
  %16 = ge.sub(%3, %15) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %16 : tensor<3xf32>
}
