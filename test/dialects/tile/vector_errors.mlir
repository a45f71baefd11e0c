// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

npu.kernel @extents (%i) (%m: index) on vector {
  %a = tile.alloc : !tile.buf<16x256xf32, ub>
  %small = tile.alloc : !tile.buf<8x128xf32, ub>
  %r = tile.alloc : !tile.buf<8x1xf32, ub>
  %c = tile.alloc : !tile.buf<1x128xf32, ub>
  %l = tile.alloc : !tile.buf<16x256xf32, l1>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.exp: takes 2 extents [m, n], got 1
  tile.exp %a into %a [16]
  // CHECK: tile.exp: m is 17, not 0 to 16
  tile.exp %a into %a [17, 256]
  // CHECK: tile.exp: n is 257, not 0 to 256
  tile.exp %a into %a [16, 257]
  // CHECK: tile.exp: n is -1, not 0 to 256
  tile.exp %a into %a [16, -1]
  // CHECK: tile.add: the number of rows of a full input is 9, not 0 to 8
  tile.add %a, %small into %a [9, 128]
  // CHECK: tile.add: the number of columns of a full input is 129, not 0 to 128
  tile.add %a, %small into %a [8, 129]
  // CHECK: tile.add: the number of rows of a row input is 9, not 0 to 8
  tile.add %a, %r row into %a [9, 256]
  // CHECK: tile.add: the number of columns of a col input is 129, not 0 to 128
  tile.add %a, %c col into %a [16, 129]
  // CHECK: tile.add: an input must be in ub, but is in l1
  tile.add %a, %l into %a [16, 256]
  // CHECK: tile.add: the destination must be in ub, but is in l1
  tile.add %a, %a into %l [16, 256]
  // CHECK: tile.add: takes 2 inputs, got 3
  tile.add %a, %a, %a into %a [16, 256]
  // CHECK: tile.row_sum: m is 16, not 0 to 8
  tile.row_sum %a into %r [16, 256]
  // CHECK: tile.row_sum: the number of columns of a full input is 257, not 0 to 256
  tile.row_sum %a into %r [8, 257]
  // CHECK: tile.row_sum: the input is read in full, not as row
  tile.row_sum %a row into %r [8, 256]
  // CHECK: tile.fill: fill takes a literal or a scalar
  tile.fill %a into %a [16, 256]
}

// -----

