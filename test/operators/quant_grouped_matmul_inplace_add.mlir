// MXFP8 matmul grouped along K, added in place: y[g] += (a[k of g] * scales)^T @ (b[k of g] * scales), the gradient of an expert's weights.
// The rows of scales of group g start at (rows before it) / 64 + g, so that each group has whole pairs of its own.
func.func @quant_grouped_matmul_inplace_add(
    %a: tensor<?x1024xf8E4M3FN> {pypto.dims = ["T"]},
    %b: tensor<?x2048xf8E4M3FN> {pypto.dims = ["T"]},
    %scaled_a: tensor<?x1024x2xf8E8M0FNU> {pypto.dims = ["T floordiv 64 + 4"]},
    %scaled_b: tensor<?x2048x2xf8E8M0FNU> {pypto.dims = ["T floordiv 64 + 4"]},
    %group_list: tensor<4xi64> {pypto.data = #pypto.data<partition "T">},
    %y: tensor<4x1024x2048xf32>)
    -> (tensor<4x1024x2048xf32> {pypto.name = "y", pypto.tol = #pypto.tol<atol = 1.0e-3, rtol = 1.0e-3>}) {
  %t   = pypto.dim %a, 0
  %end = pypto.cumsum %group_list axis 0
  %all = pypto.read %end[3]
  pypto.assert %all == %t, "group_list sums to {0}, but %a has {1} rows", %all, %t
  %out = pypto.forall (%g = 0 to 4) outs(%o = %y) {tag = "group"} {
    %k     = pypto.read %group_list[%g]
    %g_end = pypto.read %end[%g]
    %begin = pypto.index %g_end - %k
    %first = pypto.index %begin floordiv 64 + %g
    %pairs = pypto.index %k ceildiv 64
    %ag = pypto.view %a[%begin +: %k, :]
    %bg = pypto.view %b[%begin +: %k, :]
    %sa = pypto.view %scaled_a[%first +: %pairs, :, :]
    %sb = pypto.view %scaled_b[%first +: %pairs, :, :]
    %p   = pypto.scaled_mm %ag, %bg scales %sa, %sb {a_trans, scales_a_trans}
    %old = pypto.view %y[%g, :, :]
    %new = pypto.add %old, %p
    pypto.store %new into %o[%g, 0, 0]
  }
  func.return %out : tensor<4x1024x2048xf32>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @quant_grouped_matmul_inplace_add(
// CHECK: func.return %out
