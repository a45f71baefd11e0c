// RUN: pyptoc %s --pipeline= | filecheck %s
// The matmul of matmul_kernel.mlir as a program: with addresses and flags. A slot is
// free for the pipe that fills it until told otherwise, so the flags that say so are set
// once before the loops and waited for once after them.

// CHECK-LABEL: func.func @matmul
// CHECK: npu.launch @mm[%{{.*}}, %{{.*}}]
func.func @matmul(%a: memref<?x?xf16, "gm"> {pypto.name = "a"},
                  %b: memref<?x?xf16, "gm"> {pypto.name = "b"})
    -> (memref<?x?xf32, "gm"> {pypto.name = "c"}) {
  %m = pypto.dim %a, 0
  %k = pypto.dim %a, 1
  %kb = pypto.dim %b, 0
  %n = pypto.dim %b, 1
  pypto.assert %k == %kb, "A has {0} columns, B has {1} rows"
  %c = npu.alloc[%m, %n] : memref<?x?xf32, "gm">
  %mb = pypto.index %m ceildiv 64
  %nb = pypto.index %n ceildiv 64
  %t = npu.launch @mm[%mb, %nb] (%a, %b, %c, %m, %n, %k)
  func.return %c : memref<?x?xf32, "gm">
}

// CHECK-LABEL: npu.kernel @mm
// CHECK: tile.alloc {addr = 0, slots = 2} : !tile.buf<64x128xf16, l1>
// CHECK: tile.wait_flag [mte1 -> mte2, %{{.*}}]
// CHECK: tile.matmul
// CHECK: tile.set_flag [m -> mte1, %{{.*}}]
npu.kernel @mm (%i, %j) (%a: memref<?x?xf16, "gm">, %b: memref<?x?xf16, "gm">,
    %c: memref<?x?xf32, "gm">, %rows: index, %columns: index, %depth: index) on cube {
  %a_l1 = tile.alloc {addr = 0, slots = 2} : !tile.buf<64x128xf16, l1>
  %b_l1 = tile.alloc {addr = 32768, slots = 2} : !tile.buf<128x64xf16, l1>
  %a_l0 = tile.alloc {addr = 0, slots = 2} : !tile.buf<64x32xf16, l0a>
  %b_l0 = tile.alloc {addr = 0, slots = 2} : !tile.buf<32x64xf16, l0b>
  %acc = tile.alloc {addr = 0} : !tile.buf<64x64xf32, l0c>
  %zero = arith.constant 0 : index
  %step = arith.constant 128 : index
  %step0 = arith.constant 32 : index
  %row = pypto.index %i * 64
  %column = pypto.index %j * 64
  %m = pypto.index min(64, %rows - %row)
  %n = pypto.index min(64, %columns - %column)
  %empty = pypto.index %depth == 0
  scf.if %empty {
    %x = tile.slot %a_l0[0]
    %y = tile.slot %b_l0[0]
    tile.matmul %x, %y into %acc [%m, %n, 0]
  }
  tile.set_flag [mte1 -> mte2, 0]
  tile.set_flag [mte1 -> mte2, 1]
  tile.set_flag [m -> mte1, 0]
  tile.set_flag [m -> mte1, 1]
  scf.for %k = %zero to %depth step %step {
    %s = pypto.index (%k floordiv 128) mod 2
    %kk = pypto.index min(128, %depth - %k)
    %as = tile.slot %a_l1[%s]
    %bs = tile.slot %b_l1[%s]
    tile.wait_flag [mte1 -> mte2, %s]
    tile.load %a[%row, %k] [%m, %kk] into %as
    tile.load %b[%k, %column] [%kk, %n] into %bs
    tile.set_flag [mte2 -> mte1, %s]
    tile.wait_flag [mte2 -> mte1, %s]
    scf.for %k0 = %zero to %kk step %step0 {
      %s0 = pypto.index (%k0 floordiv 32) mod 2
      %k1 = pypto.index min(32, %kk - %k0)
      %x = tile.slot %a_l0[%s0]
      %y = tile.slot %b_l0[%s0]
      tile.wait_flag [m -> mte1, %s0]
      tile.move %as[0, %k0] [%m, %k1] into %x
      tile.move %bs[%k0, 0] [%k1, %n] into %y
      tile.set_flag [mte1 -> m, %s0]
      tile.wait_flag [mte1 -> m, %s0]
      %more = pypto.index %k + %k0 > 0
      tile.matmul %x, %y into %acc [%m, %n, %k1] accumulate %more
      tile.set_flag [m -> mte1, %s0]
    }
    tile.set_flag [mte1 -> mte2, %s]
  }
  tile.wait_flag [mte1 -> mte2, 0]
  tile.wait_flag [mte1 -> mte2, 1]
  tile.wait_flag [m -> mte1, 0]
  tile.wait_flag [m -> mte1, 1]
  tile.set_flag [m -> fix, 0]
  tile.wait_flag [m -> fix, 0]
  tile.store %acc [%m, %n] into %c[%row, %column]
}
