// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s

// CHECK-LABEL: npu.kernel @moves
npu.kernel @moves (%k) (%x: memref<?x3x64xf16, "gm">, %t: memref<4x?xi32, "gm">, %n: index, %m: index) on vector {
  %r = tile.alloc : !tile.buf<1x16xi32, ub>
  %e = tile.alloc : !tile.buf<16x64xi64, ub>
  %b = tile.alloc : !tile.buf<16x64xf16, ub>
  // An index for each row.
  // CHECK: tile.gather %x[0, %k, 0] of %n at %{{.*}}[%k] [%m, 64] into %{{.*}} {axis = 0, dims = [-1, 2], per = "row"} : memref<?x3x64xf16, "gm">, !tile.buf<1x16xi32, ub>, !tile.buf<16x64xf16, ub>
  tile.gather %x[0, %k, 0] of %n at %r[%k] [%m, 64] into %b {axis = 0, dims = [-1, 2], per = "row"}
  // One for each element, along the last axis; and one for all, through a page table.
  // CHECK-NEXT: tile.gather %x[0, 1, 0] of 64 at %{{.*}}[%k, 0, 0] [16, 64] into %{{.*}} {axis = 2, dims = [0, -1], per = "element", asked_by = "gather"} :
  tile.gather %x[0, 1, 0] of 64 at %e[%k, 0, 0] [16, 64] into %b {axis = 2, dims = [0, -1], per = "element", asked_by = "gather"}
  // CHECK-NEXT: tile.gather %x[0, 0, 0] of %n at %{{.*}}[%k] [3, 64] through %t[%k, 0] of %m into %{{.*}} {axis = 0, dims = [1, 2], per = "box", page = 128, table_axis = 1, missing = -1} : memref<?x3x64xf16, "gm">, !tile.buf<1x16xi32, ub>, memref<4x?xi32, "gm">, !tile.buf<16x64xf16, ub>
  tile.gather %x[0, 0, 0] of %n at %r[%k] [3, 64] through %t[%k, 0] of %m into %b {axis = 0, dims = [1, 2], per = "box", page = 128, table_axis = 1, missing = -1}
  // CHECK-NEXT: tile.scatter %{{.*}} into %x[0, 0, %m] of 3 at %{{.*}}[0] [16, 8] {axis = 1, dims = [0, -1], per = "column", combine = "add", tag = "x"} : memref<?x3x64xf16, "gm">, !tile.buf<1x16xi32, ub>, !tile.buf<16x64xf16, ub>
  tile.scatter %b into %x[0, 0, %m] of 3 at %r[0] [16, 8] {axis = 1, dims = [0, -1], per = "column", combine = "add", tag = "x"}
  // CHECK-NEXT: tile.scatter %{{.*}} into %x[0, 0, 0] of %n at %{{.*}}[0] [16, 64] {axis = 0, dims = [-1, 2], per = "row", missing = -1, unique} :
  tile.scatter %b into %x[0, 0, 0] of %n at %r[0] [16, 64] {axis = 0, dims = [-1, 2], per = "row", missing = -1, unique}
}

// CHECK-LABEL: npu.kernel @selects
npu.kernel @selects (%k) (%n: index, %m: index) on vector {
  %x = tile.alloc : !tile.buf<4x256xf32, ub>
  %v = tile.alloc : !tile.buf<4x8xf32, ub>
  %i = tile.alloc : !tile.buf<4x8xi32, ub>
  %t = tile.alloc : !tile.buf<1x1152xi32, ub>
  %l = tile.alloc : !tile.buf<1x4xi64, ub>
  %h = tile.alloc : !tile.buf<4x64xi1, ub>
  // CHECK: tile.topk %{{.*}} from %k of %n into %{{.*}}, %{{.*}} using %{{.*}} [4, %m, 8] : !tile.buf<4x256xf32, ub>, !tile.buf<4x8xf32, ub>, !tile.buf<4x8xi32, ub>, !tile.buf<1x1152xi32, ub>
  tile.topk %x from %k of %n into %v, %i using %t [4, %m, 8]
  // CHECK-NEXT: tile.topk %{{.*}} from 0 of 256 into %{{.*}}, %{{.*}} using %{{.*}} [4, 256, 8] lengths %{{.*}} after %{{.*}}, %{{.*}} {ascending, at_least = 8} :
  tile.topk %x from 0 of 256 into %v, %i using %t [4, 256, 8] lengths %l after %v, %i {ascending, at_least = 8}
  // CHECK-NEXT: tile.one_hot %{{.*}} from %k into %{{.*}} [%m, 64, 8] : !tile.buf<4x8xi32, ub>, !tile.buf<4x64xi1, ub>
  tile.one_hot %i from %k into %h [%m, 64, 8]
}
