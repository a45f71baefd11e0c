// Attention prolog of GLM-4.5 (Glm4Moe): q, k and v of t tokens in one product, norms and rope of each head, k and v to paged caches.
// hidden 5120, 96 query and 8 key heads of 128, rope on the first 64 of 128, page 128; the caches are updated in place.
// The tile is for steps of decoding, which read the weights and do little else: a head for each task, K in long steps.
func.func @glm_attention_prolog(
    %x: tensor<?x5120xbf16> {pypto.dims = ["t"]},
    %w_qkv: tensor<5120x14336xbf16> {pypto.data = #pypto.data<uniform -0.03 to 0.03>},
    %b_qkv: tensor<14336xf32>,
    %gamma_q: tensor<128xbf16> {pypto.data = #pypto.data<uniform 0.5 to 1.5>},
    %gamma_k: tensor<128xbf16> {pypto.data = #pypto.data<uniform 0.5 to 1.5>},
    %cos: tensor<?x64xbf16> {pypto.dims = ["t"]}, %sin: tensor<?x64xbf16> {pypto.dims = ["t"]},
    %slot: tensor<?xi64> {pypto.dims = ["t"], pypto.data = #pypto.data<distinct 0 to "blocks * 128", skip>},
    %k_cache: tensor<?x128x8x128xbf16> {pypto.dims = ["blocks"]},
    %v_cache: tensor<?x128x8x128xbf16> {pypto.dims = ["blocks"]})
    -> (tensor<?x96x128xbf16> {pypto.name = "q", pypto.tol = #pypto.tol<atol = 1.0e-3, rtol = 0.0078125, outliers = 0.005>},
        tensor<?x128x8x128xbf16> {pypto.name = "k_cache", pypto.tol = #pypto.tol<atol = 1.0e-3, rtol = 0.0078125, outliers = 0.005>},
        tensor<?x128x8x128xbf16> {pypto.name = "v_cache", pypto.tol = #pypto.tol<atol = 1.0e-3, rtol = 0.0078125, outliers = 0.005>}) {
  %y    = pypto.matmul %x, %w_qkv {tag = "qkv", tile = #pypto.cube<m = [128, 128], k = [64, 512], n = [128, 128]>}
  %yb   = pypto.add %y, %b_qkv
  %qkv  = pypto.cast %yb to bf16

  %q2 = pypto.view %qkv[:, 0 +: 12288]
  %k2 = pypto.view %qkv[:, 12288 +: 1024]
  %v2 = pypto.view %qkv[:, 13312 +: 1024]
  %q3 = pypto.reshape %q2[-1, 96, 128]
  %k3 = pypto.reshape %k2[-1, 8, 128]
  %v3 = pypto.reshape %v2[-1, 8, 128]

  %qn = pypto.rms_norm %q3, %gamma_q eps 1.0e-5 {tag = "norm_q"}
  %kn = pypto.rms_norm %k3, %gamma_k eps 1.0e-5 {tag = "norm_k"}
  %cos3 = pypto.reshape %cos[-1, 1, 64]
  %sin3 = pypto.reshape %sin[-1, 1, 64]
  %q = pypto.rope %qn, %cos3, %sin3 first 64 {tag = "rope_q"}
  %k = pypto.rope %kn, %cos3, %sin3 first 64 {tag = "rope_k"}

  // flat slot = page * 128 + row in page; slot -1 = padding token, skipped
  %k_out = pypto.scatter_rows %k into %k_cache at %slot {rows = [0, 1], skip = -1}
  %v_out = pypto.scatter_rows %v3 into %v_cache at %slot {rows = [0, 1], skip = -1}
  func.return %q, %k_out, %v_out : tensor<?x96x128xbf16>, tensor<?x128x8x128xbf16>, tensor<?x128x8x128xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @glm_attention_prolog(
// CHECK: func.return %q, %k_out, %v_out
