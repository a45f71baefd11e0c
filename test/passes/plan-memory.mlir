// RUN: pyptoc %s --pipeline=plan-memory | filecheck %s
// RUN: pyptoc %s --pipeline=plan-memory --remarks 2>&1 >%t.out | filecheck %s --check-prefix=REMARK

// While there is room, nobody shares: slots lie one after the other, each space has
// addresses of its own, and rows take whole 32 bytes.

// CHECK-LABEL: npu.kernel @room
// CHECK:         %a = tile.alloc {addr = 0, slots = 2}
// CHECK-NEXT:    %b = tile.alloc {addr = 512}
// CHECK-NEXT:    %c = tile.alloc {addr = 640}
npu.kernel @room (%i) (%x: memref<64x16xf32, "gm">) on vector {
  %a = tile.alloc {slots = 2} : !tile.buf<4x16xf32, ub>
  %b = tile.alloc : !tile.buf<4x1xf32, ub>
  %c = tile.alloc : !tile.buf<4x16xf32, ub>
  %a0 = tile.slot %a[0]
  tile.load %x[0, 0] [4, 16] into %a0
  tile.row_sum %a0 into %b [4, 16]
  tile.exp %a0 into %c [4, 16]
}

// Four buffers of 64 KiB, at most two alive at once. The two that only pipe v touches
// share; the loaded and the stored one keep bytes of their own, or they would wait for
// each other.

// CHECK-LABEL: npu.kernel @one_pipe_shares
// CHECK:         %in = tile.alloc {addr = 0}
// CHECK:         %t1 = tile.alloc {addr = 131072}
// CHECK:         %t2 = tile.alloc {addr = 65536}
// CHECK:         %t3 = tile.alloc {addr = 131072}
npu.kernel @one_pipe_shares (%i) (%x: memref<64x1024xf32, "gm">) on vector {
  %in = tile.alloc : !tile.buf<16x1024xf32, ub>
  tile.load %x[0, 0] [16, 1024] into %in
  %t1 = tile.alloc : !tile.buf<16x1024xf32, ub>
  tile.exp %in into %t1 [16, 1024]
  %t2 = tile.alloc : !tile.buf<16x1024xf32, ub>
  tile.neg %t1 into %t2 [16, 1024]
  %t3 = tile.alloc : !tile.buf<16x1024xf32, ub>
  tile.add %t2, 1.0 into %t3 [16, 1024]
}

// Where that is not enough, all that liveness allows is shared: %b takes the bytes of %a.

// CHECK-LABEL: npu.kernel @all_share
// CHECK:         %a = tile.alloc {addr = 0}
// CHECK:         %b = tile.alloc {addr = 0}
npu.kernel @all_share (%i) (%x: memref<64x2048xf32, "gm">, %y: memref<64x2048xf32, "gm">) on vector {
  %a = tile.alloc : !tile.buf<24x2048xf32, ub>
  tile.load %x[0, 0] [24, 2048] into %a
  tile.store %a [24, 2048] into %y[0, 0]
  %b = tile.alloc : !tile.buf<24x2048xf32, ub>
  tile.load %x[24, 0] [24, 2048] into %b
  tile.store %b [24, 2048] into %y[24, 0]
}

// What a loop uses lives through the loop: %acc is read after it, %w before each trip's
// use, so neither may share with %t, which lives within a trip. After the loop the bytes
// of %t and %w are free.

// CHECK-LABEL: npu.kernel @through_a_loop
// CHECK:         %acc = tile.alloc {addr = 0}
// CHECK:         %w = tile.alloc {addr = 65536}
// CHECK:           %t = tile.alloc {addr = 131072}
// CHECK:         %late = tile.alloc {addr = 131072}
// CHECK:         %later = tile.alloc {addr = 65536}
npu.kernel @through_a_loop (%i) (%x: memref<64x1024xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %acc = tile.alloc : !tile.buf<16x1024xf32, ub>
  tile.fill 0.0 into %acc [16, 1024]
  %w = tile.alloc : !tile.buf<16x1024xf32, ub>
  tile.fill 2.0 into %w [16, 1024]
  scf.for %k = %c0 to %n step %c1 {
    %t = tile.alloc : !tile.buf<16x1024xf32, ub>
    tile.mul %w, %w into %t [16, 1024]
    tile.add %acc, %t into %acc [16, 1024]
  }
  %late = tile.alloc : !tile.buf<24x512xf32, ub>
  tile.exp %acc into %late [16, 512]
  %later = tile.alloc : !tile.buf<16x1024xf32, ub>
  tile.add %acc, %late col into %later [16, 512]
}

