// RUN: not pyptoc %s --split-input-file --pipeline=desugar,check-bounds 2>&1 | filecheck %s

// CHECK: :[[# @LINE + 7]]:5: error[PTO406]: two iterations of forall store to the same element of %o: (%i = 0) and (%i = 1)
// CHECK: rule: iterations of a forall are independent
// CHECK: note: (%i = 1) stores rows 0 +: 1, columns 0 +: 4
// CHECK: help: carry the tensor through a pypto.for if the last store counts
func.func @same_row(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %a = pypto.forall (%i = 0 to 8) outs(%o = %x) {
    %t = pypto.view %x[%i +: 1, :]
    pypto.store %t into %o[0, 0]
  }
  func.return %a : tensor<8x4xf32>
}

// -----
// CHECK: error[PTO406]: {{.*}}: (%i = 2) and (%i = 4)
func.func @short_step(%x: tensor<?x4xf32>, %t: tensor<3x4xf32>) -> tensor<?x4xf32> {
  %a = pypto.forall (%i = 2 to 8 step 2) outs(%o = %x) {
    pypto.store %t into %o[%i, 0]
  }
  func.return %a : tensor<?x4xf32>
}

// -----
// The first and the last iteration meet, at different stores.
// CHECK: error[PTO406]: {{.*}}: (%i = 0) and (%i = 7)
// CHECK: note: the other store is here
func.func @both_ways(%x: tensor<8x4xf32>, %t: tensor<1x4xf32>) -> tensor<8x4xf32> {
  %a = pypto.forall (%i = 0 to 8) outs(%o = %x) {
    pypto.store %t into %o[%i, 0]
    %j = pypto.index 7 - %i
    pypto.store %t into %o[%j, 0]
  }
  func.return %a : tensor<8x4xf32>
}

// -----
// The second index says nothing about where.
// CHECK: error[PTO406]: {{.*}}: (%j = 0) and (%j = 1)
func.func @inner(%x: tensor<8x4xf32>, %t: tensor<1x4xf32>) -> tensor<8x4xf32> {
  %a = pypto.forall (%i = 0 to 8, %j = 0 to 2) outs(%o = %x) {
    pypto.store %t into %o[%i, 0]
  }
  func.return %a : tensor<8x4xf32>
}
