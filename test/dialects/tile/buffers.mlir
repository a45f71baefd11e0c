// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-short | pyptoc - --pipeline= | filecheck %s

// CHECK-LABEL: npu.kernel @alloc
npu.kernel @alloc (%i) () on mixed {
  // CHECK-NEXT: %a = tile.alloc : !tile.buf<16x256xf32, ub>
  %a = tile.alloc : !tile.buf<16x256xf32, ub>
  // CHECK-NEXT: %b = tile.alloc {addr = 512, slots = 2} : !tile.buf<16x64xbf16, l1>
  %b = tile.alloc {slots = 2, addr = 512} : !tile.buf<16x64xbf16, l1>
  // CHECK-NEXT: tile.alloc {tag = "x"} : !tile.buf<16x64xf8E4M3FN, l0a>
  tile.alloc {tag = "x"} : !tile.buf<16x64xf8E4M3FN, l0a>
  // CHECK-NEXT: !tile.buf<64x16xf8E5M2, l0b>
  tile.alloc : !tile.buf<64x16xf8E5M2, l0b>
  // CHECK-NEXT: !tile.buf<16x16xi32, l0c>
  tile.alloc : !tile.buf<16x16xi32, l0c>
  // CHECK-NEXT: !tile.buf<1x16xf32, bias>
  tile.alloc : !tile.buf<1x16xf32, bias>
  // CHECK-NEXT: !tile.buf<1x16xf32, fb>
  tile.alloc : !tile.buf<1x16xf32, fb>
  // CHECK-NEXT: !tile.buf<16x8xf8E8M0FNU, scale_a>
  tile.alloc : !tile.buf<16x8xf8E8M0FNU, scale_a>
  // CHECK-NEXT: !tile.buf<16x8xf8E8M0FNU, scale_b>
  tile.alloc : !tile.buf<16x8xf8E8M0FNU, scale_b>
}

// CHECK-LABEL: npu.kernel @slot
npu.kernel @slot (%i) () on vector {
  %a = tile.alloc {slots = 3} : !tile.buf<16x256xf32, ub>
  // CHECK: %s = tile.slot %a[%i] : !tile.buf<16x256xf32, ub>
  %s = tile.slot %a[%i]
  // CHECK-NEXT: %t = tile.slot %a[2] {tag = "x"} : !tile.buf<16x256xf32, ub>
  %t = tile.slot %a[2] {tag = "x"} : !tile.buf<16x256xf32, ub>
}
