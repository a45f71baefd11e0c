// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds,partition --split-input-file | filecheck %s
// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds,partition --split-input-file --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// What a loop reads from outside is checked before it, counters and branches included;
// the heads, which no check follows, are not walked through.
// CHECK-LABEL: func.func @pages
// CHECK:         [[SOME:%[0-9]+]] = pypto.index 0 < 4 : i1
// CHECK-NEXT:    scf.if [[SOME]] {
// CHECK:           scf.for %b = {{.*}} {
// CHECK-NEXT:        %p = pypto.read %table[%b]
// CHECK:             [[LATE:%[0-9]+]] = pypto.index %b > 1 : i1
// CHECK-NEXT:        scf.if [[LATE]] {
// CHECK:               pypto.assert 0 <= %p, "view of %x dimension 0: {0}, %x has {1}", %p, {{%.*}} {code = "PTO402"}
// CHECK:               pypto.assert %p + 1 <= 9,
// CHECK:         scf.for %h
// CHECK-NOT:     pypto.assert
// CHECK:         func.return
func.func @pages(%x: tensor<9x16x32xf32>, %table: tensor<3xi32>) -> tensor<4x3x16x32xf32> {
  %e = pypto.full 0.0[4, 3, 16, 32] : tensor<4x3x16x32xf32>
  %r = pypto.forall (%h = 0 to 4, %b = 0 to 3) outs(%o = %e) {
    %p = pypto.read %table[%b]
    %late = pypto.index %b > 1
    scf.if %late {
      %v = pypto.view %x[%p, :, :]
      %y = pypto.exp %v
      pypto.store %y into %o[%h, %b, 0, 0]
    }
  }
  func.return %r : tensor<4x3x16x32xf32>
}

// -----
// A row that an inner loop counts up is known only inside.
// REMARK: remark[PTO332]: it is checked in each trip of the loop: it follows %b
// CHECK-LABEL: func.func @counted
// CHECK-NOT:     pypto.assert
// CHECK:         scf.for %i
// CHECK:           scf.for %j
// CHECK:             pypto.assert %b + %n <= 64
func.func @counted(%x: tensor<64x32xf32>, %k: tensor<4x3xi32>) -> tensor<4x1xf32> {
  %e = pypto.empty[4, 1] : tensor<4x1xf32>
  %c0 = arith.constant 0 : index
  %r = pypto.forall (%i = 0 to 4) outs(%o = %e) {
    %z = pypto.full 0.0[1, 1] : tensor<1x1xf32>
    %f, %s = pypto.for (%j = 0 to 3) iter(%b = %c0, %a = %z) {
      %n = pypto.read %k[%i, %j]
      %v = pypto.view %x[%b +: %n, 0 +: 1]
      %t = pypto.sum %v axis 0 {keepdim}
      %u = pypto.add %a, %t
      %c = pypto.index %b + %n
      pypto.yield %c, %u
    }
    pypto.store %s into %o[%i, 0]
  }
  func.return %r : tensor<4x1xf32>
}
