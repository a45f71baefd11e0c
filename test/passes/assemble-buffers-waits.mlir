// RUN: pyptoc %s --pipeline=desugar,decompose,partition,infer-tiles,form-tasks,tile,split-k,assemble-buffers | filecheck %s
// RUN: pyptoc %s --pipeline=partition --remarks 2>&1 | filecheck %s --check-prefix=COPY
// COPY: remark[PTO311]: 'v' is copied, tensor<?x4x64xf32>: a reshape needs it side by side

// Two views side by side: no order between their writers, and a reader of columns of one
// of them waits for that one.
// CHECK-LABEL: func.func @side_by_side
// CHECK: [[E:%[0-9]+]] = npu.tasks {{.*}} {tag = "exp"}
// CHECK: [[N:%[0-9]+]] = npu.tasks
// CHECK-NOT: after
// CHECK-SAME: {tag = "neg"}
// CHECK: npu.tasks ([[I:%[_i0-9]+]], [[J:%[_j0-9]+]]) {{.*}} after([[E]][[[I]], 0 : min(1, 64 - 64 * [[J]])], [[N]][[[I]] floordiv 2, 0 : min(1, 64 * [[J]])])
func.func @side_by_side(%x: tensor<256x64xf32>, %y: tensor<256x64xf32>) -> tensor<256x128xf32> {
  %e = pypto.exp %x {tile = #pypto.vec<16, 64>}
  %n = pypto.neg %y {tile = #pypto.vec<32, 64>}
  %o = pypto.empty[256, 128] : tensor<256x128xf32>
  %p = pypto.assemble %e into %o[0, 0]
  %q = pypto.assemble %n into %p[0, 64]
  %t = pypto.abs %q {tile = #pypto.vec<16, 64>}
  func.return %t : tensor<256x128xf32>
}

// Blocks of 16 rows in blocks of 64, read in blocks of 32: two indices in a dimension.
// CHECK-LABEL: func.func @blocks_in_blocks
// CHECK: [[T:%[0-9]+]] = npu.tasks (%i, %j, {{.*}} {tag = "exp"}
// CHECK: npu.tasks ([[I:%[_i0-9]+]], {{.*}} after([[T]][[[I]] floordiv 2, 2 * [[I]] - 4 * ([[I]] floordiv 2) : {{.*}}, *])
func.func @blocks_in_blocks(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %m = pypto.dim %x, 0
  %o0 = pypto.empty[%m, 32] : tensor<?x32xf32>
  %r = pypto.forall (%i +: %n = 0 to %m step 64) outs(%o = %o0) {
    %v = pypto.view %x[%i +: %n, :]
    %e = pypto.exp %v {tile = #pypto.vec<16, 32>}
    pypto.store %e into %o[%i, 0]
  }
  %s = pypto.neg %r {tile = #pypto.vec<32, 32>}
  func.return %s : tensor<?x32xf32>
}

// Memory in another shape: rows of 8 x 32 are rows of 256.
// CHECK-LABEL: func.func @reshaped
// CHECK: [[T:%[0-9]+]] = npu.tasks {{.*}} {tag = "exp"}
// CHECK: npu.tasks ([[I:%[_i0-9]+]], {{.*}} after([[T]][[[I]] floordiv 16, *])
func.func @reshaped(%x: tensor<?x256xf32>) -> tensor<?x8x1xf32> {
  %e = pypto.exp %x {tile = #pypto.vec<16, 256>}
  %r = pypto.reshape %e[-1, 8, 32]
  %s = pypto.sum %r axis -1 {keepdim}
  func.return %s : tensor<?x8x1xf32>
}

// Trips of a sequential loop that keep to rows of their own do not wait for each other,
// and memory that a loop does not change is not carried.
// CHECK-LABEL: func.func @own_rows
// CHECK: [[Y:%[0-9]+]] = npu.tasks {{.*}} {tag = "exp"}
// CHECK: scf.for {{.*}} iter_args([[E:%[0-9]+]] = {{%[0-9]+}}) -> (!npu.events)
// CHECK: [[T:%[0-9]+]] = npu.tasks {{.*}} after([[Y]][
// CHECK-NOT: overlaps
// CHECK: npu.join [[E]], [[T]]
func.func @own_rows(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %m = pypto.dim %x, 0
  %y = pypto.exp %x {tile = #pypto.vec<16, 32>}
  %r = pypto.for (%i +: %n = 0 to %m step 16) iter(%a = %y) {
    %v = pypto.view %a[%i +: %n, :]
    %s = pypto.neg %v
    %b = pypto.assemble %s into %a[%i, 0]
    pypto.yield %b
  }
  func.return %r : tensor<?x32xf32>
}

// A reshape of a part of a tensor is a part of the reshaped one: nothing is copied.
// COPY-LABEL: func.func @part
// COPY: [[Q:%q[_0-9]*]] = pypto.reshape %q[{{%[0-9]+}}, 4, 96, 2]
// COPY: pypto.view [[Q]][0 +: {{%[0-9]+}}, 0 +: 4, 64 +: 32, 0 +: 2]
// COPY-NOT: pypto.clone
// COPY: func.return
func.func @part(%q: tensor<?x4x192xf32>) -> tensor<?x4x32x2xf32> {
  %v = pypto.view %q[:, :, 128 +: 64]
  %r = pypto.reshape %v[-1, 4, 32, 2]
  %e = pypto.exp %r
  func.return %e : tensor<?x4x32x2xf32>
}

// A copy that is made says why, in a remark.
// COPY-LABEL: func.func @merged
// COPY: pypto.clone
func.func @merged(%q: tensor<?x4x192xf32>) -> tensor<?x256xf32> {
  %v = pypto.view %q[:, :, 128 +: 64]
  %r = pypto.reshape %v[-1, 256]
  %e = pypto.exp %r
  func.return %e : tensor<?x256xf32>
}
