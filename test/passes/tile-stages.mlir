// RUN: pyptoc %s --pipeline=partition,infer-tiles,tile | filecheck %s
// RUN: pyptoc %s --compile-to=program | filecheck %s --check-prefix=PROGRAM

// B comes to L1 in steps of 96 of K, A in steps of 32 of them: a loop for each.
func.func @two_steps(%a: tensor<16x200xbf16>, %b: tensor<200x32xbf16>) -> tensor<16x32xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [16, 16], k = [16, 32, 96], n = [32, 32]>}
  func.return %y : tensor<16x32xf32>
}
// CHECK-LABEL: func.func @two_steps
// CHECK: scf.for %k = %{{.*}} to %c200 step %c96
// CHECK: [[B:%[0-9]+]] = pypto.view %b[%k +: [[KB:%[0-9]+]], {{.*}} +: 32] : {{.*}} -> tensor<?x32xbf16, #npu.max<96, 32>>
// CHECK: scf.for [[KA:%[a-z0-9_]+]] = %{{.*}} to %{{.*}} step %c32
// CHECK: [[A:%[0-9]+]] = pypto.view %a{{.*}} -> tensor<16x?xbf16, #npu.max<16, 32>>
// CHECK: [[S:%[0-9]+]] = pypto.view [[B]][[[KA]] +: %{{[0-9]+}}, 0 +: 32]
// CHECK: pypto.mma %{{[0-9]+}}, [[A]], [[S]]
// The first of all products starts the sum.
// PROGRAM-LABEL: npu.kernel @matmul_0
// PROGRAM: tile.load %b
// PROGRAM: tile.load %a
// PROGRAM: tile.move {{.*}} into [[L0B:%[0-9]+]] : {{.*}}l0b
// PROGRAM: [[LATER:%[0-9]+]] = pypto.index %{{[0-9]+}} + %k + %k_1 > 0
// PROGRAM: tile.matmul {{.*}} accumulate [[LATER]]

// All of A's K is in L1 while the columns change.
func.func @resident_a(%a: tensor<64x200xbf16>, %b: tensor<200x96xbf16>) -> tensor<64x96xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [16, 32], k = [16, 208, 32], n = [32, 96]>}
  func.return %y : tensor<64x96xf32>
}
// CHECK-LABEL: func.func @resident_a
// CHECK: scf.for {{.*}} step %c16
// CHECK: [[A:%[0-9]+]] = pypto.view %a[{{.*}} +: 16, {{.*}} +: 200]
// CHECK: scf.for {{.*}} step %c32
// CHECK: scf.for %k
// CHECK: pypto.view %b
// CHECK: pypto.view [[A]][
// CHECK: pypto.mma

// All of B's K is in L1 while the rows change: columns outside.
func.func @resident_b(%a: tensor<64x200xbf16>, %b: tensor<200x96xbf16>) -> tensor<64x96xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [16, 32], k = [16, 32, 208], n = [32, 96]>}
  func.return %y : tensor<64x96xf32>
}
// CHECK-LABEL: func.func @resident_b
// CHECK: scf.for [[N:%[0-9]+]] = {{.*}} step %c32
// CHECK: [[B:%[0-9]+]] = pypto.view %b[{{.*}} +: 200, [[N]] +: 32]
// CHECK: scf.for {{.*}} step %c16
// CHECK: scf.for %k
// CHECK: pypto.view %a
// CHECK: pypto.view [[B]][
