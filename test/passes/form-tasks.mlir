// RUN: pyptoc %s --pipeline='desugar,partition{fuse=false nests=false},infer-tiles,form-tasks' | filecheck %s
// RUN: pyptoc %s --pipeline='desugar,partition{fuse=false nests=false},infer-tiles,form-tasks,tile' | filecheck %s --check-prefix=TILE

// Independent loops around one group: both become grid axes, the tail is cut inside.
func.func @grid(%x: tensor<4x?x32xf32> {pypto.dims = ["S"]}) -> tensor<4x?x32xf32> {
  %S = pypto.dim %x, 1
  %o0 = pypto.empty[4, %S, 32] : tensor<4x?x32xf32>
  %r = pypto.forall (%b = 0 to 4, %i +: %m = 0 to %S step 16) outs(%o = %o0) {
    %v = pypto.view %x[%b, %i +: %m, :]
    %e = pypto.exp %v
    pypto.store %e into %o[%b, %i, 0]
  }
  func.return %r : tensor<4x?x32xf32>
}
// CHECK-LABEL: func.func @grid
// CHECK-COUNT-2: npu.grid
// TILE-LABEL: func.func @grid
// TILE-NOT: scf.for
// TILE: [[TILES:%[0-9]+]] = pypto.index %S ceildiv 16
// TILE: npu.tasks (%i, %j, %k, %l) in (4, [[TILES]], 1, 1) outs(%out = %o0
// TILE: [[ROWS:%[0-9]+]] = pypto.index min(%S - 16 * %j, 16)
// TILE: pypto.view %x[%i, {{%[0-9]+}} +: [[ROWS]], 0 +: 32]

// Two groups: the loop launches both in each iteration.
func.func @two_groups(%a: tensor<4x16x32xf16>, %b: tensor<32x64xf16>) -> tensor<4x16x64xf32> {
  %o0 = pypto.empty[4, 16, 64] : tensor<4x16x64xf32>
  %r = pypto.forall (%i = 0 to 4) outs(%o = %o0) {
    %v = pypto.view %a[%i, :, :]
    %y = pypto.matmul %v, %b
    %e = pypto.exp %y
    pypto.store %e into %o[%i, 0, 0]
  }
  func.return %r : tensor<4x16x64xf32>
}
// CHECK-LABEL: func.func @two_groups
// CHECK-NOT: npu.grid
// CHECK-LABEL: func.func @reads
// TILE-LABEL: func.func @two_groups
// TILE: scf.for
// TILE: npu.tasks {{.*}} on cube
// TILE: npu.tasks {{.*}} on vector

// A body that reads data stays a loop: only the orchestration knows the value.
func.func @reads(%x: tensor<?x32xf32>, %n: tensor<4xi32>) -> tensor<4x32xf32> {
  %o0 = pypto.empty[4, 32] : tensor<4x32xf32>
  %r = pypto.forall (%i = 0 to 4) outs(%o = %o0) {
    %p = pypto.read %n[%i]
    %v = pypto.view %x[%p +: 1, :]
    %e = pypto.exp %v
    pypto.store %e into %o[%i, 0]
  }
  func.return %r : tensor<4x32xf32>
}
// CHECK-NOT: npu.grid

// A loop that carries a value depends on its earlier trips.
func.func @carried(%x: tensor<64x32xf32>) -> tensor<8x32xf32> {
  %a0 = pypto.full 0.0[8, 32] : tensor<8x32xf32>
  %r = pypto.for (%i = 0 to 64 step 8) iter(%a = %a0) {
    %v = pypto.view %x[%i +: 8, :]
    %s = pypto.add %a, %v
    pypto.yield %s
  }
  func.return %r : tensor<8x32xf32>
}
// CHECK-LABEL: func.func @carried
// CHECK-NOT: npu.grid
