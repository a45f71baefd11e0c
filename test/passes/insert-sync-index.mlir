// RUN: pyptoc %s --pipeline=plan-memory,insert-sync | filecheck %s

// The pipe that gathers reads the indices itself: it waits for the pipe that made them,
// which may not write the next ones before the gather is over.
// CHECK-LABEL: npu.kernel @made_indices
// CHECK:      tile.add
// CHECK-NEXT: tile.set_flag [v -> mte2, 0]
// CHECK:      tile.wait_flag [v -> mte2, 0]
// CHECK-NEXT: tile.gather
// CHECK-NEXT: tile.set_flag [mte2 -> v, [[W:[0-9]+]]]
// CHECK-NEXT: tile.wait_flag [mte2 -> v, [[W]]]
// CHECK-NEXT: tile.fill
npu.kernel @made_indices (%k) (%x: memref<?x64xf32, "gm">, %i: memref<?xi32, "gm">, %n: index) on vector {
  %a = tile.alloc : !tile.buf<1x16xi32, ub>
  %b = tile.alloc : !tile.buf<16x64xf32, ub>
  tile.load %i[0] [1, 16] into %a
  tile.add %a, 1 into %a [1, 16]
  tile.gather %x[0, 0] of %n at %a[0] [16, 64] into %b {axis = 0, dims = [-1, 1], per = "row"}
  tile.fill 0 into %a [1, 16]
}

// So does the pipe that scatters; what follows in the memory comes after it.
// CHECK-LABEL: npu.kernel @scattered
// CHECK:      tile.load %i
// CHECK:      tile.set_flag [mte2 -> mte3, [[L:[0-9]+]]]
// CHECK:      tile.wait_flag [mte2 -> mte3, [[L]]]
// CHECK:      tile.scatter
// CHECK-NEXT: tile.set_flag [mte3 -> mte2, [[S:[0-9]+]]]
// CHECK-NEXT: tile.wait_flag [mte3 -> mte2, [[S]]]
// CHECK-NEXT: tile.gather
npu.kernel @scattered (%k) (%x: memref<?x64xf32, "gm">, %i: memref<?xi32, "gm">, %n: index) on vector {
  %a = tile.alloc : !tile.buf<1x16xi32, ub>
  %b = tile.alloc : !tile.buf<16x64xf32, ub>
  %c = tile.alloc : !tile.buf<16x64xf32, ub>
  tile.fill 0.0 into %b [16, 64]
  tile.load %i[0] [1, 16] into %a
  tile.scatter %b into %x[0, 0] of %n at %a[0] [16, 64] {axis = 0, dims = [-1, 1], per = "row"}
  tile.gather %x[0, 0] of %n at %a[0] [16, 64] into %c {axis = 0, dims = [-1, 1], per = "row"}
}

// A top-k reads and writes its lists, so their fills and their stores are in order; the
// place it merges in has an address of its own.
// CHECK-LABEL: npu.kernel @lists
// CHECK:      tile.wait_flag [mte2 -> v, 0]
// CHECK-NEXT: tile.topk
// CHECK-NEXT: tile.set_flag [v -> mte3, 0]
// CHECK:      tile.wait_flag [v -> mte3, 0]
// CHECK-NEXT: tile.store
npu.kernel @lists (%k) (%x: memref<4x256xf32, "gm">, %y: memref<4x8xi32, "gm">) on vector {
  %a = tile.alloc : !tile.buf<4x256xf32, ub>
  %v = tile.alloc : !tile.buf<4x8xf32, ub>
  %i = tile.alloc : !tile.buf<4x8xi32, ub>
  %t = tile.alloc : !tile.buf<1x1152xi32, ub>
  tile.fill 0.0 into %v [4, 8]
  tile.fill -1 into %i [4, 8]
  tile.load %x[0, 0] [4, 256] into %a
  tile.topk %a from 0 of 256 into %v, %i using %t [4, 256, 8]
  tile.store %i [4, 8] into %y[0, 0]
}
