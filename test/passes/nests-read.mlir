// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds,partition,infer-tiles,form-tasks,tile,assemble-buffers | filecheck %s
// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds,partition,infer-tiles,form-tasks,tile,assemble-buffers,lower-to-tile,split-mixed | filecheck %s --check-prefix=KERNEL

// A body reads pages of a table: each task reads for itself, and the table is among
// what it touches. Both kinds of cores read what both compute with; the page, only the
// cube core. That pages exist is checked before the tasks.
// CHECK-LABEL: func.func @pages
// CHECK:         pypto.assert %p + 1 <= 8,
// CHECK:         npu.tasks ([[I:%[i0-9_]+]]) in (3) buffers(
// CHECK-SAME:      read %table{{\[}}[[I]], 0] [1, 4]
// CHECK-SAME:      on mixed
// CHECK:           [[P:%p[0-9_]*]] = npu.read %table{{\[}}[[I]], %j{{[0-9_]*}}] : memref<3x4xi32, "gm"> -> index
// CHECK:           npu.load %k{{[0-9_]*}}{{\[}}[[P]], {{.*}}

// KERNEL-LABEL: npu.kernel
// KERNEL:       %f = tile.read %scale[0] : memref<1xf32, "gm"> -> f32
// KERNEL:       tile.section cube {
// KERNEL:         scf.for %j
// KERNEL:           %p = tile.read %table[%i, %j] : memref<3x4xi32, "gm"> -> index
// KERNEL:           tile.load %k[%p, 0, 0]
// KERNEL:       tile.section vector (%half) {
// KERNEL-NOT:     tile.read
// KERNEL:         tile.mul {{%[0-9]+}}, %f into
func.func @pages(%x: tensor<3x16x32xf16>, %k: tensor<8x32x32xf16>, %table: tensor<3x4xi32>, %scale: tensor<1xf32>) -> tensor<3x16x32xf32> {
  %e = pypto.empty[3, 16, 32] : tensor<3x16x32xf32>
  %r = pypto.forall (%i = 0 to 3) outs(%o = %e) {
    %v = pypto.view %x[%i, :, :]
    %f = pypto.read %scale[0]
    %z = pypto.full 0.0[16, 32] : tensor<16x32xf32>
    %s = pypto.for (%j = 0 to 4) iter(%a = %z) {
      %p = pypto.read %table[%i, %j]
      %w = pypto.view %k[%p, :, :]
      %y = pypto.matmul %v, %w
      %t = pypto.mul %y, %f
      %b = pypto.add %a, %t
      pypto.yield %b
    }
    pypto.store %s into %o[%i, 0, 0]
  }
  func.return %r : tensor<3x16x32xf32>
}
