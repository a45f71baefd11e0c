// RUN: pyptoc %s --pipeline=split-mixed --print-short | filecheck %s
// Each side gets the loops, branches and index arithmetic that it needs.

// The loop over k has no work for the vector cores, the one over j none for the cube

// core; neither appears on the other side. Of the two values that the outer loop carries

// each side keeps its own.

// CHECK-LABEL: npu.kernel @loops 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %a = tile.alloc : !tile.buf<16x16xf32, l1>
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: %first = scf.for %i = %c0 to %n step %c1 iter_args(%p = %c0) -> (index) {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: scf.for %k = %c0 to %n step %c1 {
// CHECK-NEXT: tile.load %x[%p, 0] [16, 16] into %a
// CHECK-NEXT: tile.move %a[0, 0] [16, 16] into %l
// CHECK-NEXT: %later = pypto.index %k > 0
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 16] accumulate %later
// CHECK-NEXT: }
// CHECK-NEXT: tile.push %c [16, 16] into %u
// CHECK-NEXT: %p1 = pypto.index %i + %p
// CHECK-NEXT: scf.yield %p1 : index
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %first_1, %second = scf.for %i_1 = %c0 to %n step %c1 iter_args(%p_1 = %c0, %q = %c1) -> (index, index) {
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: scf.for %j = %c0 to %q step %c1 {
// CHECK-NEXT: tile.exp %u_1 into %u_1 [8, 16]
// CHECK-NEXT: }
// CHECK-NEXT: %0 = pypto.index %q + 8 * %half
// CHECK-NEXT: tile.store %u_1 [8, 16] into %y[%0, 0]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: %p1_1 = pypto.index %i_1 + %p_1
// CHECK-NEXT: %q1 = pypto.index %q + 16
// CHECK-NEXT: scf.yield %p1_1, %q1 : index, index
// CHECK-NEXT: }
// CHECK-NEXT: %v = tile.alloc : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: %1 = pypto.index 8 * %half
// CHECK-NEXT: tile.load %x[%1, 0] [8, 16] into %v
// CHECK-NEXT: %2 = pypto.index %first_1 + 8 * %half
// CHECK-NEXT: tile.store %v [8, 16] into %z[%2, 0]
// CHECK-NEXT: }
npu.kernel @loops () (%x: memref<64x16xf32, "gm">, %y: memref<64x16xf32, "gm">,
    %z: memref<64x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc : !tile.buf<16x16xf32, l1>
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc : !tile.buf<16x16xf32, l0b>
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  %first, %second = scf.for %i = %c0 to %n step %c1 iter_args(%p = %c0, %q = %c1) -> (index, index) {
    %c = tile.alloc : !tile.buf<16x16xf32, l0c>
    scf.for %k = %c0 to %n step %c1 {
      tile.load %x[%p, 0] [16, 16] into %a
      tile.move %a[0, 0] [16, 16] into %l
      %later = pypto.index %k > 0
      tile.matmul %l, %r into %c [16, 16, 16] accumulate %later
    }
    tile.move %c[0, 0] [16, 16] into %u
    scf.for %j = %c0 to %q step %c1 {
      tile.exp %u into %u [16, 16]
    }
    tile.store %u [16, 16] into %y[%q, 0]
    %p1 = pypto.index %p + %i
    %q1 = pypto.index %q + 16
    scf.yield %p1, %q1 : index, index
  }
  %v = tile.alloc : !tile.buf<16x16xf32, ub>
  tile.load %x[0, 0] [16, 16] into %v
  tile.store %v [16, 16] into %z[%first, 0]
}

// A crossing under a condition: equal pushes, pops and frees on each path. The branch

// without work for a side is not there.

// CHECK-LABEL: npu.kernel @branches 
// CHECK-NEXT: %test = pypto.index %n > 3
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: scf.if %test {
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 0]
// CHECK-NEXT: tile.push %c [16, 16] into %u
// CHECK-NEXT: }
// CHECK-NEXT: scf.if %test {
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 0]
// CHECK-NEXT: tile.store %c [16, 16] into %z[0, 0]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %u_1 = tile.alloc : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: scf.if %test {
// CHECK-NEXT: %u_2 = tile.pop %u
// CHECK-NEXT: tile.copy %u_2 into %u_1 [8, 16]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: %0 = pypto.index 8 * %half
// CHECK-NEXT: tile.store %u_1 [8, 16] into %y[%0, 0]
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.fill 1.0 into %u_1 [8, 16]
// CHECK-NEXT: %1 = pypto.index 8 * %half
// CHECK-NEXT: tile.store %u_1 [8, 16] into %y[%1, 0]
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @branches () (%y: memref<64x16xf32, "gm">, %z: memref<64x16xf32, "gm">,
    %n: index) on mixed {
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc : !tile.buf<16x16xf32, l0b>
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  %test = pypto.index %n > 3
  scf.if %test {
    tile.matmul %l, %r into %c [16, 16, 0]
    tile.move %c[0, 0] [16, 16] into %u
    tile.store %u [16, 16] into %y[0, 0]
  } else {
    tile.fill 1.0 into %u [16, 16]
    tile.store %u [16, 16] into %y[0, 0]
  }
  scf.if %test {
    tile.matmul %l, %r into %c [16, 16, 0]
    tile.store %c [16, 16] into %z[0, 0]
  }
}

// A tile from before a loop is popped before the first use and given back behind the

// last one. One that is used behind the loop in which it comes is copied.

// CHECK-LABEL: npu.kernel @around 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT: tile.move %p_1[0, 0] [16, 16] into %l
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 0]
// CHECK-NEXT: tile.push %c [16, 16] into %u
// CHECK-NEXT: }
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %u_1 = tile.alloc : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: %w = tile.alloc : !tile.buf<8x16xf32, ub>
// CHECK-NEXT: tile.fill 2.0 into %w [8, 16]
// CHECK-NEXT: tile.push %w [8, 16] into %p
// CHECK-NEXT: scf.for %i_1 = %c0 to %n step %c1 {
// CHECK-NEXT: %u_2 = tile.pop %u
// CHECK-NEXT: tile.copy %u_2 into %u_1 [8, 16]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
// CHECK-NEXT: %0 = pypto.index 8 * %half
// CHECK-NEXT: tile.store %u_1 [8, 16] into %y[%0, 0]
// CHECK-NEXT: }
npu.kernel @around () (%y: memref<64x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc : !tile.buf<16x16xf32, l0b>
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  %w = tile.alloc : !tile.buf<16x16xf32, ub>
  %p = tile.alloc : !tile.buf<16x16xf32, l1>
  tile.fill 2.0 into %w [16, 16]
  tile.move %w[0, 0] [16, 16] into %p
  scf.for %i = %c0 to %n step %c1 {
    tile.move %p[0, 0] [16, 16] into %l
    tile.matmul %l, %r into %c [16, 16, 0]
    tile.move %c[0, 0] [16, 16] into %u
  }
  tile.store %u [16, 16] into %y[0, 0]
}

// What an inner loop starts from is computed in the outer one, on the side that needs it.

// CHECK-LABEL: npu.kernel @starts 
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %a = tile.alloc : !tile.buf<16x16xf32, l1>
// CHECK-NEXT: scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT: %to = pypto.index 32 * %i
// CHECK-NEXT: %other = scf.for %k = %c0 to %n step %c1 iter_args(%q = %to) -> (index) {
// CHECK-NEXT: tile.load %x[%q, 0] [16, 16] into %a
// CHECK-NEXT: %q1 = pypto.index %q + 2
// CHECK-NEXT: scf.yield %q1 : index
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: scf.for %i_1 = %c0 to %n step %c1 {
// CHECK-NEXT: %from = pypto.index 16 * %i_1
// CHECK-NEXT: %last = scf.for %k_1 = %c0 to %n step %c1 iter_args(%p = %from) -> (index) {
// CHECK-NEXT: %p1 = pypto.index %p + 1
// CHECK-NEXT: scf.yield %p1 : index
// CHECK-NEXT: }
// CHECK-NEXT: %u = tile.alloc : !tile.buf<16x16xf32, ub>
// CHECK-NEXT: %first = pypto.index %half == 0
// CHECK-NEXT: scf.if %first {
// CHECK-NEXT: tile.fill 1.0 into %u [16, 16]
// CHECK-NEXT: tile.store %u [16, 16] into %y[%last, 0] {combine = "add"}
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
npu.kernel @starts () (%x: memref<64x16xf32, "gm">, %y: memref<?x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc : !tile.buf<16x16xf32, l1>
  scf.for %i = %c0 to %n step %c1 {
    %from = pypto.index 16 * %i
    %to = pypto.index 32 * %i
    %last, %other = scf.for %k = %c0 to %n step %c1 iter_args(%p = %from, %q = %to) -> (index, index) {
      tile.load %x[%q, 0] [16, 16] into %a
      %p1 = pypto.index %p + 1
      %q1 = pypto.index %q + 2
      scf.yield %p1, %q1 : index, index
    }
    %u = tile.alloc : !tile.buf<16x16xf32, ub>
    tile.fill 1.0 into %u [16, 16]
    tile.store %u [16, 16] into %y[%last, 0] {combine = "add"}
  }
}