// A value that both branches write, and that is read behind them, lives through both:
// %t, which lives in the second branch, may not share with it.

// CHECK-LABEL: npu.kernel @through_branches
// CHECK:         %r = tile.alloc {addr = 0}
// CHECK:           %t = tile.alloc {addr = 131072}
npu.kernel @through_branches (%i) (%y: memref<64x2048xf32, "gm">, %n: index) on vector {
  %r = tile.alloc : !tile.buf<16x2048xf32, ub>
  %zero = pypto.index %n == 0
  scf.if %zero {
    tile.fill 0.0 into %r [16, 2048]
  } else {
    %t = tile.alloc : !tile.buf<12x2048xf32, ub>
    tile.fill 1.0 into %t [12, 2048]
    tile.add %t, %t into %r [12, 2048]
  }
  tile.store %r [16, 2048] into %y[0, 0]
}

// Too much with two slots each: the largest gives one up. Its index goes with it.

// CHECK-LABEL: npu.kernel @fewer_slots
// CHECK:         %a = tile.alloc {addr = {{\d+}}} :
// CHECK:         %b = tile.alloc {addr = {{\d+}}, slots = 2}
// CHECK:           tile.load {{.*}} into %a :
// CHECK:           tile.slot %b[%s]
// REMARK:        remark[PTO326]: %a in @fewer_slots keeps 1 of 2 slots, so that ub fits
npu.kernel @fewer_slots (%i) (%x: memref<64x2048xf32, "gm">, %y: memref<64x2048xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {slots = 2} : !tile.buf<16x2048xf32, ub>
  %b = tile.alloc {slots = 2} : !tile.buf<4x2048xf32, ub>
  scf.for %k = %c0 to %n step %c1 {
    %s = pypto.index %k mod 2
    %as = tile.slot %a[%s]
    tile.load %x[0, 0] [16, 2048] into %as
    %bs = tile.slot %b[%s]
    tile.row_sum %as into %bs [4, 2048]
    tile.store %bs [4, 1] into %y[0, 0]
  }
}

// Of three slots one goes: the trips are counted round in two.

// CHECK-LABEL: npu.kernel @wrapped_index
// CHECK:         tile.alloc {addr = 0, slots = 2}
// CHECK:           [[T:%\w+]] = pypto.index %k mod 2
// CHECK-NEXT:      tile.slot %a{{\[}}[[T]]]
// REMARK:        remark[PTO326]: %a in @wrapped_index keeps 2 of 3 slots
npu.kernel @wrapped_index (%i) (%x: memref<64x2048xf32, "gm">, %y: memref<64x2048xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {slots = 3} : !tile.buf<15x2048xf32, ub>
  scf.for %k = %c0 to %n step %c1 {
    %s = pypto.index %k mod 3
    %as = tile.slot %a[%s]
    tile.load %x[0, 0] [15, 2048] into %as
    tile.store %as [15, 2048] into %y[0, 0]
  }
}

// An index that is no count is wrapped around.

// CHECK-LABEL: npu.kernel @any_index
// CHECK:           %s = pypto.index min(%k, 2)
// CHECK-NEXT:      [[T:%\w+]] = pypto.index %s mod 2
// CHECK-NEXT:      tile.slot %a{{\[}}[[T]]]
npu.kernel @any_index (%i) (%x: memref<64x2048xf32, "gm">, %y: memref<64x2048xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {slots = 3} : !tile.buf<15x2048xf32, ub>
  scf.for %k = %c0 to %n step %c1 {
    %s = pypto.index min(%k, 2)
    %as = tile.slot %a[%s]
    tile.load %x[0, 0] [15, 2048] into %as
    tile.store %as [15, 2048] into %y[0, 0]
  }
}
