// RUN: not pyptoc %s --pipeline=plan-memory --split-input-file 2>&1 | filecheck %s
// RUN: not pyptoc %s --pipeline=plan-memory --split-input-file --machine=ascend910b 2>&1 | filecheck %s --check-prefix=OLD

// Over capacity by one row of 32 bytes, and what to do about it.

// CHECK:      plan-memory-errors.mlir:[[# @LINE + 13]]:10: error[PTO211]: ub of ascend950 is over capacity in kernel @too_much
// CHECK:      %big is the largest
// CHECK:      the buffers that are live at once fit ub
// CHECK:      2 buffers are live at once and take 253984 bytes; ub has 253952
// CHECK:      %big: 62x512xf32, 2 slots, 253952 bytes
// CHECK:      %small: 1x1xf32, 32 bytes
// CHECK:      shrink the vec tile: try 31 rows instead of 62
npu.kernel @too_much (%i) (%x: memref<64x512xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %next = pypto.index %n + 1
  %one = pypto.index %next mod 2
  %two = pypto.index %n mod 2
  %big = tile.alloc {slots = 2} : !tile.buf<62x512xf32, ub>
  %small = tile.alloc : !tile.buf<1x1xf32, ub>
  tile.fill 0.0 into %small [1, 1]
  %b1 = tile.slot %big[%one]
  %b2 = tile.slot %big[%two]
  tile.load %x[0, 0] [62, 512] into %b1
  tile.load %x[0, 0] [62, 512] into %b2
  tile.add %b1, %small one into %b2 [62, 512]
}

// -----

// l0c holds whole fractals, so the columns shrink before the rows go below 16.

// CHECK: error[PTO211]: l0c of ascend950 is over capacity in kernel @wide
// CHECK: 1 buffer is live at once and take 278528 bytes; l0c has 262144
// CHECK: shrink the cube tile: try 2176 columns instead of 4352
npu.kernel @wide (%i) (%y: memref<16x4352xf32, "gm">) on cube {
  %c = tile.alloc : !tile.buf<16x4352xf32, l0c>
  tile.store %c [16, 4352] into %y[0, 0]
}

// -----

// OLD: error[PTO211]: ascend910b has no scale_a memory
npu.kernel @scales (%i) (%x: memref<16x8xf8E8M0FNU, "gm">) on cube {
  %l = tile.alloc : !tile.buf<16x8xf8E8M0FNU, l1>
  %s = tile.alloc : !tile.buf<16x8xf8E8M0FNU, scale_a>
  tile.load %x[0, 0] [16, 8] into %l
  tile.move %l[0, 0] [16, 8] into %s
}

// -----

// CHECK: error[PTO212]: scf.yield passes on a buffer
npu.kernel @passed_on (%i) (%n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = pypto.index %n == 0
  %a = tile.alloc : !tile.buf<4x16xf32, ub>
  %b = tile.alloc : !tile.buf<4x16xf32, ub>
  %c = scf.if %zero -> (!tile.buf<4x16xf32, ub>) {
    scf.yield %a : !tile.buf<4x16xf32, ub>
  } else {
    scf.yield %b : !tile.buf<4x16xf32, ub>
  }
  tile.exp %c into %c [4, 16]
}

// -----

// Slots that hold what an earlier trip left stay: here each trip reads its slot before it
// fills it.

// CHECK: error[PTO211]: ub of ascend950 is over capacity in kernel @history
npu.kernel @history (%i) (%x: memref<64x2048xf32, "gm">, %y: memref<64x2048xf32, "gm">, %n: index) on vector {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {slots = 2} : !tile.buf<16x2048xf32, ub>
  scf.for %k = %c0 to %n step %c1 {
    %s = pypto.index %k mod 2
    %as = tile.slot %a[%s]
    tile.store %as [16, 2048] into %y[0, 0]
    tile.load %x[0, 0] [16, 2048] into %as
  }
}
