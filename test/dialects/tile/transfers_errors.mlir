// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

npu.kernel @load (%i) (%x: memref<?x512xf32, "gm">, %h: memref<16x512xbf16, "gm">, %n: memref<16x512xf32>, %v: memref<512xf32, "gm">) on mixed {
  %u = tile.alloc : !tile.buf<16x256xf32, ub>
  %c = tile.alloc : !tile.buf<16x256xf32, l0c>
  %l = tile.alloc : !tile.buf<16x1024xf32, l1>
  %k = tile.alloc : !tile.buf<16x256xbf16, ub>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.load: the destination must be in ub or l1, but is in l0c
  tile.load %x[%i, 0] [16, 256] into %c
  // CHECK: tile.load: loads bf16 into a buffer of f32
  tile.load %h[%i, 0] [16, 256] into %u
  // CHECK: tile.load: expected a memref in "gm", got memref<16x512xf32>
  tile.load %n[%i, 0] [16, 256] into %u
  // CHECK: tile.load: expected a memref in "gm", got !tile.buf<16x256xf32, ub>
  tile.load %u[%i, 0] [16, 256] into %u
  // CHECK: tile.load: expected a buffer, got memref<?x512xf32, "gm">
  tile.load %x[%i, 0] [16, 256] into %x
  // CHECK: tile.load: takes 2 offsets, got 1
  tile.load %x[%i] [16, 256] into %u
  // CHECK: tile.load: takes 2 extents, got 3
  tile.load %x[%i, 0] [16, 256, 1] into %u
  // CHECK: tile.load: the number of rows is 17, not 0 to 16
  tile.load %x[%i, 0] [17, 256] into %u
  // CHECK: tile.load: the number of columns is 257, not 0 to 256
  tile.load %x[%i, 0] [16, 257] into %u
  // CHECK: tile.load: the number of rows is -1, not 0 to 16
  tile.load %x[%i, 0] [-1, 256] into %u
  // CHECK: tile.load: the end in dimension 1 is 513, not 0 to 512
  tile.load %x[%i, 257] [16, 256] into %u
  // CHECK: tile.load: the end in dimension 0 is 17, not 0 to 16
  tile.load %h[1, 0] [16, 256] into %k
  // CHECK: tile.load: the end in dimension 0 is 513, not 0 to 512
  tile.load %v[512] [1, 1] into %u {dims = [-1, -1]}
  // CHECK: tile.load: offset -1 is negative
  tile.load %x[-1, 0] [16, 256] into %u
  // CHECK: tile.load: dims [0, 2] are no dimensions of a rank-2 memref
  tile.load %x[%i, 0] [16, 256] into %u {dims = [0, 2]}
  // CHECK: tile.load: dims [1, 1] are no dimensions of a rank-2 memref
  tile.load %x[%i, 0] [16, 256] into %u {dims = [1, 1]}
  // CHECK: tile.load: dims takes 2 numbers
  tile.load %x[%i, 0] [16, 256] into %u {dims = [1]}
  // CHECK: tile.load: rows have no dimension, so their extent is 1
  tile.load %v[0] [16, 256] into %u
}

// -----

