// RUN: pyptoc %s --pipeline=insert-sync | filecheck %s
// RUN: pyptoc %s --pipeline=insert-sync --remarks 2>&1 >%t.out | filecheck %s --check-prefix=REMARK

// A pair of pipes has 8 flag ids. Outside loops they are used again once the source
// knows that the last wait is over: the target says so, now and then.

// CHECK-LABEL: npu.kernel @one_after_the_other
// CHECK:         tile.set_flag [mte2 -> v, 7]
// CHECK-NOT:     tile.set_flag [mte2 -> v, 8]
// CHECK-NOT:     tile.barrier
// CHECK:         tile.wait_flag [v -> mte2, 0]
// CHECK-NOT:     tile.barrier
// CHECK:         tile.set_flag [mte2 -> v, 0]
// REMARK-NOT:    one_after_the_other
npu.kernel @one_after_the_other (%i) (%x: memref<64x16xf32, "gm">, %n: index) on vector {
  %sum = tile.alloc {addr = 8192} : !tile.buf<4x16xf32, ub>
  tile.fill 0.0 into %sum [4, 16]
  %b0 = tile.alloc {addr = 0} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b0
  tile.add %sum, %b0 into %sum [4, 16]
  %b1 = tile.alloc {addr = 256} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b1
  tile.add %sum, %b1 into %sum [4, 16]
  %b2 = tile.alloc {addr = 512} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b2
  tile.add %sum, %b2 into %sum [4, 16]
  %b3 = tile.alloc {addr = 768} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b3
  tile.add %sum, %b3 into %sum [4, 16]
  %b4 = tile.alloc {addr = 1024} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b4
  tile.add %sum, %b4 into %sum [4, 16]
  %b5 = tile.alloc {addr = 1280} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b5
  tile.add %sum, %b5 into %sum [4, 16]
  %b6 = tile.alloc {addr = 1536} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b6
  tile.add %sum, %b6 into %sum [4, 16]
  %b7 = tile.alloc {addr = 1792} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b7
  tile.add %sum, %b7 into %sum [4, 16]
  %b8 = tile.alloc {addr = 2048} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b8
  tile.add %sum, %b8 into %sum [4, 16]
  %b9 = tile.alloc {addr = 2304} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b9
  tile.add %sum, %b9 into %sum [4, 16]
  %b10 = tile.alloc {addr = 2560} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b10
  tile.add %sum, %b10 into %sum [4, 16]
  %b11 = tile.alloc {addr = 2816} : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %b11
  tile.add %sum, %b11 into %sum [4, 16]
}

// Five phases, each with two slots: their tokens take ids in turn.

// CHECK-LABEL: npu.kernel @phases
// CHECK-NOT:     flag {{.*}}, 8
// CHECK-NOT:     tile.barrier
// CHECK-COUNT-5: scf.for
// REMARK-NOT:    phases
npu.kernel @phases (%i) (%x: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = tile.alloc {addr = 8192} : !tile.buf<4x16xf32, ub>
  tile.fill 0.0 into %sum [4, 16]
  %a0 = tile.alloc {addr = 0, slots = 2} : !tile.buf<4x16xf32, ub>
  scf.for %k0 = %c0 to %n step %c1 {
    %s0 = pypto.index %k0 mod 2
    %b0 = tile.slot %a0[%s0]
    tile.load %x[0, 0] [4, 16] into %b0
    tile.add %sum, %b0 into %sum [4, 16]
  }
  %a1 = tile.alloc {addr = 512, slots = 2} : !tile.buf<4x16xf32, ub>
  scf.for %k1 = %c0 to %n step %c1 {
    %s1 = pypto.index %k1 mod 2
    %b1 = tile.slot %a1[%s1]
    tile.load %x[0, 0] [4, 16] into %b1
    tile.add %sum, %b1 into %sum [4, 16]
  }
  %a2 = tile.alloc {addr = 1024, slots = 2} : !tile.buf<4x16xf32, ub>
  scf.for %k2 = %c0 to %n step %c1 {
    %s2 = pypto.index %k2 mod 2
    %b2 = tile.slot %a2[%s2]
    tile.load %x[0, 0] [4, 16] into %b2
    tile.add %sum, %b2 into %sum [4, 16]
  }
  %a3 = tile.alloc {addr = 1536, slots = 2} : !tile.buf<4x16xf32, ub>
  scf.for %k3 = %c0 to %n step %c1 {
    %s3 = pypto.index %k3 mod 2
    %b3 = tile.slot %a3[%s3]
    tile.load %x[0, 0] [4, 16] into %b3
    tile.add %sum, %b3 into %sum [4, 16]
  }
  %a4 = tile.alloc {addr = 2048, slots = 2} : !tile.buf<4x16xf32, ub>
  scf.for %k4 = %c0 to %n step %c1 {
    %s4 = pypto.index %k4 mod 2
    %b4 = tile.slot %a4[%s4]
    tile.load %x[0, 0] [4, 16] into %b4
    tile.add %sum, %b4 into %sum [4, 16]
  }
}