npu.kernel @elements (%i) (%s: f32, %n: index, %j: i32) on vector {
  %a = tile.alloc : !tile.buf<16x256xf32, ub>
  %h = tile.alloc : !tile.buf<16x256xbf16, ub>
  %i32 = tile.alloc : !tile.buf<16x256xi32, ub>
  %b = tile.alloc : !tile.buf<16x256xi1, ub>
  %f8 = tile.alloc : !tile.buf<16x256xf8E4M3FN, ub>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.add: element types differ: f32 and bf16
  tile.add %a, %h into %a [16, 256]
  // CHECK: tile.add: the destination holds bf16, not f32
  tile.add %a, %a into %h [16, 256]
  // CHECK: tile.lt: the destination holds f32, not i1
  tile.lt %a, 1.0 into %a [16, 256]
  // CHECK: tile.exp: exp of i32; it takes a float of at least 16 bits
  tile.exp %i32 into %i32 [16, 256]
  // CHECK: tile.exp: exp of f8E4M3FN; it takes a float of at least 16 bits
  tile.exp %f8 into %f8 [16, 256]
  // CHECK: tile.add: add of i1; it takes a float of at least 16 bits, or an integer
  tile.add %b, %b into %b [16, 256]
  // CHECK: tile.and: and of f32; it takes i1 or an integer
  tile.and %a, %a into %a [16, 256]
  // CHECK: tile.floordiv: floordiv of i1; it takes an integer
  tile.floordiv %b, %b into %b [16, 256]
  // CHECK: tile.logical_not: logical_not of i32; it takes i1
  tile.logical_not %i32 into %i32 [16, 256]
  // CHECK: tile.where: the condition of where is a buffer of i1
  tile.where %i32, %a, 0.0 into %a [16, 256]
  // CHECK: tile.mul: a scalar of index beside f32 elements
  tile.mul %a, %n into %a [16, 256]
  // CHECK: tile.mul: a scalar of f32 beside i32 elements
  tile.mul %i32, %s into %i32 [16, 256]
  // CHECK: tile.fill: the destination holds f32, not i1
  "tile.fill"(%a) <{inputs = [true], static_extents = array<i64: 16, 256>, operandSegmentSizes = array<i32: 0, 1, 0>}> : (!tile.buf<16x256xf32, ub>) -> ()
  // CHECK: tile.fill: unit is no literal
  "tile.fill"(%a) <{inputs = [unit], static_extents = array<i64: 16, 256>, operandSegmentSizes = array<i32: 0, 1, 0>}> : (!tile.buf<16x256xf32, ub>) -> ()
  // CHECK: tile.exp: an input of type index has no form full
  "tile.exp"(%n, %a) <{inputs = ["full"], static_extents = array<i64: 16, 256>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (index, !tile.buf<16x256xf32, ub>) -> ()
  // CHECK: tile.exp: an input of type !tile.buf<16x256xf32, ub> has no form scalar
  "tile.exp"(%a, %a) <{inputs = ["scalar"], static_extents = array<i64: 16, 256>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (!tile.buf<16x256xf32, ub>, !tile.buf<16x256xf32, ub>) -> ()
  // CHECK: tile.exp: 0 inputs are values, but there are 1
  "tile.exp"(%a, %a) <{inputs = [1.0 : f32], static_extents = array<i64: 16, 256>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (!tile.buf<16x256xf32, ub>, !tile.buf<16x256xf32, ub>) -> ()
  // CHECK: tile.exp: no form "diagonal"
  "tile.exp"(%a, %a) <{inputs = ["diagonal"], static_extents = array<i64: 16, 256>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (!tile.buf<16x256xf32, ub>, !tile.buf<16x256xf32, ub>) -> ()
}

// -----

npu.kernel @in_place (%i) () on vector {
  %a = tile.alloc : !tile.buf<16x256xf32, ub>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.add: in place, an instruction is elementwise, no remainder, its input full
  tile.add %a, %a row into %a [16, 256]
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.row_sum: in place
  tile.row_sum %a into %a [16, 256]
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.row_cumsum: in place
  tile.row_cumsum %a into %a [16, 256]
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.rem: in place
  tile.rem %a, 3.0 into %a [16, 256]
}

// -----

// CHECK: :[[# @LINE + 3]]:16: error[PTO115]: 1.5 in a buffer of i32 elements
npu.kernel @literal (%i) () on vector {
  %a = tile.alloc : !tile.buf<16x256xi32, ub>
  tile.add %a, 1.5 into %a [16, 256]
}

// -----

// CHECK: error{{.*}}: the destination is a buffer, not index
npu.kernel @dest (%i) () on vector {
  %a = tile.alloc : !tile.buf<16x256xi32, ub>
  tile.add %a, 1 into %i [16, 256]
}

// -----

npu.kernel @groups (%i) (%m: index) on vector {
  %a = tile.alloc : !tile.buf<16x256xf32, ub>
  %g = tile.alloc : !tile.buf<16x8xf32, ub>
  // CHECK: tile.mul: the number of columns of a group input is 9, not 0 to 8
  tile.mul %a, %g group into %a [16, 256] {group = 64, first = 5}
  // CHECK: tile.mul: group and first are for an input by groups
  tile.mul %a, %g group into %a [16, 256]
  // CHECK: tile.mul: group and first are for an input by groups
  tile.mul %a, %a into %a [16, 256] {group = 64, first = 0}
  // CHECK: tile.mul: an input by groups needs a known number of columns
  tile.mul %a, %g group into %a [16, %m] {group = 64, first = 0}
  // CHECK: tile.mul: group is at least 1, and first at least 0
  tile.mul %a, %g group into %a [16, 256] {group = 64, first = -1}
  // CHECK: tile.add: group and first are for an input by groups
  tile.add %a, %g group into %a [16, 256]
}
