// RUN: pyptoc %s --pipeline='plan-memory{slots=4}' --remarks | filecheck %s
// RUN: pyptoc %s --pipeline='plan-memory{slots=4}' --remarks 2>&1 >%t.out | filecheck %s --check-prefix=REMARK
// RUN: pyptoc %s --pipeline=plan-memory | filecheck %s --check-prefix=TWO

// What a loop loads may run further ahead than one trip: its trips are counted round in
// more slots, as far as memory goes. What is stored keeps its two.

// CHECK-LABEL: npu.kernel @room
// CHECK:         %a = tile.alloc {addr = 0, slots = 4}
// CHECK:         %b = tile.alloc {addr = 1024, slots = 2}
// CHECK:           [[S:%\w+]] = pypto.index %k mod 4
// CHECK-NEXT:      tile.slot %a{{\[}}[[S]]]
// CHECK:           tile.slot %b[%s]
// TWO-LABEL:   npu.kernel @room
// TWO:           %a = tile.alloc {addr = 0, slots = 2}
npu.kernel @room (%i) (%x: memref<64x16xf32, "gm">, %y: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {slots = 2} : !tile.buf<4x16xf32, ub>
  %b = tile.alloc {slots = 2} : !tile.buf<4x16xf32, ub>
  scf.for %k = %c0 to %n step %c1 {
    %s = pypto.index %k mod 2
    %as = tile.slot %a[%s]
    tile.load %x[0, 0] [4, 16] into %as
    %bs = tile.slot %b[%s]
    tile.exp %as into %bs [4, 16]
    tile.store %bs [4, 16] into %y[0, 0]
  }
}

// 64 KiB a slot: three fit beside the others, a fourth does not.

// CHECK-LABEL: npu.kernel @tight
// CHECK:         %a = tile.alloc {addr = {{\d+}}, slots = 3}
// REMARK:        remark[PTO326]: %a in @tight keeps 3 of 4 slots, so that ub fits
npu.kernel @tight (%i) (%x: memref<64x1024xf32, "gm">, %y: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {slots = 2} : !tile.buf<16x1024xf32, ub>
  %b = tile.alloc {slots = 2} : !tile.buf<16x1xf32, ub>
  scf.for %k = %c0 to %n step %c1 {
    %s = pypto.index %k mod 2
    %as = tile.slot %a[%s]
    tile.load %x[0, 0] [16, 1024] into %as
    %bs = tile.slot %b[%s]
    tile.row_sum %as into %bs [16, 1024]
    tile.store %bs [16, 1] into %y[0, 0]
  }
}

// There is a flag for each slot, and eight of them: not four slots for each of three.

// CHECK-LABEL: npu.kernel @flags
// CHECK:         tile.alloc {addr = {{\d+}}, slots = 3}
// CHECK:         tile.alloc {addr = {{\d+}}, slots = 3}
// CHECK:         tile.alloc {addr = {{\d+}}, slots = 2}
npu.kernel @flags (%i) (%x: memref<64x16xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {slots = 2} : !tile.buf<4x16xf32, ub>
  %b = tile.alloc {slots = 2} : !tile.buf<4x16xf32, ub>
  %c = tile.alloc {slots = 2} : !tile.buf<4x16xf32, ub>
  %d = tile.alloc : !tile.buf<4x16xf32, ub>
  scf.for %k = %c0 to %n step %c1 {
    %s = pypto.index %k mod 2
    %as = tile.slot %a[%s]
    tile.load %x[0, 0] [4, 16] into %as
    tile.exp %as into %d [4, 16]
    %bs = tile.slot %b[%s]
    tile.load %x[0, 0] [4, 16] into %bs
    tile.exp %bs into %d [4, 16]
    %cs = tile.slot %c[%s]
    tile.load %x[0, 0] [4, 16] into %cs
    tile.exp %cs into %d [4, 16]
  }
}
