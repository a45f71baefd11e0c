// RUN: pyptoc %s --pipeline=split-mixed,skew --print-short | filecheck %s
// RUN: pyptoc %s --pipeline=split-mixed,skew | pyptoc - --pipeline=skew --print-short | filecheck %s
// RUN: pyptoc %s --pipeline=split-mixed,skew --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// The stages of a loop, so that the cores overlap.

// Cube, vector, cube, vector: the second stages run one trip late. The scale that the

// first vector stage makes for the second has a slot for each trip between them; what is

// carried (%max, %total) stays in one stage, and the load of %v goes with its product.

// CHECK-LABEL: npu.kernel @alternating 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: %w = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %l = tile.alloc {slots = 2} : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc {slots = 2} : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: %l0 = tile.slot %l[0]
// CHECK-NEXT: %l1 = tile.slot %l[1]
// CHECK-NEXT: %r0 = tile.slot %r[0]
// CHECK-NEXT: %r1 = tile.slot %r[1]
// CHECK-NEXT: %trips = pypto.index %n + 1
// CHECK-NEXT: scf.for %t = %c0 to %trips step %c1 {
// CHECK-NEXT: %stage0 = pypto.index %t < %n
// CHECK-NEXT: scf.if %stage0 {
// CHECK-NEXT: %row = pypto.index 16 * %t
// CHECK-NEXT: %a = tile.alloc : !tile.buf<16x16xf32, l1>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: tile.load %x[%row, 0] [16, 16] into %a
// CHECK-NEXT: tile.move %a[0, 0] [16, 16] into %l0
// CHECK-NEXT: tile.matmul %l0, %r0 into %c [16, 16, 16]
// CHECK-NEXT: tile.push %c [16, 16] into %u
// CHECK-NEXT: }
// CHECK-NEXT: %stage1 = pypto.index %t >= 1
// CHECK-NEXT: scf.if %stage1 {
// CHECK-NEXT: %t_1 = pypto.index %t - 1
// CHECK-NEXT: %row_1 = pypto.index 16 * %t_1
// CHECK-NEXT: %b = tile.alloc : !tile.buf<16x16xf32, l1>
// CHECK-NEXT: %d = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: tile.load %v[%row_1, 0] [16, 16] into %b
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: tile.move %p_1[0, 0] [16, 16] into %l1
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: tile.move %b[0, 0] [16, 16] into %r1
// CHECK-NEXT: tile.matmul %l1, %r1 into %d [16, 16, 16]
// CHECK-NEXT: tile.push %d [16, 16] into %w
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %max = tile.alloc : !tile.buf<8x1xf32, ub>
// CHECK-NEXT: %total = tile.alloc : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: tile.fill -inf into %max [8, 1]
// CHECK-NEXT: tile.fill 0.0 into %total [8, 16]
// CHECK-NEXT: %scale = tile.alloc {slots = 2} : !tile.buf<8x1xf32, ub>
// CHECK-NEXT: %trips_1 = pypto.index %n + 1
// CHECK-NEXT: scf.for %t_2 = %c0 to %trips_1 step %c1 {
// CHECK-NEXT: %stage0_1 = pypto.index %t_2 < %n
// CHECK-NEXT: scf.if %stage0_1 {
// CHECK-NEXT: %slot = pypto.index %t_2 mod 2
// CHECK-NEXT: %scale_1 = tile.slot %scale[%slot]
// CHECK-NEXT: %new = tile.alloc : !tile.buf<8x1xf32, ub>
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: tile.row_max %u_1 into %new [8, 16]
// CHECK-NEXT: tile.maximum %max, %new into %new [8, 1]
// CHECK-NEXT: tile.sub %max, %new into %scale_1 [8, 1]
// CHECK-NEXT: tile.cvt %new into %max [8, 1]
// CHECK-NEXT: tile.sub %u_1, %new row into %u_1 [8, 16]
// CHECK-NEXT: tile.push %u_1 [8, 16] into %p
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
// CHECK-NEXT: %stage1_1 = pypto.index %t_2 >= 1
// CHECK-NEXT: scf.if %stage1_1 {
// CHECK-NEXT: %slot_1 = pypto.index (%t_2 + 1) mod 2
// CHECK-NEXT: %scale_2 = tile.slot %scale[%slot_1]
// CHECK-NEXT: tile.mul %total, %scale_2 row into %total [8, 16]
// CHECK-NEXT: %w_1 = tile.pop %w
// CHECK-NEXT: tile.add %total, %w_1 into %total [8, 16]
// CHECK-NEXT: tile.free %w
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %0 = pypto.index 8 * %half
// CHECK-NEXT: tile.store %total [8, 16] into %y[%0, 0]
// CHECK-NEXT: }
npu.kernel @alternating () (%x: memref<?x16xf32, "gm">, %v: memref<?x16xf32, "gm">, %y: memref<16x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %l = tile.alloc {slots = 2} : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc {slots = 2} : !tile.buf<16x16xf32, l0b>
  %max = tile.alloc : !tile.buf<16x1xf32, ub>
  %total = tile.alloc : !tile.buf<16x16xf32, ub>
  %l0 = tile.slot %l[0]
  %l1 = tile.slot %l[1]
  %r0 = tile.slot %r[0]
  %r1 = tile.slot %r[1]
  tile.fill -inf into %max [16, 1]
  tile.fill 0.0 into %total [16, 16]
  scf.for %t = %c0 to %n step %c1 {
    %row = pypto.index 16 * %t
    %a = tile.alloc : !tile.buf<16x16xf32, l1>
    %b = tile.alloc : !tile.buf<16x16xf32, l1>
    %c = tile.alloc : !tile.buf<16x16xf32, l0c>
    %d = tile.alloc : !tile.buf<16x16xf32, l0c>
    %u = tile.alloc : !tile.buf<16x16xf32, ub>
    %w = tile.alloc : !tile.buf<16x16xf32, ub>
    %new = tile.alloc : !tile.buf<16x1xf32, ub>
    %scale = tile.alloc : !tile.buf<16x1xf32, ub>
    %p = tile.alloc : !tile.buf<16x16xf32, l1>
    tile.load %x[%row, 0] [16, 16] into %a
    tile.load %v[%row, 0] [16, 16] into %b
    tile.move %a[0, 0] [16, 16] into %l0
    tile.matmul %l0, %r0 into %c [16, 16, 16]
    tile.move %c[0, 0] [16, 16] into %u
    tile.row_max %u into %new [16, 16]
    tile.maximum %max, %new into %new [16, 1]
    tile.sub %max, %new into %scale [16, 1]
    tile.cvt %new into %max [16, 1]
    tile.sub %u, %new row into %u [16, 16]
    tile.move %u[0, 0] [16, 16] into %p
    tile.move %p[0, 0] [16, 16] into %l1
    tile.move %b[0, 0] [16, 16] into %r1
    tile.matmul %l1, %r1 into %d [16, 16, 16]
    tile.move %d[0, 0] [16, 16] into %w
    tile.mul %total, %scale row into %total [16, 16]
    tile.add %total, %w into %total [16, 16]
  }
  tile.store %total [16, 16] into %y[0, 0]
}

