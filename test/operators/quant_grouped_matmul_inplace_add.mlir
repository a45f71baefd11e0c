// MXFP8 matmul in groups of K, added in place: y[g] += (a[rows of g] * scales)^T @ (b[rows of g] * scales), the gradient of an expert's weights.
// The scales of group g start at row (rows before it) / 64 + g: each group has whole pairs of its own.
func.func @quant_grouped_matmul_inplace_add(
    %a: tensor<?x1024xf8E4M3FN> {pypto.dims = ["T"]},
    %b: tensor<?x2048xf8E4M3FN> {pypto.dims = ["T"]},
    %scaled_a: tensor<?x1024x2xf8E8M0FNU> {pypto.dims = ["pairs"]},
    %scaled_b: tensor<?x2048x2xf8E8M0FNU> {pypto.dims = ["pairs"]},
    %group_list: tensor<4xi64> {pypto.data = #pypto.data<partition "T">},
    %y: tensor<4x1024x2048xf32>)
    -> (tensor<4x1024x2048xf32> {pypto.name = "y", pypto.tol = #pypto.tol<atol = 1.0e-3, rtol = 1.0e-3>}) {
  %t     = pypto.dim %a, 0
  %start = pypto.index 0
  %all, %sum = pypto.for (%g = 0 to 4) iter(%begin = %start, %o = %y) {tag = "group"} {
    %k     = pypto.read %group_list[%g]
    %first = pypto.index %begin floordiv 64 + %g
    %pairs = pypto.index %k ceildiv 64
    %ag  = pypto.view %a[%begin +: %k, :]
    %bg  = pypto.view %b[%begin +: %k, :]
    %sa  = pypto.view %scaled_a[%first +: %pairs, :, :]
    %sb  = pypto.view %scaled_b[%first +: %pairs, :, :]
    %p   = pypto.scaled_mm %ag, %bg scales %sa, %sb {a_trans, scales_a_trans}
    %old = pypto.view %o[%g, :, :]
    %new = pypto.add %old, %p
    %o2  = pypto.assemble %new into %o[%g, 0, 0]
    %end = pypto.index %begin + %k
    pypto.yield %end, %o2
  }
  pypto.assert %all == %t, "group_list sums to {0}, but %a has {1} rows", %all, %t
  func.return %sum : tensor<4x1024x2048xf32>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @quant_grouped_matmul_inplace_add(
// CHECK: func.return %sum
