// RUN: pyptoc %s --pipeline=partition,infer-tiles | filecheck %s
// RUN: pyptoc %s --pipeline=partition,infer-tiles --machine=ascend910b | filecheck %s --check-prefix=SMALL

#cube = #pypto.cube<m = [32, 64], k = [64, 128], n = [64, 64]>
#split = #pypto.cube<m = [16, 16], k = [64, 128], n = [64, 64], split_k>

// Nothing given: the tile that the cost model says is fastest, for 1024 rows where their
// number is dynamic. L0C of the 910b is half as large. What is chosen and why is tested in
// infer-tiles-choice.mlir and test_tile_search.py.
func.func @chosen(%a: tensor<?x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<?x4096xf32> {
  %y = pypto.matmul %a, %b
  func.return %y : tensor<?x4096xf32>
}
// CHECK-LABEL: func.func @chosen
// CHECK: npu.tile = #pypto.cube<m = [256, 256], k = [64, 128], n = [256, 256], split_k = 1>
// SMALL-LABEL: func.func @chosen
// SMALL: npu.tile = #pypto.cube<m = [176, 1056], k = [64, 256], n = [176, 176], split_k = 1>

// A tile larger than the tensor is clamped, in whole alignment units.
func.func @clamped(%a: tensor<5x100xf16>, %b: tensor<100x40xf16>) -> tensor<5x40xf32> {
  %y = pypto.matmul %a, %b {tile = #cube}
  func.return %y : tensor<5x40xf32>
}
// CHECK-LABEL: func.func @clamped
// CHECK: npu.tile = #pypto.cube<m = [16, 16], k = [64, 128], n = [48, 48], split_k = 1>

// The nearest tile counts: the op's, then the function's.
func.func @nearest(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>) -> (tensor<512x512xf32>, tensor<512x512xf32>)
    attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [16, 16], k = [16, 16], n = [16, 16]>>} {
  %x = pypto.matmul %a, %b {tile = #cube}
  %y = pypto.matmul %a, %b
  func.return %x, %y : tensor<512x512xf32>, tensor<512x512xf32>
}
// CHECK-LABEL: func.func @nearest
// CHECK: %x = {{.*}}npu.tile = #pypto.cube<m = [32, 64], k = [64, 128], n = [64, 64], split_k = 1>
// CHECK: %y = {{.*}}npu.tile = #pypto.cube<m = [16, 16], k = [16, 16], n = [16, 16], split_k = 1>

// A bare split_k is the factor that is fastest: one where K is one step or where there are
// tasks enough, or where adding the parts takes a launch of its own that costs more.
func.func @split(%a: tensor<16x8192xf16>, %b: tensor<8192x64xf16>,
    %c: tensor<16x128xf16>, %d: tensor<128x64xf16>,
    %e: tensor<4096x512xf16>, %f: tensor<512x4096xf16>)
    -> (tensor<16x64xf32>, tensor<16x64xf32>, tensor<4096x4096xf32>) {
  %x = pypto.matmul %a, %b {tile = #split}
  %y = pypto.matmul %c, %d {tile = #split}
  %z = pypto.matmul %e, %f {tile = #split}
  func.return %x, %y, %z : tensor<16x64xf32>, tensor<16x64xf32>, tensor<4096x4096xf32>
}
// CHECK-LABEL: func.func @split
// CHECK: %x = {{.*}}split_k = 22>}
// CHECK: %y = {{.*}}split_k = 1>}
// CHECK: %z = {{.*}}split_k = 1>}

// Vector tiles are no larger than the given one; what is live at once fits UB.
func.func @vector(%x: tensor<?x4096xf32>, %y: tensor<?x64xf32>) -> (tensor<?x4096xf32>, tensor<?x64xf32>) {
  %e = pypto.exp %x {tile = #pypto.vec<8, 512>}
  %f = pypto.exp %y
  func.return %e, %f : tensor<?x4096xf32>, tensor<?x64xf32>
}
// CHECK-LABEL: func.func @vector
// CHECK: %e = {{.*}}npu.tile = #pypto.vec<8, 512>
// CHECK: %f = {{.*}}npu.tile = #pypto.vec<64, 64>

// Whole rows where they fit (here 8 of them), columns in phases where they do not.
func.func @rows(%x: tensor<?x4096xf32>, %y: tensor<?x100000xf32>) -> (tensor<?x1xf32>, tensor<?x1xf32>) {
  %e = pypto.exp %x
  %s = pypto.sum %e axis -1 {keepdim}
  %t = pypto.sum %y axis -1 {keepdim}
  func.return %s, %t : tensor<?x1xf32>, tensor<?x1xf32>
}
// CHECK-LABEL: func.func @rows
// CHECK: pypto.exp {{.*}}npu.tile = #pypto.vec<8, 4096>
// CHECK: pypto.sum %e {{.*}}npu.tile = #pypto.vec<8, 4096>
// CHECK: pypto.sum %y {{.*}}npu.tile = #pypto.vec<{{[0-9]+}}, {{[0-9][0-9][0-9][0-9]}}>

// -----
// The defaults of a helper that was inlined stay with its ops.
// CHECK-LABEL: func.func @inlined
// CHECK: pypto.exp {{.*}}npu.tile = #pypto.vec<4, 32>
func.func @inlined(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {pypto.tiles = #pypto.tiles<vec = [16, 64]>} {
  %y = pypto.exp %x {pypto.tiles = #pypto.tiles<vec = [4, 32]>}
  func.return %y : tensor<64x64xf32>
}
