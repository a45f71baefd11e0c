// RUN: pyptoc %s --pipeline=desugar,decompose,partition{fuse=false},infer-tiles,form-tasks,tile,split-k,assemble-buffers | filecheck %s

// Arguments and results are memrefs; views load, assembles store. The consumer's task
// of 64 rows waits for the two tasks of 32 rows that wrote them, in both columns.
func.func @chain(%a: tensor<?x64xf16>, %b: tensor<64x200xf16>) -> tensor<?x1xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [32, 32], k = [64, 64], n = [128, 128]>}
  %s = pypto.sum %y axis -1 {keepdim, tile = #pypto.vec<64, 256>}
  func.return %s : tensor<?x1xf32>
}
// CHECK-LABEL: func.func @chain
// CHECK-SAME: %a: memref<?x64xf16, "gm">
// CHECK-SAME: -> (memref<?x1xf32, "gm">
// CHECK: %y = npu.alloc[{{%[0-9]+}}, 200] {policy = "carried"} : memref<?x200xf32, "gm">
// CHECK: [[T:%[0-9]+]] = npu.tasks (%i, %j)
// CHECK-SAME: accesses(read %a[32 * %i, 0] [min({{%[0-9]+}} - 32 * %i, 32), 64]
// CHECK-SAME: write %y[32 * %i, 128 * %j] [min({{%[0-9]+}} - 32 * %i, 32), min(128, 200 - 128 * %j)])
// CHECK: npu.load %a
// CHECK: npu.store {{.*}} into %y
// CHECK: %s = npu.alloc
// CHECK: npu.tasks ([[I:%i[_0-9]*]])
// CHECK-SAME: after([[T]][2 * [[I]] : {{.*}}, *])
// CHECK-SAME: on vector
// CHECK: func.return %s

// Equal tiles: a task waits for one task. That one overwrites what the fill wrote, so it
// has waited for the fill of 64 rows behind it.
func.func @same_tiles(%x: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %e = pypto.exp %x {tile = #pypto.vec<16, 64>}
  %o = pypto.full 0.0[256, 64] : tensor<256x64xf32>
  %r = pypto.assemble %e into %o[0, 0]
  %n = pypto.neg %r {tile = #pypto.vec<16, 64>}
  func.return %n : tensor<256x64xf32>
}
// CHECK-LABEL: func.func @same_tiles
// CHECK: [[F:%[0-9]+]] = npu.tasks {{.*}} on vector {tag = "full"}
// CHECK: [[E:%[0-9]+]] = npu.tasks ([[I:%i[_0-9]*]], {{.*}} after([[F]][[[I]] floordiv 4, *]) {{.*}} {tag = "exp"}
// CHECK: npu.tasks ([[I2:%i[_0-9]*]], {{.*}} after([[E]][[[I2]], *])

// In a sequential loop a trip may need the trips before it: the loop carries their
// events. What was launched before the loop is waited for as well.
func.func @sequential(%x: tensor<64x32xf32>) -> tensor<8x32xf32> {
  %a0 = pypto.full 0.0[8, 32] : tensor<8x32xf32>
  %r = pypto.for (%i = 0 to 64 step 8) iter(%a = %a0) {
    %v = pypto.view %x[%i +: 8, :]
    %s = pypto.add %a, %v
    pypto.yield %s
  }
  func.return %r : tensor<8x32xf32>
}
// CHECK-LABEL: func.func @sequential
// CHECK: [[FULL:%[0-9]+]] = npu.tasks
// CHECK: [[NONE:%[0-9]+]] = npu.no_events
// CHECK: scf.for {{.*}} iter_args(%a = {{%[a-z0-9_]+}}, [[EV:%[0-9]+]] = [[NONE]])
// CHECK: [[T:%[0-9]+]] = npu.tasks {{.*}} after({{.*}}[[EV]] overlaps
// CHECK: [[J:%[0-9]+]] = npu.join [[EV]], [[T]]
// CHECK: scf.yield {{.*}}, [[J]]

// Independent iterations wait for nothing of each other; a consumer behind the loop
// waits for those whose boxes overlap its own, known at launch.
func.func @experts(%x: tensor<?x32xf32> {pypto.dims = ["M"]}, %n: tensor<4xi32>) -> tensor<?x32xf32> {
  %m = pypto.dim %x, 0
  %o0 = pypto.empty[%m, 32] : tensor<?x32xf32>
  %r = pypto.forall (%e = 0 to 4) outs(%o = %o0) {
    %p = pypto.read %n[%e]
    %v = pypto.view %x[%p +: 4, :]
    %w = pypto.exp %v
    pypto.store %w into %o[%p, 0]
  }
  %y = pypto.neg %r
  func.return %y : tensor<?x32xf32>
}
// CHECK-LABEL: func.func @experts
// CHECK: [[ALL:%[0-9]+]] = scf.for
// CHECK: npu.tasks
// CHECK-NOT: after
// CHECK: npu.join
// CHECK: npu.tasks {{.*}} after([[ALL]] overlaps)

// A scalar that tasks computed is read when they are done.
func.func @scalar(%x: tensor<4xi32>, %y: tensor<64x8xf32>) -> tensor<4x8xf32> {
  %c = pypto.cumsum %x axis 0
  %i = pypto.read %c[3]
  %v = pypto.view %y[%i +: 4, :]
  %e = pypto.exp %v
  func.return %e : tensor<4x8xf32>
}
// CHECK-LABEL: func.func @scalar
// CHECK: [[T:%[0-9]+]] = npu.tasks
// CHECK: npu.read {{.*}} after([[T]])

// A print waits for the tasks that make what it shows.
// CHECK-LABEL: func.func @print
// CHECK:       [[E:%.*]] = npu.tasks
// CHECK:       npu.print "y" {{.*}} after([[E]]) : memref<4x8xf32, "gm">
// CHECK-NEXT:  pypto.print "n" %n : index
func.func @print(%x: tensor<4x8xf32>, %n: index) -> tensor<4x8xf32> {
  %y = pypto.exp %x
  pypto.print "y" %y
  pypto.print "n" %n
  func.return %y : tensor<4x8xf32>
}
