// The tile of each op, by line; the program only goes to a file.
// RUN: pyptoc %s --show-tiles --machine=ascend910b | filecheck %s
// RUN: pyptoc %s --show-tiles --machine=ascend910b -o %t.mlir | filecheck %s
// RUN: filecheck %s --input-file=%t.mlir --check-prefix=FILE
// RUN: not pyptoc %s --show-tiles --pipeline=inline 2>&1 | filecheck %s --check-prefix=NONE

// CHECK: {{^}}place {{ +}}op {{ +}}group  tile
// CHECK-NEXT: {{^}}{{.*}}show-tiles.mlir:[[# @LINE + 8]]:8 {{ +}}pypto.matmul {{ +}}0 {{ +}}#pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64], split_k = 1>
// CHECK-NEXT: {{^}}{{.*}}show-tiles.mlir:[[# @LINE + 8]]:8 {{ +}}pypto.amax (softmax) {{ +}}1 {{ +}}#pypto.vec<{{[0-9]+}}, 64>
// CHECK: pypto.div (softmax)
// CHECK-NOT: npu.kernel
// FILE: npu.kernel
// NONE: error[PTO500]: --show-tiles: no pass 'infer-tiles' in the pipeline

func.func @f(%a: tensor<64x640xf16>, %b: tensor<640x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64]>}
  %s = pypto.softmax %y axis -1
  func.return %s : tensor<64x64xf32>
}