// Vector, cube, vector: the cube core has one stage and its loop stays; a step other

// than one.

// CHECK-LABEL: npu.kernel @begun_by_vector 
// CHECK-NEXT: %c8 = arith.constant 8 : index
// CHECK-NEXT: %c16 = arith.constant 16 : index
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: %w = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: scf.for %t = %c8 to %n step %c16 {
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: tile.move %p_1[0, 0] [16, 16] into %l
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 16]
// CHECK-NEXT: tile.push %c [16, 16] into %w
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %u = tile.alloc {slots = 2} : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: %trips = pypto.index %n + 16
// CHECK-NEXT: scf.for %t_1 = %c8 to %trips step %c16 {
// CHECK-NEXT: %stage0 = pypto.index %t_1 < %n
// CHECK-NEXT: scf.if %stage0 {
// CHECK-NEXT: %slot = pypto.index (((%t_1 + 8) floordiv 16) + 1) mod 2
// CHECK-NEXT: %u_1 = tile.slot %u[%slot]
// CHECK-NEXT: %0 = pypto.index %t_1 + 8 * %half
// CHECK-NEXT: tile.load %x[%0, 0] [8, 16] into %u_1
// CHECK-NEXT: tile.exp %u_1 into %u_1 [8, 16]
// CHECK-NEXT: tile.push %u_1 [8, 16] into %p
// CHECK-NEXT: }
// CHECK-NEXT: %stage1 = pypto.index %t_1 >= 24
// CHECK-NEXT: scf.if %stage1 {
// CHECK-NEXT: %t_2 = pypto.index %t_1 - 16
// CHECK-NEXT: %slot_1 = pypto.index ((%t_1 + 8) floordiv 16) mod 2
// CHECK-NEXT: %u_2 = tile.slot %u[%slot_1]
// CHECK-NEXT: %w_1 = tile.pop %w
// CHECK-NEXT: tile.add %w_1, %u_2 into %w_1 [8, 16]
// CHECK-NEXT: %1 = pypto.index %t_2 + 8 * %half
// CHECK-NEXT: tile.store %w_1 [8, 16] into %y[%1, 0]
// CHECK-NEXT: tile.free %w
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @begun_by_vector () (%x: memref<?x16xf32, "gm">, %y: memref<?x16xf32, "gm">, %n: index) on mixed {
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc : !tile.buf<16x16xf32, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  scf.for %t = %c8 to %n step %c16 {
    %u = tile.alloc : !tile.buf<16x16xf32, ub>
    %w = tile.alloc : !tile.buf<16x16xf32, ub>
    %p = tile.alloc : !tile.buf<16x16xf32, l1>
    tile.load %x[%t, 0] [16, 16] into %u
    tile.exp %u into %u [16, 16]
    tile.move %u[0, 0] [16, 16] into %p
    tile.move %p[0, 0] [16, 16] into %l
    tile.matmul %l, %r into %c [16, 16, 16]
    tile.move %c[0, 0] [16, 16] into %w
    tile.add %w, %u into %w [16, 16]
    tile.store %w [16, 16] into %y[%t, 0]
  }
}

