// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-short | pyptoc - --pipeline= | filecheck %s

// CHECK-LABEL: npu.kernel @load
npu.kernel @load (%i) (%x: memref<?x512xf32, "gm">, %v: memref<512xf32, "gm">, %c: memref<4x?x8x64xf32, "gm">, %m: index) on vector {
  %u = tile.alloc : !tile.buf<16x256xf32, ub>
  %l = tile.alloc : !tile.buf<16x256xf32, l1>
  // CHECK: tile.load %x[%i, 0] [%m, 256] into %u : memref<?x512xf32, "gm">, !tile.buf<16x256xf32, ub>
  tile.load %x[%i, 0] [%m, 256] into %u
  // CHECK-NEXT: tile.load %x[0, 256] [0, 256] into %l : memref<?x512xf32, "gm">, !tile.buf<16x256xf32, l1>
  tile.load %x[0, 256] [0, 256] into %l
  // CHECK-NEXT: tile.load %x[%i, %m] [16, %m] into %u {dims = [1, 0], tag = "x"} : memref
  tile.load %x[%i, %m] [16, %m] into %u {tag = "x", dims = [1, 0]}
  // CHECK-NEXT: tile.load %v[256] [1, 256] into %u : memref<512xf32, "gm">
  tile.load %v[256] [1, 256] into %u
  // CHECK-NEXT: tile.load %v[0] [16, 1] into %u {dims = [0, -1]}
  tile.load %v[0] [16, 1] into %u {dims = [0, -1]}
  // CHECK-NEXT: tile.load %c[3, %i, 7, 0] [%m, 64] into %u {dims = [1, 3]}
  tile.load %c[3, %i, 7, 0] [%m, 64] into %u {dims = [1, 3]}
}

// CHECK-LABEL: npu.kernel @store
npu.kernel @store (%i) (%x: memref<?x512xf32, "gm">, %y: memref<?x512xbf16, "gm">, %m: index) on mixed {
  %u = tile.alloc : !tile.buf<16x256xf32, ub>
  %c = tile.alloc : !tile.buf<16x256xf32, l0c>
  // CHECK: tile.store %u [%m, 256] into %x[%i, 0] : !tile.buf<16x256xf32, ub>, memref<?x512xf32, "gm">
  tile.store %u [%m, 256] into %x[%i, 0]
  // CHECK-NEXT: tile.store %c [16, 256] into %y[%i, 256] : !tile.buf<16x256xf32, l0c>, memref<?x512xbf16, "gm">
  tile.store %c [16, 256] into %y[%i, 256]
  // CHECK-NEXT: %fb = tile.alloc : !tile.buf<1x256xf32, fb>
  %fb = tile.alloc : !tile.buf<1x256xf32, fb>
  // CHECK-NEXT: tile.store %c [16, 256] scale %fb into %y[%i, 256] {relu} : !tile.buf<16x256xf32, l0c>, !tile.buf<1x256xf32, fb>, memref<?x512xbf16, "gm">
  tile.store %c [16, 256] scale %fb into %y[%i, 256] {relu}
  // CHECK-NEXT: tile.store %u [16, 256] into %x[%i, 0] {dims = [1, 0], combine = "add"} :
  tile.store %u [16, 256] into %x[%i, 0] {combine = "add", dims = [1, 0]}
}

// CHECK-LABEL: npu.kernel @move
npu.kernel @move (%i) (%m: index) on cube {
  %l = tile.alloc : !tile.buf<16x256xf8E4M3FN, l1>
  %s = tile.alloc : !tile.buf<4x64xf8E8M0FNU, l1>
  %a = tile.alloc : !tile.buf<16x64xf8E4M3FN, l0a>
  %b = tile.alloc : !tile.buf<64x16xf8E4M3FN, l0b>
  %sa = tile.alloc : !tile.buf<16x8xf8E8M0FNU, scale_a>
  %sb = tile.alloc : !tile.buf<32x8xf8E8M0FNU, scale_b>
  // CHECK: tile.move %l[0, %i] [%m, 64] into %a : !tile.buf<16x256xf8E4M3FN, l1>, !tile.buf<16x64xf8E4M3FN, l0a>
  tile.move %l[0, %i] [%m, 64] into %a
  // CHECK-NEXT: tile.move %l[0, 192] [16, 64] into %b {trans} : {{.*}}, !tile.buf<64x16xf8E4M3FN, l0b>
  tile.move %l[0, 192] [16, 64] into %b {trans}
  // CHECK-NEXT: tile.move %s[0, 0] [4, 8] into %sa :
  tile.move %s[0, 0] [4, 8] into %sa
  // CHECK-NEXT: tile.move %s[0, 0] [4, 64] into %sb {pairs} :
  tile.move %s[0, 0] [4, 64] into %sb {pairs}
}

// CHECK-LABEL: npu.kernel @read
npu.kernel @read (%i) (%t: memref<?x4xi32, "gm">, %f: memref<1xf32, "gm">) on vector {
  // CHECK: %p = tile.read %t[%i, 3] : memref<?x4xi32, "gm"> -> index
  %p = tile.read %t[%i, 3] : memref<?x4xi32, "gm"> -> index
  // CHECK-NEXT: %q = tile.read %t[%p, 0] {tag = "q"} : memref<?x4xi32, "gm"> -> f32
  %q = tile.read %t[%p, 0] {tag = "q"} : memref<?x4xi32, "gm"> -> f32
  // CHECK-NEXT: %r = tile.read %f[0] : memref<1xf32, "gm"> -> f32
  %r = tile.read %f[0] : memref<1xf32, "gm"> -> f32
}
