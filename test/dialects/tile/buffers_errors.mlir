// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

// CHECK: buffers_errors.mlir:[[# @LINE + 2]]:{{[0-9]+}}: error{{.*}}: a buffer has rank 2
npu.kernel @rank () () on vector {
  tile.alloc : !tile.buf<4x16x256xf32, ub>
}

// -----

// CHECK: error{{.*}}: buffer sizes must be positive, got 0x256
npu.kernel @empty () () on vector {
  tile.alloc : !tile.buf<0x256xf32, ub>
}

// -----

// CHECK: error{{.*}}: buffer sizes must be positive, got ?x256
npu.kernel @dynamic () () on vector {
  tile.alloc : !tile.buf<?x256xf32, ub>
}

// -----

// CHECK: error{{.*}}: a buffer cannot hold elements of type index
npu.kernel @element () () on vector {
  tile.alloc : !tile.buf<16x256xindex, ub>
}

// -----

// CHECK: buffers_errors.mlir:[[# @LINE + 2]]:38: error[PTO100]: Expected `l1`, `l0a`
npu.kernel @space () () on vector {
  tile.alloc : !tile.buf<16x256xf32, l2>
}

// -----

npu.kernel @alloc (%i) () on vector {
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.alloc: slots is 0, but must be at least 1
  tile.alloc {slots = 0} : !tile.buf<16x256xf32, ub>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.alloc: addr is -32, but must not be negative
  tile.alloc {addr = -32} : !tile.buf<16x256xf32, ub>
  // CHECK: error[PTO170]: tile.alloc: has 2 slots, so tile.fill must use it through tile.slot
  %a = tile.alloc {slots = 2} : !tile.buf<16x256xf32, ub>
  tile.fill 0.0 into %a [16, 256]
  // CHECK: error[PTO170]: tile.slot: slot 2 of an allocation of 2 slots
  %s = tile.slot %a[2]
  // CHECK: error[PTO170]: tile.slot: slot -1 of an allocation of 2 slots
  %t = tile.slot %a[-1]
  // CHECK: error[PTO170]: tile.slot: takes a slot of what is no tile.alloc
  %u = tile.slot %s[0]
  // CHECK: error[PTO170]: tile.slot: a slot has the type of its allocation
  %v = "tile.slot"(%a) <{static_index = 0 : i64}> : (!tile.buf<16x256xf32, ub>) -> !tile.buf<8x256xf32, ub>
  // CHECK: error[PTO170]: tile.slot: a slot has one index
  %w = "tile.slot"(%a) : (!tile.buf<16x256xf32, ub>) -> !tile.buf<16x256xf32, ub>
}

// -----

// CHECK: :[[# @LINE + 3]]:22: error[PTO134]: %x is f32, not index
npu.kernel @index () (%x: f32) on vector {
  %a = tile.alloc {slots = 2} : !tile.buf<16x256xf32, ub>
  %s = tile.slot %a[ %x]
}

// -----

// CHECK: :[[# @LINE + 3]]:26: error{{.*}}: operand 0 has type !tile.buf<16x256xf32, ub>, not !tile.buf<8x256xf32, ub>
npu.kernel @type (%i) () on vector {
  %a = tile.alloc {slots = 2} : !tile.buf<16x256xf32, ub>
  %s = tile.slot %a[0] : !tile.buf<8x256xf32, ub>
}
