// RUN: pyptoc %s --pipeline=inline,desugar,decompose,check-bounds,fuse-epilogue,legalize-casts,partition,infer-tiles,form-tasks | filecheck %s

// The body of the outer loop makes a tensor whose size is data, so it is a loop of launches.
// The nest inside is asked by itself: its body is one task.
func.func @scores(%q: tensor<4x64x128xf16>, %k: tensor<?x128xf16>, %len: tensor<2xi32>) -> tensor<2x4x8xf32> {
  %o0 = pypto.empty[2, 4, 8] : tensor<2x4x8xf32>
  %out = pypto.forall (%b = 0 to 2) outs(%o = %o0) {
    %n = pypto.read %len[%b]
    %s0 = pypto.empty[4, %n, 1] {max = [4, 4096, 1]} : tensor<4x?x1xf32>
    %s = pypto.forall (%j = 0 to 4, %i +: %m = 0 to %n step 128) outs(%so = %s0) {
      %qj = pypto.view %q[%j, :, :]
      %ki = pypto.view %k[%i +: %m, :]
      %y = pypto.matmul %ki, %qj {b_trans}
      %r = pypto.relu %y
      %t = pypto.sum %r axis -1 {keepdim}
      pypto.store %t into %so[%j, %i, 0]
    }
    pypto.forall (%j = 0 to 4) {
      %row = pypto.view %s[%j, 0 +: %n, 0]
      %v, %at = pypto.topk %row k 8 axis -1 {pad_index = -1}
      pypto.store %v into %o[%b, %j, 0]
    }
  }
  func.return %out : tensor<2x4x8xf32>
}
// CHECK-LABEL: func.func @scores
// CHECK: %out = scf.for
// CHECK: %s = scf.for
// CHECK: pypto.matmul {{.*}}npu.tile
// CHECK: } {npu.parallel, npu.whole = "mixed", npu.grid}
// CHECK: pypto.topk
// CHECK: } {npu.parallel}
// CHECK: } {npu.parallel}
// CHECK-NEXT: func.return

// A loop inside around one group becomes a grid axis, the one around it stays a loop.
func.func @grid(%x: tensor<?x128xf32>, %len: tensor<2xi32>) -> tensor<2x128xf32> {
  %o0 = pypto.empty[2, 128] : tensor<2x128xf32>
  %out = pypto.forall (%b = 0 to 2) outs(%o = %o0) {
    %n = pypto.read %len[%b]
    %e0 = pypto.empty[%n, 128] {max = [4096, 128]} : tensor<?x128xf32>
    %e = pypto.forall (%i +: %m = 0 to %n step 64) outs(%eo = %e0) {
      %v = pypto.view %x[%i +: %m, :]
      %f = pypto.exp %v
      pypto.store %f into %eo[%i, 0]
    }
    %t = pypto.transpose %e perm [1, 0]
    %c = pypto.clone %t
    %s = pypto.sum %c axis -1
    pypto.store %s into %o[%b, 0]
  }
  func.return %out : tensor<2x128xf32>
}
// CHECK-LABEL: func.func @grid
// CHECK: %out = scf.for
// CHECK: %e = scf.for
// CHECK: } {npu.parallel, npu.grid}
// CHECK: pypto.clone
// CHECK: } {npu.parallel}
// CHECK-NEXT: func.return

// A loop inside of a body that is one task is part of it, and not asked again.
func.func @inside(%x: tensor<3x?x40xf32> {pypto.dims = ["M"]}, %y: tensor<3x40xf32>) -> tensor<3x?x40xf32> {
  %m = pypto.dim %x, 1
  %e = pypto.empty[3, %m, 40] : tensor<3x?x40xf32>
  %r = pypto.forall (%h = 0 to 3) outs(%o = %e) {
    %b = pypto.view %y[%h, :]
    %c = pypto.exp %b
    pypto.forall (%i +: %n = 0 to %m step 12) {
      %v = pypto.view %x[%h, %i +: %n, :]
      %some = pypto.index %n > 0
      scf.if %some {
        %a = pypto.add %v, %c
        pypto.store %a into %o[%h, %i, 0]
      }
    }
  }
  func.return %r : tensor<3x?x40xf32>
}
// CHECK-LABEL: func.func @inside
// CHECK-NOT: npu.whole
// CHECK: } {npu.parallel}
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } {npu.parallel, npu.whole = "vector", npu.grid}
