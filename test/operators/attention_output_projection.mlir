// Output projection of DeepSeek-V3.2-Exp attention: latent rows through w_uv head by head, then int8 by row, then w_o.
// h 7168, 128 heads, kv_lora 512, 128 values a head; t tokens.
func.func @attention_output_projection(
    %attn: tensor<?x128x512xbf16> {pypto.dims = ["t"]},
    %w_uv: tensor<128x512x128xbf16>,
    %w_o: tensor<16384x7168xi8> {pypto.data = #pypto.data<integer -127 to 128>},
    %w_o_scale: tensor<7168xf32> {pypto.data = #pypto.data<uniform 0.0001 to 0.0006>})
    -> (tensor<?x7168xbf16> {pypto.name = "out", pypto.tol = #pypto.tol<atol = 1.0e-4, rtol = 0.0078125, outliers = 0.005>})
    attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [16, 16], k = [256, 256], n = [256, 256]>, vec = [16, 512]>} {
  %v    = pypto.einsum "thc,hcd->thd" %attn, %w_uv to bf16 {tag = "matmul_uv"}
  %row  = pypto.reshape %v[-1, 16384]
  %q, %q_scale = pypto.quantize %row axis -1 to i8
  %sum  = pypto.matmul %q, %w_o {tag = "matmul_o"}
  %out  = pypto.dequantize %sum scales %q_scale, %w_o_scale to bf16
  func.return %out : tensor<?x7168xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @attention_output_projection(
// CHECK: func.return %out
