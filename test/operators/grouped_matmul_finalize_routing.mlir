// Grouped MXFP8 matmul, its rows times a logit and added to those of their tokens, with the shared expert's rows.
// The end of a layer of experts: M rows, one for each choice of a token, become the 4 * S tokens of four ranks.
// `shared` has the rows of the shared expert for the S tokens of this rank, which start at `shared_offset`.
func.func @grouped_matmul_finalize_routing(
    %x: tensor<?x1024xf8E4M3FN> {pypto.dims = ["M"]},
    %w: tensor<4x7168x1024xf8E4M3FN>,
    %scaled_x: tensor<?x16x2xf8E8M0FNU> {pypto.dims = ["M"]},
    %scaled_w: tensor<4x7168x16x2xf8E8M0FNU>,
    %group_list: tensor<4xi64> {pypto.data = #pypto.data<partition "M">},
    %logit: tensor<?xf32> {pypto.dims = ["M"]},
    %row_index: tensor<?xi64> {pypto.dims = ["M"], pypto.data = #pypto.data<integer 0 to "4 * S">},
    %shared: tensor<?x7168xbf16> {pypto.dims = ["S"]},
    %shared_offset: index {pypto.default = 2 : index}, %shared_weight: f32 {pypto.default = 0.5 : f32})
    -> (tensor<?x7168xf32> {pypto.name = "out", pypto.tol = #pypto.tol<atol = 1.0e-3, rtol = 1.0e-3>}) {
  %s      = pypto.dim %shared, 0
  %tokens = pypto.index %s * 4
  %zero   = pypto.full 0.0[%tokens, 7168] : tensor<?x7168xf32>
  %wide   = pypto.cast %shared to f32
  %part   = pypto.mul %wide, %shared_weight
  %start  = pypto.assemble %part into %zero[%shared_offset, 0] {tag = "shared"}

  %y      = pypto.grouped_matmul %x, %w groups %group_list scales %scaled_x, %scaled_w {b_trans, scales_b_trans, tag = "gmm"}
  %column = pypto.reshape %logit[-1, 1]
  %z      = pypto.mul %y, %column {tag = "logit"}
  %out    = pypto.index_add %z into %start at %row_index axis 0 {tag = "routing"}   // equal rows add up
  func.return %out : tensor<?x7168xf32>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @grouped_matmul_finalize_routing(
// CHECK: func.return %out
