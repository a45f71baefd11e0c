// Lightning indexer prolog of DeepSeek-V3.2-Exp: int8 queries, int8 keys into the paged cache, weights of the heads.
// h 7168, q_lora 1536, 64 heads of 128, of which 64 rotate, page 128; t tokens, caches updated in place.
func.func @lightning_indexer_prolog_quant(
    %x: tensor<?x7168xbf16> {pypto.dims = ["t"]},
    %q_norm: tensor<?x1536xi8> {pypto.dims = ["t"], pypto.data = #pypto.data<integer -127 to 128>},
    %q_norm_scale: tensor<?x1xf32> {pypto.dims = ["t"], pypto.data = #pypto.data<uniform 0.001 to 0.02>},
    %w_qb: tensor<1536x8192xi8> {pypto.data = #pypto.data<integer -127 to 128>},
    %w_qb_scale: tensor<8192xf32> {pypto.data = #pypto.data<uniform 0.0001 to 0.0006>},
    %w_k: tensor<7168x128xbf16>,
    %w_proj: tensor<7168x64xbf16>,
    %gamma: tensor<128xbf16>, %beta: tensor<128xbf16>,
    %cos: tensor<?x64xbf16> {pypto.dims = ["t"]}, %sin: tensor<?x64xbf16> {pypto.dims = ["t"]},
    %hadamard_q: tensor<128x128xbf16>, %hadamard_k: tensor<128x128xbf16>,
    %cache_index: tensor<?xi64> {pypto.dims = ["t"], pypto.data = #pypto.data<distinct 0 to "blocks * 128", skip>},
    %k_cache: tensor<?x128x1x128xi8> {pypto.dims = ["blocks"]},
    %k_scale_cache: tensor<?x128x1xf16> {pypto.dims = ["blocks"]})
    -> (tensor<?x64x128xi8> {pypto.name = "q", pypto.tol = #pypto.tol<atol = 1.0, outliers = 0.005>},
        tensor<?x64xf16> {pypto.name = "q_scale", pypto.tol = #pypto.tol<atol = 2.5e-5, rtol = 5.0e-3, outliers = 0.005>},
        tensor<?x64xf16> {pypto.name = "weights", pypto.tol = #pypto.tol<atol = 1.0e-4, rtol = 0.0078125, outliers = 0.005>},
        tensor<?x128x1x128xi8> {pypto.name = "k_cache", pypto.tol = #pypto.tol<atol = 1.0>},
        tensor<?x128x1xf16> {pypto.name = "k_scale_cache", pypto.tol = #pypto.tol<atol = 2.5e-5, rtol = 5.0e-3>})
    attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [16, 16], k = [256, 256], n = [128, 128]>, vec = [16, 512]>} {
  // query: up-projection in int8, half of each head rotates, then all of it through the Hadamard matrix
  %q_i32  = pypto.matmul %q_norm, %w_qb {tag = "matmul_qb"}
  %q_b    = pypto.dequantize %q_i32 scales %q_norm_scale, %w_qb_scale to bf16
  %q_head = pypto.reshape %q_b[-1, 64, 128]
  %cos3   = pypto.reshape %cos[-1, 1, 64]
  %sin3   = pypto.reshape %sin[-1, 1, 64]
  %q_rope = pypto.rope %q_head, %cos3, %sin3 first 64 {tag = "rope_q"}
  %q_h    = pypto.matmul %q_rope, %hadamard_q to bf16 {tag = "hadamard_q"}
  %q, %q_s32 = pypto.quantize %q_h axis -1 to i8
  %q_s16  = pypto.cast %q_s32 to f16
  %q_scale = pypto.reshape %q_s16[-1, 64]

  // key: normalised in f32, one row for each token
  %k      = pypto.matmul %x, %w_k {tag = "matmul_k"}
  %k_n    = pypto.layer_norm %k, %gamma, %beta eps 1.0e-6 to bf16 {tag = "norm_k"}
  %k_rope = pypto.rope %k_n, %cos, %sin first 64 {tag = "rope_k"}
  %k_h    = pypto.matmul %k_rope, %hadamard_k to bf16 {tag = "hadamard_k"}
  %k_q, %k_s32 = pypto.quantize %k_h axis -1 to i8
  %k_s16  = pypto.cast %k_s32 to f16
  %k_s    = pypto.reshape %k_s16[-1]
  %k_out  = pypto.scatter_rows %k_q into %k_cache at %cache_index {rows = [0, 1, 2], skip = -1}
  %ks_out = pypto.scatter_rows %k_s into %k_scale_cache at %cache_index {rows = [0, 1, 2], skip = -1}

  // how much each head counts: times 64^-0.5 * 128^-0.5
  %w_b    = pypto.matmul %x, %w_proj to bf16 {tag = "matmul_w"}
  %w_f    = pypto.cast %w_b to f32
  %w_s    = pypto.mul %w_f, 0.011048543456039806
  %weights = pypto.cast %w_s to f16
  func.return %q, %q_scale, %weights, %k_out, %ks_out
    : tensor<?x64x128xi8>, tensor<?x64xf16>, tensor<?x64xf16>, tensor<?x128x1x128xi8>, tensor<?x128x1xf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @lightning_indexer_prolog_quant(
// CHECK: func.return %q, %q_scale, %weights, %k_out, %ks_out
