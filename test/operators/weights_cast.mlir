// The weights of one DeepSeek-V3.2-Exp attention layer, from f32 to what its steps read: bf16, and int8 by column.
// h 7168, q_lora 1536, 128 heads, nope 128, rope 64, kv_lora 512, indexer 64 heads of 128.  bf16 must be right in every
// bit: 1.0e-3 is less than half a step.
func.func @weights_cast(
    %w_dq: tensor<7168x1536xf32>,
    %w_dkvkr: tensor<7168x576xf32>,
    %w_uk: tensor<128x128x512xf32>,
    %w_uv: tensor<128x512x128xf32>,
    %w_qb: tensor<1536x8192xf32>,
    %w_k: tensor<7168x128xf32>,
    %w_proj: tensor<7168x64xf32>)
    -> (tensor<7168x1536xbf16> {pypto.name = "dq", pypto.tol = #pypto.tol<rtol = 1.0e-3>},
        tensor<7168x576xbf16> {pypto.name = "dkvkr", pypto.tol = #pypto.tol<rtol = 1.0e-3>},
        tensor<128x128x512xbf16> {pypto.name = "uk", pypto.tol = #pypto.tol<rtol = 1.0e-3>},
        tensor<128x512x128xbf16> {pypto.name = "uv", pypto.tol = #pypto.tol<rtol = 1.0e-3>},
        tensor<1536x8192xi8> {pypto.name = "qb", pypto.tol = #pypto.tol<atol = 1.0, outliers = 0.001>},
        tensor<1x8192xf32> {pypto.name = "qb_scale", pypto.tol = #pypto.tol<rtol = 1.0e-6>},
        tensor<7168x128xbf16> {pypto.name = "k", pypto.tol = #pypto.tol<rtol = 1.0e-3>},
        tensor<7168x64xbf16> {pypto.name = "proj", pypto.tol = #pypto.tol<rtol = 1.0e-3>}) {
  %dq    = pypto.cast %w_dq to bf16 {tag = "w_dq"}
  %dkvkr = pypto.cast %w_dkvkr to bf16 {tag = "w_dkvkr"}
  %uk    = pypto.cast %w_uk to bf16 {tag = "w_uk"}
  %uv    = pypto.cast %w_uv to bf16 {tag = "w_uv"}
  %qb, %qb_scale = pypto.quantize %w_qb axis 0 to i8 {tag = "w_qb"}
  %k     = pypto.cast %w_k to bf16 {tag = "w_k"}
  %proj  = pypto.cast %w_proj to bf16 {tag = "w_proj"}
  func.return %dq, %dkvkr, %uk, %uv, %qb, %qb_scale, %k, %proj
    : tensor<7168x1536xbf16>, tensor<7168x576xbf16>, tensor<128x128x512xbf16>, tensor<128x512x128xbf16>,
      tensor<1536x8192xi8>, tensor<1x8192xf32>, tensor<7168x128xbf16>, tensor<7168x64xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @weights_cast(
// CHECK: func.return %dq, %dkvkr, %uk, %uv, %qb, %qb_scale, %k, %proj
