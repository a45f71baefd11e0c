// MXFP8 batched matmul whose batch lies between rows and columns: x1 [M, B, K], out [M, B, N].
// Nothing is transposed in memory: a batch's rows are read B * K bytes apart, and stored B * N elements apart.
func.func @transpose_quant_batch_matmul(
    %x1: tensor<?x16x512xf8E4M3FN> {pypto.dims = ["M"]},
    %x2: tensor<16x512x512xf8E4M3FN>,
    %x1_scale: tensor<?x16x8x2xf8E8M0FNU> {pypto.dims = ["M"]},
    %x2_scale: tensor<16x8x512x2xf8E8M0FNU>)
    -> (tensor<?x16x512xbf16> {pypto.name = "out", pypto.tol = #pypto.tol<atol = 1.0e-3, rtol = 0.0078125, outliers = 0.005>}) {
  %m    = pypto.dim %x1, 0
  %none = pypto.empty[%m, 8192] : tensor<?x8192xbf16>      // [M, B * N]
  %flat = pypto.forall (%b = 0 to 16) outs(%o = %none) {tag = "batch"} {
    %a  = pypto.view %x1[:, %b, :]
    %sa = pypto.view %x1_scale[:, %b, :, :]
    %w  = pypto.view %x2[%b, :, :]
    %sw = pypto.view %x2_scale[%b, :, :, :]
    %y  = pypto.scaled_mm %a, %w scales %sa, %sw to bf16
    %at = pypto.index %b * 512
    pypto.store %y into %o[0, %at]
  }
  %out = pypto.reshape %flat[-1, 16, 512]
  func.return %out : tensor<?x16x512xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @transpose_quant_batch_matmul(
// CHECK: func.return %out
