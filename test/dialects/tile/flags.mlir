// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-short | pyptoc - --pipeline= | filecheck %s

// CHECK-LABEL: npu.kernel @flags
npu.kernel @flags (%i) () on mixed {
  // CHECK-NEXT: tile.set_flag [mte2 -> mte1, 0]
  tile.set_flag [mte2 -> mte1, 0]
  // CHECK-NEXT: tile.wait_flag [mte2 -> mte1, 0] {tag = "x"}
  tile.wait_flag [mte2 -> mte1, 0] {tag = "x"}
  // CHECK-NEXT: tile.set_flag [v -> mte3, %i]
  tile.set_flag [v -> mte3, %i]
  // CHECK-NEXT: tile.wait_flag [v -> mte3, %i]
  tile.wait_flag [v -> mte3, 0 + %i]
  // CHECK-NEXT: tile.set_flag [m -> fix, 2 + %i]
  tile.set_flag [m -> fix, 2 + %i]
  // CHECK-NEXT: tile.wait_flag [m -> fix, 2 + %i]
  tile.wait_flag [m -> fix, 2 + %i]
  // CHECK-NEXT: tile.set_flag [s -> mte2, 7]
  tile.set_flag [s -> mte2, 7]
  // CHECK-NEXT: tile.wait_flag [s -> mte2, 7]
  tile.wait_flag [s -> mte2, 7]
  // CHECK-NEXT: tile.barrier
  tile.barrier
  // CHECK-NEXT: tile.barrier {tag = "x"}
  tile.barrier {tag = "x"}
}