// Three stages: the one in the middle has two conditions.

// CHECK-LABEL: npu.kernel @three_stages 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: %v = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: %q = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %a = tile.alloc : !tile.buf<16x16xf32, l1>
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: %trips = pypto.index %n + 2
// CHECK-NEXT: scf.for %t = %c0 to %trips step %c1 {
// CHECK-NEXT: %stage0 = pypto.index %t < %n
// CHECK-NEXT: scf.if %stage0 {
// CHECK-NEXT: tile.load %x[%t, 0] [16, 16] into %a
// CHECK-NEXT: tile.move %a[0, 0] [16, 16] into %l
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 16]
// CHECK-NEXT: tile.push %c [16, 16] into %u
// CHECK-NEXT: }
// CHECK-NEXT: %stage1 = pypto.index min(%n - %t, %t - 1) >= 0
// CHECK-NEXT: scf.if %stage1 {
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: tile.move %p_1[0, 0] [16, 16] into %l
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 16]
// CHECK-NEXT: tile.push %c [16, 16] into %v
// CHECK-NEXT: }
// CHECK-NEXT: %stage2 = pypto.index %t >= 2
// CHECK-NEXT: scf.if %stage2 {
// CHECK-NEXT: %t_1 = pypto.index %t - 2
// CHECK-NEXT: %q_1 = tile.pop %q
// CHECK-NEXT: tile.move %q_1[0, 0] [16, 16] into %l
// CHECK-NEXT: tile.free %q
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 16]
// CHECK-NEXT: tile.store %c [16, 16] into %y[%t_1, 0]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %trips_1 = pypto.index %n + 1
// CHECK-NEXT: scf.for %t_2 = %c0 to %trips_1 step %c1 {
// CHECK-NEXT: %stage0_1 = pypto.index %t_2 < %n
// CHECK-NEXT: scf.if %stage0_1 {
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: tile.push %u_1 [8, 16] into %p
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
// CHECK-NEXT: %stage1_1 = pypto.index %t_2 >= 1
// CHECK-NEXT: scf.if %stage1_1 {
// CHECK-NEXT: %v_1 = tile.pop %v
// CHECK-NEXT: tile.push %v_1 [8, 16] into %q
// CHECK-NEXT: tile.free %v
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @three_stages () (%x: memref<?x16xf32, "gm">, %y: memref<?x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc : !tile.buf<16x16xf32, l1>
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc : !tile.buf<16x16xf32, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  scf.for %t = %c0 to %n step %c1 {
    %u = tile.alloc : !tile.buf<16x16xf32, ub>
    %v = tile.alloc : !tile.buf<16x16xf32, ub>
    %p = tile.alloc : !tile.buf<16x16xf32, l1>
    %q = tile.alloc : !tile.buf<16x16xf32, l1>
    tile.load %x[%t, 0] [16, 16] into %a
    tile.move %a[0, 0] [16, 16] into %l
    tile.matmul %l, %r into %c [16, 16, 16]
    tile.move %c[0, 0] [16, 16] into %u
    tile.move %u[0, 0] [16, 16] into %p
    tile.move %p[0, 0] [16, 16] into %l
    tile.matmul %l, %r into %c [16, 16, 16]
    tile.move %c[0, 0] [16, 16] into %v
    tile.move %v[0, 0] [16, 16] into %q
    tile.move %q[0, 0] [16, 16] into %l
    tile.matmul %l, %r into %c [16, 16, 16]
    tile.store %c [16, 16] into %y[%t, 0]
  }
}

