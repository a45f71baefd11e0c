// RUN: pyptoc %s --pipeline=split-mixed --print-short | filecheck %s
// RUN: pyptoc %s --pipeline=split-mixed --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// How two vector cores share the tiles.

// By rows: positions of a causal mask count on, a scan and a range need no more than

// their rows; a number for each row of a gather lies in columns of its buffer.

// CHECK-LABEL: npu.kernel @rows 
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<32x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<32x16xf32, l0c>
// CHECK-NEXT: tile.push %c [%m, 16] into %u
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %mine = pypto.index min(16, max(%m - 16 * %half, 0))
// CHECK-NEXT: %at = tile.alloc : !tile.buf<1x16xi32, ub>
// CHECK-NEXT: %v = tile.alloc : !tile.buf<16x16xf32, ub>
// CHECK-NEXT: %one = tile.alloc : !tile.buf<1x1xf32, ub>
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: %0 = pypto.index %o + 16 * %half
// CHECK-NEXT: tile.mask_causal %u_1, %0 into %u_1 [%mine, 16]
// CHECK-NEXT: %1 = pypto.index min(%m, 16 * %half)
// CHECK-NEXT: tile.load %i[%1] [1, %mine] into %at
// CHECK-NEXT: %2 = pypto.index min(%m, 16 * %half)
// CHECK-NEXT: tile.gather %x[0, 0] of 32 at %at[%2] [%mine, 16] into %v {axis = 0, dims = [-1, 1], per = "row"} : memref<?x16xf32, "gm">, !tile.buf<1x16xi32, ub>, !tile.buf<16x16xf32, ub>
// CHECK-NEXT: tile.add %v, %u_1 into %u_1 [%mine, 16]
// CHECK-NEXT: tile.row_cumsum %u_1 into %v [%mine, 16]
// CHECK-NEXT: tile.arange 0.0 into %u_1 [%mine, 16]
// CHECK-NEXT: tile.fill 2.0 into %one [1, 1]
// CHECK-NEXT: tile.mul %u_1, %one one into %u_1 [%mine, 16]
// CHECK-NEXT: tile.add %u_1, %v into %u_1 [%mine, 16]
// CHECK-NEXT: %3 = pypto.index min(%m, 16 * %half)
// CHECK-NEXT: tile.store %u_1 [%mine, 16] into %y[%3, 0]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
npu.kernel @rows () (%x: memref<?x16xf32, "gm">, %i: memref<32xi32, "gm">, %y: memref<32x16xf32, "gm">,
    %o: index, %m: index) on mixed {
  %c = tile.alloc : !tile.buf<32x16xf32, l0c>
  %u = tile.alloc : !tile.buf<32x16xf32, ub>
  %at = tile.alloc : !tile.buf<1x32xi32, ub>
  %v = tile.alloc : !tile.buf<32x16xf32, ub>
  %one = tile.alloc : !tile.buf<1x1xf32, ub>
  tile.move %c[0, 0] [%m, 16] into %u
  tile.mask_causal %u, %o into %u [%m, 16]
  tile.load %i[0] [1, %m] into %at
  tile.gather %x[0, 0] of 32 at %at[0] [%m, 16] into %v {axis = 0, dims = [-1, 1], per = "row"}
  tile.add %v, %u into %u [%m, 16]
  tile.row_cumsum %u into %v [%m, 16]
  tile.arange 0.0 into %u [%m, 16]
  tile.fill 2.0 into %one [1, 1]
  tile.mul %u, %one one into %u [%m, 16]
  tile.add %u, %v into %u [%m, 16]
  tile.store %u [%m, 16] into %y[0, 0]
}

// By columns, since both vector cores need all rows of %w. What has no columns is done

// on both. The transposed store has its columns along the memory's rows.

