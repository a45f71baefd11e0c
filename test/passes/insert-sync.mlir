// RUN: pyptoc %s --pipeline=insert-sync | filecheck %s

// A load group (both slots) is one flag each way, one token a slot: given before the
// outermost loop, taken back after it. Level 0 is a group of its own, in the inner loop,
// and its tokens too are given outside, so that one trip's end overlaps the next.

// CHECK-LABEL: npu.kernel @pipeline
// CHECK:         tile.set_flag [m -> mte1, 0]
// CHECK-NEXT:    tile.set_flag [m -> mte1, 1]
// CHECK-NEXT:    tile.set_flag [mte1 -> mte2, 0]
// CHECK-NEXT:    tile.set_flag [mte1 -> mte2, 1]
// CHECK-NEXT:    scf.for
// CHECK:           [[S:%\w+]] = pypto.index
// CHECK:           tile.wait_flag [mte1 -> mte2, [[S]]]
// CHECK-NEXT:      tile.load %a
// CHECK-NOT:       flag
// CHECK:           tile.load %b
// CHECK-NEXT:      tile.set_flag [mte2 -> mte1, [[S]]]
// CHECK-NEXT:      tile.wait_flag [mte2 -> mte1, [[S]]]
// CHECK-NEXT:      scf.for
// CHECK:             [[T:%\w+]] = pypto.index
// CHECK:             tile.wait_flag [m -> mte1, [[T]]]
// CHECK-NEXT:        tile.move
// CHECK:             tile.move
// CHECK-NEXT:        tile.set_flag [mte1 -> m, [[T]]]
// CHECK:             tile.wait_flag [mte1 -> m, [[T]]]
// CHECK-NEXT:        tile.matmul
// CHECK-NEXT:        tile.set_flag [m -> mte1, [[T]]]
// CHECK-NEXT:      }
// CHECK-NEXT:      tile.set_flag [mte1 -> mte2, [[S]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.wait_flag [m -> mte1, 0]
// CHECK-NEXT:    tile.wait_flag [m -> mte1, 1]
// CHECK-NEXT:    tile.wait_flag [mte1 -> mte2, 0]
// CHECK-NEXT:    tile.wait_flag [mte1 -> mte2, 1]
// CHECK-NEXT:    tile.set_flag [m -> fix, 0]
// CHECK-NEXT:    tile.wait_flag [m -> fix, 0]
// CHECK-NEXT:    tile.store
npu.kernel @pipeline (%i) (%a: memref<16x512xf16, "gm">, %b: memref<512x64xf16, "gm">, %y: memref<16x64xf32, "gm">, %n: index) on cube {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c64 = arith.constant 64 : index
  %l1a = tile.alloc {addr = 0, slots = 2} : !tile.buf<16x128xf16, l1>
  %l1b = tile.alloc {addr = 8192, slots = 2} : !tile.buf<128x64xf16, l1>
  %l0a = tile.alloc {addr = 0, slots = 2} : !tile.buf<16x64xf16, l0a>
  %l0b = tile.alloc {addr = 0, slots = 2} : !tile.buf<64x64xf16, l0b>
  %c = tile.alloc {addr = 0} : !tile.buf<16x64xf32, l0c>
  scf.for %k = %c0 to %n step %c128 {
    %s = pypto.index (%k floordiv 128) mod 2
    %as = tile.slot %l1a[%s]
    tile.load %a[0, %k] [16, 128] into %as
    %bs = tile.slot %l1b[%s]
    tile.load %b[%k, 0] [128, 64] into %bs
    scf.for %k0 = %c0 to %c128 step %c64 {
      %t = pypto.index (%k0 floordiv 64) mod 2
      %at = tile.slot %l0a[%t]
      tile.move %as[0, %k0] [16, 64] into %at
      %bt = tile.slot %l0b[%t]
      tile.move %bs[%k0, 0] [64, 64] into %bt
      %more = pypto.index %k + %k0 > 0
      tile.matmul %at, %bt into %c [16, 64, 64] accumulate %more
    }
  }
  tile.store %c [16, 64] into %y[0, 0]
}

// One slot: one id, distance one. The store reads what the next trip's load overwrites,
// and so did the vector instruction before it: the flag from the store covers both.

// CHECK-LABEL: npu.kernel @one_slot
// CHECK:         tile.set_flag [mte3 -> mte2, 0]
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tile.wait_flag [mte3 -> mte2, 0]
// CHECK-NEXT:      tile.load
// CHECK-NEXT:      tile.set_flag [mte2 -> v, 0]
// CHECK-NEXT:      tile.wait_flag [mte2 -> v, 0]
// CHECK-NEXT:      tile.exp
// CHECK-NEXT:      tile.set_flag [v -> mte3, 0]
// CHECK-NEXT:      tile.wait_flag [v -> mte3, 0]
// CHECK-NEXT:      tile.store
// CHECK-NEXT:      tile.set_flag [mte3 -> mte2, 0]
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.wait_flag [mte3 -> mte2, 0]
// CHECK-NEXT:  }
npu.kernel @one_slot (%i) (%x: memref<64x16xf32, "gm">, %y: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = tile.alloc {addr = 0} : !tile.buf<4x16xf32, ub>
  scf.for %r = %c0 to %n step %c4 {
    tile.load %x[%r, 0] [4, 16] into %a
    tile.exp %a into %a [4, 16]
    tile.store %a [4, 16] into %y[%r, 0]
  }
}

// Buffers that share bytes conflict: %b is loaded where %a was.

