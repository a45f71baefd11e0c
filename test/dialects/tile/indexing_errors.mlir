// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

npu.kernel @moves (%k) (%x: memref<?x64xf16, "gm">, %n: index) on vector {
  %i = tile.alloc : !tile.buf<1x16xi32, ub>
  %m = tile.alloc : !tile.buf<1x32xi32, ub>
  %e = tile.alloc : !tile.buf<16x8xi32, ub>
  %b = tile.alloc : !tile.buf<32x64xf16, ub>
  %f = tile.alloc : !tile.buf<16x64xf32, ub>
  %l = tile.alloc : !tile.buf<16x64xf16, l1>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.gather: the box must be in ub, but is in l1
  tile.gather %x[0, 0] of %n at %i[0] [16, 64] into %l {axis = 0, dims = [-1, 1], per = "row"}
  // CHECK: tile.gather: the tile holds f32, the memory f16
  tile.gather %x[0, 0] of %n at %i[0] [16, 64] into %f {axis = 0, dims = [-1, 1], per = "row"}
  // CHECK: tile.gather: the number of indices is 17, not 0 to 16
  tile.gather %x[0, 0] of %n at %i[0] [17, 64] into %b {axis = 0, dims = [-1, 1], per = "row"}
  // CHECK: tile.gather: the number of columns of indices is 9, not 0 to 8
  tile.gather %x[0, 0] of %n at %e[0, 0] [16, 9] into %b {axis = 1, dims = [0, -1], per = "element"}
  // CHECK: tile.gather: the number of rows is 33, not 0 to 32
  tile.gather %x[0, 0] of %n at %i[0] [33, 64] into %b {axis = 0, dims = [-1, 1], per = "row"}
  // CHECK: tile.gather: the number of columns is 65, not 0 to 64
  tile.gather %x[0, 0] of %n at %i[0] [16, 65] into %b {axis = 0, dims = [-1, 1], per = "row"}
  // CHECK: tile.gather: expected a buffer, got memref<?x64xf16, "gm">
  tile.gather %x[0, 0] of %n at %x[0] [16, 64] into %b {axis = 0, dims = [-1, 1], per = "row"}
  // CHECK: tile.scatter: unique is for an index for each row, column or box
  tile.scatter %b into %x[0, 0] of %n at %e[0, 0] [16, 8] {axis = 1, dims = [0, -1], per = "element", unique}
  // CHECK: tile.scatter: the number of indices is 17, not 0 to 16
  tile.scatter %b into %x[0, 0] of %n, 64 at %m, %i[0] [17, 1] {axis = 0, more_axes = [1], dims = [-1, -1], per = "row"}
}

// -----

npu.kernel @selects (%k) (%n: index) on vector {
  %x = tile.alloc : !tile.buf<4x256xf32, ub>
  %v = tile.alloc : !tile.buf<4x8xf32, ub>
  %i = tile.alloc : !tile.buf<4x8xi32, ub>
  %w = tile.alloc : !tile.buf<4x8xf16, ub>
  %t = tile.alloc : !tile.buf<1x1152xi32, ub>
  %s = tile.alloc : !tile.buf<1x1151xi32, ub>
  %l = tile.alloc : !tile.buf<1x3xi32, ub>
  %h = tile.alloc : !tile.buf<4x64xi1, ub>
  // CHECK: tile.topk: merges f32 into lists of f16
  tile.topk %x from 0 of 256 into %w, %i using %t [4, 256, 8]
  // CHECK: tile.topk: indices are i32, not f32
  tile.topk %x from 0 of 256 into %v, %v using %t [4, 256, 8]
  // CHECK: tile.topk: the width of the scratch is 1152, not 0 to 1151
  tile.topk %x from 0 of 256 into %v, %i using %s [4, 256, 8]
  // CHECK: tile.topk: the number of columns of the lists is 9, not 0 to 8
  tile.topk %x from 0 of 256 into %v, %i using %t [4, 256, 9]
  // CHECK: tile.topk: takes a scratch and 3 extents [m, n, k]
  tile.topk %x from 0 of 256 into %v, %i using %t [4, 256]
  // CHECK: tile.topk: the number of columns is 257, not 0 to 256
  tile.topk %x from 0 of 256 into %v, %i using %t [4, 257, 8]
  // CHECK: tile.topk: the number of lengths is 4, not 0 to 3
  tile.topk %x from 0 of 256 into %v, %i using %t [4, 256, 8] lengths %l
  // CHECK: tile.one_hot: indices are i32 or i64, not f32
  tile.one_hot %x from 0 into %h [4, 64, 8]
  // CHECK: tile.one_hot: the destination holds i1, not i32
  tile.one_hot %i from 0 into %i [4, 8, 8]
  // CHECK: tile.one_hot: n is 65, not 0 to 64
  tile.one_hot %i from 0 into %h [4, 65, 8]
  // CHECK: tile.one_hot: q is 9, not 0 to 8
  tile.one_hot %i from 0 into %h [4, 64, 9]
}
