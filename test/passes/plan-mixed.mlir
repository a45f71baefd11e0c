// RUN: pyptoc %s --pipeline=plan-memory,insert-sync | filecheck %s

// A channel lies with the core that takes from it, beside all that core has. A tile that
// was popped belongs to its pop until it is freed: the store of it must be over then. On
// the pipe that pops, order needs no flag. A push is an instruction of its pipe.

// CHECK-LABEL: npu.kernel @there_and_back
// CHECK:         %up = tile.channel {addr = 0, slots = 2}
// CHECK:         %down = tile.channel {addr = 0, slots = 2}
// CHECK:         tile.section cube {
// CHECK:           %l = tile.alloc {addr = 2048}
// CHECK:           scf.for
// CHECK:             %p = tile.pop %down
// CHECK-NEXT:        tile.wait_flag [m -> mte1, 0]
// CHECK-NEXT:        tile.move %p
// CHECK-NEXT:        tile.move
// CHECK-NEXT:        tile.set_flag [mte1 -> m, 0]
// CHECK-NEXT:        tile.free %down
// CHECK-NEXT:        tile.wait_flag [mte1 -> m, 0]
// CHECK-NEXT:        tile.wait_flag [fix -> m, 0]
// CHECK-NEXT:        tile.matmul
// CHECK-NEXT:        tile.set_flag [m -> fix, 0]
// CHECK-NEXT:        tile.set_flag [m -> mte1, 0]
// CHECK-NEXT:        tile.wait_flag [m -> fix, 0]
// CHECK-NEXT:        tile.push %c
// CHECK-NEXT:        tile.set_flag [fix -> m, 0]
// CHECK-NEXT:      }

// CHECK:         tile.section vector (%half) {
// CHECK:           %x = tile.alloc {addr = 1024}
// CHECK:           scf.for
// CHECK:             tile.push %x
// CHECK-NEXT:        %q = tile.pop %up
// CHECK-NEXT:        tile.add %q, 1.0 into %q
// CHECK-NEXT:        tile.set_flag [v -> mte3, [[A:\d+]]]
// CHECK-NEXT:        %r = pypto.index
// CHECK-NEXT:        tile.wait_flag [v -> mte3, [[A]]]
// CHECK-NEXT:        tile.store %q
// CHECK-NEXT:        tile.set_flag [mte3 -> v, [[B:\d+]]]
// CHECK-NEXT:        tile.wait_flag [mte3 -> v, [[B]]]
// CHECK-NEXT:        tile.free %up
// CHECK-NEXT:      }
npu.kernel @there_and_back () (%y: memref<16x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %up = tile.channel {slots = 2} : !tile.chan<16x16xf32, l0c -> ub, rows>
  %down = tile.channel {slots = 2} : !tile.chan<16x16xf32, ub -> l1, rows>
  tile.section cube {
    %l = tile.alloc : !tile.buf<16x16xf32, l1>
    %a = tile.alloc : !tile.buf<16x16xf32, l0a>
    %b = tile.alloc : !tile.buf<16x16xf32, l0b>
    %c = tile.alloc : !tile.buf<16x16xf32, l0c>
    tile.load %y[0, 0] [16, 16] into %l
    scf.for %t = %c0 to %n step %c1 {
      %p = tile.pop %down
      tile.move %p[0, 0] [16, 16] into %a
      tile.move %l[0, 0] [16, 16] into %b
      tile.free %down
      tile.matmul %a, %b into %c [16, 16, 16]
      tile.push %c [16, 16] into %up
    }
  }
  tile.section vector (%half) {
    %x = tile.alloc : !tile.buf<8x16xf32, ub>
    tile.fill 1.0 into %x [8, 16]
    scf.for %t = %c0 to %n step %c1 {
      tile.push %x [8, 16] into %down
      %q = tile.pop %up
      tile.add %q, 1.0 into %q [8, 16]
      %r = pypto.index 8 * %half
      tile.store %q [8, 16] into %y[%r, 0]
      tile.free %up
    }
  }
}

// Through memory a pop loads, and whoever uses the slot gives it back: the next pop waits
// for no more than the wait of the trip before, whose flag it sets again.

