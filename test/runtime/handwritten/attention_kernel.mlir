// RUN: pyptoc %s --pipeline= | filecheck %s
// Flash attention of any number of queries and keys, written by hand at kernel level: a
// cube core and two vector cores, with channels between them. A task has 128 queries of
// one head; each vector core has the rows of one half. The loop over blocks of 128 keys
// is skewed: while the vector cores take the softmax of block t, the cube core
// multiplies block t + 1 with the queries. There are no addresses and no flags yet.

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
// CHECK: tile.channel {slots = 2} : !tile.chan<128x128xf32, l0c -> ub, rows>
// CHECK: tile.section cube {
// CHECK: tile.push %{{.*}} [%{{.*}}, %{{.*}}] into %{{.*}} : !tile.buf<128x128xf32, l0c>, !tile.chan<128x128xf32, l0c -> ub, rows>
// CHECK: tile.section vector (%half) {
// CHECK: tile.pop %{{.*}} : !tile.chan<128x128xf32, l0c -> ub, rows>
// CHECK: tile.free %{{.*}} : !tile.chan<128x128xf32, l0c -> ub, rows>
npu.kernel @attend (%h, %i) (%q: memref<?x?x128xbf16, "gm">, %k: memref<?x?x128xbf16, "gm">,
    %v: memref<?x?x128xbf16, "gm">, %out: memref<?x?x128xbf16, "gm">,
    %queries: index, %keys: index) on mixed {
  %scores = tile.channel {slots = 2} : !tile.chan<128x128xf32, l0c -> ub, rows>
  %weights = tile.channel {slots = 2} : !tile.chan<128x128xbf16, ub -> l1, rows>
  %parts = tile.channel {slots = 2} : !tile.chan<128x128xf32, l0c -> ub, rows>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %row = pypto.index %i * 128
  %m = pypto.index min(128, %queries - %row)
  %blocks = pypto.index %keys ceildiv 128
  %trips = pypto.index %blocks + 1

  tile.section cube {
    %q_l1 = tile.alloc : !tile.buf<128x128xbf16, l1>
    %k_l1 = tile.alloc {slots = 2} : !tile.buf<128x128xbf16, l1>
    %v_l1 = tile.alloc {slots = 2} : !tile.buf<128x128xbf16, l1>
    %left = tile.alloc {slots = 2} : !tile.buf<128x128xbf16, l0a>
    %right = tile.alloc {slots = 2} : !tile.buf<128x128xbf16, l0b>
    %qk = tile.alloc {slots = 2} : !tile.buf<128x128xf32, l0c>
    %pv = tile.alloc {slots = 2} : !tile.buf<128x128xf32, l0c>
    tile.load %q[%h, %row, 0] [%m, 128] into %q_l1
    %l0 = tile.slot %left[0]
    %r0 = tile.slot %right[0]
    %l1 = tile.slot %left[1]
    %r1 = tile.slot %right[1]
    scf.for %t = %zero to %trips step %one {
      %first = pypto.index %t < %blocks
      scf.if %first {
        %s = pypto.index %t mod 2
        %key = pypto.index 128 * %t
        %n = pypto.index min(128, %keys - %key)
        %ks = tile.slot %k_l1[%s]
        %acc = tile.slot %qk[%s]
        tile.load %k[%h, %key, 0] [%n, 128] into %ks
        tile.move %q_l1[0, 0] [%m, 128] into %l0
        tile.move %ks[0, 0] [%n, 128] into %r0 {trans}
        tile.matmul %l0, %r0 into %acc [%m, %n, 128]
        tile.push %acc [%m, %n] into %scores
      }
      %second = pypto.index %t >= 1
      scf.if %second {
        %s = pypto.index (%t + 1) mod 2
        %key = pypto.index 128 * %t - 128
        %n = pypto.index min(128, %keys - %key)
        %vs = tile.slot %v_l1[%s]
        %acc = tile.slot %pv[%s]
        tile.load %v[%h, %key, 0] [%n, 128] into %vs
        %p = tile.pop %weights
        tile.move %p[0, 0] [%m, %n] into %l1
        tile.move %vs[0, 0] [%n, 128] into %r1
        tile.free %weights
        tile.matmul %l1, %r1 into %acc [%m, 128, %n]
        tile.push %acc [%m, 128] into %parts
      }
    }
  }

  tile.section vector (%half) {
    %sum = tile.alloc : !tile.buf<64x1xf32, ub>
    %max = tile.alloc : !tile.buf<64x1xf32, ub>
    %new = tile.alloc : !tile.buf<64x1xf32, ub>
    %scale = tile.alloc {slots = 2} : !tile.buf<64x1xf32, ub>
    %total = tile.alloc : !tile.buf<64x128xf32, ub>
    %half_out = tile.alloc : !tile.buf<64x128xbf16, ub>
    %narrow = tile.alloc {slots = 2} : !tile.buf<64x128xbf16, ub>
    %mine = pypto.index min(max(%m - 64 * %half, 0), 64)
    tile.fill -inf into %max [%mine, 1]
    tile.fill 0.0 into %sum [%mine, 1]
    tile.fill 0.0 into %total [%mine, 128]
    scf.for %t = %zero to %trips step %one {
      %first = pypto.index %t < %blocks
      scf.if %first {
        %s = pypto.index %t mod 2
        %n = pypto.index min(128, %keys - 128 * %t)
        %alpha = tile.slot %scale[%s]
        %p = tile.slot %narrow[%s]
        %x = tile.pop %scores
        tile.mul %x, 0.0883883461 into %x [%mine, %n]
        tile.row_max %x into %new [%mine, %n]
        tile.maximum %new, %max into %new [%mine, 1]
        tile.sub %max, %new into %alpha [%mine, 1]
        tile.exp %alpha into %alpha [%mine, 1]
        tile.sub %x, %new row into %x [%mine, %n]
        tile.exp %x into %x [%mine, %n]
        tile.mul %sum, %alpha into %sum [%mine, 1]
        tile.cvt %x into %p [%mine, %n]
        tile.cvt %new into %max [%mine, 1]
        tile.row_sum %x into %new [%mine, %n]
        tile.add %sum, %new into %sum [%mine, 1]
        tile.free %scores
        tile.push %p [%mine, %n] into %weights
      }
      %second = pypto.index %t >= 1
      scf.if %second {
        %s = pypto.index (%t + 1) mod 2
        %alpha = tile.slot %scale[%s]
        %x = tile.pop %parts
        tile.mul %total, %alpha row into %total [%mine, 128]
        tile.add %total, %x into %total [%mine, 128]
        tile.free %parts
      }
    }
    tile.div %total, %sum row into %total [%mine, 128]
    tile.cvt %total into %half_out [%mine, 128]
    %start = pypto.index %row + min(64 * %half, %m)
    tile.store %half_out [%mine, 128] into %out[%h, %start, 0]
  }
}
