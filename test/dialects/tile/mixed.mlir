// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-short | pyptoc - --pipeline= | filecheck %s

// CHECK-LABEL: npu.kernel @there_and_back
npu.kernel @there_and_back (%i) (%m: index) on mixed {
  // CHECK-NEXT: %c = tile.channel {slots = 2} : !tile.chan<32x64xf32, l0c -> ub, rows>
  %c = tile.channel {slots = 2} : !tile.chan<32x64xf32, l0c -> ub, rows>
  // CHECK-NEXT: %d = tile.channel {addr = 512} : !tile.chan<32x64xbf16, ub -> l1, columns>
  %d = tile.channel {addr = 512} : !tile.chan<32x64xbf16, ub -> l1, columns>
  // CHECK-NEXT: tile.section cube {
  tile.section cube {
    %a = tile.alloc : !tile.buf<32x64xf32, l0c>
    // CHECK: tile.push %a [%m, 64] into %c : !tile.buf<32x64xf32, l0c>, !tile.chan<32x64xf32, l0c -> ub, rows>
    tile.push %a [%m, 64] into %c
    // CHECK-NEXT: %p = tile.pop %d : !tile.chan<32x64xbf16, ub -> l1, columns>
    %p = tile.pop %d
    %l = tile.alloc : !tile.buf<32x64xbf16, l0a>
    // CHECK: tile.move %p[0, 0] [32, 64] into %l : !tile.buf<32x64xbf16, l1>
    tile.move %p[0, 0] [32, 64] into %l
    // CHECK-NEXT: tile.free %d : !tile.chan<32x64xbf16, ub -> l1, columns>
    tile.free %d
  }
  // CHECK: tile.section vector (%half) {
  tile.section vector (%half) {
    // CHECK-NEXT: %q = tile.pop %c {tag = "q"} : !tile.chan<32x64xf32, l0c -> ub, rows>
    %q = tile.pop %c {tag = "q"}
    // CHECK-NEXT: tile.exp %q into %q [16, 64] : !tile.buf<16x64xf32, ub>
    tile.exp %q into %q [16, 64]
    tile.free %c
    %b = tile.alloc : !tile.buf<32x32xbf16, ub>
    // CHECK: tile.push %b [32, 32] into %d {tag = "b"} : !tile.buf<32x32xbf16, ub>
    tile.push %b [32, 32] into %d {tag = "b"}
  }
}

// Before split-mixed, as if one core had all memories:
// CHECK-LABEL: npu.kernel @flat
npu.kernel @flat (%i) (%m: index) on mixed {
  %a = tile.alloc : !tile.buf<32x64xf32, l0c>
  %b = tile.alloc {slots = 2} : !tile.buf<16x32xf32, ub>
  %s = tile.slot %b[1]
  // CHECK: tile.move %a[16, %m] [%m, 32] into %s : !tile.buf<32x64xf32, l0c>, !tile.buf<16x32xf32, ub>
  tile.move %a[16, %m] [%m, 32] into %s
  %l = tile.alloc : !tile.buf<16x32xf32, l1>
  // CHECK: tile.move %s[0, 0] [16, %m] into %l {tag = "l"} : !tile.buf<16x32xf32, ub>, !tile.buf<16x32xf32, l1>
  tile.move %s[0, 0] [16, %m] into %l {tag = "l"}
}

// Through memory:
// CHECK-LABEL: npu.kernel @through
npu.kernel @through (%i) () on mixed {
  // CHECK: tile.channel : !tile.chan<32x64xf32, l0c -> gm -> ub, rows>
  %c = tile.channel : !tile.chan<32x64xf32, l0c -> gm -> ub, rows>
  // CHECK: tile.channel : !tile.chan<32x64xbf16, ub -> gm -> l1, columns>
  %d = tile.channel : !tile.chan<32x64xbf16, ub -> gm -> l1, columns>
}
