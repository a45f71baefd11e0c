// RUN: pyptoc %s --pipeline=decompose,partition,infer-tiles,tile | filecheck %s
// RUN: pyptoc %s --compile-to=tasks | filecheck %s --check-prefix=MEMORY
// RUN: pyptoc %s | filecheck %s --check-prefix=TILE

// Rows by number: one index a row of the box, the memory is all in reach.
func.func @rows(%x: tensor<?x512xf32>, %i: tensor<?xi32>) -> tensor<?x512xf32> {
  %y = pypto.gather_rows %x at %i {tile = #pypto.vec<32, 256>}
  func.return %y : tensor<?x512xf32>
}
// CHECK-LABEL: func.func @rows
// CHECK-DAG: [[R:%[0-9]+]] = pypto.dim %x, 0
// CHECK-DAG: [[N:%[0-9]+]] = pypto.dim %i, 0
// CHECK: [[GRID:%[0-9]+]] = pypto.index [[N]] ceildiv 32
// CHECK: npu.tasks ([[T:%[a-z0-9_]+]], %j) in ([[GRID]], 2) outs(%out = {{.*}}) on vector {tag = "gather_rows"}
// CHECK: [[LO:%[0-9]+]] = pypto.index 32 * [[T]]
// CHECK: [[M:%[0-9]+]] = pypto.index min([[N]] - 32 * [[T]], 32)
// CHECK: [[I:%[0-9]+]] = pypto.view %i{{[_0-9]*}}[[[LO]] +: [[M]]] : {{.*}} -> tensor<?xi32, #npu.max<32>>
// CHECK: [[C:%[0-9]+]] = pypto.index 256 * %j
// CHECK: [[B:%[0-9]+]] = npu.gather %x[0, [[C]]] of [[R]] at [[I]][[[LO]]] [[[M]], 256] {axis = 0, dims = [-1, 1], per = "row", asked_by = "gather_rows", asked_at = "%i"} : {{.*}} -> tensor<?x256xf32, #npu.max<32, 256>>
// CHECK: npu.assemble [[B]] into %out[[[LO]], [[C]]]

// All legal rows are declared, of the table all pages: data decides.
func.func @pages(%x: tensor<?x64xi8>, %i: tensor<70xi32>, %t: tensor<4x?xi32>) -> tensor<70x64xi8> {
  %tv = pypto.view %t[2, :]
  %y = pypto.gather_rows %x at %i through %tv page 128
  func.return %y : tensor<70x64xi8>
}
// CHECK-LABEL: func.func @pages
// CHECK: npu.gather %x[0, 0] of {{.*}} through %t[2, 0] of {{%[0-9]+}} {axis = 0, dims = [-1, 1], per = "row", page = 128, table_axis = 1,
// MEMORY-LABEL: func.func @pages
// MEMORY: npu.tasks
// MEMORY-SAME: read %x[0, 0] [{{%[0-9]+}}, 64] inexact, read %t[2, 0] [1, {{%[0-9]+}}] inexact, write %y[

// Any axis of any rank, without a transpose: rows and columns are those of the result.
func.func @any_axis(%x: tensor<3x9x40xf32>, %i: tensor<3x5x40xi64>, %j: tensor<7xi32>) -> (tensor<3x5x40xf32>, tensor<3x9x7xf32>) {
  %y = pypto.gather %x, %i axis 1
  %z = pypto.index_select %x at %j axis 2
  func.return %y, %z : tensor<3x5x40xf32>, tensor<3x9x7xf32>
}
// CHECK-LABEL: func.func @any_axis
// CHECK: npu.tasks ([[B:%[a-z0-9_]+]], {{.*}}) in (3, 1, 1)
// CHECK: pypto.view %i{{[_0-9]*}}[[[B]], 0 +: 5, 0 +: 40]
// CHECK: npu.gather %x[[[B]], 0, 0] of 9 at {{%[0-9]+}}[[[B]], 0, 0] [5, 40] {axis = 1, dims = [-1, 2], per = "element"
// CHECK: npu.gather %x[{{%[a-z0-9_]+}}, 0, 0] of 40 at {{%[0-9]+}}[0] [9, 7] {axis = 2, dims = [1, -1], per = "column"

// The last of equal indices wins, so one task goes along them; columns are divided. The
// argument is changed in place, its leading dimensions are one row number.
func.func @cache(%r: tensor<100x512xf32>, %c: tensor<?x8x1x512xf32>, %i: tensor<100xi64>)
    -> (tensor<?x8x1x512xf32> {pypto.name = "c"}) {
  %y = pypto.scatter_rows %r into %c at %i {rows = [0, 1, 2], skip = -1, tile = #pypto.vec<64, 256>}
  func.return %y : tensor<?x8x1x512xf32>
}
// CHECK-LABEL: func.func @cache
// CHECK: [[D:%[a-z0-9_]+]] = pypto.reshape %c
// CHECK: npu.tasks ([[J:%[a-z0-9_]+]]) in (2) outs(%out = [[D]] : tensor<?x512xf32>)
// CHECK: scf.for %t =
// CHECK: npu.scatter {{%[0-9]+}} into %out[0, {{%[0-9]+}}] of {{.*}}[%t] [{{%[0-9]+}}, 256] {axis = 0, dims = [-1, 1], per = "row", missing = -1, asked_by = "scatter_rows"
// MEMORY-LABEL: func.func @cache
// MEMORY: accesses({{.*}}write %c{{[_0-9]*}}[0, 256 * {{%[a-z0-9_]+}}] [{{.*}}, 256] inexact)
// MEMORY: func.return {{%[a-z0-9_]+}} : memref<?x8x1x512xf32, "gm">
// The indices are read by the pipe that stores: it waits for both loads, and the next
// load of indices waits for it.
// TILE-LABEL: npu.kernel @scatter_rows_{{[0-9]+}}
// TILE: scf.for
// TILE: [[S:%[a-z0-9_]+]] = pypto.index
// TILE: tile.wait_flag [mte3 -> mte2, [[S]]]
// TILE: tile.load %i
// TILE: tile.load %r
// TILE: tile.set_flag [mte2 -> mte3, [[S]]]
// TILE: tile.wait_flag [mte2 -> mte3, [[S]]]
// TILE: tile.scatter
// TILE: tile.set_flag [mte3 -> mte2, [[S]]]

// Sums of f16 round once: the destination goes to f32 and back.
func.func @sums(%x: tensor<9x64xf16>, %y: tensor<4x64xf16>, %i: tensor<9xi32>) -> tensor<4x64xf16> {
  %z = pypto.index_add %x into %y at %i axis 0
  func.return %z : tensor<4x64xf16>
}
// CHECK-LABEL: func.func @sums
// CHECK: pypto.cast {{.*}} to f32
// CHECK: npu.scatter {{.*}} combine = "add"} : tensor<4x64xf32>
// CHECK: pypto.cast {{.*}} to f16
// MEMORY-LABEL: func.func @sums
// MEMORY: accumulate {{%[a-z0-9_]+}}[0, 0] [4, 64] inexact

// A row longer than a tile: the lists of the best go through a loop, then pads come in.
func.func @best(%x: tensor<6x?xf32>) -> (tensor<6x8xf32>, tensor<6x8xi32>) {
  %v, %i = pypto.topk %x k 8 axis -1 {pad_index = -1, tile = #pypto.vec<2, 1024>}
  func.return %v, %i : tensor<6x8xf32>, tensor<6x8xi32>
}
// CHECK-LABEL: func.func @best
// CHECK: [[L:%[0-9]+]] = pypto.dim %x, 1
// CHECK: npu.tasks ([[R:%[a-z0-9_]+]]) in (3) outs(%out = {{.*}}, %out{{[_0-9]+}} = {{.*}})
// CHECK: [[V0:%[0-9]+]] = pypto.full 0.0[2, 8]
// CHECK: [[I0:%[0-9]+]] = pypto.full -1[2, 8]
// CHECK: [[B:%[0-9]+]], [[P:%[0-9]+]] = scf.for %c = {{.*}} iter_args([[V:%[0-9]+]] = [[V0]], [[I:%[0-9]+]] = [[I0]])
// CHECK: [[T:%[0-9]+]] = pypto.view %x[{{%[0-9]+}} +: 2, %c +: {{%[0-9]+}}]
// CHECK: npu.topk [[T]] from %c of [[L]] into [[V]], [[I]]
// CHECK: [[NONE:%[0-9]+]] = pypto.lt [[P]], 0
// CHECK: [[W:%[0-9]+]] = pypto.where [[NONE]], -inf, [[B]]
// CHECK: npu.assemble [[W]] into %out[
// CHECK: npu.assemble [[P]] into %out{{[_0-9]+}}[
// TILE-LABEL: npu.kernel @topk_{{[0-9]+}}
// TILE: tile.fill 0.0 into [[V:%[0-9]+]] [2, 8]
// TILE: tile.fill -1 into [[I:%[0-9]+]] [2, 8]
// TILE: scf.for
// TILE: tile.topk {{%[0-9]+}} from %c of {{%[0-9]+}} into [[V]], [[I]] using {{%[0-9]+}} [2, {{%[0-9]+}}, 8]
// TILE: tile.where {{%[0-9]+}}, -inf, [[V]] into

// Columns of a mask are divided; indices of a row that are too many come in steps.
func.func @mask(%i: tensor<9x700xi32>) -> tensor<9x100xi1> {
  %y = pypto.one_hot %i 100 {tile = #pypto.vec<16, 64>}
  func.return %y : tensor<9x100xi1>
}
// CHECK-LABEL: func.func @mask
// CHECK: npu.tasks ({{.*}}, [[C:%[a-z0-9_]+]]) in (1, 2)
// CHECK: [[LO:%[0-9]+]] = pypto.index 64 * [[C]]
// CHECK: scf.for %q = {{.*}} iter_args([[M:%[0-9]+]] =
// CHECK: [[H:%[0-9]+]] = npu.one_hot {{%[0-9]+}} from [[LO]] [9, {{%[0-9]+}}]
// CHECK: pypto.or [[M]], [[H]]

// More elements than lists hold: a part after the other, each by a visit of the row.
func.func @parts(%x: tensor<6x9000xf32>) -> tensor<6x9000xi32> {
  %y = pypto.argsort %x axis -1
  func.return %y : tensor<6x9000xi32>
}
// CHECK-LABEL: func.func @parts
// CHECK: pypto.full 0.0[1, 2048]
// CHECK: pypto.full -2[1, 2048]
// CHECK: scf.for %p = {{.*}} iter_args([[V0:%[0-9]+]] = {{.*}}, [[I0:%[0-9]+]] = {{.*}})
// CHECK: pypto.full -1[1, [[K:%[0-9]+]]]
// CHECK: [[V1:%[0-9]+]], [[I1:%[0-9]+]] = scf.for %c =
// CHECK: npu.topk {{%[0-9]+}} from %c of 9000 into {{%[0-9]+}}, {{%[0-9]+}} after [[V0]], [[I0]] {ascending}
// CHECK: npu.assemble [[I1]] into %out[{{%[a-z0-9_]+}}, %p]
// CHECK: scf.yield [[V1]], [[I1]]
// TILE-LABEL: npu.kernel @argsort_{{[0-9]+}}
// TILE: tile.topk {{%[0-9]+}} from %c of 9000 into [[V:%[0-9]+]], [[I:%[0-9]+]] using {{%[0-9]+}} [1, {{%[0-9]+}}, {{%[0-9]+}}] after [[V0:%[0-9]+]], [[I0:%[0-9]+]] {ascending}
// TILE: tile.copy [[V]] into [[V0]]
// TILE: tile.copy [[I]] into [[I0]]

// An index for each element: one task goes along the axis, other dimensions are divided.
func.func @elements(%s: tensor<6x200xf32>, %d: tensor<6x?xf32>, %i: tensor<6x200xi32>) -> (tensor<6x?xf32> {pypto.name = "d"}) {
  %y = pypto.scatter %s into %d at %i axis 1 {tile = #pypto.vec<2, 128>}
  func.return %y : tensor<6x?xf32>
}
// CHECK-LABEL: func.func @elements
// CHECK: npu.tasks ([[R:%[a-z0-9_]+]]) in (3) outs(%out = %d
// CHECK: scf.for %t =
// CHECK: npu.scatter {{%[0-9]+}} into %out[{{%[0-9]+}}, 0] of {{%[0-9]+}} at {{%[0-9]+}}[{{%[0-9]+}}, %t] [2, {{%[0-9]+}}] {axis = 1, dims = [0, -1], per = "element", asked_by = "scatter"

// An index for each leading dimension; those without make one.
func.func @places(%s: tensor<70x4x8xf32>, %d: tensor<3x5x4x8xf32>, %i: tensor<70xi32>, %j: tensor<70xi64>) -> tensor<3x5x4x8xf32> {
  %y = pypto.index_put %s into %d at %i, %j {accumulate}
  func.return %y : tensor<3x5x4x8xf32>
}
// CHECK-LABEL: func.func @places
// CHECK: npu.tasks ({{.*}}) in (1) outs(%out{{[_0-9]*}} = {{.*}} : tensor<3x5x32xf32>)
// CHECK: npu.scatter {{%[0-9]+}} into %out{{[_0-9]*}}[0, 0, 0] of 3, 5 at {{%[0-9]+}}, {{%[0-9]+}}[%t] [{{%[0-9]+}}, 32] {axis = 0, more_axes = [1], dims = [-1, 2], per = "row", asked_by = "index_put", asked_at = "%i, %j", combine = "add"}
// MEMORY-LABEL: func.func @places
// MEMORY: accumulate {{%[a-z0-9_]+}}[0, 0, 0] [3, 5, 32] inexact
