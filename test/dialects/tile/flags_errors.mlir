// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

npu.kernel @flags (%i) () on vector {
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.set_flag: pipe v is in order with itself
  tile.set_flag [v -> v, 0]
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: tile.wait_flag: flag id -1 is negative
  tile.wait_flag [v -> mte2, -1]
}

// -----

// CHECK: :[[# @LINE + 2]]:18: error[PTO100]
npu.kernel @pipe (%i) () on vector {
  tile.set_flag [mte4 -> v, 0]
}

// -----

// CHECK: :[[# @LINE + 2]]:3: error[PTO170]: tile.set_flag: operand 'index' at position 0 does not verify: Expected attribute index but got f32
npu.kernel @id (%i) (%x: f32) on vector {
  tile.set_flag [mte2 -> v, %x]
}