// Nothing comes back: the cores overlap as it is.

// CHECK-LABEL: npu.kernel @one_way 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c16 = arith.constant 16 : index
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: scf.for %t = %c0 to %n step %c16 {
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 0]
// CHECK-NEXT: tile.push %c [16, 16] into %u
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: scf.for %t_1 = %c0 to %n step %c16 {
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: %0 = pypto.index %t_1 + 8 * %half
// CHECK-NEXT: tile.store %u_1 [8, 16] into %y[%0, 0]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @one_way () (%y: memref<?x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc : !tile.buf<16x16xf32, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  scf.for %t = %c0 to %n step %c16 {
    tile.matmul %l, %r into %c [16, 16, 0]
    tile.move %c[0, 0] [16, 16] into %u
    tile.store %u [16, 16] into %y[%t, 0]
  }
}

// What the second product leaves, the first one of the next trip reads.

// CHECK-LABEL: npu.kernel @recurrent 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: scf.for %t = %c0 to %n step %c1 {
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: tile.move %p_1[0, 0] [16, 16] into %l
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 16]
// CHECK-NEXT: tile.push %c [16, 16] into %u
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %state = tile.alloc : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: tile.fill 0.0 into %state [8, 16]
// CHECK-NEXT: scf.for %t_1 = %c0 to %n step %c1 {
// CHECK-NEXT: tile.push %state [8, 16] into %p
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: tile.add %state, %u_1 into %state [8, 16]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
// CHECK-NEXT: %0 = pypto.index 8 * %half
// CHECK-NEXT: tile.store %state [8, 16] into %y[%0, 0]
// CHECK-NEXT: }
npu.kernel @recurrent () (%y: memref<16x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc : !tile.buf<16x16xf32, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  %state = tile.alloc : !tile.buf<16x16xf32, ub>
  tile.fill 0.0 into %state [16, 16]
  scf.for %t = %c0 to %n step %c1 {
    %p = tile.alloc : !tile.buf<16x16xf32, l1>
    %u = tile.alloc : !tile.buf<16x16xf32, ub>
    // REMARK: :[[# @LINE + 1]]:5: remark[PTO334]: the cores of @recurrent do not overlap in this loop: %state is carried from trip to trip
    tile.move %state[0, 0] [16, 16] into %p
    tile.move %p[0, 0] [16, 16] into %l
    tile.matmul %l, %r into %c [16, 16, 16]
    tile.move %c[0, 0] [16, 16] into %u
    tile.add %state, %u into %state [16, 16]
  }
  tile.store %state [16, 16] into %y[0, 0]
}

