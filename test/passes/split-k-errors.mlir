// RUN: not pyptoc %s --split-input-file --pipeline='partition,infer-tiles,tile,split-k{factor=2 strategy=atomic}' 2>&1 | filecheck %s
// RUN: not pyptoc %s --split-input-file --pipeline='partition,infer-tiles,tile,split-k{factor=2}' 2>&1 | filecheck %s
// RUN: not pyptoc %s --split-input-file --pipeline='split-k{strategy=fast}' 2>&1 | filecheck %s --check-prefix=STRATEGY

// What is done to a sum once cannot be done to each part of it.

#t = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64]>

// STRATEGY: error[PTO504]: split-k{strategy=fast}: there is no such strategy
// STRATEGY: a strategy is one of workspace, atomic
// CHECK: [[# @LINE + 2]]:8: error[PTO214]: split-k of a product with a bias, an output scale, relu or a cast
func.func @relu(%a: tensor<16x256xf16>, %b: tensor<256x64xf16>) -> tensor<16x64xf32> {
  %y = pypto.matmul %a, %b {relu, tile = #t}
  func.return %y : tensor<16x64xf32>
}

// -----

#t = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64]>
// CHECK: error[PTO214]: split-k of a product with a bias, an output scale, relu or a cast
func.func @scale(%a: tensor<16x256xi8>, %b: tensor<256x64xi8>, %s: tensor<64xf32>) -> tensor<16x64xf32> {
  %y = pypto.matmul %a, %b scale %s to f32 {tile = #t}
  func.return %y : tensor<16x64xf32>
}

// -----

#t = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64]>
// CHECK: error[PTO214]: split-k of a product with a bias, an output scale, relu or a cast
func.func @bias(%a: tensor<16x256xf16>, %b: tensor<256x64xf16>, %c: tensor<64xf32>) -> tensor<16x64xf32> {
  %y = pypto.matmul %a, %b bias %c {tile = #t}
  func.return %y : tensor<16x64xf32>
}

// -----

#t = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64]>
// CHECK: error[PTO214]: split-k with a result of bf16
func.func @narrow(%a: tensor<16x256xf16>, %b: tensor<256x64xf16>) -> tensor<16x64xbf16> {
  %y = pypto.matmul %a, %b to bf16 {tile = #t}
  func.return %y : tensor<16x64xbf16>
}

// -----

// CHECK: error[PTO214]: split_k of a product in bf16
func.func @atomic(%a: tensor<16x256xf16>, %b: tensor<256x64xf16>) -> tensor<16x64xbf16> {
  %y = pypto.matmul %a, %b to bf16 {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64], split_k = 2 atomic>}
  func.return %y : tensor<16x64xbf16>
}
