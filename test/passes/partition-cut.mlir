// RUN: pyptoc %s --pipeline=decompose,partition --remarks 2>&1 | filecheck %s
// RUN: pyptoc %s --pipeline=decompose,partition{cut=false} | filecheck %s --check-prefix=WHOLE
// RUN: pyptoc %s --pipeline=decompose,partition,infer-tiles,form-tasks,tile | filecheck %s --check-prefix=TILE
// WHOLE-NOT: npu.cut

// CHECK: remark[PTO322]: 1 row does not fill 64 vector cores: folded in column tiles of 15872, then together: modelled {{.*}} us ({{.*}}) instead of
// CHECK: remark[PTO323]: rows are not cut into columns: modelled
// CHECK: remark[PTO323]: rows are not cut into columns: how many columns there are is known only at run time

// One row of a million elements: each core folds a part of it.
func.func @sum(%x: tensor<1x1000000xf32>) -> tensor<1x1xf32> {
  %s = pypto.sum %x axis -1 {keepdim}
  func.return %s : tensor<1x1xf32>
}
// CHECK-LABEL: func.func @sum
// CHECK: [[S:%[a-z0-9_]+]] = pypto.sum %x axis -1 {keepdim, npu.cut = 15872, npu.group = 0
// CHECK: [[P:%[0-9]+]] = pypto.assemble [[S]] into {{.*}}[0, 0] {npu.partial, npu.cut = 15872, npu.group = 0
// CHECK: pypto.sum [[P]] axis -1 {keepdim, npu.fold, npu.group = 1
// TILE-LABEL: func.func @sum
// TILE: npu.tasks (%i, %j) in (1, [[N:[0-9]+]]) outs(%out = {{.*}} : tensor<1x[[N]]xf32>) on vector
// TILE: npu.assemble {{.*}} into %out[0, %j]
// TILE: npu.tasks {{.*}} in (1, 1)
// TILE: [[V:%[0-9]+]] = pypto.view {{.*}}[0 +: 1, 0 +: [[N]]]
// TILE-NEXT: pypto.sum [[V]] axis -1

// What is one a row is made again in each column tile; where it is stored, by a group
// of its own. exp is computed again: that is less than storing it.
func.func @quantize(%x: tensor<2x400000xf32>) -> (tensor<2x400000xi8>, tensor<2x1xf32>) {
  %e = pypto.exp %x
  %q, %s = pypto.quantize %e axis -1 to i8
  func.return %q, %s : tensor<2x400000xi8>, tensor<2x1xf32>
}
// CHECK-LABEL: func.func @quantize
// CHECK: pypto.exp %x {npu.cut = 6656, npu.group = [[A:[0-9]+]]
// CHECK: pypto.assemble {{.*}}npu.partial, npu.cut = 6656, npu.group = [[A]]
// CHECK: pypto.exp %x {npu.cut = 6656, npu.group = [[B:[0-9]+]]
// CHECK: %q = {{.*}}npu.cut = 6656, npu.group = [[B]]
// CHECK: %s = pypto.div {{.*}}npu.group = [[C:[0-9]+]], npu.unit = "vector"}

// Refused: rows this short are done before a second launch could start.
func.func @short(%x: tensor<4x2048xf32>) -> tensor<4x2048xf32> {
  %s = pypto.softmax %x axis -1
  func.return %s : tensor<4x2048xf32>
}
// CHECK-LABEL: func.func @short
// CHECK-NOT: npu.cut

func.func @dynamic(%x: tensor<1x?xf32>) -> tensor<1x1xf32> {
  %s = pypto.sum %x axis -1 {keepdim}
  func.return %s : tensor<1x1xf32>
}
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: npu.cut
