// RUN: pyptoc %s --pipeline=split-mixed --print-short | filecheck %s
// RUN: pyptoc %s --pipeline=split-mixed | pyptoc - --pipeline=split-mixed --print-short | filecheck %s
// Flat mixed kernels get sections, and channels where tiles cross.

// A chain from the cube core to the vector cores and back. Of 33 rows the first vector

// core has 17; both have the bias. What is popped is stored from its slot.

// CHECK-LABEL: npu.kernel @chain 
// CHECK-NEXT: %row = pypto.index 33 * %i
// CHECK-NEXT: %m = pypto.index min(%rows - %row, 33)
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<33x64xf32, l0c -> ub, rows>
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<33x64xbf16, ub -> l1, rows>
// CHECK-NEXT: %v = tile.channel {slots = 2, npu.spare} : !tile.chan<33x64xf32, l0c -> ub, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %a = tile.alloc : !tile.buf<33x64xbf16, l1>
// CHECK-NEXT: %b = tile.alloc : !tile.buf<64x64xbf16, l1>
// CHECK-NEXT: %l = tile.alloc : !tile.buf<33x64xbf16, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<64x64xbf16, l0b>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<33x64xf32, l0c>
// CHECK-NEXT: tile.load %x[%row, 0] [%m, 64] into %a
// CHECK-NEXT: tile.load %w[0, 0] [64, 64] into %b
// CHECK-NEXT: tile.move %a[0, 0] [%m, 64] into %l
// CHECK-NEXT: tile.move %b[0, 0] [64, 64] into %r
// CHECK-NEXT: tile.matmul %l, %r into %c [%m, 64, 64]
// CHECK-NEXT: tile.push %c [%m, 64] into %u
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: tile.move %p_1[0, 0] [%m, 64] into %l
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: tile.matmul %l, %r into %c [%m, 64, 64]
// CHECK-NEXT: tile.push %c [%m, 64] into %v
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %mine = pypto.index min(17, max(%m - 17 * %half, 0))
// CHECK-NEXT: %bias = tile.alloc : !tile.buf<1x64xf32, ub>
// CHECK-NEXT: %s = tile.alloc : !tile.buf<17x1xf32, ub>
// CHECK-NEXT: %h = tile.alloc : !tile.buf<17x64xbf16, ub>
// CHECK-NEXT: tile.load %g[0] [1, 64] into %bias
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: tile.add %u_1, %bias col into %u_1 [%mine, 64]
// CHECK-NEXT: tile.row_max %u_1 into %s [%mine, 64]
// CHECK-NEXT: tile.sub %u_1, %s row into %u_1 [%mine, 64]
// CHECK-NEXT: tile.cvt %u_1 into %h [%mine, 64]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: tile.push %h [%mine, 64] into %p
// CHECK-NEXT: %v_1 = tile.pop %v
// CHECK-NEXT: %0 = pypto.index %row + min(%m, 17 * %half)
// CHECK-NEXT: tile.store %v_1 [%mine, 64] into %y[%0, 0]
// CHECK-NEXT: tile.free %v
// CHECK-NEXT: }
npu.kernel @chain (%i) (%x: memref<?x64xbf16, "gm">, %w: memref<64x64xbf16, "gm">,
    %g: memref<64xf32, "gm">, %y: memref<?x64xf32, "gm">, %rows: index) on mixed {
  %row = pypto.index 33 * %i
  %m = pypto.index min(%rows - %row, 33)
  %a = tile.alloc : !tile.buf<33x64xbf16, l1>
  %b = tile.alloc : !tile.buf<64x64xbf16, l1>
  %l = tile.alloc : !tile.buf<33x64xbf16, l0a>
  %r = tile.alloc : !tile.buf<64x64xbf16, l0b>
  %c = tile.alloc : !tile.buf<33x64xf32, l0c>
  %u = tile.alloc : !tile.buf<33x64xf32, ub>
  %bias = tile.alloc : !tile.buf<1x64xf32, ub>
  %s = tile.alloc : !tile.buf<33x1xf32, ub>
  %h = tile.alloc : !tile.buf<33x64xbf16, ub>
  %p = tile.alloc : !tile.buf<33x64xbf16, l1>
  %v = tile.alloc : !tile.buf<33x64xf32, ub>
  tile.load %x[%row, 0] [%m, 64] into %a
  tile.load %w[0, 0] [64, 64] into %b
  tile.move %a[0, 0] [%m, 64] into %l
  tile.move %b[0, 0] [64, 64] into %r
  tile.matmul %l, %r into %c [%m, 64, 64]
  tile.move %c[0, 0] [%m, 64] into %u
  tile.load %g[0] [1, 64] into %bias
  tile.add %u, %bias col into %u [%m, 64]
  tile.row_max %u into %s [%m, 64]
  tile.sub %u, %s row into %u [%m, 64]
  tile.cvt %u into %h [%m, 64]
  tile.move %h[0, 0] [%m, 64] into %p
  tile.move %p[0, 0] [%m, 64] into %l
  tile.matmul %l, %r into %c [%m, 64, 64]
  tile.move %c[0, 0] [%m, 64] into %v
  tile.store %v [%m, 64] into %y[%row, 0]
}

