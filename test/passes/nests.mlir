// RUN: pyptoc %s --pipeline=desugar,decompose,partition | filecheck %s
// RUN: pyptoc %s --pipeline=desugar,decompose,partition --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: pyptoc %s --pipeline=desugar,decompose,partition{nests=false} | filecheck %s --check-prefix=OFF
// RUN: pyptoc %s --pipeline=desugar,decompose,partition,infer-tiles,form-tasks,tile | filecheck %s --check-prefix=TILE
// RUN: pyptoc %s --pipeline=desugar,decompose,partition,infer-tiles,form-tasks,tile,assemble-buffers,lower-to-tile | filecheck %s --check-prefix=KERNEL
// RUN: pyptoc %s --machine=ascend910b --pipeline=desugar,partition --remarks 2>&1 | filecheck %s --check-prefix=OLD

// OFF-NOT: npu.whole

// Two products and a vector op between them: one mixed task for 24 rows. The first
// product's tile cuts its 96 columns into three pieces, which the second one's sum over
// K goes through.
func.func @mlp(%x: tensor<?x48xf16> {pypto.dims = ["M"]}, %w: tensor<48x96xf16>, %u: tensor<96x40xf16>) -> tensor<?x40xf32> {
  %m = pypto.dim %x, 0
  %e = pypto.empty[%m, 40] : tensor<?x40xf32>
  %r = pypto.forall (%i +: %n = 0 to %m step 24) outs(%o = %e) {tag = "mlp"} {
    %v = pypto.view %x[%i +: %n, :]
    %h = pypto.matmul %v, %w to f16 {tile = #pypto.cube<m = [16, 16], k = [16, 48], n = [32, 96]>}
    %p = pypto.relu %h
    %y = pypto.matmul %p, %u
    pypto.store %y into %o[%i, 0]
  }
  func.return %r : tensor<?x40xf32>
}
// On a machine without ways between the cores it is one task if that is faster.
// OLD-DAG: remark{{.*}}: the body of the loop is one mixed task: {{[0-9.]+}} us modelled instead of
// CHECK-LABEL: func.func @mlp
// CHECK: pypto.matmul {{.*}} npu.tile = #pypto.cube<m = [32, 32], k = [16, 48], n = [32, 96], split_k = 1>
// CHECK: npu.whole = "mixed"

// TILE-LABEL: func.func @mlp
// TILE: npu.tasks (%i) in ({{%[0-9]+}}) outs(%out = %e : tensor<?x40xf32>) on mixed {npu.whole, tag = "mlp"} {
// TILE-COUNT-3: pypto.mma {{.*}} -> tensor<?x32xf32, #npu.max<24, 32>>
// TILE-COUNT-3: pypto.relu {{.*}} tensor<?x32xf16, #npu.max<24, 32>>
// TILE: [[SUM:%[0-9]+]] = pypto.mma {{%[0-9]+}}, %p,
// TILE: [[MORE:%[0-9]+]] = pypto.mma [[SUM]], %p_1,
// TILE: [[ALL:%[0-9]+]] = pypto.mma [[MORE]], %p_2,
// TILE: npu.assemble [[ALL]] into %out[

// What a vector op reads crosses to UB, what a product reads to L1; the last product is
// stored from L0C. Elementwise ops work in place.
// KERNEL-LABEL: npu.kernel @mlp_0
// KERNEL-SAME: on mixed
// KERNEL: [[C:%[0-9]+]] = tile.alloc : !tile.buf<24x32xf32, l0c>
// KERNEL: tile.matmul {{.*}} into [[C]]
// KERNEL: tile.move [[C]][0, 0] [{{%[0-9]+}}, 32] into [[X:%[0-9]+]] : !tile.buf<24x32xf32, l0c>, !tile.buf<24x32xf32, ub>
// KERNEL: tile.cvt [[X]] into [[H:%[0-9a-z_]+]]
// KERNEL: tile.relu [[H]] into [[H]]
// KERNEL: tile.move [[H]][0, 0] [{{%[0-9]+}}, 32] into %p : !tile.buf<24x32xf16, ub>, !tile.buf<24x32xf16, l1>
// KERNEL: tile.move %p[0, {{.*}}] {{.*}}, l0a>
// KERNEL: tile.store {{.*}} : !tile.buf<24x40xf32, l0c>, memref<?x40xf32, "gm">

// The rows of a task have no bound.
// REMARK: :[[# @LINE + 4]]:8: remark[PTO331]: the body of the loop is no single task: the rows of %h have no static bound
func.func @unbounded(%x: tensor<4x?x48xf16> {pypto.dims = ["M"]}, %w: tensor<48x48xf16>) -> tensor<4x?x48xf32> {
  %m = pypto.dim %x, 1
  %e = pypto.empty[4, %m, 48] : tensor<4x?x48xf32>
  %r = pypto.forall (%i = 0 to 4) outs(%o = %e) {
    %v = pypto.view %x[%i, :, :]
    %h = pypto.matmul %v, %w to f16
    %y = pypto.matmul %h, %w
    pypto.store %y into %o[%i, 0, 0]
  }
  func.return %r : tensor<4x?x48xf32>
}

// However narrow the pieces, all of the weights are in L1 at once.
// REMARK: :[[# @LINE + 3]]:8: remark[PTO331]: the body of the loop is no single task: its tiles take {{[0-9]+}} B of L1, which has 524288 B
func.func @too_large(%x: tensor<512x64xf16>, %w: tensor<64x1024xf16>, %u: tensor<1024x64xf16>) -> tensor<512x64xf32> {
  %e = pypto.empty[512, 64] : tensor<512x64xf32>
  %r = pypto.forall (%i = 0 to 512 step 256) outs(%o = %e) {
    %v = pypto.view %x[%i +: 256, :]
    %h = pypto.matmul %v, %w
    %s = pypto.softmax %h axis -1
    %c = pypto.cast %s to f16
    %y = pypto.matmul %c, %u
    pypto.store %y into %o[%i, 0]
  }
  func.return %r : tensor<512x64xf32>
}

// Only gathers of rows are part of a body.
// REMARK: :[[# @LINE + 3]]:8: remark[PTO331]: the body of the loop is no single task: its body holds an indexing op
func.func @selects(%x: tensor<4x16x64xf16>, %w: tensor<8x64xf16>) -> tensor<4x16x64xf32> {
  %e = pypto.empty[4, 16, 64] : tensor<4x16x64xf32>
  %r = pypto.forall (%j = 0 to 4) outs(%o = %e) {
    %a = pypto.view %x[%j, :, :]
    %v, %i = pypto.topk %a k 8 axis -1
    %h = pypto.matmul %v, %w to f16
    %h32 = pypto.cast %h to f32
    pypto.store %h32 into %o[%j, 0, 0]
  }
  func.return %r : tensor<4x16x64xf32>
}

// A number that an inner loop carries lives in no tile.
// REMARK: :[[# @LINE + 3]]:8: remark[PTO331]: the body of the loop is no single task: a loop carries a scalar
func.func @counts(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>, %n: index) -> tensor<64x64xf16> {
  %e = pypto.empty[64, 64] : tensor<64x64xf16>
  %r = pypto.forall (%j = 0 to 64 step 16) outs(%o = %e) {
    %v = pypto.view %x[%j +: 16, :]
    %p, %q = pypto.for (%i = 0 to 3) iter(%a = %n, %b = %v) {
      %h = pypto.matmul %b, %w to f16
      %c = pypto.index %a + %i
      pypto.yield %c, %h
    }
    %y = pypto.exp %q
    pypto.store %y into %o[%j, 0]
  }
  func.return %r : tensor<64x64xf16>
}

// One task, much to do: launches can share it among all cores.
// OLD-DAG: remark{{.*}}: the body of the loop is no single task: modelled
func.func @heavy(%x: tensor<64x16384xf16>, %w: tensor<16384x512xf16>, %u: tensor<512x64xf16>) -> tensor<64x64xf32> {
  %e = pypto.empty[64, 64] : tensor<64x64xf32>
  %r = pypto.forall (%i +: %n = 0 to 64 step 64) outs(%o = %e) {
    %v = pypto.view %x[%i +: %n, :]
    %h = pypto.matmul %v, %w to f16
    %p = pypto.relu %h
    %y = pypto.matmul %p, %u
    pypto.store %y into %o[%i, 0]
  }
  func.return %r : tensor<64x64xf32>
}
