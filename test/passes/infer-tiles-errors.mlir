// RUN: not pyptoc %s --split-input-file --pipeline=partition,infer-tiles 2>&1 | filecheck %s

// The tile fits neither once nor twice.
func.func @over_l0c(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>) -> tensor<512x512xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [256, 256], k = [16, 64], n = [512, 512]>}
  func.return %y : tensor<512x512xf32>
}
// CHECK: infer-tiles-errors.mlir:5:{{[0-9]+}}: error[PTO210]: cube tile does not fit L0C of ascend950
// CHECK: rule: mL0 * nL0 * 4 B, padded to whole fractals, <= 262144 B (L0C); 131072 B when double-buffered
// CHECK: here: 256 * 512 * 4 = 524288 B
// CHECK: help: this fits: m = [256, 256], k = [16, 64], n = [256, 256]

// -----
func.func @over_l0a(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [256, 256], k = [128, 128], n = [16, 16]>}
  func.return %y : tensor<512x512xf32>
}
// CHECK: error[PTO210]: cube tile does not fit L0A of ascend950
// CHECK: help: this fits: m = [256, 256], k = [64, 64], n = [16, 16]

// -----
func.func @over_l1(%a: tensor<512x4096xf16>, %b: tensor<4096x512xf16>) -> tensor<512x512xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [128, 128], k = [64, 4096], n = [128, 128]>}
  func.return %y : tensor<512x512xf32>
}
// CHECK: error[PTO210]: cube tile does not fit L1 of ascend950

// -----
// Partial sums are f32 or i32.
func.func @split_bf16(%a: tensor<16x512xbf16>, %b: tensor<512x64xbf16>) -> tensor<16x64xbf16> {
  %y = pypto.matmul %a, %b to bf16 {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64], split_k>}
  func.return %y : tensor<16x64xbf16>
}
// CHECK: error[PTO214]: split_k of a product in bf16
// CHECK: help: leave out `to`

// -----
func.func @surplus(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %y = pypto.exp %x {tile = #pypto.vec<2, 8, 32>}
  func.return %y : tensor<8x32xf32>
}
// CHECK: error[PTO215]: a vector tile of 3 sizes on an op of rank 2
