// RUN: pyptoc %s --pipeline=partition{fuse=false} | filecheck %s

// A matmul is a cube group; the vector ops behind it are one group, since all of them
// have the domain [M, 200] and nothing stands between them.
func.func @fused(%a: tensor<?x64xf16>, %b: tensor<64x200xf16>) -> tensor<?x200xf32> {
  %y = pypto.matmul %a, %b
  %e = pypto.exp %y
  %s = pypto.sum %e axis -1 {keepdim}
  %d = pypto.div %e, %s
  func.return %d : tensor<?x200xf32>
}
// CHECK-LABEL: func.func @fused
// CHECK: pypto.matmul {{.*}}npu.group = 0, npu.unit = "cube"
// CHECK: pypto.exp {{.*}}npu.group = 1, npu.unit = "vector"
// CHECK: pypto.sum {{.*}}npu.group = 1, npu.unit = "vector"
// CHECK: pypto.div {{.*}}npu.group = 1, npu.unit = "vector"

// The matmul in the middle needs %e and feeds %z: %e and %z cannot share a task.
func.func @between(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = pypto.exp %a
  %y = pypto.matmul %e, %b
  %z = pypto.add %y, %e
  func.return %z : tensor<64x64xf32>
}
// CHECK-LABEL: func.func @between
// CHECK: pypto.exp {{.*}}npu.group = 0, npu.unit = "vector"
// CHECK: pypto.matmul {{.*}}npu.group = 1, npu.unit = "cube"
// CHECK: pypto.add {{.*}}npu.group = 2, npu.unit = "vector"

// Ops of a group become adjacent; the matmul that neither needs moves out of the way.
func.func @adjacent(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %e = pypto.exp %a
  %y = pypto.matmul %a, %b
  %n = pypto.neg %e
  func.return %n, %y : tensor<64x64xf32>, tensor<64x64xf32>
}
// CHECK-LABEL: func.func @adjacent
// CHECK: pypto.exp {{.*}}npu.group = 0
// CHECK-NEXT: pypto.neg {{.*}}npu.group = 0
// CHECK-NEXT: pypto.matmul {{.*}}npu.group = 1

// A row vector broadcast over rows is computed once, by a group of its own.
func.func @domains(%x: tensor<?x32xf32>, %g: tensor<32xf32>) -> tensor<?x32xf32> {
  %h = pypto.add %g, 1.0
  %y = pypto.mul %x, %h
  func.return %y : tensor<?x32xf32>
}
// CHECK-LABEL: func.func @domains
// CHECK: pypto.add {{.*}}npu.group = 0
// CHECK: pypto.mul {{.*}}npu.group = 1

// An op whose result nobody uses is erased.
func.func @dead(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %n = pypto.neg %x
  %y = pypto.exp %x
  func.return %y : tensor<8x32xf32>
}
// CHECK-LABEL: func.func @dead
// CHECK-NOT: pypto.neg
// CHECK: pypto.exp {{.*}}npu.group = 0

// The matmul stores into its destination itself.
func.func @stored(%a: tensor<16x32xf16>, %b: tensor<32x16xf16>) -> tensor<4x16x16xf32> {
  %o = pypto.empty[4, 16, 16] : tensor<4x16x16xf32>
  %y = pypto.matmul %a, %b
  %r = pypto.assemble %y into %o[2, 0, 0]
  func.return %r : tensor<4x16x16xf32>
}
// CHECK-LABEL: func.func @stored
// CHECK: pypto.matmul {{.*}}npu.group = 0, npu.unit = "cube"
// CHECK-NEXT: pypto.assemble {{.*}}npu.group = 0, npu.unit = "cube"

// What leaves the function is a buffer of its own: returning an argument or a view
// copies, and so does writing into a tensor whose old value is still read.
func.func @copies(%x: tensor<8x32xf32>, %t: tensor<4x32xf32>)
    -> (tensor<8x32xf32>, tensor<4x32xf32>, tensor<8x32xf32>) {
  %v = pypto.view %x[4 +: 4, :]
  %o = pypto.full 0.0[8, 32] : tensor<8x32xf32>
  %r = pypto.assemble %t into %o[0, 0]
  %s = pypto.add %r, %o
  func.return %x, %v, %s : tensor<8x32xf32>, tensor<4x32xf32>, tensor<8x32xf32>
}
// CHECK-LABEL: func.func @copies
// CHECK-DAG: [[O:%[a-z0-9_]+]] = pypto.clone %o
// CHECK-DAG: pypto.assemble %t into [[O]]
// CHECK-DAG: [[X:%[a-z0-9_]+]] = pypto.clone %x
// CHECK-DAG: [[V:%[a-z0-9_]+]] = pypto.clone %v
// CHECK: func.return [[X]], [[V]], %s

// An op whose places come from data is alone, also where its result is stored, and the
// constant that it reads lies in memory.
func.func @index(%x: tensor<9x64xf32>, %i: tensor<9x4xi32>, %o: tensor<2x9x4xf32>) -> (tensor<2x9x4xf32> {pypto.name = "o"}) {
  %e = pypto.exp %x
  %g = pypto.gather %e, %i axis -1
  %z = pypto.full 0.0[9, 64] : tensor<9x64xf32>
  %h = pypto.gather %z, %i axis -1
  %s = pypto.add %g, %h
  %a = pypto.assemble %g into %o[0, 0, 0]
  %b = pypto.assemble %s into %a[1, 0, 0]
  func.return %b : tensor<2x9x4xf32>
}
// CHECK-LABEL: func.func @index
// CHECK: pypto.exp {{.*}}npu.group = [[E:[0-9]+]], npu.unit = "vector"
// CHECK: pypto.gather %e{{.*}}npu.group = [[G:[0-9]+]], npu.unit = "index"
// CHECK: pypto.full {{.*}}npu.unit = "vector"
// CHECK: pypto.gather %z{{.*}}npu.unit = "index"