// CHECK-LABEL: npu.kernel @columns 
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<24x30xf32, l0c -> ub, columns>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<24x30xf32, l0c>
// CHECK-NEXT: tile.push %c [24, %n] into %u
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %mine = pypto.index min(15, max(%n - 15 * %half, 0))
// CHECK-NEXT: %w = tile.alloc : !tile.buf<24x15xf32, ub>
// CHECK-NEXT: %s = tile.alloc : !tile.buf<24x1xf32, ub>
// CHECK-NEXT: tile.load %g[0, 0] [24, 1] into %s
// CHECK-NEXT: tile.exp %s into %s [24, 1]
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: tile.mul %u_1, %s row into %u_1 [24, %mine]
// CHECK-NEXT: tile.maximum %u_1, %u_1 col into %w [24, %mine]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: %0 = pypto.index %o - 15 * %half
// CHECK-NEXT: tile.mask_causal %w, %0 into %w [24, %mine]
// CHECK-NEXT: %1 = pypto.index min(%n, 15 * %half)
// CHECK-NEXT: tile.store %w [24, %mine] into %y[%1, 0] {dims = [1, 0]}
// CHECK-NEXT: }
npu.kernel @columns () (%g: memref<24x1xf32, "gm">, %y: memref<30x24xf32, "gm">, %o: index,
    %n: index) on mixed {
  %c = tile.alloc : !tile.buf<24x30xf32, l0c>
  %u = tile.alloc : !tile.buf<24x30xf32, ub>
  %w = tile.alloc : !tile.buf<24x30xf32, ub>
  %s = tile.alloc : !tile.buf<24x1xf32, ub>
  tile.move %c[0, 0] [24, %n] into %u
  tile.load %g[0, 0] [24, 1] into %s
  tile.exp %s into %s [24, 1]
  tile.mul %u, %s row into %u [24, %n]
  tile.maximum %u, %u col into %w [24, %n]
  tile.mask_causal %w, %o into %w [24, %n]
  tile.store %w [24, %n] into %y[0, 0] {dims = [1, 0]}
}

// One row: it is shared by columns.

// CHECK-LABEL: npu.kernel @one_row 
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<1x64xf32, l0c -> ub, columns>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<1x64xf32, l0c>
// CHECK-NEXT: tile.push %c [1, 64] into %u
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: tile.exp %u_1 into %u_1 [1, 32]
// CHECK-NEXT: %0 = pypto.index 32 * %half
// CHECK-NEXT: tile.store %u_1 [1, 32] into %y[0, %0]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
npu.kernel @one_row () (%y: memref<1x64xf32, "gm">) on mixed {
  %c = tile.alloc : !tile.buf<1x64xf32, l0c>
  %u = tile.alloc : !tile.buf<1x64xf32, ub>
  tile.move %c[0, 0] [1, 64] into %u
  tile.exp %u into %u [1, 64]
  tile.store %u [1, 64] into %y[0, 0]
}

// What both cores have is stored by the first one.

// CHECK-LABEL: npu.kernel @both_have_it 
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<32x64xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<32x64xf32, l0c>
// CHECK-NEXT: tile.push %c [32, 64] into %u
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %b = tile.alloc : !tile.buf<1x64xf32, ub>
// CHECK-NEXT: tile.load %g[0] [1, 64] into %b
// CHECK-NEXT: tile.exp %b into %b [1, 64]
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: tile.add %u_1, %b col into %u_1 [16, 64]
// CHECK-NEXT: %first = pypto.index %half == 0
// CHECK-NEXT: %0 = pypto.index 16 * %half
// CHECK-NEXT: scf.if %first {
// CHECK-NEXT: tile.store %b [1, 64] into %z[0]
// CHECK-NEXT: }
// CHECK-NEXT: tile.store %u_1 [16, 64] into %y[%0, 0]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
npu.kernel @both_have_it () (%g: memref<64xf32, "gm">, %y: memref<32x64xf32, "gm">,
    %z: memref<64xf32, "gm">) on mixed {
  %c = tile.alloc : !tile.buf<32x64xf32, l0c>
  %u = tile.alloc : !tile.buf<32x64xf32, ub>
  %b = tile.alloc : !tile.buf<1x64xf32, ub>
  tile.move %c[0, 0] [32, 64] into %u
  tile.load %g[0] [1, 64] into %b
  tile.exp %b into %b [1, 64]
  tile.add %u, %b col into %u [32, 64]
  tile.store %b [1, 64] into %z[0]
  tile.store %u [32, 64] into %y[0, 0]
}

