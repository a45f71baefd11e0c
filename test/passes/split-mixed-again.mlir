// RUN: pyptoc %s --pipeline=split-mixed --print-short | filecheck %s
// Tiles for l1 that cross more than once.

// A tile that the trip before made for the next one, and one that two branches fill: the

// vector cores keep them and send them anew before each use.

// CHECK-LABEL: npu.kernel @carried 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: %p_1 = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x4xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<4x16xf32, l0b>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: scf.for %t = %c0 to %n step %c1 {
// CHECK-NEXT: %p_2 = tile.pop %p
// CHECK-NEXT: scf.for %k = %c0 to %c4 step %c1 {
// CHECK-NEXT: %at = pypto.index 4 * %k
// CHECK-NEXT: tile.move %p_2[0, %at] [16, 4] into %l
// CHECK-NEXT: %more = pypto.index %k > 0
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 4] accumulate %more
// CHECK-NEXT: }
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: tile.push %c [16, 16] into %u
// CHECK-NEXT: }
// CHECK-NEXT: %p_3 = tile.pop %p_1
// CHECK-NEXT: tile.move %p_3[0, 0] [16, 4] into %l
// CHECK-NEXT: tile.move %p_3[0, 4] [16, 4] into %l
// CHECK-NEXT: tile.free %p_1
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 4]
// CHECK-NEXT: tile.store %c [16, 16] into %y[0, 0]
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %p_4 = tile.alloc : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: %u_1 = tile.alloc : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: %0 = pypto.index 8 * %half
// CHECK-NEXT: tile.load %x[%0, 0] [8, 16] into %u_1
// CHECK-NEXT: tile.copy %u_1 into %p_4 [8, 16]
// CHECK-NEXT: scf.for %t_1 = %c0 to %n step %c1 {
// CHECK-NEXT: tile.push %p_4 [8, 16] into %p
// CHECK-NEXT: %u_2 = tile.pop %u
// CHECK-NEXT: tile.copy %u_2 into %u_1 [8, 16]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: tile.exp %u_1 into %u_1 [8, 16]
// CHECK-NEXT: %even = pypto.index %t_1 mod 2 == 0
// CHECK-NEXT: scf.if %even {
// CHECK-NEXT: tile.copy %u_1 into %p_4 [8, 16]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.push %p_4 [8, 16] into %p_1
// CHECK-NEXT: }
npu.kernel @carried () (%x: memref<16x16xf32, "gm">, %y: memref<16x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %l = tile.alloc : !tile.buf<16x4xf32, l0a>
  %r = tile.alloc : !tile.buf<4x16xf32, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  %p = tile.alloc : !tile.buf<16x16xf32, l1>
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  tile.load %x[0, 0] [16, 16] into %u
  tile.move %u[0, 0] [16, 16] into %p
  scf.for %t = %c0 to %n step %c1 {
    scf.for %k = %c0 to %c4 step %c1 {
      %at = pypto.index 4 * %k
      tile.move %p[0, %at] [16, 4] into %l
      %more = pypto.index %k > 0
      tile.matmul %l, %r into %c [16, 16, 4] accumulate %more
    }
    tile.move %c[0, 0] [16, 16] into %u
    tile.exp %u into %u [16, 16]
    %even = pypto.index %t mod 2 == 0
    scf.if %even {
      tile.move %u[0, 0] [16, 16] into %p
    }
  }
  tile.move %p[0, 0] [16, 4] into %l
  tile.move %p[0, 4] [16, 4] into %l
  tile.matmul %l, %r into %c [16, 16, 4]
  tile.store %c [16, 16] into %y[0, 0]
}
