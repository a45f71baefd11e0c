// RUN: pyptoc %s --pipeline=desugar,decompose,partition,infer-tiles --print-tile-candidates --remarks 2>&1 | filecheck %s
// RUN: pyptoc %s --pipeline=desugar,decompose,partition,infer-tiles --print-tile-candidates | filecheck %s --check-prefix=TABLE

// A nest whose body is one task says its time; with the products' tiles chosen, the
// pieces into which columns are cut are, and the table has the others.
// CHECK: :[[# @LINE + 6]]:8: remark[PTO330]: the body of the loop is one mixed task: {{[0-9]+\.[0-9][0-9]}} us modelled instead of {{[0-9]+\.[0-9][0-9]}} us in launches of its stages, {{.*}} the cube cores' and {{.*}} the vector cores', 4 tasks in 1 wave
// TABLE: at {{.*}}:[[# @LINE + 5]]:8: a loop whose body is one mixed task, 2 products, ascend950
// TABLE-NEXT: tiles {{.*}} L0C bytes {{.*}} us {{.*}} against the first
// TABLE-NEXT: 1  m [128, 128] {{.*}} chosen
func.func @chosen(%x: tensor<512x64xf16>, %w: tensor<64x256xf16>, %u: tensor<256x64xf16>) -> tensor<512x64xf32> {
  %e = pypto.empty[512, 64] : tensor<512x64xf32>
  %r = pypto.forall (%i = 0 to 512 step 128) outs(%o = %e) {
    %v = pypto.view %x[%i +: 128, :]
    %h = pypto.matmul %v, %w
    %s = pypto.exp %h
    %c = pypto.cast %s to f16
    %y = pypto.matmul %c, %u
    pypto.store %y into %o[%i, 0]
  }
  func.return %r : tensor<512x64xf32>
}
// TABLE: (within 2.5 %, fewer pieces first, then less time)

// What of a given tile does not count is said: the loop gives the rows and the order, sums
// stay on chip. That of %y is as it was asked for.
// CHECK-DAG: :[[# @LINE + 10]]:10: remark[PTO325]: the cube tile m [32, 32] k [32, 64] n [128, 128] became m [128, 128] k [32, 64] n [128, 256]: the body of the loop is one task, with the rows of the loop, and all that is live at once must fit
// CHECK-DAG: :[[# @LINE + 9]]:10: remark[PTO325]: K is not split: the body of the loop is one task, which sums up all of it
// CHECK-DAG: :[[# @LINE + 8]]:10: remark[PTO325]: the walk 'column' is not used: the loops give the order of tasks
// CHECK-DAG: :[[# @LINE + 8]]:10: remark[PTO325]: the vec tile [8, 64] is not used: the body of the loop is one task, its tiles are as large as its values
// TABLE: at {{.*}}: a loop whose body is one mixed task, 2 products, ascend950, tile given
// TABLE: 1  m [128, 128] k [32, 64] n [128, 256], m [128, 128] k [64, 128] n [64, 64] {{.*}} kept
func.func @given(%x: tensor<512x64xf16>, %w: tensor<64x256xf16>, %u: tensor<256x64xf16>) -> tensor<512x64xf32> {
  %e = pypto.empty[512, 64] : tensor<512x64xf32>
  %r = pypto.forall (%i = 0 to 512 step 128) outs(%o = %e) {
    %v = pypto.view %x[%i +: 128, :]
    %h = pypto.matmul %v, %w {tile = #pypto.cube<m = [32, 32], k = [32, 64], n = [128, 128], split_k = 2, walk = column>}
    %s = pypto.exp %h {tile = #pypto.vec<8, 64>}
    %c = pypto.cast %s to f16
    %y = pypto.matmul %c, %u {tile = #pypto.cube<m = [128, 128], k = [64, 128], n = [64, 64]>}
    pypto.store %y into %o[%i, 0]
  }
  func.return %r : tensor<512x64xf32>
}
