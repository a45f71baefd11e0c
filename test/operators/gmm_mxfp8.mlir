// MXFP8 grouped matmul: the rows of expert e times its matrix, with a scale for each 32 elements of K.
// M is dynamic; group_list counts the consecutive rows of each expert.
func.func @gmm_mxfp8(
    %a: tensor<?x2048xf8E4M3FN> {pypto.dims = ["M"]},
    %b: tensor<4x2048x4096xf8E4M3FN>,
    %scaled_a: tensor<?x32x2xf8E8M0FNU> {pypto.dims = ["M"]},
    %scaled_b: tensor<4x32x4096x2xf8E8M0FNU>,
    %group_list: tensor<4xi64> {pypto.data = #pypto.data<partition "M">})
    -> (tensor<?x4096xf32> {pypto.name = "out", pypto.tol = #pypto.tol<atol = 1.0e-3, rtol = 1.0e-3>}) {
  %y = pypto.grouped_matmul %a, %b groups %group_list scales %scaled_a, %scaled_b {tag = "gmm"}
  func.return %y : tensor<?x4096xf32>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @gmm_mxfp8(
// CHECK: func.return %y
