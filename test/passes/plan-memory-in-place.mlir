// RUN: not pyptoc %s --pipeline=plan-memory --split-input-file 2>%t.err | filecheck %s
// RUN: not pyptoc %s --pipeline=plan-memory --split-input-file 2>&1 >%t.out | filecheck %s --check-prefix=ERROR

// Two buffers of 120 KiB fit, three do not. A result begins where an input ends that its
// instruction reads last: the chain goes on in two places.

// CHECK-LABEL: npu.kernel @chain
// CHECK:         %a = tile.alloc {addr = [[A:\d+]]}
// CHECK:         %b = tile.alloc {addr = [[A]]}
// CHECK:         %c = tile.alloc {addr = [[C:\d+]]}
// CHECK:         %d = tile.alloc {addr = {{0|122880}}}
npu.kernel @chain (%i) (%x: memref<64x2048xf32, "gm">, %y: memref<64x2048xf32, "gm">) on vector {
  %a = tile.alloc : !tile.buf<15x2048xf32, ub>
  tile.load %x[0, 0] [15, 2048] into %a
  %b = tile.alloc : !tile.buf<15x2048xf32, ub>
  tile.exp %a into %b [15, 2048]
  %c = tile.alloc : !tile.buf<15x2048xf32, ub>
  tile.load %x[15, 0] [15, 2048] into %c
  %d = tile.alloc : !tile.buf<15x2048xf32, ub>
  tile.sub %b, %c into %d [15, 2048]
  tile.store %d [15, 2048] into %y[0, 0]
}

// Of 240 KiB f32 to bf16: what is written was read before, element by element. Behind
// it the upper half is free for other things.

// CHECK-LABEL: npu.kernel @narrower
// CHECK:         %a = tile.alloc {addr = 0}
// CHECK:         %b = tile.alloc {addr = 0}
// CHECK:         %c = tile.alloc {addr = 122880}
npu.kernel @narrower (%i) (%x: memref<64x2048xf32, "gm">, %y: memref<64x2048xbf16, "gm">) on vector {
  %a = tile.alloc : !tile.buf<30x2048xf32, ub>
  tile.load %x[0, 0] [30, 2048] into %a
  %b = tile.alloc : !tile.buf<30x2048xbf16, ub>
  tile.cvt %a into %b [30, 2048]
  %c = tile.alloc : !tile.buf<30x2048xbf16, ub>
  tile.neg %b into %c [30, 2048]
  tile.add %b, %c into %c [30, 2048]
  tile.store %c [30, 2048] into %y[0, 0]
}

// In a loop too, where the input lives within a trip; not if the next trip reads it again.

// CHECK-LABEL: npu.kernel @trip
// CHECK:           %t = tile.alloc {addr = [[T:\d+]]}
// CHECK:           %u = tile.alloc {addr = [[T]]}
npu.kernel @trip (%i) (%x: memref<64x2048xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = tile.alloc : !tile.buf<15x2048xf32, ub>
  tile.fill 1.0 into %w [15, 2048]
  scf.for %k = %c0 to %n step %c1 {
    %t = tile.alloc : !tile.buf<15x2048xf32, ub>
    tile.exp %w into %t [15, 2048]
    %u = tile.alloc : !tile.buf<15x2048xf32, ub>
    tile.neg %t into %u [15, 2048]
    tile.add %u, %w into %w [15, 2048]
  }
}

// While there is room, nothing is in place: it would have to wait for the input.

// CHECK-LABEL: npu.kernel @room
// CHECK:         %a = tile.alloc {addr = 0}
// CHECK:         %b = tile.alloc {addr = 256}
npu.kernel @room (%i) (%x: memref<64x16xf32, "gm">) on vector {
  %a = tile.alloc : !tile.buf<4x16xf32, ub>
  tile.load %x[0, 0] [4, 16] into %a
  %b = tile.alloc : !tile.buf<4x16xf32, ub>
  tile.exp %a into %b [4, 16]
}

// -----

// What does not work in place needs both at once. The rule is that of the table in
// dialects/tile_in_place.py, tested in test/dialects/test_in_place.py.

// ERROR: error[PTO211]: ub of ascend950 is over capacity in kernel @remainder
// ERROR: 2 buffers are live at once and take 278528 bytes; ub has 253952
// ERROR: shrink the vec tile: try 8 rows instead of 17
npu.kernel @remainder (%i) (%x: memref<64x2048xf32, "gm">) on vector {
  %a = tile.alloc : !tile.buf<17x2048xf32, ub>
  tile.load %x[0, 0] [17, 2048] into %a
  %b = tile.alloc : !tile.buf<17x2048xf32, ub>
  tile.rem %a, 3.0 into %b [17, 2048]
}

// -----

// ERROR: error[PTO211]: ub of ascend950 is over capacity in kernel @wider
npu.kernel @wider (%i) (%x: memref<64x2048xbf16, "gm">) on vector {
  %a = tile.alloc : !tile.buf<30x2048xbf16, ub>
  tile.load %x[0, 0] [30, 2048] into %a
  %b = tile.alloc : !tile.buf<30x2048xf32, ub>
  tile.cvt %a into %b [30, 2048]
}

// -----

// ERROR: error[PTO211]: ub of ascend950 is over capacity in kernel @scan
npu.kernel @scan (%i) (%x: memref<64x2048xf32, "gm">) on vector {
  %a = tile.alloc : !tile.buf<17x2048xf32, ub>
  tile.load %x[0, 0] [17, 2048] into %a
  %b = tile.alloc : !tile.buf<17x2048xf32, ub>
  tile.row_cumsum %a into %b [17, 2048]
}

// -----

// A loop that reads its input again in the next trip needs it as it is.

// ERROR: error[PTO211]: ub of ascend950 is over capacity in kernel @read_again
npu.kernel @read_again (%i) (%x: memref<64x2048xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = tile.alloc : !tile.buf<17x2048xf32, ub>
  tile.fill 1.0 into %w [17, 2048]
  scf.for %k = %c0 to %n step %c1 {
    %t = tile.alloc : !tile.buf<17x2048xf32, ub>
    tile.exp %w into %t [17, 2048]
  }
}