// In a loop, five groups of two slots want ten ids: one slot at a time is in use.

// CHECK-LABEL: npu.kernel @too_many_slots
// CHECK-NOT:     tile.barrier
// CHECK:         scf.for
// CHECK:           tile.set_flag [mte2 -> v, 4]
// CHECK-NOT:       tile.set_flag [mte2 -> v, 5]
// CHECK-LABEL: npu.kernel @too_many_groups
// REMARK:        remark[PTO336]: @too_many_slots needs more flags between mte2 and v than there are: one slot at a time is in use
npu.kernel @too_many_slots (%i) (%x: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = tile.alloc {addr = 8192} : !tile.buf<4x16xf32, ub>
  tile.fill 0.0 into %sum [4, 16]
  %a0 = tile.alloc {addr = 0, slots = 2} : !tile.buf<4x16xf32, ub>
  %a1 = tile.alloc {addr = 512, slots = 2} : !tile.buf<4x16xf32, ub>
  %a2 = tile.alloc {addr = 1024, slots = 2} : !tile.buf<4x16xf32, ub>
  %a3 = tile.alloc {addr = 1536, slots = 2} : !tile.buf<4x16xf32, ub>
  %a4 = tile.alloc {addr = 2048, slots = 2} : !tile.buf<4x16xf32, ub>
  scf.for %k = %c0 to %n step %c1 {
    %s = pypto.index %k mod 2
    %s0 = tile.slot %a0[%s]
    tile.load %x[0, 0] [4, 16] into %s0
    tile.add %sum, %s0 into %sum [4, 16]
    %s1 = tile.slot %a1[%s]
    tile.load %x[0, 0] [4, 16] into %s1
    tile.add %sum, %s1 into %sum [4, 16]
    %s2 = tile.slot %a2[%s]
    tile.load %x[0, 0] [4, 16] into %s2
    tile.add %sum, %s2 into %sum [4, 16]
    %s3 = tile.slot %a3[%s]
    tile.load %x[0, 0] [4, 16] into %s3
    tile.add %sum, %s3 into %sum [4, 16]
    %s4 = tile.slot %a4[%s]
    tile.load %x[0, 0] [4, 16] into %s4
    tile.add %sum, %s4 into %sum [4, 16]
  }
}

// Nine groups of one slot want nine: barriers.

