// RUN: pyptoc %s --pipeline=desugar,decompose --split-input-file | filecheck %s

// A loop over the experts that carries where its rows begin; the cube tile goes to the
// product.
// CHECK-LABEL: func.func @scaled
// CHECK-NEXT:  %0 = pypto.dim %a, 0
// CHECK-NEXT:  [[Y0:%.*]] = pypto.empty[%0, 64]
// CHECK:       %total, %y = scf.for %e = %c0 to %c2 step %c1 iter_args(%begin = %c0, [[Y1:%.*]] = [[Y0]])
// CHECK-NEXT:    %rows = pypto.read %g[%e]
// CHECK-NEXT:    %end = pypto.index %begin + %rows
// CHECK-NEXT:    pypto.assert 0 <= %rows, "expert {0}: negative group {1}", %e, %rows {code = "PTO402"}
// CHECK-NEXT:    pypto.assert %end <= %0, "expert {0} of {1}: view of %a rows {2} +: {3} ends at {4}, %a has {5} rows", %e, %c2, %begin, %rows, %end, %0
// CHECK-NEXT:    [[B:%.*]] = pypto.view %b[%e, :, :]
// CHECK-NEXT:    [[A:%.*]] = pypto.view %a[%begin +: %rows, :]
// CHECK-NEXT:    [[SA:%.*]] = pypto.view %sa[%begin +: %rows, :, :]
// CHECK-NEXT:    [[SB:%.*]] = pypto.view %sb[%e, :, :, :]
// CHECK-NEXT:    [[P:%.*]] = pypto.scaled_mm [[A]], [[B]] scales [[SA]], [[SB]] {b_trans, npu.from = "grouped_matmul", tag = "gmm", tile = #pypto.cube
// CHECK-NEXT:    [[Y2:%.*]] = pypto.assemble [[P]] into [[Y1]][%begin, 0]
// CHECK-NEXT:    scf.yield %end, [[Y2]]
// CHECK-NEXT:  } {npu.parallel, npu.from = "grouped_matmul", tag = "gmm"}
// CHECK-NEXT:  pypto.assert %total == %0, "the groups sum to {0}, %a has {1} rows", %total, %0
func.func @scaled(
    %a: tensor<?x96xf8E4M3FN> {pypto.dims = ["M"]}, %b: tensor<2x64x96xf8E4M3FN>,
    %sa: tensor<?x2x2xf8E8M0FNU> {pypto.dims = ["M"]}, %sb: tensor<2x2x64x2xf8E8M0FNU>,
    %g: tensor<2xi64>) -> tensor<?x64xf32> {
  %y = pypto.grouped_matmul %a, %b groups %g scales %sa, %sb {b_trans, tag = "gmm",
    tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64]>}
  func.return %y : tensor<?x64xf32>
}

// -----
// Ends instead of counts; an empty group is a view of no rows.
// CHECK-LABEL: func.func @ends
// CHECK:         %end = pypto.read %g[%e]
// CHECK-NEXT:    %rows = pypto.index {{.*}}%begin{{.*}} : index
// CHECK-NEXT:    pypto.assert 0 <= %rows
// CHECK:         pypto.view %a[%begin +: %rows, :]
// CHECK:         pypto.matmul
// CHECK:         scf.yield %end
func.func @ends(%a: tensor<16x32xbf16>, %b: tensor<3x32x8xbf16>, %g: tensor<3xi32>)
    -> tensor<16x8xf32> {
  %y = pypto.grouped_matmul %a, %b groups %g {group_kind = "ends"}
  func.return %y : tensor<16x8xf32>
}

// -----
// Sizes that the loop would not compare are asserted first.
// CHECK-LABEL: func.func @sizes
// CHECK:       pypto.assert [[G:%.*]] == [[E:%.*]], "%g is for {0} of dimension 0, %b has {1}", [[G]], [[E]]
// CHECK:       scf.for
func.func @sizes(%a: tensor<?x32xbf16>, %b: tensor<?x32x8xbf16>, %g: tensor<?xi32>)
    -> tensor<?x8xf32> {
  %y = pypto.grouped_matmul %a, %b groups %g
  func.return %y : tensor<?x8xf32>
}