npu.kernel @store (%i) (%x: memref<?x512xf32, "gm">, %y: memref<16x512xbf16, "gm">) on mixed {
  %u = tile.alloc : !tile.buf<16x256xf32, ub>
  %l = tile.alloc : !tile.buf<16x256xf32, l1>
  %c = tile.alloc : !tile.buf<16x256xf32, l0c>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.store: the source must be in ub or l0c, but is in l1
  tile.store %l [16, 256] into %x[%i, 0]
  // CHECK: tile.store: stores f32 to memory of bf16
  tile.store %u [16, 256] into %y[%i, 0]
  // CHECK: tile.store: scale and relu are for stores from l0c
  tile.store %u [16, 256] into %x[%i, 0] {relu}
  // CHECK: tile.store: the scale must be in fb, but is in ub
  tile.store %c [16, 256] scale %u into %x[%i, 0]
  %few = tile.alloc : !tile.buf<1x128xf32, fb>
  %half = tile.alloc : !tile.buf<1x256xf16, fb>
  // CHECK: tile.store: the number of columns is 256, not 0 to 128
  tile.store %c [16, 256] scale %few into %x[%i, 0]
  // CHECK: tile.store: scales are a row of f32, not
  tile.store %c [16, 256] scale %half into %x[%i, 0]
  // CHECK: tile.store: no combine "mean": it is one of add, max, min
  tile.store %u [16, 256] into %x[%i, 0] {combine = "mean"}
  // CHECK: tile.store: the end in dimension 1 is 768, not 0 to 512
  tile.store %u [16, 256] into %x[%i, 512]
}

// -----

npu.kernel @move (%i) (%x: memref<?x512xf32, "gm">) on cube {
  %l = tile.alloc : !tile.buf<16x256xbf16, l1>
  %s = tile.alloc : !tile.buf<4x63xf8E8M0FNU, l1>
  %a = tile.alloc : !tile.buf<16x64xbf16, l0a>
  %f = tile.alloc : !tile.buf<16x64xf32, l0a>
  %b = tile.alloc : !tile.buf<64x16xbf16, l0b>
  %sa = tile.alloc : !tile.buf<16x8xf8E8M0FNU, scale_a>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.move: expected a buffer, got memref<?x512xf32, "gm">
  tile.move %x[0, 0] [16, 64] into %a
  // CHECK: tile.move: the source must be in l1, but is in l0a
  tile.move %a[0, 0] [16, 64] into %a
  // CHECK: tile.move: the destination must be in l0a or l0b or scale_a or scale_b or bias or fb, but is in l1
  tile.move %l[0, 0] [16, 64] into %l
  // CHECK: tile.move: moves bf16 into a buffer of f32
  tile.move %l[0, 0] [16, 64] into %f
  // CHECK: tile.move: takes 2 offsets, got 1
  tile.move %l[0] [16, 64] into %a
  // CHECK: tile.move: the offset of rows is -1, not 0 to 16
  tile.move %l[-1, 0] [16, 64] into %a
  // CHECK: tile.move: the end of columns is 257, not 0 to 256
  tile.move %l[0, 193] [16, 64] into %a
  // CHECK: tile.move: the number of columns is 64, not 0 to 16
  tile.move %l[0, 0] [16, 64] into %b
  // CHECK: tile.move: the number of columns is 65, not 0 to 64
  tile.move %l[0, 0] [16, 65] into %a
  // CHECK: tile.move: the number of rows is 65, not 0 to 64
  tile.move %l[0, 0] [16, 65] into %b {trans}
  // CHECK: tile.move: trans and pairs exclude each other
  tile.move %l[0, 0] [16, 64] into %b {trans, pairs}
  // CHECK: tile.move: pairs is for scale_a and scale_b
  tile.move %l[0, 0] [16, 64] into %b {pairs}
  // CHECK: tile.move: pairs need an even number of columns, got 31
  tile.move %s[0, 0] [4, 31] into %sa {pairs}
  // CHECK: tile.move: the number of rows is 31, not 0 to 16
  tile.move %s[0, 0] [4, 62] into %sa {pairs}
}

// -----

npu.kernel @read (%i) (%t: memref<?x4xi32, "gm">, %f: memref<1xf32, "gm">, %n: memref<4xi32>) on vector {
  // CHECK: tile.read: reads f32 as an index
  %a = tile.read %f[0] : memref<1xf32, "gm"> -> index
  // CHECK: tile.read: expected a memref in "gm", got memref<4xi32>
  %b = tile.read %n[0] : memref<4xi32> -> index
  // CHECK: tile.read: {{.*}}5
  %c = tile.read %t[%i, 4] : memref<?x4xi32, "gm"> -> index
}