// CHECK:         scf.for
// CHECK:           tile.load
// CHECK-NEXT:      tile.barrier
// CHECK-NEXT:      tile.add
// REMARK:        remark[PTO336]: @too_many_groups needs more flags than there are: 9 barriers stand in for them
npu.kernel @too_many_groups (%i) (%x: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = tile.alloc {addr = 8192} : !tile.buf<4x16xf32, ub>
  tile.fill 0.0 into %sum [4, 16]
  %a0 = tile.alloc {addr = 0} : !tile.buf<4x16xf32, ub>
  %a1 = tile.alloc {addr = 512} : !tile.buf<4x16xf32, ub>
  %a2 = tile.alloc {addr = 1024} : !tile.buf<4x16xf32, ub>
  %a3 = tile.alloc {addr = 1536} : !tile.buf<4x16xf32, ub>
  %a4 = tile.alloc {addr = 2048} : !tile.buf<4x16xf32, ub>
  %a5 = tile.alloc {addr = 2560} : !tile.buf<4x16xf32, ub>
  %a6 = tile.alloc {addr = 3072} : !tile.buf<4x16xf32, ub>
  %a7 = tile.alloc {addr = 3584} : !tile.buf<4x16xf32, ub>
  %a8 = tile.alloc {addr = 4096} : !tile.buf<4x16xf32, ub>
  scf.for %k = %c0 to %n step %c1 {
    tile.load %x[0, 0] [4, 16] into %a0
    tile.add %sum, %a0 into %sum [4, 16]
    tile.load %x[0, 0] [4, 16] into %a1
    tile.add %sum, %a1 into %sum [4, 16]
    tile.load %x[0, 0] [4, 16] into %a2
    tile.add %sum, %a2 into %sum [4, 16]
    tile.load %x[0, 0] [4, 16] into %a3
    tile.add %sum, %a3 into %sum [4, 16]
    tile.load %x[0, 0] [4, 16] into %a4
    tile.add %sum, %a4 into %sum [4, 16]
    tile.load %x[0, 0] [4, 16] into %a5
    tile.add %sum, %a5 into %sum [4, 16]
    tile.load %x[0, 0] [4, 16] into %a6
    tile.add %sum, %a6 into %sum [4, 16]
    tile.load %x[0, 0] [4, 16] into %a7
    tile.add %sum, %a7 into %sum [4, 16]
    tile.load %x[0, 0] [4, 16] into %a8
    tile.add %sum, %a8 into %sum [4, 16]
  }
}

// A loop takes all ids of v -> mte2, and behind it one more is wanted: what was asked
// for before the loop frees none of them, so barriers stand in.

// CHECK-LABEL: npu.kernel @none_behind_a_loop
// CHECK:         scf.for
// CHECK:         }
// CHECK-COUNT-8: tile.wait_flag [v -> mte2, {{[0-7]}}]
// CHECK:         tile.barrier
// CHECK-NEXT:    tile.load
// REMARK:        remark[PTO336]: @none_behind_a_loop needs more flags than there are: 2 barriers stand in for them
// REMARK-NOT:    remark
npu.kernel @none_behind_a_loop (%i) (%x: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = tile.alloc {addr = 8192} : !tile.buf<4x16xf32, ub>
  tile.fill 0.0 into %sum [4, 16]
  tile.load %x[0, 0] [4, 16] into %sum
  %a0 = tile.alloc {addr = 0, slots = 2} : !tile.buf<4x16xf32, ub>
  %a1 = tile.alloc {addr = 512, slots = 2} : !tile.buf<4x16xf32, ub>
  %a2 = tile.alloc {addr = 1024, slots = 2} : !tile.buf<4x16xf32, ub>
  %a3 = tile.alloc {addr = 1536, slots = 2} : !tile.buf<4x16xf32, ub>
  scf.for %k = %c0 to %n step %c1 {
    %s = pypto.index %k mod 2
    %s0 = tile.slot %a0[%s]
    tile.load %x[0, 0] [4, 16] into %s0
    tile.add %sum, %s0 into %sum [4, 16]
    %s1 = tile.slot %a1[%s]
    tile.load %x[0, 0] [4, 16] into %s1
    tile.add %sum, %s1 into %sum [4, 16]
    %s2 = tile.slot %a2[%s]
    tile.load %x[0, 0] [4, 16] into %s2
    tile.add %sum, %s2 into %sum [4, 16]
    %s3 = tile.slot %a3[%s]
    tile.load %x[0, 0] [4, 16] into %s3
    tile.add %sum, %s3 into %sum [4, 16]
    tile.clip %sum, -4.0, 4.0 into %sum [4, 16]
  }
  tile.load %x[0, 0] [4, 16] into %sum
}