// CHECK-LABEL: npu.kernel @through_memory
// CHECK:           scf.for
// CHECK-NEXT:        tile.wait_flag [mte1 -> mte2, 0]
// CHECK-NEXT:        %p = tile.pop %down
// CHECK-NEXT:        tile.set_flag [mte2 -> mte1, 0]
// CHECK-NEXT:        tile.wait_flag [mte2 -> mte1, 0]
// CHECK:             tile.move %p
// CHECK-NEXT:        tile.set_flag [mte1 -> mte2, 0]
// CHECK-NEXT:        tile.move %l
// CHECK-NEXT:        tile.set_flag [mte1 -> m, 0]
// CHECK-NEXT:        tile.free %down
// CHECK:         tile.section vector (%half) {
// CHECK:           scf.for
// CHECK:             tile.wait_flag [v -> mte2, 0]
// CHECK-NEXT:        %q = tile.pop %up
// CHECK:             tile.add %q
// CHECK:             tile.set_flag [v -> mte2, 0]
// CHECK:             tile.store %q
// CHECK-NEXT:        tile.set_flag [mte3 -> v, [[A:\d+]]]
// CHECK-NEXT:        tile.wait_flag [mte3 -> v, [[A]]]
// CHECK-NEXT:        tile.free %up
// CHECK-NEXT:      }
npu.kernel @through_memory () (%y: memref<16x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %up = tile.channel {slots = 2} : !tile.chan<16x16xf32, l0c -> gm -> ub, rows>
  %down = tile.channel {slots = 2} : !tile.chan<16x16xf32, ub -> gm -> l1, rows>
  tile.section cube {
    %l = tile.alloc : !tile.buf<16x16xf32, l1>
    %a = tile.alloc : !tile.buf<16x16xf32, l0a>
    %b = tile.alloc : !tile.buf<16x16xf32, l0b>
    %c = tile.alloc : !tile.buf<16x16xf32, l0c>
    tile.load %y[0, 0] [16, 16] into %l
    scf.for %t = %c0 to %n step %c1 {
      %p = tile.pop %down
      tile.move %p[0, 0] [16, 16] into %a
      tile.move %l[0, 0] [16, 16] into %b
      tile.free %down
      tile.matmul %a, %b into %c [16, 16, 16]
      tile.push %c [16, 16] into %up
    }
  }
  tile.section vector (%half) {
    %x = tile.alloc : !tile.buf<8x16xf32, ub>
    tile.fill 0.0 into %x [8, 16]
    scf.for %t = %c0 to %n step %c1 {
      tile.push %x [8, 16] into %down
      %q = tile.pop %up
      tile.add %q, 1.0 into %q [8, 16]
      %r = pypto.index 8 * %half
      tile.store %q [8, 16] into %y[%r, 0]
      tile.free %up
    }
  }
}

// Two tiles at a time: a free gives back what was popped first, so each store is over
// before its own free, and the second may run on behind the first one.

// CHECK-LABEL: npu.kernel @two_at_a_time
// CHECK:             tile.store %p
// CHECK-NEXT:        tile.set_flag [mte3 -> v, [[A:\d+]]]
// CHECK:             tile.store %q
// CHECK-NEXT:        tile.set_flag [mte3 -> v, [[B:\d+]]]
// CHECK-NEXT:        tile.wait_flag [mte3 -> v, [[A]]]
// CHECK-NEXT:        tile.free %up
// CHECK-NEXT:        tile.wait_flag [mte3 -> v, [[B]]]
// CHECK-NEXT:        tile.free %up
npu.kernel @two_at_a_time () (%y: memref<32x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %up = tile.channel {slots = 2} : !tile.chan<16x16xf32, l0c -> ub, rows>
  tile.section vector (%half) {
    %r = pypto.index 8 * %half
    scf.for %t = %c0 to %n step %c1 {
      %p = tile.pop %up
      tile.store %p [8, 16] into %y[%r, 0]
      %q = tile.pop %up
      tile.store %q [8, 16] into %y[%r, 0]
      tile.free %up
      tile.free %up
    }
  }
}

// What one trip pops the next trip frees: any free may give back any slot.

// CHECK-LABEL: npu.kernel @freed_by_the_next_trip
// CHECK:         tile.set_flag [mte3 -> v, [[A:\d+]]]
// CHECK-NEXT:    scf.for
// CHECK:           tile.wait_flag [mte3 -> v, [[A]]]
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        tile.free %up
// CHECK:           %p = tile.pop %up
// CHECK:           tile.store %p
// CHECK-NEXT:      tile.set_flag [mte3 -> v, [[A]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.wait_flag [mte3 -> v, [[A]]]
// CHECK:         tile.free %up
npu.kernel @freed_by_the_next_trip () (%y: memref<32x16xf32, "gm">, %n: index) on mixed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %up = tile.channel {slots = 2} : !tile.chan<16x16xf32, l0c -> ub, rows>
  tile.section vector (%half) {
    %r = pypto.index 8 * %half
    scf.for %t = %c0 to %n step %c1 {
      %later = pypto.index %t > 0
      scf.if %later {
        tile.free %up
      }
      %p = tile.pop %up
      tile.store %p [8, 16] into %y[%r, 0]
    }
    %any = pypto.index %n > 0
    scf.if %any {
      tile.free %up
    }
  }
}