// Whole rows and whole columns: the first core does the work.

// CHECK-LABEL: npu.kernel @neither 
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<64x64xf32, l0c -> ub, rows>
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<64x64xf32, ub -> l1, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<32x64xf32, l0c>
// CHECK-NEXT: tile.push %c [%m, 64] into %u
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %mine = pypto.index min(32, max(%m - 32 * %half, 0))
// CHECK-NEXT: %s = tile.alloc : !tile.buf<32x1xf32, ub>
// CHECK-NEXT: %w = tile.alloc : !tile.buf<32x64xf32, ub>
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: %first = pypto.index %half == 0
// CHECK-NEXT: scf.if %first {
// CHECK-NEXT: tile.row_sum %u_1 into %s [%m, 64]
// CHECK-NEXT: tile.sub %u_1, %u_1 col into %w [%m, 64]
// CHECK-NEXT: }
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: %first_1 = pypto.index %half == 0
// CHECK-NEXT: scf.if %first_1 {
// CHECK-NEXT: tile.mul %w, %s row into %w [%m, 64]
// CHECK-NEXT: }
// CHECK-NEXT: tile.push %w [%mine, 64] into %p
// CHECK-NEXT: %first_2 = pypto.index %half == 0
// CHECK-NEXT: scf.if %first_2 {
// CHECK-NEXT: tile.store %w [%m, 64] into %y[0, 0]
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @neither () (%y: memref<32x64xf32, "gm">, %m: index) on mixed {
  %c = tile.alloc : !tile.buf<32x64xf32, l0c>
  %u = tile.alloc : !tile.buf<32x64xf32, ub>
  %s = tile.alloc : !tile.buf<32x1xf32, ub>
  %w = tile.alloc : !tile.buf<32x64xf32, ub>
  %p = tile.alloc : !tile.buf<32x64xf32, l1>
  // REMARK: :[[# @LINE + 1]]:3: remark[PTO335]: the vector cores of @neither cannot share the tiles of this instruction, by rows or by columns: the first one does all the work
  tile.move %c[0, 0] [%m, 64] into %u
  tile.row_sum %u into %s [%m, 64]
  tile.sub %u, %u col into %w [%m, 64]
  tile.mul %w, %s row into %w [%m, 64]
  tile.move %w[0, 0] [%m, 64] into %p
  tile.store %w [%m, 64] into %y[0, 0]
}

// The cores would meet in memory: the windows of the loop overlap.

