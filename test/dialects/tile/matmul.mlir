// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-short | pyptoc - --pipeline= | filecheck %s

// CHECK-LABEL: npu.kernel @matmul
npu.kernel @matmul (%i) (%m: index, %later: i1) on cube {
  %a = tile.alloc : !tile.buf<16x64xbf16, l0a>
  %b = tile.alloc : !tile.buf<64x256xbf16, l0b>
  %c = tile.alloc : !tile.buf<16x256xf32, l0c>
  // CHECK: tile.matmul %a, %b into %c [%m, 256, 64] : !tile.buf<16x64xbf16, l0a>, !tile.buf<64x256xbf16, l0b>, !tile.buf<16x256xf32, l0c>
  tile.matmul %a, %b into %c [%m, 256, 64]
  // CHECK-NEXT: tile.matmul %a, %b into %c [16, 256, 0] accumulate : !tile.buf
  tile.matmul %a, %b into %c [16, 256, 0] accumulate
  // CHECK-NEXT: tile.matmul %a, %b into %c [16, %m, %m] accumulate %later {tag = "x"} : !tile.buf
  tile.matmul %a, %b into %c [16, %m, %m] accumulate %later {tag = "x"}
  %t = tile.alloc : !tile.buf<1x256xf32, bias>
  // CHECK: tile.matmul %a, %b bias %t into %c [%m, 256, 64] accumulate %later : !tile.buf<16x64xbf16, l0a>, !tile.buf<64x256xbf16, l0b>, !tile.buf<1x256xf32, bias>, !tile.buf<16x256xf32, l0c>
  tile.matmul %a, %b bias %t into %c [%m, 256, 64] accumulate %later
}

// CHECK-LABEL: npu.kernel @types
npu.kernel @types (%i) () on cube {
  %a8 = tile.alloc : !tile.buf<16x64xi8, l0a>
  %b8 = tile.alloc : !tile.buf<64x16xi8, l0b>
  %c32 = tile.alloc : !tile.buf<16x16xi32, l0c>
  %af = tile.alloc : !tile.buf<16x64xf8E4M3FN, l0a>
  %bf = tile.alloc : !tile.buf<64x16xf8E5M2, l0b>
  %c = tile.alloc : !tile.buf<16x16xf32, l0c>
  // CHECK: tile.matmul %a8, %b8 into %c32 [16, 16, 64]
  tile.matmul %a8, %b8 into %c32 [16, 16, 64]
  // CHECK-NEXT: tile.matmul %af, %bf into %c [16, 16, 64]
  tile.matmul %af, %bf into %c [16, 16, 64]
}

// CHECK-LABEL: npu.kernel @matmul_mx
npu.kernel @matmul_mx (%i) (%k: index, %later: i1) on cube {
  %a = tile.alloc : !tile.buf<16x128xf8E4M3FN, l0a>
  %b = tile.alloc : !tile.buf<128x32xf8E4M3FN, l0b>
  %sa = tile.alloc : !tile.buf<16x4xf8E8M0FNU, scale_a>
  %sb = tile.alloc : !tile.buf<32x4xf8E8M0FNU, scale_b>
  %c = tile.alloc : !tile.buf<16x32xf32, l0c>
  // CHECK: tile.matmul_mx %a, %b, %sa, %sb into %c [16, 32, 128] : !tile.buf<16x128xf8E4M3FN, l0a>, !tile.buf<128x32xf8E4M3FN, l0b>, !tile.buf<16x4xf8E8M0FNU, scale_a>, !tile.buf<32x4xf8E8M0FNU, scale_b>, !tile.buf<16x32xf32, l0c>
  tile.matmul_mx %a, %b, %sa, %sb into %c [16, 32, 128]
  // CHECK-NEXT: tile.matmul_mx %a, %b, %sa, %sb into %c [16, 32, %k] accumulate %later :
  tile.matmul_mx %a, %b, %sa, %sb into %c [16, 32, %k] accumulate %later
}