// A product that goes to memory, to the vector cores, and from there into a product.

// CHECK-LABEL: npu.kernel @both 
// CHECK-NEXT: %u = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, l0c -> ub, rows>
// CHECK-NEXT: %p = tile.channel {slots = 2, npu.spare} : !tile.chan<16x16xf32, ub -> l1, rows>
// CHECK-NEXT: tile.section cube {
// CHECK-NEXT: %l = tile.alloc : !tile.buf<16x16xf32, l0a>
// CHECK-NEXT: %r = tile.alloc : !tile.buf<16x16xf32, l0b>
// CHECK-NEXT: %c = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: %d = tile.alloc : !tile.buf<16x16xf32, l0c>
// CHECK-NEXT: tile.matmul %l, %r into %c [16, 16, 0]
// CHECK-NEXT: tile.store %c [16, 16] into %y[0, 0]
// CHECK-NEXT: tile.push %c [16, 16] into %u
// CHECK-NEXT: %p_1 = tile.pop %p
// CHECK-NEXT: tile.move %p_1[0, 0] [16, 16] into %l
// CHECK-NEXT: tile.free %p
// CHECK-NEXT: tile.matmul %l, %r into %d [16, 16, 16]
// CHECK-NEXT: }
// CHECK-NEXT: tile.section vector (%half) {
// CHECK-NEXT: %u_1 = tile.pop %u
// CHECK-NEXT: tile.push %u_1 [8, 16] into %p
// CHECK-NEXT: tile.exp %u_1 into %u_1 [8, 16]
// CHECK-NEXT: %0 = pypto.index 8 * %half
// CHECK-NEXT: tile.store %u_1 [8, 16] into %z[%0, 0]
// CHECK-NEXT: tile.free %u
// CHECK-NEXT: }
npu.kernel @both () (%y: memref<16x16xf32, "gm">, %z: memref<16x16xf32, "gm">) on mixed {
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  %r = tile.alloc : !tile.buf<16x16xf32, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  %d = tile.alloc : !tile.buf<16x16xf32, l0c>
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  %p = tile.alloc : !tile.buf<16x16xf32, l1>
  tile.matmul %l, %r into %c [16, 16, 0]
  tile.store %c [16, 16] into %y[0, 0]
  tile.move %c[0, 0] [16, 16] into %u
  tile.move %u[0, 0] [16, 16] into %p
  tile.move %p[0, 0] [16, 16] into %l
  tile.matmul %l, %r into %d [16, 16, 16]
  tile.exp %u into %u [16, 16]
  tile.store %u [16, 16] into %z[0, 0]
}

// Kernels of one core stay as they are.

// CHECK-LABEL: npu.kernel @alone 
// CHECK-NEXT: %u = tile.alloc : !tile.buf<16x16xf32, ub>
// CHECK-NEXT: tile.load %x[0, 0] [16, 16] into %u
// CHECK-NEXT: tile.store %u [16, 16] into %x[0, 0]
npu.kernel @alone () (%x: memref<16x16xf32, "gm">) on vector {
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  tile.load %x[0, 0] [16, 16] into %u
  tile.store %u [16, 16] into %x[0, 0]
}
