// The error of a missing flag: both instructions, their lines, the bytes, the fix.

// RUN: not pyptoc %s --pipeline='' --check 2>&1 | filecheck %s
// RUN: not pyptoc %s --pipeline='' --run --check --random-inputs=1 2>&1 | filecheck %s

// CHECK: check-errors.mlir:24:3: error[PTO420] at run time: tile.neg on pipe v reads what tile.load on pipe mte2 writes, and nothing orders them
// CHECK: tile.neg %a into %b [16, 16]
// CHECK: rule: accesses of two pipes to the same bytes, one of them a write, are ordered by flags
// CHECK: here: bytes 0 to 1023 of ub, in %a
// CHECK: note: tile.load stands here ({{.*}}check-errors.mlir:22:3)
// CHECK: note: in task (%i = 0) of @k
// CHECK: help: tile.set_flag [mte2 -> v, id] behind the first, tile.wait_flag [mte2 -> v, id] before the second

npu.kernel @k (%i) (%x: memref<64x16xf32, "gm">, %y: memref<64x16xf32, "gm">) on vector
    accesses(read %x[16 * %i, 0] [16, 16], write %y[16 * %i, 0] [16, 16]) {
  %a = tile.alloc {addr = 0} : !tile.buf<16x16xf32, ub>
  %b = tile.alloc {addr = 1024} : !tile.buf<16x16xf32, ub>
  %r = pypto.index 16 * %i



  tile.load %x[%r, 0] [16, 16] into %a

  tile.neg %a into %b [16, 16]
  tile.set_flag [v -> mte3, 0]
  tile.wait_flag [v -> mte3, 0]
  tile.store %b [16, 16] into %y[%r, 0]
}
func.func @f(%x: memref<64x16xf32, "gm">) -> (memref<64x16xf32, "gm"> {pypto.name = "y"}) {
  %y = npu.alloc[64, 16] : memref<64x16xf32, "gm">
  %t = npu.launch @k[4] (%x, %y)
  func.return %y : memref<64x16xf32, "gm">
}