// CHECK-LABEL: npu.kernel @shared_bytes
// CHECK:         tile.exp
// CHECK-NEXT:    tile.set_flag [v -> mte2, 0]
// CHECK:         tile.wait_flag [v -> mte2, 0]
// CHECK-NEXT:    tile.load %x[4, 0]
npu.kernel @shared_bytes (%i) (%x: memref<64x16xf32, "gm">, %y: memref<64x16xf32, "gm">) on vector {
  %a = tile.alloc {addr = 0} : !tile.buf<4x16xf32, ub>
  %d = tile.alloc {addr = 512} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %a
  tile.exp %a into %d [4, 16]
  %b = tile.alloc {addr = 128} : !tile.buf<4x16xf32, ub>
  tile.load %x[4, 0] [4, 16] into %b
  tile.add %b, %d into %d [4, 16]
  tile.store %d [4, 16] into %y[0, 0]
}

// So do a store and a load of one memory, and of two parameters that are one buffer.

// CHECK-LABEL: npu.kernel @through_memory
// CHECK:         tile.store %a [4, 16] into %y
// CHECK-NEXT:    tile.set_flag [mte3 -> mte2, 0]
// CHECK:         tile.wait_flag [mte3 -> mte2, 0]
// CHECK-NEXT:    tile.load %x[0, 0] [4, 16] into %b
npu.kernel @through_memory (%i) (%x: memref<64x16xf32, "gm">, %y: memref<64x16xf32, "gm">) on vector {
  %a = tile.alloc {addr = 0} : !tile.buf<4x16xf32, ub>
  tile.fill 1.0 into %a [4, 16]
  tile.store %a [4, 16] into %y[0, 0]
  %b = tile.alloc {addr = 512} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b
}

func.func @main(%z: memref<64x16xf32, "gm">) {
  %0 = npu.launch @through_memory[1] (%z, %z)
  func.return
}

// A branch leaves each flag as it found it. Both branches use the buffer, so that across
// the trips of the loop they meet: the token stands around the branch, and one more flag
// keeps it from being given twice when the branch that waits for nothing is taken.

// CHECK-LABEL: npu.kernel @branches
// CHECK:         tile.set_flag [v -> mte2, 0]
// CHECK:         scf.for
// CHECK:           tile.wait_flag [v -> mte2, 0]
// CHECK:           scf.if
// CHECK-NEXT:        tile.load
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tile.exp
// CHECK-NEXT:      }
// CHECK:           tile.set_flag [v -> mte2, 0]
// CHECK:         }
// CHECK:         tile.wait_flag [v -> mte2, 0]
npu.kernel @branches (%i) (%x: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {addr = 0} : !tile.buf<4x16xf32, ub>
  tile.fill 1.0 into %a [4, 16]
  scf.for %r = %c0 to %n step %c1 {
    %even = pypto.index %r mod 2 == 0
    scf.if %even {
      tile.load %x[0, 0] [4, 16] into %a
    } else {
      tile.exp %a into %a [4, 16]
    }
  }
}

// Inside one branch, flags and tokens stay in the branch; the tokens are given outside
// the loop, so that a trip that takes the other branch passes them on.

// CHECK-LABEL: npu.kernel @inside_a_branch
// CHECK:         tile.set_flag [v -> mte2, 0]
// CHECK-NEXT:    scf.for
// CHECK-NOT:       flag
// CHECK:           scf.if
// CHECK-NEXT:        tile.wait_flag [v -> mte2, 0]
// CHECK-NEXT:        tile.load
// CHECK-NEXT:        tile.set_flag [mte2 -> v, 0]
// CHECK-NEXT:        tile.wait_flag [mte2 -> v, 0]
// CHECK-NEXT:        tile.exp
// CHECK-NEXT:        tile.set_flag [v -> mte2, 0]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.wait_flag [v -> mte2, 0]
npu.kernel @inside_a_branch (%i) (%x: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {addr = 0} : !tile.buf<4x16xf32, ub>
  scf.for %r = %c0 to %n step %c1 {
    %even = pypto.index %r mod 2 == 0
    scf.if %even {
      tile.load %x[0, 0] [4, 16] into %a
      tile.exp %a into %a [4, 16]
    }
  }
}

// A loop may run no time: what comes after it is ordered with what came before it. The
// token that the loop gives back says so, without another flag.

// CHECK-LABEL: npu.kernel @zero_trips
// CHECK:         tile.fill
// CHECK-NEXT:    tile.set_flag [v -> mte2, 0]
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      tile.wait_flag [v -> mte2, 0]
// CHECK-NEXT:      tile.load
// CHECK-NEXT:      tile.set_flag [mte2 -> v, 0]
// CHECK-NEXT:      tile.wait_flag [mte2 -> v, 0]
// CHECK-NEXT:      tile.exp
// CHECK-NEXT:      tile.set_flag [v -> mte2, 0]
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.wait_flag [v -> mte2, 0]
// CHECK-NEXT:    tile.load %x[4, 0]
// CHECK-NEXT:  }
npu.kernel @zero_trips (%i) (%x: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {addr = 0} : !tile.buf<4x16xf32, ub>
  tile.fill 1.0 into %a [4, 16]
  scf.for %r = %c0 to %n step %c1 {
    tile.load %x[0, 0] [4, 16] into %a
    tile.exp %a into %a [4, 16]
  }
  tile.load %x[4, 0] [4, 16] into %a
}

// Flags that are there already are the author's.

// CHECK-LABEL: npu.kernel @by_hand
// CHECK-COUNT-1: tile.set_flag
// CHECK-NOT:     tile.set_flag
npu.kernel @by_hand (%i) (%x: memref<64x16xf32, "gm">) on vector {
  %a = tile.alloc {addr = 0} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %a
  tile.set_flag [mte2 -> v, 5]
  tile.wait_flag [mte2 -> v, 5]
  tile.exp %a into %a [4, 16]
}