// CHECK-LABEL: npu.kernel @overlapping 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c16 = arith.constant 16 : index
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<64x64xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<32x64xf32, l0c>
// CHECK-NEXT: scf.for %t = %c0 to %n step %c16 {
// CHECK-NEXT: tile.push %c [32, 64] into %u
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: scf.for %t_1 = %c0 to %n step %c16 {
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: %first = pypto.index %half == 0
// CHECK-NEXT: scf.if %first {
// CHECK-NEXT: tile.store %u_1 [32, 64] into %y[%t_1, 0]
// CHECK-NEXT: }
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @overlapping () (%y: memref<?x64xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c = tile.alloc : !tile.buf<32x64xf32, l0c>
  scf.for %t = %c0 to %n step %c16 {
    %u = tile.alloc : !tile.buf<32x64xf32, ub>
    // REMARK: :[[# @LINE + 1]]:5: remark[PTO335]: the vector cores of @overlapping cannot share the tiles
    tile.move %c[0, 0] [32, 64] into %u
    tile.store %u [32, 64] into %y[%t, 0]
  }
}

// Windows side by side, and others on the same rows.

// CHECK-LABEL: npu.kernel @side_by_side 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c32 = arith.constant 32 : index
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<32x32xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<32x32xf32, l0c>
// CHECK-NEXT: scf.for %t = %c0 to %n step %c32 {
// CHECK-NEXT: tile.push %c [32, 32] into %u
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: scf.for %t_1 = %c0 to %n step %c32 {
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: %0 = pypto.index %t_1 + 16 * %half
// CHECK-NEXT: tile.store %u_1 [16, 32] into %y[%0, 0]
// CHECK-NEXT: %1 = pypto.index %t_1 + 16 * %half
// CHECK-NEXT: tile.store %u_1 [16, 32] into %y[%1, 32]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @side_by_side () (%y: memref<?x64xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c = tile.alloc : !tile.buf<32x32xf32, l0c>
  scf.for %t = %c0 to %n step %c32 {
    %u = tile.alloc : !tile.buf<32x32xf32, ub>
    tile.move %c[0, 0] [32, 32] into %u
    tile.store %u [32, 32] into %y[%t, 0]
    tile.store %u [32, 32] into %y[%t, 32]
  }
}

// One-hot by columns begins later; lists of the first elements go by rows, and so do

// their lengths, which lie in columns.

// CHECK-LABEL: npu.kernel @lists 
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<32x64xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<32x64xf32, l0c>
// CHECK-NEXT: tile.push %c [32, 64] into %u
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %q = tile.alloc : !tile.buf<16x1xi32, ub>
// CHECK-NEXT: %mask = tile.alloc : !tile.buf<16x64xi1, ub>
// CHECK-NEXT: %lengths = tile.alloc : !tile.buf<1x16xi32, ub>
// CHECK-NEXT: %values = tile.alloc : !tile.buf<16x8xf32, ub>
// CHECK-NEXT: %indices = tile.alloc : !tile.buf<16x8xi32, ub>
// CHECK-NEXT: %work = tile.alloc : !tile.buf<1x384xi32, ub>
// CHECK-NEXT: %0 = pypto.index 16 * %half
// CHECK-NEXT: tile.load %i[%0, 0] [16, 1] into %q
// CHECK-NEXT: tile.one_hot %q from 3 into %mask [16, 64, 1]
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: tile.where %mask, %u_1, 0.0 into %u_1 [16, 64]
// CHECK-NEXT: %1 = pypto.index 16 * %half
// CHECK-NEXT: tile.load %k[%1] [1, 16] into %lengths
// CHECK-NEXT: tile.fill -1 into %indices [16, 8]
// CHECK-NEXT: tile.fill 0.0 into %values [16, 8]
// CHECK-NEXT: tile.topk %u_1 from 0 of 64 into %values, %indices using %work [16, 64, 8] lengths %lengths
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: %2 = pypto.index 16 * %half
// CHECK-NEXT: tile.store %values [16, 8] into %y[%2, 0]
// CHECK-NEXT: }
npu.kernel @lists () (%i: memref<32x1xi32, "gm">, %k: memref<32xi32, "gm">, %y: memref<32x8xf32, "gm">) on mixed {
  %c = tile.alloc : !tile.buf<32x64xf32, l0c>
  %u = tile.alloc : !tile.buf<32x64xf32, ub>
  %q = tile.alloc : !tile.buf<32x1xi32, ub>
  %mask = tile.alloc : !tile.buf<32x64xi1, ub>
  %lengths = tile.alloc : !tile.buf<1x32xi32, ub>
  %values = tile.alloc : !tile.buf<32x8xf32, ub>
  %indices = tile.alloc : !tile.buf<32x8xi32, ub>
  %work = tile.alloc : !tile.buf<1x384xi32, ub>
  tile.move %c[0, 0] [32, 64] into %u
  tile.load %i[0, 0] [32, 1] into %q
  tile.one_hot %q from 3 into %mask [32, 64, 1]
  tile.where %mask, %u, 0.0 into %u [32, 64]
  tile.load %k[0] [1, 32] into %lengths
  tile.fill -1 into %indices [32, 8]
  tile.fill 0.0 into %values [32, 8]
  tile.topk %u from 0 of 64 into %values, %indices using %work [32, 64, 8] lengths %lengths
  tile.store %values [32, 8] into %y[0, 0]
}
