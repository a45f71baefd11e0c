// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// An alias stands for its attribute; it is not printed back.
#cube = #pypto.cube<m = [16, 32], k = [64, 128, 256], n = [16, 16], split_k>

// CHECK-LABEL: @tiles
// CHECK-SAME: attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [16, 32], k = [64, 128, 256], n = [16, 16], split_k>, vec = [64, 256]>}
func.func @tiles(%x: tensor<16x64xf32>, %w: tensor<64x16xf32>)
    attributes {pypto.tiles = #pypto.tiles<cube = #cube, vec = [64, 256]>} {
  // CHECK: {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], split_k = 4>}
  %0 = pypto.matmul %x, %w {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], split_k = 4>}
  // CHECK: {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], walk = blocked<6, 4>, assign = dynamic>}
  %3 = pypto.matmul %x, %w {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], assign = dynamic, walk = blocked<6, 4>>}
  // CHECK: {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], split_k, walk = snake>}
  %4 = pypto.matmul %x, %w {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], split_k, walk = snake>}
  // CHECK: {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], split_k = 4 atomic>}
  %a0 = pypto.matmul %x, %w {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], split_k = 4 atomic>}
  // CHECK: {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], split_k atomic>}
  %b0 = pypto.matmul %x, %w {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], split_k atomic>}
  // CHECK: {tag = "rows", tile = #pypto.vec<8, 2048>}
  %1 = pypto.exp %x {tag = "rows", tile = #pypto.vec<8, 2048>}
  func.return
}

// CHECK-LABEL: @data
// CHECK-SAME: %a: {{[^{]*}}{pypto.name = "a", pypto.data = #pypto.data<uniform -1.0 to 1.0>}
// CHECK-SAME: %b: {{[^{]*}}{pypto.name = "b", pypto.data = #pypto.data<integer 1 to "pages * 128">}
// CHECK-SAME: %c: {{[^{]*}}{pypto.name = "c", pypto.data = #pypto.data<distinct 0 to "blocks", skip>}
// CHECK-SAME: %d: {{[^{]*}}{pypto.name = "d", pypto.data = #pypto.data<partition "M">}
// CHECK-SAME: %e: {{[^{]*}}{pypto.name = "e", pypto.data = #pypto.data<causal_topk "b">}
func.func @data(
    %a: tensor<4xf32> {pypto.data = #pypto.data<uniform -1.0 to 1.0>},
    %b: tensor<4xi32> {pypto.data = #pypto.data<integer 1 to "pages * 128">},
    %c: tensor<4xi32> {pypto.data = #pypto.data<distinct 0 to "blocks", skip>},
    %d: tensor<4xi64> {pypto.data = #pypto.data<partition "M">},
    %e: tensor<4x8xi32> {pypto.data = #pypto.data<causal_topk "b">}) {
  func.return
}

// CHECK-LABEL: @tolerances
// CHECK-SAME: pypto.tol = #pypto.tol<atol = 0.0001, rtol = 0.0078125, outliers = 0.005>
// CHECK-SAME: pypto.tol = #pypto.tol<as_sets, misses = 1>
func.func @tolerances(%x: tensor<4xf32>, %i: tensor<4xi32>)
    -> (tensor<4xf32> {pypto.tol = #pypto.tol<atol = 1.0e-4, rtol = 0.0078125, outliers = 0.005>},
        tensor<4xi32> {pypto.tol = #pypto.tol<as_sets, misses = 1>}) {
  func.return %x, %i : tensor<4xf32>, tensor<4xi32>
}
