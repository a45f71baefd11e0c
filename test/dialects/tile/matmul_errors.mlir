// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

npu.kernel @matmul (%i) (%p: i1) on cube {
  %a = tile.alloc : !tile.buf<16x64xbf16, l0a>
  %b = tile.alloc : !tile.buf<64x256xbf16, l0b>
  %c = tile.alloc : !tile.buf<16x256xf32, l0c>
  %ah = tile.alloc : !tile.buf<16x64xf16, l0a>
  %ai = tile.alloc : !tile.buf<16x64xi8, l0a>
  %bi = tile.alloc : !tile.buf<64x256xi8, l0b>
  %ci = tile.alloc : !tile.buf<16x256xi32, l0c>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.matmul: the left operand must be in l0a, but is in l0b
  tile.matmul %b, %b into %c [16, 256, 64]
  // CHECK: tile.matmul: the right operand must be in l0b, but is in l0a
  tile.matmul %a, %a into %c [16, 256, 64]
  // CHECK: tile.matmul: the accumulator must be in l0c, but is in l0b
  tile.matmul %a, %b into %b [16, 256, 64]
  %row = tile.alloc : !tile.buf<1x256xf32, bias>
  %wide = tile.alloc : !tile.buf<1x256xi32, bias>
  %short = tile.alloc : !tile.buf<1x64xf32, bias>
  // CHECK: tile.matmul: the bias must be in bias, but is in l0c
  tile.matmul %a, %b bias %c into %c [16, 256, 64]
  // CHECK: tile.matmul: a bias of i32 for sums in f32
  tile.matmul %a, %b bias %wide into %c [16, 256, 64]
  // CHECK: tile.matmul: n is 256, not 0 to 64
  tile.matmul %a, %b bias %short into %c [16, 256, 64]
  // CHECK: tile.matmul: adds to what is there, so it starts at no bias
  tile.matmul %a, %b bias %row into %c [16, 256, 64] accumulate
  // CHECK: tile.matmul: takes 3 extents [m, n, k], got 2
  tile.matmul %a, %b into %c [16, 256]
  // CHECK: tile.matmul: m is 17, not 0 to 16
  tile.matmul %a, %b into %c [17, 256, 64]
  // CHECK: tile.matmul: n is 257, not 0 to 256
  tile.matmul %a, %b into %c [16, 257, 64]
  // CHECK: tile.matmul: k is 65, not 0 to 64
  tile.matmul %a, %b into %c [16, 256, 65]
  // CHECK: tile.matmul: multiplies f16 with bf16
  tile.matmul %ah, %b into %c [16, 256, 64]
  // CHECK: tile.matmul: multiplies i8 with bf16
  tile.matmul %ai, %b into %c [16, 256, 64]
  // CHECK: tile.matmul: float products accumulate in f32, not i32
  tile.matmul %a, %b into %ci [16, 256, 64]
  // CHECK: tile.matmul: integer products accumulate in i32, not f32
  tile.matmul %ai, %bi into %c [16, 256, 64]
  // CHECK: tile.matmul: accumulates both always and on a condition
  "tile.matmul"(%a, %b, %c, %p) <{static_extents = array<i64: 16, 16, 16>, accumulating, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 1>}> : (!tile.buf<16x64xbf16, l0a>, !tile.buf<64x256xbf16, l0b>, !tile.buf<16x256xf32, l0c>, i1) -> ()
  // CHECK: tile.matmul: takes 0 scale buffers
  "tile.matmul"(%a, %b, %a, %c) <{static_extents = array<i64: 16, 16, 16>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0>}> : (!tile.buf<16x64xbf16, l0a>, !tile.buf<64x256xbf16, l0b>, !tile.buf<16x64xbf16, l0a>, !tile.buf<16x256xf32, l0c>) -> ()
}

// -----

npu.kernel @matmul_mx (%i) () on cube {
  %a = tile.alloc : !tile.buf<16x128xf8E4M3FN, l0a>
  %b = tile.alloc : !tile.buf<128x32xf8E4M3FN, l0b>
  %sa = tile.alloc : !tile.buf<16x4xf8E8M0FNU, scale_a>
  %sb = tile.alloc : !tile.buf<32x4xf8E8M0FNU, scale_b>
  %c = tile.alloc : !tile.buf<16x32xf32, l0c>
  %few = tile.alloc : !tile.buf<16x2xf8E8M0FNU, scale_a>
  %short = tile.alloc : !tile.buf<16x4xf8E8M0FNU, scale_b>
  %wrong = tile.alloc : !tile.buf<32x4xf8E4M3FN, scale_b>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.matmul_mx: the left scales must be in scale_a, but is in scale_b
  tile.matmul_mx %a, %b, %sb, %sb into %c [16, 32, 128]
  // CHECK: tile.matmul_mx: the right scales must be in scale_b, but is in scale_a
  tile.matmul_mx %a, %b, %sa, %sa into %c [16, 32, 128]
  // CHECK: tile.matmul_mx: 2 * ceil(k / 64) is 4, not 0 to 2
  tile.matmul_mx %a, %b, %few, %sb into %c [16, 32, 65]
  // CHECK: tile.matmul_mx: n of the scales is 32, not 0 to 16
  tile.matmul_mx %a, %b, %sa, %short into %c [16, 32, 128]
  // CHECK: tile.matmul_mx: scales are f8E8M0FNU, not f8E4M3FN
  tile.matmul_mx %a, %b, %sa, %wrong into %c [16, 32, 128]
}