// The 160 KiB of %u would be there twice, which is more than there is.

// REMARK: {{.*}}:1: remark[PTO334]: the cores of @too_large do not overlap: tiles of several trips at once do not fit

// CHECK-LABEL: npu.kernel @too_large 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<640x16xf32, ub -> l1, rows>
// CHECK-NEXT: %w = tile.channel {slots = 2, npu.spare} : !tile.chan<640x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x128xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<128x16xf32, l0b>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: scf.for %t = %c0 to %n step %c1 {
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: tile.move %p_1[0, 0] [16, 16] into %l
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 16]
// CHECK-NEXT: tile.push %c [16, 16] into %w
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %mine = pypto.index min(320, max(0, 16 - 320 * %half))
// CHECK-NEXT: scf.for %t_1 = %c0 to %n step %c1 {
// CHECK-NEXT: %u = tile.alloc : !tile.buf<320x128xf32, ub>
// CHECK-NEXT: %v = tile.alloc : !tile.buf<320x16xf32, ub>
// CHECK-NEXT: %0 = pypto.index 320 * %half
// CHECK-NEXT: tile.load %x[%0, 0] [320, 128] into %u
// CHECK-NEXT: tile.fill 1.0 into %v [%mine, 16]
// CHECK-NEXT: tile.add %v, %u into %v [%mine, 16]
// CHECK-NEXT: tile.push %v [%mine, 16] into %p
// CHECK-NEXT: %w_1 = tile.pop %w
// CHECK-NEXT: tile.add %u, %w_1 into %u [%mine, 16]
// CHECK-NEXT: tile.free %w
// CHECK-NEXT: %1 = pypto.index 320 * %half
// CHECK-NEXT: tile.store %u [320, 128] into %y[%1, 0] {combine = "add"}
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @too_large () (%x: memref<640x128xf32, "gm">, %y: memref<640x128xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %l = tile.alloc : !tile.buf<16x128xf32, l0a>
  %r = tile.alloc : !tile.buf<128x16xf32, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  scf.for %t = %c0 to %n step %c1 {
    %u = tile.alloc : !tile.buf<640x128xf32, ub>
    %v = tile.alloc : !tile.buf<16x16xf32, ub>
    %w = tile.alloc : !tile.buf<16x16xf32, ub>
    %p = tile.alloc : !tile.buf<16x16xf32, l1>
    tile.load %x[0, 0] [640, 128] into %u
    tile.fill 1.0 into %v [16, 16]
    tile.add %v, %u into %v [16, 16]
    tile.move %v[0, 0] [16, 16] into %p
    tile.move %p[0, 0] [16, 16] into %l
    tile.matmul %l, %r into %c [16, 16, 16]
    tile.move %c[0, 0] [16, 16] into %w
    tile.add %u, %w into %u [16, 16]
    tile.store %u [640, 128] into %y[0, 0] {combine = "add"}
  }
}

// An inner loop is skewed within each trip of the outer one.

