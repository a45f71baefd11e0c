// RUN: pyptoc %s --pipeline=desugar,check-bounds --split-input-file | filecheck %s

// Iterations of a forall store apart: rows i +: n with n at most the step; a stretch of
// %s rows each; two indices in one dimension; from the end to the front.
// CHECK-LABEL: func.func @proven
// CHECK-NOT:   pypto.claim
// CHECK:       func.return
func.func @proven(%x: tensor<?x64xf32>, %m: index, %s: index)
    -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  %a = pypto.forall (%i +: %n = 0 to %m step 16) outs(%o = %x) {
    %t = pypto.full 1.0[%n, 64] : tensor<?x64xf32>
    pypto.store %t into %o[%i, 0]
  }
  %b = pypto.forall (%i1 = 0 to %m) outs(%o1 = %x) {
    %f1 = pypto.index %i1 * %s + 3
    %t1 = pypto.full 1.0[%s, 64] : tensor<?x64xf32>
    pypto.store %t1 into %o1[%f1, 0]
  }
  %c = pypto.forall (%i2 = 0 to %m, %j2 = 0 to 4) outs(%o2 = %x) {
    %f2 = pypto.index %i2 * 8 + %j2 * 2
    %t2 = pypto.full 1.0[2, 64] : tensor<2x64xf32>
    pypto.store %t2 into %o2[%f2, 0]
  }
  %d = pypto.forall (%i3 = 0 to %m) outs(%o3 = %x) {
    %f3 = pypto.index %m - 1 - %i3
    pypto.forall (%j3 = 0 to 64 step 32) {
      %t3 = pypto.full 1.0[1, 32] : tensor<1x32xf32>
      pypto.store %t3 into %o3[%f3, %j3]
    }
  }
  func.return %a, %b, %c, %d
    : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}

// -----
// Two stores share the stretch of their iteration, but not with i + 1 of the next one.
// CHECK-LABEL: func.func @two_stores
// CHECK-NOT:   pypto.claim
// CHECK:       scf.for
// CHECK:       [[C:%.*]] = pypto.claims "o1"[%{{.*}}, 64] : !pypto.claims
// CHECK-NEXT:  scf.for %i1
// CHECK:         pypto.claim [[C]] at %i1 from[%i1, 0] size[1, 64]
// CHECK-NEXT:    pypto.assemble
// CHECK:         pypto.claim [[C]] at %i1 from[%{{.*}}, 0] size[1, 64]
// CHECK-NEXT:    pypto.assemble
func.func @two_stores(%x: tensor<?x64xf32>, %m: index)
    -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %t = pypto.full 1.0[1, 64] : tensor<1x64xf32>
  %a = pypto.forall (%i = 0 to %m step 2) outs(%o = %x) {
    %f = pypto.index %i + 1
    pypto.store %t into %o[%f, 0]
    pypto.store %t into %o[%i, 0]
  }
  %b = pypto.forall (%i1 = 0 to %m) outs(%o1 = %x) {
    %f1 = pypto.index %i1 + 1
    pypto.store %t into %o1[%i1, 0]
    pypto.store %t into %o1[%f1, 0]
  }
  func.return %a, %b : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----
// Data decides: the run checks it, also under a branch and in an inner loop.
// CHECK-LABEL: func.func @data
// CHECK:       [[C:%.*]] = pypto.claims "o"[8, 4] : !pypto.claims
// CHECK-NEXT:  scf.for %i =
// CHECK:         scf.for %j =
// CHECK:           scf.if
// CHECK:             pypto.claim [[C]] at %i from[%p, %j] size[1, 1]
// CHECK-NEXT:        pypto.assemble
func.func @data(%x: tensor<8x4xf32>, %l: tensor<8xi32>, %c: i1) -> tensor<8x4xf32> {
  %a = pypto.forall (%i = 0 to 8) outs(%o = %x) {
    %p = pypto.read %l[%i]
    pypto.for (%j = 0 to 4) {
      scf.if %c {
        %t = pypto.full 1.0[1, 1] : tensor<1x1xf32>
        pypto.store %t into %o[%p, %j]
      }
    }
  }
  func.return %a : tensor<8x4xf32>
}

// -----
// One iteration cannot meet another; loops that carry values have an order.
// CHECK-LABEL: func.func @others
// CHECK-NOT:   pypto.claim
// CHECK:       func.return
func.func @others(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %t = pypto.full 1.0[1, 4] : tensor<1x4xf32>
  %a = pypto.forall (%i = 3 to 4) outs(%o = %x) {
    pypto.store %t into %o[0, 0]
  }
  %b = pypto.for (%j = 0 to 8) iter(%p = %x) {
    %q = pypto.assemble %t into %p[0, 0]
    pypto.yield %q
  }
  func.return %a, %b : tensor<8x4xf32>, tensor<8x4xf32>
}
