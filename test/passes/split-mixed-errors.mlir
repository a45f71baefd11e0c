// RUN: not pyptoc %s --split-input-file --pipeline=split-mixed 2>&1 | filecheck %s
// What keeps a flat mixed kernel from getting sections.

npu.kernel @corner () (%y: memref<32x16xf32, "gm">) on mixed {
  %c = tile.alloc : !tile.buf<32x16xf32, l0c>
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  // CHECK: :[[# @LINE + 1]]:3: error[PTO216]: the mixed kernel @corner cannot be split: what crosses must start at [0, 0]
  tile.move %c[16, 0] [16, 16] into %u
  tile.store %u [16, 16] into %y[0, 0]
}

// -----

npu.kernel @carried (%i) (%x: memref<16x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  %p = tile.alloc : !tile.buf<16x16xf32, l1>
  %l = tile.alloc : !tile.buf<16x16xf32, l0a>
  tile.load %x[0, 0] [16, 16] into %p
  scf.for %t = %c0 to %n step %c1 {
    tile.move %p[0, 0] [16, 16] into %l
    // CHECK: :[[# @LINE + 1]]:5: error[PTO216]: the mixed kernel @carried cannot be split: what crosses to l1 is used elsewhere than behind the move in its block, and the cube core fills it as well
    tile.move %u[0, 0] [16, 16] into %p
  }
}

// -----

npu.kernel @flags (%i) () on mixed {
  // CHECK: :[[# @LINE + 1]]:3: error[PTO216]: the mixed kernel @flags cannot be split: tile.barrier before there are sections
  tile.barrier
}

// -----

npu.kernel @memory (%i) (%y: memref<32x16xf32, "gm">) on mixed {
  %c = tile.alloc : !tile.buf<32x16xf32, l0c>
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  // CHECK: :[[# @LINE + 2]]:3: error[PTO216]: the mixed kernel @memory cannot be split: the cube side writes memory that the vector side touches
  // CHECK: note: it does so here ({{.*}}:[[# @LINE + 2]]:3)
  tile.store %c [16, 16] into %y[0, 0]
  tile.load %y[0, 0] [16, 16] into %u
}

// -----

// Two arguments that a launch gives one buffer are one.
npu.kernel @same (%i) (%x: memref<16x16xf32, "gm">, %y: memref<16x16xf32, "gm">) on mixed {
  %a = tile.alloc : !tile.buf<16x16xf32, l1>
  %u = tile.alloc : !tile.buf<16x16xf32, ub>
  // CHECK: :[[# @LINE + 2]]:3: error[PTO216]: the mixed kernel @same cannot be split: the vector side writes memory that the cube side touches
  tile.load %x[0, 0] [16, 16] into %a
  tile.store %u [16, 16] into %y[0, 0]
}
func.func @main(%x: memref<16x16xf32, "gm"> {pypto.name = "x"}) {
  %t = npu.launch @same[1] (%x, %x)
  func.return
}