// CHECK-LABEL: npu.kernel @nested 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: %w = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: scf.for %i = %c0 to %m step %c1 {
// CHECK-NEXT: %last = pypto.index %n - %i
// CHECK-NEXT: %trips = pypto.index %last + 1
// CHECK-NEXT: scf.for %t = %i to %trips step %c1 {
// CHECK-NEXT: %stage0 = pypto.index %t < %last
// CHECK-NEXT: scf.if %stage0 {
// CHECK-NEXT: %a = tile.alloc : !tile.buf<16x16xf32, l1>
// CHECK-NEXT: tile.load %x[%t, 0] [16, 16] into %a
// CHECK-NEXT: tile.move %a[0, 0] [16, 16] into %l
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 16]
// CHECK-NEXT: tile.push %c [16, 16] into %u
// CHECK-NEXT: }
// CHECK-NEXT: %stage1 = pypto.index %t >= %i + 1
// CHECK-NEXT: scf.if %stage1 {
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: tile.move %p_1[0, 0] [16, 16] into %l
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 16]
// CHECK-NEXT: tile.push %c [16, 16] into %w
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: scf.for %i_1 = %c0 to %m step %c1 {
// CHECK-NEXT: %row = pypto.index 16 * %i_1
// CHECK-NEXT: %sum = tile.alloc : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: tile.fill 0.0 into %sum [8, 16]
// CHECK-NEXT: %last_1 = pypto.index %n - %i_1
// CHECK-NEXT: %trips_1 = pypto.index %last_1 + 1
// CHECK-NEXT: scf.for %t_1 = %i_1 to %trips_1 step %c1 {
// CHECK-NEXT: %stage0_1 = pypto.index %t_1 < %last_1
// CHECK-NEXT: scf.if %stage0_1 {
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: tile.exp %u_1 into %u_1 [8, 16]
// CHECK-NEXT: tile.push %u_1 [8, 16] into %p
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
// CHECK-NEXT: %stage1_1 = pypto.index %t_1 >= %i_1 + 1
// CHECK-NEXT: scf.if %stage1_1 {
// CHECK-NEXT: %w_1 = tile.pop %w
// CHECK-NEXT: tile.add %sum, %w_1 into %sum [8, 16]
// CHECK-NEXT: tile.free %w
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %0 = pypto.index %row + 8 * %half
// CHECK-NEXT: tile.store %sum [8, 16] into %y[%0, 0]
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @nested () (%x: memref<?x16xf32, "gm">, %y: memref<?x16xf32, "gm">, %n: index, %m: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc : !tile.buf<16x16xf32, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  scf.for %i = %c0 to %m step %c1 {
    %row = pypto.index 16 * %i
    %sum = tile.alloc : !tile.buf<16x16xf32, ub>
    tile.fill 0.0 into %sum [16, 16]
    %last = pypto.index %n - %i
    scf.for %t = %i to %last step %c1 {
      %a = tile.alloc : !tile.buf<16x16xf32, l1>
      %u = tile.alloc : !tile.buf<16x16xf32, ub>
      %p = tile.alloc : !tile.buf<16x16xf32, l1>
      %w = tile.alloc : !tile.buf<16x16xf32, ub>
      tile.load %x[%t, 0] [16, 16] into %a
      tile.move %a[0, 0] [16, 16] into %l
      tile.matmul %l, %r into %c [16, 16, 16]
      tile.move %c[0, 0] [16, 16] into %u
      tile.exp %u into %u [16, 16]
      tile.move %u[0, 0] [16, 16] into %p
      tile.move %p[0, 0] [16, 16] into %l
      tile.matmul %l, %r into %c [16, 16, 16]
      tile.move %c[0, 0] [16, 16] into %w
      tile.add %sum, %w into %sum [16, 16]
    }
    tile.store %sum [16, 16] into %y[%row, 0]
  }
}

// The second stage wants what the first one popped: it takes a copy, and the slot goes

// back in time.

// CHECK-LABEL: npu.kernel @residual 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: %w = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: %trips = pypto.index %n + 1
// CHECK-NEXT: scf.for %t = %c0 to %trips step %c1 {
// CHECK-NEXT: %stage0 = pypto.index %t < %n
// CHECK-NEXT: scf.if %stage0 {
// CHECK-NEXT: %row = pypto.index 16 * %t
// CHECK-NEXT: %a = tile.alloc : !tile.buf<16x16xf32, l1>
// CHECK-NEXT: tile.load %x[%row, 0] [%m, 16] into %a
// CHECK-NEXT: tile.move %a[0, 0] [%m, 16] into %l
// CHECK-NEXT: tile.matmul %l, %r into %c [%m, 16, 16]
// CHECK-NEXT: tile.push %c [%m, 16] into %u
// CHECK-NEXT: }
// CHECK-NEXT: %stage1 = pypto.index %t >= 1
// CHECK-NEXT: scf.if %stage1 {
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: tile.move %p_1[0, 0] [%m, 16] into %l
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: tile.matmul %l, %r into %c [%m, 16, 16]
// CHECK-NEXT: tile.push %c [%m, 16] into %w
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %mine = pypto.index min(8, max(%m - 8 * %half, 0))
// CHECK-NEXT: %u_1 = tile.alloc {slots = 2} : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: %trips_1 = pypto.index %n + 1
// CHECK-NEXT: scf.for %t_1 = %c0 to %trips_1 step %c1 {
// CHECK-NEXT: %stage0_1 = pypto.index %t_1 < %n
// CHECK-NEXT: scf.if %stage0_1 {
// CHECK-NEXT: %slot = pypto.index %t_1 mod 2
// CHECK-NEXT: %u_2 = tile.slot %u_1[%slot]
// CHECK-NEXT: %v = tile.alloc : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: %u_3 = tile.pop %u
// CHECK-NEXT: tile.exp %u_3 into %v [%mine, 16]
// CHECK-NEXT: tile.push %v [%mine, 16] into %p
// CHECK-NEXT: tile.copy %u_3 into %u_2 [%mine, 16]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
// CHECK-NEXT: %stage1_1 = pypto.index %t_1 >= 1
// CHECK-NEXT: scf.if %stage1_1 {
// CHECK-NEXT: %t_2 = pypto.index %t_1 - 1
// CHECK-NEXT: %slot_1 = pypto.index (%t_1 + 1) mod 2
// CHECK-NEXT: %u_4 = tile.slot %u_1[%slot_1]
// CHECK-NEXT: %row_1 = pypto.index 16 * %t_2
// CHECK-NEXT: %w_1 = tile.pop %w
// CHECK-NEXT: tile.add %u_4, %w_1 into %w_1 [%mine, 16]
// CHECK-NEXT: %0 = pypto.index %row_1 + min(%m, 8 * %half)
// CHECK-NEXT: tile.store %w_1 [%mine, 16] into %y[%0, 0]
// CHECK-NEXT: tile.free %w
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @residual () (%x: memref<?x16xf32, "gm">, %y: memref<?x16xf32, "gm">, %n: index, %m: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc : !tile.buf<16x16xf32, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  scf.for %t = %c0 to %n step %c1 {
    %row = pypto.index 16 * %t
    %a = tile.alloc : !tile.buf<16x16xf32, l1>
    %u = tile.alloc : !tile.buf<16x16xf32, ub>
    %v = tile.alloc : !tile.buf<16x16xf32, ub>
    %p = tile.alloc : !tile.buf<16x16xf32, l1>
    %w = tile.alloc : !tile.buf<16x16xf32, ub>
    tile.load %x[%row, 0] [%m, 16] into %a
    tile.move %a[0, 0] [%m, 16] into %l
    tile.matmul %l, %r into %c [%m, 16, 16]
    tile.move %c[0, 0] [%m, 16] into %u
    tile.exp %u into %v [%m, 16]
    tile.move %v[0, 0] [%m, 16] into %p
    tile.move %p[0, 0] [%m, 16] into %l
    tile.matmul %l, %r into %c [%m, 16, 16]
    tile.move %c[0, 0] [%m, 16] into %w
    tile.add %u, %w into %w [%m, 16]
    tile.store %w [%m, 16] into %y[%row, 0]
  }
}
