// RUN: pyptoc %s --pipeline= | filecheck %s
// Flash attention of any number of queries and keys, as a mixed kernel that has no
// sections yet: one program for the cube core and its vector cores, as if one core had
// all memories. A task has 128 queries of one head. Tiles cross by tile.move, from l0c
// to ub and from ub to l1; split-mixed makes channels of these moves, and skew lets the
// cores overlap.

// CHECK-LABEL: func.func @attention
// CHECK: npu.launch @attend
func.func @attention(%q: memref<?x?x128xbf16, "gm"> {pypto.name = "q"},
                     %k: memref<?x?x128xbf16, "gm"> {pypto.name = "k"},
                     %v: memref<?x?x128xbf16, "gm"> {pypto.name = "v"})
    -> (memref<?x?x128xbf16, "gm"> {pypto.name = "out"}) {
  %heads = pypto.dim %q, 0
  %m = pypto.dim %q, 1
  %n = pypto.dim %k, 1
  %out = npu.alloc[%heads, %m, 128] : memref<?x?x128xbf16, "gm">
  %mb = pypto.index %m ceildiv 128
  %t = npu.launch @attend[%heads, %mb] (%q, %k, %v, %out, %m, %n)
  func.return %out : memref<?x?x128xbf16, "gm">
}

// CHECK-LABEL: npu.kernel @attend
// CHECK: on mixed
// CHECK: tile.move %acc[0, 0] [%m, %n] into %x : !tile.buf<128x128xf32, l0c>, !tile.buf<128x128xf32, ub>
// CHECK: tile.move %narrow[0, 0] [%m, %n] into %p : !tile.buf<128x128xbf16, ub>, !tile.buf<128x128xbf16, l1>
npu.kernel @attend (%h, %i) (%q: memref<?x?x128xbf16, "gm">, %k: memref<?x?x128xbf16, "gm">,
    %v: memref<?x?x128xbf16, "gm">, %out: memref<?x?x128xbf16, "gm">,
    %queries: index, %keys: index) on mixed {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %row = pypto.index %i * 128
  %m = pypto.index min(128, %queries - %row)
  %blocks = pypto.index %keys ceildiv 128

  %q_l1 = tile.alloc : !tile.buf<128x128xbf16, l1>
  %k_l1 = tile.alloc {slots = 2} : !tile.buf<128x128xbf16, l1>
  %v_l1 = tile.alloc {slots = 2} : !tile.buf<128x128xbf16, l1>
  %left = tile.alloc {slots = 2} : !tile.buf<128x128xbf16, l0a>
  %right = tile.alloc {slots = 2} : !tile.buf<128x128xbf16, l0b>
  %qk = tile.alloc {slots = 2} : !tile.buf<128x128xf32, l0c>
  %pv = tile.alloc {slots = 2} : !tile.buf<128x128xf32, l0c>
  %exps = tile.alloc {slots = 2} : !tile.buf<128x128xbf16, ub>
  %sum = tile.alloc : !tile.buf<128x1xf32, ub>
  %max = tile.alloc : !tile.buf<128x1xf32, ub>
  %total = tile.alloc : !tile.buf<128x128xf32, ub>
  %whole = tile.alloc : !tile.buf<128x128xbf16, ub>
  tile.load %q[%h, %row, 0] [%m, 128] into %q_l1
  tile.fill -inf into %max [%m, 1]
  tile.fill 0.0 into %sum [%m, 1]
  tile.fill 0.0 into %total [%m, 128]
  %l0 = tile.slot %left[0]
  %r0 = tile.slot %right[0]
  %l1 = tile.slot %left[1]
  %r1 = tile.slot %right[1]
  scf.for %t = %zero to %blocks step %one {
    %s = pypto.index %t mod 2
    %key = pypto.index 128 * %t
    %n = pypto.index min(128, %keys - %key)
    %ks = tile.slot %k_l1[%s]
    %acc = tile.slot %qk[%s]
    %x = tile.alloc : !tile.buf<128x128xf32, ub>
    %new = tile.alloc : !tile.buf<128x1xf32, ub>
    %alpha = tile.alloc : !tile.buf<128x1xf32, ub>
    %narrow = tile.slot %exps[%s]
    %p = tile.alloc : !tile.buf<128x128xbf16, l1>
    tile.load %k[%h, %key, 0] [%n, 128] into %ks
    tile.move %q_l1[0, 0] [%m, 128] into %l0
    tile.move %ks[0, 0] [%n, 128] into %r0 {trans}
    tile.matmul %l0, %r0 into %acc [%m, %n, 128]
    tile.move %acc[0, 0] [%m, %n] into %x

    tile.mul %x, 0.0883883461 into %x [%m, %n]
    tile.row_max %x into %new [%m, %n]
    tile.maximum %new, %max into %new [%m, 1]
    tile.sub %max, %new into %alpha [%m, 1]
    tile.exp %alpha into %alpha [%m, 1]
    tile.sub %x, %new row into %x [%m, %n]
    tile.exp %x into %x [%m, %n]
    tile.mul %sum, %alpha into %sum [%m, 1]
    tile.cvt %x into %narrow [%m, %n]
    tile.cvt %new into %max [%m, 1]
    tile.row_sum %x into %new [%m, %n]
    tile.add %sum, %new into %sum [%m, 1]
    tile.move %narrow[0, 0] [%m, %n] into %p

    %vs = tile.slot %v_l1[%s]
    %part = tile.slot %pv[%s]
    %y = tile.alloc : !tile.buf<128x128xf32, ub>
    tile.load %v[%h, %key, 0] [%n, 128] into %vs
    tile.move %p[0, 0] [%m, %n] into %l1
    tile.move %vs[0, 0] [%n, 128] into %r1
    tile.matmul %l1, %r1 into %part [%m, 128, %n]
    tile.move %part[0, 0] [%m, 128] into %y

    tile.mul %total, %alpha row into %total [%m, 128]
    tile.add %total, %y into %total [%m, 128]
  }
  tile.div %total, %sum row into %total [%m, 128]
  tile.cvt %total into %whole [%m, 128]
  tile.store %whole [%m, 128] into %out[%h, %row, 0]
}
