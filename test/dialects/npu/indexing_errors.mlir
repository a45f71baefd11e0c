// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

func.func private @gather(%x: memref<?x64xf32, "gm">, %t: memref<?xi32, "gm">, %f: memref<?xf32, "gm">, %i: tensor<8xi32>, %j: tensor<8xi16>, %n: index) {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO170]: npu.gather: takes 2 offsets, got 1
  %0 = npu.gather %x[0] of %n at %i[0] [8, 64] {axis = 0, dims = [-1, 1], per = "row"} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<8x64xf32>
  // CHECK: npu.gather: takes 2 extents, got 1
  %1 = npu.gather %x[0, 0] of %n at %i[0] [8] {axis = 0, dims = [-1, 1], per = "row"} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<8x64xf32>
  // CHECK: npu.gather: no axis 2 in a memory of rank 2
  %2 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] {axis = 2, dims = [-1, 1], per = "row"} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<8x64xf32>
  // CHECK: npu.gather: per is one of element, row, column, box, not "line"
  %3 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] {axis = 0, dims = [-1, 1], per = "line"} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<8x64xf32>
  // CHECK: npu.gather: dims [0, 1] are no dimensions beside axis 0 of rank 2
  %4 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] {axis = 0, dims = [0, 1], per = "row"} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<8x64xf32>
  // CHECK: npu.gather: dims [1, 1] name one dimension twice
  %5 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] {axis = 0, dims = [1, 1], per = "row"} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<8x64xf32>
  // CHECK: npu.gather: columns have neither a dimension nor indices, so their extent is 1
  %6 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] {axis = 0, dims = [-1, -1], per = "row"} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<8x64xf32>
  // CHECK: npu.gather: indices are i32 or i64, not i16
  %7 = npu.gather %x[0, 0] of %n at %j[0] [8, 64] {axis = 0, dims = [-1, 1], per = "row"} : memref<?x64xf32, "gm">, tensor<8xi16> -> tensor<8x64xf32>
  // CHECK: npu.gather: page goes with a table
  %8 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] {axis = 0, dims = [-1, 1], per = "row", page = 8} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<8x64xf32>
  // CHECK: npu.gather: a page table holds i32 or i64, not f32
  %9 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] through %f[0] of %n {axis = 0, dims = [-1, 1], per = "row", page = 8} : memref<?x64xf32, "gm">, tensor<8xi32>, memref<?xf32, "gm"> -> tensor<8x64xf32>
  // CHECK: npu.gather: pages of 0 rows
  %10 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] through %t[0] of %n {axis = 0, dims = [-1, 1], per = "row", page = 0} : memref<?x64xf32, "gm">, tensor<8xi32>, memref<?xi32, "gm"> -> tensor<8x64xf32>
  // CHECK: npu.gather: no table axis 1 in rank 1
  %11 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] through %t[0] of %n {axis = 0, dims = [-1, 1], per = "row", page = 8, table_axis = 1} : memref<?x64xf32, "gm">, tensor<8xi32>, memref<?xi32, "gm"> -> tensor<8x64xf32>
  // CHECK: npu.gather: the tile holds f16, the memory f32
  %12 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] {axis = 0, dims = [-1, 1], per = "row"} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<8x64xf16>
  // CHECK: npu.gather: a box of 8 in a tile of 9
  %13 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] {axis = 0, dims = [-1, 1], per = "row"} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<9x64xf32>
  // CHECK: npu.gather: a tile has rank 2 at most, not 3
  %14 = npu.gather %x[0, 0] of %n at %i[0] [8, 64] {axis = 0, dims = [-1, 1], per = "row"} : memref<?x64xf32, "gm">, tensor<8xi32> -> tensor<1x8x64xf32>
  func.return
}

// -----

func.func private @scatter(%x: memref<?x64xf32, "gm">, %i: tensor<8xi32>, %v: tensor<8x64xf32>, %k: tensor<8x64xi32>, %n: index) {
  // CHECK: npu.scatter: a scatter can combine by "add" only, not "max"
  npu.scatter %v into %x[0, 0] of %n at %i[0] [8, 64] {axis = 0, dims = [-1, 1], per = "row", combine = "max"}
  // CHECK: npu.scatter: unique is for an index for each row, column or box
  npu.scatter %v into %x[0, 0] of %n at %k[0, 0] [8, 64] {axis = 0, dims = [-1, 1], per = "element", unique}
  // CHECK: npu.scatter: axes [0, 0] name one dimension twice
  npu.scatter %v into %x[0, 0] of %n, 9 at %i, %i[0] [8, 64] {axis = 0, more_axes = [0], dims = [-1, 1], per = "row"}
  // CHECK: npu.scatter: has 1 tile of indices for 2 axes
  npu.scatter %v into %x[0, 0] of %n at %i[0] [8, 64] {axis = 0, more_axes = [1], dims = [-1, -1], per = "row"}
  // CHECK: npu.scatter: dims [-1, 1] are no dimensions beside axis 0, 1 of rank 2
  npu.scatter %v into %x[0, 0] of %n, 9 at %i, %i[0] [8, 64] {axis = 0, more_axes = [1], dims = [-1, 1], per = "row"}
  // CHECK: npu.scatter: several axes go with neither a table nor missing
  npu.scatter %v into %x[0, 0] of %n, 9 at %i, %i[0] [8, 1] {axis = 0, more_axes = [1], dims = [-1, -1], per = "row", missing = -1}
  // CHECK: npu.scatter: takes 2 bounds
  npu.scatter %v into %x[0, 0] of %n at %i, %i[0] [8, 1] {axis = 0, more_axes = [1], dims = [-1, -1], per = "row"}
  func.return
}

// -----

func.func private @selection(%x: tensor<4x64xf16>, %v: tensor<4x8xf16>, %w: tensor<4x8xf32>, %i: tensor<4x8xi32>, %j: tensor<4x8xi64>, %k: tensor<4x9xi32>, %s: tensor<4x8xi16>, %n: index) {
  // CHECK: npu.topk: merges f16 into lists of f32
  %0, %1 = npu.topk %x from 0 of 64 into %w, %i
  // CHECK: npu.topk: indices are i32, not i64
  %2, %3 = npu.topk %x from 0 of 64 into %v, %j
  // CHECK: npu.topk: the lists of values and indices differ in shape
  %4, %5 = npu.topk %x from 0 of 64 into %v, %k
  // CHECK: npu.topk: the lists before have the types of the lists
  %8, %9 = npu.topk %x from 0 of 64 into %v, %i after %w, %i
  // CHECK: npu.topk: lengths are i32 or i64, not i16
  %10, %11 = npu.topk %x from 0 of 64 into %v, %i lengths %s
  // CHECK: npu.one_hot: indices are i32 or i64, not i16
  %6 = npu.one_hot %s from 0 [4, 8] : tensor<4x8xi16> -> tensor<4x8xi1>
  // CHECK: npu.one_hot: the result holds i1, not i8
  %7 = npu.one_hot %i from 0 [4, 8] : tensor<4x8xi32> -> tensor<4x8xi8>
  func.return
}
