// Indices of gathers that no trip changes are made in front of independent loops.
// RUN: pyptoc %s --pipeline=desugar,partition{nests=false} --split-input-file --print-short | filecheck %s
// RUN: pyptoc %s --split-input-file --remarks -o %t 2>&1 | filecheck %s --check-prefix=TASK

// All that leads to them moves, once.
// TASK: :[[# @LINE + 11]]:8: remark[PTO330]: the body of the loop is one mixed task
// CHECK-LABEL: func.func @paged
// CHECK: %p = pypto.arange[64]
// CHECK-NEXT: %two = pypto.full 2[64]
// CHECK-NEXT: %at = pypto.mul %p, %two
// CHECK-NEXT: %o = scf.for
// CHECK-NOT: pypto.arange
// CHECK: pypto.gather_rows %x at %at
func.func @paged(%x: tensor<128x64xf16>, %w: tensor<?x16x64xf16> {pypto.dims = ["t"]}) -> tensor<?x16x64xf32> {
  %t = pypto.dim %w, 0
  %e = pypto.empty[%t, 16, 64] : tensor<?x16x64xf32>
  %o = pypto.forall (%i = 0 to %t) outs(%d = %e) {
    %v = pypto.view %w[%i, :, :]
    %p = pypto.arange[64] : tensor<64xi32>
    %two = pypto.full 2[64] : tensor<64xi32>
    %at = pypto.mul %p, %two
    %g = pypto.gather_rows %x at %at
    %y = pypto.matmul %v, %g {b_trans}
    %z = pypto.softmax %y axis -1
    pypto.store %z into %d[%i, 0, 0]
  }
  func.return %o : tensor<?x16x64xf32>
}

// -----

// What a trip changes, may fail or has a size of its own stays, and what nothing gathers by.
// CHECK-LABEL: func.func @stays
// CHECK: scf.for
// CHECK: pypto.add %p, %s
// CHECK: pypto.add %s, %s {checked
// CHECK: pypto.arange[%n]
// CHECK: pypto.arange[4, 64]
func.func @stays(%x: tensor<512x64xf16>, %n: index, %s: tensor<64xi32>) -> tensor<4x64xf16> {
  %e = pypto.empty[4, 64] : tensor<4x64xf16>
  %o = pypto.forall (%i = 0 to 4) outs(%d = %e) {
    %k = pypto.index %i + 1
    %p = pypto.full %k[64] : tensor<64xi32>
    %a = pypto.add %p, %s
    %b = pypto.add %s, %s {checked}
    %c = pypto.arange[%n] : tensor<?xi32>
    %f = pypto.arange[4, 64] : tensor<4x64xf16>
    %g = pypto.gather_rows %x at %a
    %h = pypto.gather_rows %x at %b
    %j = pypto.gather_rows %x at %c
    %q = pypto.add %g, %h
    %r = pypto.view %j[0 +: 4, :]
    %u = pypto.add %r, %f
    %l = pypto.view %q[0 +: 4, :]
    %z = pypto.add %u, %l
    %y = pypto.sum %z axis 0 {keepdim}
    pypto.store %y into %d[%i, 0]
  }
  func.return %o : tensor<4x64xf16>
}
