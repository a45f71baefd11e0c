// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

// CHECK: a channel goes l0c -> ub or ub -> l1, not l1 -> ub
npu.kernel @way (%i) () on mixed {
  %c = tile.channel : !tile.chan<32x64xf32, l1 -> ub, rows>
}

// -----

// CHECK: a channel goes l0c -> ub or ub -> l1, not ub -> gm -> l0a
npu.kernel @way (%i) () on mixed {
  %c = tile.channel : !tile.chan<32x64xf32, ub -> gm -> l0a, rows>
}

// -----

npu.kernel @slots (%i) () on mixed {
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.channel: slots is 0, but must be at least 1
  %c = tile.channel {slots = 0} : !tile.chan<32x64xf32, l0c -> ub, rows>
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.channel: addr is -32, but must not be negative
  %d = tile.channel {addr = -32} : !tile.chan<32x64xf32, l0c -> ub, rows>
}

// -----

npu.kernel @sides (%i) () on mixed {
  %c = tile.channel : !tile.chan<32x64xf32, l0c -> ub, rows>
  tile.section cube {
    // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.pop: the cube section does not pop or free a channel l0c -> ub
    %p = tile.pop %c
    %a = tile.alloc : !tile.buf<32x64xf16, l0c>
    // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.push: pushes !tile.buf<32x64xf16, l0c>, the channel takes !tile.buf<32x64xf32, l0c>
    tile.push %a [1, 1] into %c
    %b = tile.alloc : !tile.buf<64x64xf32, l0c>
    // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.push: the number of rows is 64, not 0 to 32
    tile.push %b [64, 1] into %c
  }
  tile.section vector (%half) {
    %b = tile.alloc : !tile.buf<32x64xf32, l0c>
    // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.push: the vector section does not push a channel l0c -> ub
    tile.push %b [1, 1] into %c
  }
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.free: stands in no section of a mixed kernel
  tile.free %c
}

// -----

npu.kernel @outside (%i) () on mixed {
  %a = tile.alloc : !tile.buf<32x64xf32, ub>
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.section: tile.exp uses a buffer from outside of the section
  tile.section vector (%half) {
    tile.exp %a into %a [1, 1]
  }
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.section: a section is for the cube or the vector cores
  tile.section mixed {
  }
}

// -----

npu.kernel @alone (%i) () on vector {
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.section: stands in no kernel on mixed
  tile.section cube {
  }
}

// -----

npu.kernel @twice (%i) () on mixed {
  tile.section cube {
  }
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.section: the kernel has two cube sections
  tile.section cube {
  }
}

// -----

npu.kernel @spaces (%i) () on mixed {
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.section: tile.alloc of a buffer in ub; a cube core has no ub
  tile.section cube {
    %a = tile.alloc : !tile.buf<32x64xf32, ub>
  }
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.section: tile.alloc of a buffer in l0a; a vector core has only ub
  tile.section vector (%half) {
    %a = tile.alloc : !tile.buf<32x64xf16, l0a>
  }
}

// -----

npu.kernel @cube (%i) () on cube {
  %a = tile.alloc : !tile.buf<32x64xf32, l0c>
  %b = tile.alloc : !tile.buf<32x64xf32, ub>
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.move: moves l0c -> ub, but not in a mixed kernel without sections
  tile.move %a[0, 0] [32, 64] into %b
}

// -----

npu.kernel @with_sections (%i) () on mixed {
  %b = tile.alloc : !tile.buf<32x64xf32, ub>
  %l = tile.alloc : !tile.buf<32x64xf32, l1>
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.move: moves ub -> l1, but not in a mixed kernel without sections
  tile.move %b[0, 0] [32, 64] into %l
  tile.section cube {
  }
}

// -----

npu.kernel @plainly (%i) () on mixed {
  %a = tile.alloc : !tile.buf<32x32xf32, l0c>
  %b = tile.alloc : !tile.buf<32x32xf32, ub>
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.move: moves l0c -> ub without trans and pairs
  tile.move %a[0, 0] [32, 32] into %b {trans}
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.move: the end of rows is 33, not 0 to 32
  tile.move %a[1, 0] [32, 32] into %b
  %h = tile.alloc : !tile.buf<32x32xbf16, ub>
  // CHECK: :[[# @LINE + 1]]:{{.*}} error[PTO170]: tile.move: moves f32 into a buffer of bf16
  tile.move %a[0, 0] [32, 32] into %h
}
