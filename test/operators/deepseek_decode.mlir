// One decode step of a DeepSeek-V3.2-Exp attention layer, from hidden states to hidden states, as one module.
// Weights cast, prolog, rope, indexer with top-2048 routing, sparse attention, output projection; each is a function.
// h 7168, q_lora 1536, 128 heads, nope 128, rope 64, kv_lora 512, indexer 64 heads of 128, page 128.
// One step of int8 in one number of a row moves all that the last product makes of the row: 1.0e-3 allows for that.
!act = tensor<?xi32>
!beta = tensor<128xbf16>
!gamma_cq = tensor<1536xbf16>
!gamma_ckv = tensor<512xbf16>
!hadamard = tensor<128x128xbf16>
!hidden = tensor<?x7168xbf16>
!index = tensor<?x64x128xbf16>
!indices = tensor<?xi32>
!index_cache = tensor<?x128x1x128xi8>
!index_row = tensor<?x128xbf16>
!index_scale_cache = tensor<?x128x1xf16>
!kr_cache = tensor<?x128x1x64xbf16>
!k_scale_cache = tensor<?x128x1x4xf32>
!k = tensor<?x576xbf16>
!kn = tensor<?x512xbf16>
!kn8 = tensor<?x512xi8>
!kr16 = tensor<?x64xbf16>
!ks32 = tensor<?x4xf32>
!kv_cache = tensor<?x128x1x512xi8>
!latent = tensor<?x128x512xbf16>
!q_pe = tensor<?x128x64xbf16>
!rotation = tensor<?x64xbf16>
!slots = tensor<?xi64>
!table = tensor<?x?xi32>
!topk = tensor<?x2048xi32>
!weights = tensor<?x64xf16>
!w_dkvkr = tensor<7168x576xbf16>
!w_dkvkr_32 = tensor<7168x576xf32>
!w_dq = tensor<7168x1536xbf16>
!w_dq_32 = tensor<7168x1536xf32>
!w_k = tensor<7168x128xbf16>
!w_k_32 = tensor<7168x128xf32>
!w_o = tensor<16384x7168xi8>
!w_o_scale = tensor<7168xf32>
!w_proj = tensor<7168x64xbf16>
!w_proj_32 = tensor<7168x64xf32>
!w_qb = tensor<1536x8192xi8>
!w_qb_32 = tensor<1536x8192xf32>
!w_qb_scale = tensor<1x8192xf32>
!w_uk = tensor<128x128x512xbf16>
!w_uk_32 = tensor<128x128x512xf32>
!w_uqqr = tensor<1536x24576xi8>
!w_uqqr_scale = tensor<24576xf32>
!w_uv = tensor<128x512x128xbf16>
!w_uv_32 = tensor<128x512x128xf32>

func.func @deepseek_decode(
    %x: !hidden {pypto.dims = ["t"]},
    %w_dq: !w_dq_32, %w_dkvkr: !w_dkvkr_32, %w_uk: !w_uk_32, %w_uv: !w_uv_32,
    %w_qb: !w_qb_32, %w_k: !w_k_32, %w_proj: !w_proj_32,
    %w_uqqr: !w_uqqr {pypto.data = #pypto.data<integer -127 to 128>},
    %w_uqqr_scale: !w_uqqr_scale {pypto.data = #pypto.data<uniform 0.0001 to 0.0006>},
    %w_o: !w_o {pypto.data = #pypto.data<integer -127 to 128>},
    %w_o_scale: !w_o_scale {pypto.data = #pypto.data<uniform 0.0001 to 0.0006>},
    %gamma_cq: !gamma_cq, %gamma_ckv: !gamma_ckv, %gamma_k: !beta, %beta_k: !beta,
    %hadamard_q: !hadamard, %hadamard_k: !hadamard,
    %cos: !rotation {pypto.dims = ["t"]}, %sin: !rotation {pypto.dims = ["t"]},
    %cache_index: !slots {pypto.dims = ["t"], pypto.data = #pypto.data<distinct 0 to "blocks * 128", skip>},
    %kv_cache: !kv_cache {pypto.dims = ["blocks"]},
    %kr_cache: !kr_cache {pypto.dims = ["blocks"]},
    %k_scale_cache: !k_scale_cache {pypto.dims = ["blocks"], pypto.data = #pypto.data<uniform 0.0 to 0.02>},
    %index_cache: !index_cache {pypto.dims = ["blocks"]},
    %index_scale_cache: !index_scale_cache {pypto.dims = ["blocks"]},
    %act_seqs: !act {pypto.dims = ["b"], pypto.data = #pypto.data<integer 1 to "pages * 128">},
    %block_table: !table {pypto.dims = ["b", "pages"], pypto.data = #pypto.data<distinct 0 to "blocks">})
    -> (!hidden {pypto.name = "out", pypto.tol = #pypto.tol<atol = 1.0e-3, rtol = 0.0078125, outliers = 0.005>},
        !topk {pypto.name = "topk", pypto.tol = #pypto.tol<as_sets, misses = 1>},
        !kv_cache {pypto.name = "kv_cache", pypto.tol = #pypto.tol<atol = 1.0>},
        !kr_cache {pypto.name = "kr_cache", pypto.tol = #pypto.tol<atol = 1.0e-4, rtol = 0.0078125, outliers = 0.005>},
        !k_scale_cache {pypto.name = "k_scale_cache", pypto.tol = #pypto.tol<atol = 2.5e-5, rtol = 5.0e-3>},
        !index_cache {pypto.name = "index_cache", pypto.tol = #pypto.tol<atol = 1.0>},
        !index_scale_cache {pypto.name = "index_scale_cache", pypto.tol = #pypto.tol<atol = 2.5e-5, rtol = 5.0e-3>}) {
  %dq, %dkvkr, %uk, %uv, %qb, %qb_scale, %k, %proj = func.call @cast_weights(%w_dq, %w_dkvkr, %w_uk, %w_uv, %w_qb, %w_k, %w_proj)
    : (!w_dq_32, !w_dkvkr_32, !w_uk_32, !w_uv_32, !w_qb_32, !w_k_32, !w_proj_32)
      -> (!w_dq, !w_dkvkr, !w_uk, !w_uv, !w_qb, !w_qb_scale, !w_k, !w_proj)
  %q_nope, %q_pe, %k_pe, %kv_out, %ks_out, %q_index, %k_index, %weights = func.call @prolog(
      %x, %dq, %w_uqqr, %w_uqqr_scale, %uk, %dkvkr, %qb, %qb_scale, %k, %proj, %gamma_cq, %gamma_ckv, %gamma_k, %beta_k,
      %cache_index, %kv_cache, %k_scale_cache)
    : (!hidden, !w_dq, !w_uqqr, !w_uqqr_scale, !w_uk, !w_dkvkr, !w_qb, !w_qb_scale, !w_k, !w_proj, !gamma_cq, !gamma_ckv, !beta, !beta,
       !slots, !kv_cache, !k_scale_cache)
      -> (!latent, !q_pe, !rotation, !kv_cache, !k_scale_cache, !index, !index_row, !weights)
  %q_rope, %kr_out, %q_turned, %k_turned = func.call @rope(%q_pe, %k_pe, %q_index, %k_index, %cos, %sin, %cache_index, %kr_cache)
    : (!q_pe, !rotation, !index, !index_row, !rotation, !rotation, !slots, !kr_cache) -> (!q_pe, !kr_cache, !index, !index_row)
  %topk, %ki_out, %kis_out = func.call @indexer(
      %q_turned, %k_turned, %weights, %hadamard_q, %hadamard_k, %cache_index, %index_cache, %index_scale_cache, %act_seqs, %block_table)
    : (!index, !index_row, !weights, !hadamard, !hadamard, !slots, !index_cache, !index_scale_cache, !act, !table)
      -> (!topk, !index_cache, !index_scale_cache)
  %attn = func.call @sparse_attention(%q_nope, %q_rope, %kv_out, %kr_out, %ks_out, %topk, %act_seqs, %block_table)
    : (!latent, !q_pe, !kv_cache, !kr_cache, !k_scale_cache, !topk, !act, !table) -> !latent
  %out = func.call @output_projection(%attn, %uv, %w_o, %w_o_scale) : (!latent, !w_uv, !w_o, !w_o_scale) -> !hidden
  func.return %out, %topk, %kv_out, %kr_out, %ks_out, %ki_out, %kis_out
    : !hidden, !topk, !kv_cache, !kr_cache, !k_scale_cache, !index_cache, !index_scale_cache
}

// 1. What the checkpoint has in f32, as the cube cores take it.
func.func private @cast_weights(
    %w_dq: !w_dq_32, %w_dkvkr: !w_dkvkr_32, %w_uk: !w_uk_32, %w_uv: !w_uv_32, %w_qb: !w_qb_32, %w_k: !w_k_32, %w_proj: !w_proj_32)
    -> (!w_dq, !w_dkvkr, !w_uk, !w_uv, !w_qb, !w_qb_scale, !w_k, !w_proj) {
  %dq    = pypto.cast %w_dq to bf16 {tag = "w_dq"}
  %dkvkr = pypto.cast %w_dkvkr to bf16 {tag = "w_dkvkr"}
  %uk    = pypto.cast %w_uk to bf16 {tag = "w_uk"}
  %uv    = pypto.cast %w_uv to bf16 {tag = "w_uv"}
  %qb, %qb_scale = pypto.quantize %w_qb axis 0 to i8 {tag = "w_qb"}
  %k     = pypto.cast %w_k to bf16 {tag = "w_k"}
  %proj  = pypto.cast %w_proj to bf16 {tag = "w_proj"}
  func.return %dq, %dkvkr, %uk, %uv, %qb, %qb_scale, %k, %proj
    : !w_dq, !w_dkvkr, !w_uk, !w_uv, !w_qb, !w_qb_scale, !w_k, !w_proj
}

// 2. Queries and latent rows of attention, queries and keys of the indexer; what is to rotate goes on to step 3.
func.func private @prolog(
    %x: !hidden, %w_dq: !w_dq, %w_uqqr: !w_uqqr, %w_uqqr_scale: !w_uqqr_scale, %w_uk: !w_uk, %w_dkvkr: !w_dkvkr,
    %w_qb: !w_qb, %w_qb_scale: !w_qb_scale, %w_k: !w_k, %w_proj: !w_proj,
    %gamma_cq: !gamma_cq, %gamma_ckv: !gamma_ckv, %gamma_k: !beta, %beta_k: !beta,
    %cache_index: !slots, %kv_cache: !kv_cache, %k_scale_cache: !k_scale_cache)
    -> (!latent, !q_pe, !rotation, !kv_cache, !k_scale_cache, !index, !index_row, !weights)
    attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [16, 16], k = [256, 256], n = [128, 128]>, vec = [16, 512]>} {
  %q_a = pypto.matmul %x, %w_dq to bf16 {tag = "matmul_qa"}
  %q_n = pypto.rms_norm %q_a, %gamma_cq eps 1.0e-5 {tag = "norm_qa"}
  %q_norm, %q_scale = pypto.quantize %q_n axis -1 to i8
  %q_i32  = pypto.matmul %q_norm, %w_uqqr {tag = "matmul_uqqr"}
  %q_b    = pypto.dequantize %q_i32 scales %q_scale, %w_uqqr_scale to bf16
  %q      = pypto.reshape %q_b[-1, 128, 192]
  %q_c    = pypto.view %q[:, :, 0 +: 128]
  %q_nope = pypto.einsum "thd,hdc->thc" %q_c, %w_uk to bf16 {tag = "matmul_uk"}
  %q_pe   = pypto.view %q[:, :, 128 +: 64]

  %kv   = pypto.matmul %x, %w_dkvkr to bf16 {tag = "matmul_dkvkr"}
  %k_pe = pypto.view %kv[:, 512 +: 64]
  %c_kv = pypto.view %kv[:, 0 +: 512]
  %k_n  = pypto.rms_norm %c_kv, %gamma_ckv eps 1.0e-5
  %k_g  = pypto.reshape %k_n[-1, 4, 128]
  %k_q, %k_s = pypto.quantize %k_g axis -1 to i8
  %k_rows = pypto.reshape %k_q[-1, 512]
  %s_rows = pypto.reshape %k_s[-1, 4]
  %kv_out = pypto.scatter_rows %k_rows into %kv_cache at %cache_index {rows = [0, 1, 2], skip = -1}
  %ks_out = pypto.scatter_rows %s_rows into %k_scale_cache at %cache_index {rows = [0, 1, 2], skip = -1}

  %i_i32   = pypto.matmul %q_norm, %w_qb {tag = "matmul_qb"}
  %i_b     = pypto.dequantize %i_i32 scales %q_scale, %w_qb_scale to bf16
  %q_index = pypto.reshape %i_b[-1, 64, 128]
  %k       = pypto.matmul %x, %w_k {tag = "matmul_k"}
  %k_index = pypto.layer_norm %k, %gamma_k, %beta_k eps 1.0e-6 to bf16 {tag = "norm_k"}
  %w_b     = pypto.matmul %x, %w_proj to bf16 {tag = "matmul_w"}
  %w_f     = pypto.cast %w_b to f32
  %w_s     = pypto.mul %w_f, 0.011048543456039806                 // 64^-0.5 * 128^-0.5
  %weights = pypto.cast %w_s to f16
  func.return %q_nope, %q_pe, %k_pe, %kv_out, %ks_out, %q_index, %k_index, %weights
    : !latent, !q_pe, !rotation, !kv_cache, !k_scale_cache, !index, !index_row, !weights
}

// 3. Pairs of neighbours for attention, halves of the first 64 of 128 for the indexer.
func.func private @rope(
    %q_pe: !q_pe, %k_pe: !rotation, %q_index: !index, %k_index: !index_row, %cos: !rotation, %sin: !rotation,
    %cache_index: !slots, %kr_cache: !kr_cache) -> (!q_pe, !kr_cache, !index, !index_row)
    attributes {pypto.tiles = #pypto.tiles<vec = [16, 512]>} {
  %cos3   = pypto.reshape %cos[-1, 1, 64]
  %sin3   = pypto.reshape %sin[-1, 1, 64]
  %q_rope = pypto.rope %q_pe, %cos3, %sin3 {interleaved, tag = "rope_q"}
  %k_rope = pypto.rope %k_pe, %cos, %sin {interleaved, tag = "rope_k"}
  %kr_out = pypto.scatter_rows %k_rope into %kr_cache at %cache_index {rows = [0, 1, 2], skip = -1}
  %q_turned = pypto.rope %q_index, %cos3, %sin3 first 64 {tag = "rope_q_index"}
  %k_turned = pypto.rope %k_index, %cos, %sin first 64 {tag = "rope_k_index"}
  func.return %q_rope, %kr_out, %q_turned, %k_turned : !q_pe, !kr_cache, !index, !index_row
}

// 4. Scores of all cached keys, in int8; the best 2048 of each token.  Token j of s1 sees the first act - (s1 - 1 - j).
func.func private @indexer(
    %q_turned: !index, %k_turned: !index_row, %weights: !weights, %hadamard_q: !hadamard, %hadamard_k: !hadamard, %cache_index: !slots,
    %index_cache: !index_cache, %index_scale_cache: !index_scale_cache, %act_seqs: !act, %block_table: !table)
    -> (!topk, !index_cache, !index_scale_cache)
    attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [128, 128], k = [128, 128], n = [64, 64]>>} {
  %q_h = pypto.matmul %q_turned, %hadamard_q to bf16 {tag = "hadamard_q"}
  %q, %q_s32 = pypto.quantize %q_h axis -1 to i8
  %q_s16   = pypto.cast %q_s32 to f16
  %q_scale = pypto.reshape %q_s16[-1, 64]
  %k_h = pypto.matmul %k_turned, %hadamard_k to bf16 {tag = "hadamard_k"}
  %k_q, %k_s32 = pypto.quantize %k_h axis -1 to i8
  %k_s16   = pypto.cast %k_s32 to f16
  %k_s     = pypto.reshape %k_s16[-1]
  %k_out   = pypto.scatter_rows %k_q into %index_cache at %cache_index {rows = [0, 1, 2], skip = -1}
  %ks_out  = pypto.scatter_rows %k_s into %index_scale_cache at %cache_index {rows = [0, 1, 2], skip = -1}

  %t  = pypto.dim %q, 0
  %b  = pypto.dim %act_seqs, 0
  %s1 = pypto.index %t floordiv max(%b, 1)
  pypto.assert %s1 * %b == %t, "{1} tokens are not a whole number of steps for each sequence"
  pypto.assert %s1 <= 4, "{0} steps for each sequence; the score buffer holds 4"
  %qs_w  = pypto.mul %q_scale, %weights
  %keys  = pypto.reshape %k_out[-1, 128, 128]
  %none  = pypto.full -1[%t, 2048] : !topk
  %topk = pypto.forall (%i = 0 to %b) outs(%out = %none) {tag = "batch"} {
    %act   = pypto.read %act_seqs[%i]
    %first = pypto.index %i * %s1
    %s0 = pypto.empty[%s1, %act, 1] {max = [4, 131072, 1]} : tensor<?x?x1xf32>
    %score = pypto.forall (%j = 0 to %s1, %pos +: %n = 0 to %act step 128) outs(%so = %s0) {tag = "page"} {
      %page = pypto.index %pos floordiv 128
      %p    = pypto.read %block_table[%i, %page]
      %tok  = pypto.index %first + %j
      %q1   = pypto.view %q[%tok, :, :]                       // [64, 128]
      %w1   = pypto.view %qs_w[%tok, :]
      %k    = pypto.view %keys[%p, 0 +: %n, :]
      %ks   = pypto.view %ks_out[%p, 0 +: %n, :]
      %qk   = pypto.matmul %k, %q1 {b_trans}                  // [n, 128] x [64, 128] -> i32 [n, 64]
      %qf   = pypto.cast %qk to f32
      %qr   = pypto.relu %qf
      %qm   = pypto.mul %qr, 0.00048828125                    // 1/2048 keeps f16 in range
      %qh   = pypto.cast %qm to f16
      %ph   = pypto.cast %qh to f32
      %wf   = pypto.cast %w1 to f32
      %pw   = pypto.mul %ph, %wf                              // f16 times f16, exact in f32
      %sh   = pypto.sum %pw axis -1 {keepdim}                 // [n, 1], over the heads
      %kf   = pypto.cast %ks to f32
      %s    = pypto.mul %sh, %kf
      pypto.store %s into %so[%j, %pos, 0]
    }
    pypto.forall (%j = 0 to %s1) {tag = "topk"} {
      %eff = pypto.index max(%act - (%s1 - 1 - %j), 0)
      %row = pypto.view %score[%j, 0 +: %eff, 0]
      %val, %idx = pypto.topk %row k 2048 axis -1 {pad_index = -1}
      %o   = pypto.index %first + %j
      pypto.store %idx into %out[%o, 0]
    }
  }
  func.return %topk, %k_out, %ks_out : !topk, !index_cache, !index_scale_cache
}

// 5. Each token attends to its rows, gathered through the page table and dequantised in 4 groups of 128.
// One launch, a task for 32 heads; the keys of few tokens are divided among tasks, and their parts put together.
func.func private @sparse_attention(
    %q_nope: !latent, %q_rope: !q_pe, %kv_cache: !kv_cache, %kr_cache: !kr_cache, %k_scale_cache: !k_scale_cache,
    %topk: !topk, %act_seqs: !act, %block_table: !table) -> !latent {
  %t    = pypto.dim %q_nope, 0
  %heads = pypto.dim %q_nope, 1
  %b    = pypto.dim %act_seqs, 0
  %s1   = pypto.index %t floordiv max(%b, 1)
  %kn8  = pypto.reshape %kv_cache[-1, 512]
  %kr16 = pypto.reshape %kr_cache[-1, 64]
  %ks32 = pypto.reshape %k_scale_cache[-1, 4]
  %o0   = pypto.empty[%t, 128, 512] : !latent
  // parts of the keys: 24 tasks for up to 3 tokens, but none of fewer than 384 keys
  %none  = pypto.index 0
  %first = pypto.index min(%b, 3)
  %most  = pypto.for (%i = 0 to %first) iter(%most1 = %none) {
    %act   = pypto.read %act_seqs[%i]
    %most2 = pypto.index max(%most1, %act)
    pypto.yield %most2
  }
  %parts = pypto.index min(6 floordiv max(%t, 1), %most ceildiv 384)
  %whole = pypto.index %parts <= 1
  %attn = scf.if %whole -> (!latent) {
    %o1 = pypto.forall (%r = 0 to %t, %g +: %c = 0 to %heads step 32) outs(%o = %o0) {tag = "heads"} {
      %i     = pypto.index %r floordiv %s1
      %j     = pypto.index %r mod %s1
      %act   = pypto.read %act_seqs[%i]
      %n     = pypto.index min(max(%act - %s1 + 1 + %j, 0), 2048)
      %table = pypto.view %block_table[%i, :]
      %qn    = pypto.view %q_nope[%r, %g +: %c, :]
      %qr    = pypto.view %q_rope[%r, %g +: %c, :]
      %q     = pypto.concat %qn, %qr axis -1                                             // [32, 576]
      // the greatest score of each head, and the sum of the weights
      %m0 = pypto.full -inf[%c, 1] : tensor<?x1xf32>
      %l0 = pypto.full 0.0[%c, 1] : tensor<?x1xf32>
      %mx, %l = pypto.for (%pos +: %w = 0 to %n step 96) iter(%m1 = %m0, %l1 = %l0) {tag = "softmax"} {
        %idx = pypto.view %topk[%r, %pos +: %w]
        %kn, %k = func.call @keys(%idx, %table, %kn8, %kr16, %ks32) : (!indices, !indices, !kn8, !kr16, !ks32) -> (!kn, !k)
        %s  = pypto.matmul %q, %k {b_trans, tag = "qk"}
        %ss = pypto.mul %s, 0.041666666666666664                                         // 576^-0.5
        %m2, %l2, %e, %alpha = pypto.online_softmax %ss state %m1, %l1
        pypto.yield %m2, %l2
      }
      // the same scores again, so that weights are normalised before they are rounded
      %a0 = pypto.full 0.0[%c, 512] : tensor<?x512xf32>                                 // a token with no key gives zeros
      %acc = pypto.for (%pos +: %w = 0 to %n step 96) iter(%a1 = %a0) {tag = "values"} {
        %idx = pypto.view %topk[%r, %pos +: %w]
        %pv = func.call @weighted(%q, %mx, %l, %idx, %table, %kn8, %kr16, %ks32)
          : (tensor<?x576xbf16>, tensor<?x1xf32>, tensor<?x1xf32>, !indices, !indices, !kn8, !kr16, !ks32) -> tensor<?x512xf32>
        %a2 = pypto.add %a1, %pv
        pypto.yield %a2
      }
      %ob = pypto.cast %acc to bf16
      pypto.store %ob into %o[%r, %g, 0]
    }
    scf.yield %o1 : !latent
  } else {
    // a quarter of a part at a time, for all heads
    %quarters = pypto.index 4 * %parts
    %ms0 = pypto.empty[%t, %heads, %quarters] : tensor<?x?x?xf32>
    %ls0 = pypto.empty[%t, %heads, %quarters] : tensor<?x?x?xf32>
    %ms, %ls = pypto.forall (%r = 0 to %t, %part = 0 to %quarters, %g +: %c = 0 to %heads step 128)
        outs(%mo = %ms0, %lo = %ls0) {tag = "scores"} {
      %i     = pypto.index %r floordiv %s1
      %j     = pypto.index %r mod %s1
      %act   = pypto.read %act_seqs[%i]
      %n     = pypto.index min(max(%act - %s1 + 1 + %j, 0), 2048)
      %begin = pypto.index %part * %n floordiv %quarters
      %end   = pypto.index (%part + 1) * %n floordiv %quarters
      %table = pypto.view %block_table[%i, :]
      %qn    = pypto.view %q_nope[%r, %g +: %c, :]
      %qr    = pypto.view %q_rope[%r, %g +: %c, :]
      %q     = pypto.concat %qn, %qr axis -1                                             // [128, 576]
      %m0 = pypto.full -inf[%c, 1] : tensor<?x1xf32>
      %l0 = pypto.full 0.0[%c, 1] : tensor<?x1xf32>
      %mx, %l = pypto.for (%pos +: %w = %begin to %end step 64) iter(%m1 = %m0, %l1 = %l0) {tag = "softmax"} {
        %idx = pypto.view %topk[%r, %pos +: %w]
        %kn, %k = func.call @keys(%idx, %table, %kn8, %kr16, %ks32) : (!indices, !indices, !kn8, !kr16, !ks32) -> (!kn, !k)
        %s  = pypto.matmul %q, %k {b_trans, tag = "qk"}
        %ss = pypto.mul %s, 0.041666666666666664
        %m2, %l2, %e, %alpha = pypto.online_softmax %ss state %m1, %l1
        pypto.yield %m2, %l2
      }
      pypto.store %mx into %mo[%r, %g, %part]
      pypto.store %l into %lo[%r, %g, %part]
    }
    %as0 = pypto.empty[%t, %parts, %heads, 512] : tensor<?x?x?x512xf32>
    %as = pypto.forall (%r = 0 to %t, %part = 0 to %parts, %g +: %c = 0 to %heads step 32) outs(%ao = %as0) {tag = "values"} {
      %i     = pypto.index %r floordiv %s1
      %j     = pypto.index %r mod %s1
      %act   = pypto.read %act_seqs[%i]
      %n     = pypto.index min(max(%act - %s1 + 1 + %j, 0), 2048)
      %begin = pypto.index %part * %n floordiv %parts
      %end   = pypto.index (%part + 1) * %n floordiv %parts
      %table = pypto.view %block_table[%i, :]
      %qn    = pypto.view %q_nope[%r, %g +: %c, :]
      %qr    = pypto.view %q_rope[%r, %g +: %c, :]
      %q     = pypto.concat %qn, %qr axis -1
      // what the quarters found: a sum counts as much as its maximum is below the greatest
      %mq = pypto.view %ms[%r, %g +: %c, :]
      %lq = pypto.view %ls[%r, %g +: %c, :]
      %mx = pypto.amax %mq axis -1 {keepdim}
      %md = pypto.sub %mq, %mx
      %me = pypto.exp %md
      %le = pypto.mul %lq, %me
      %l  = pypto.sum %le axis -1 {keepdim}
      %a0 = pypto.full 0.0[%c, 512] : tensor<?x512xf32>
      %acc = pypto.for (%pos +: %w = %begin to %end step 96) iter(%a1 = %a0) {tag = "values"} {
        %idx = pypto.view %topk[%r, %pos +: %w]
        %pv = func.call @weighted(%q, %mx, %l, %idx, %table, %kn8, %kr16, %ks32)
          : (tensor<?x576xbf16>, tensor<?x1xf32>, tensor<?x1xf32>, !indices, !indices, !kn8, !kr16, !ks32) -> tensor<?x512xf32>
        %a2 = pypto.add %a1, %pv
        pypto.yield %a2
      }
      pypto.store %acc into %ao[%r, %part, %g, 0]
    }
    %o1 = pypto.forall (%r = 0 to %t, %g +: %c = 0 to %heads step 4) outs(%o = %o0) {tag = "merge"} {
      %a0  = pypto.full 0.0[%c, 512] : tensor<?x512xf32>
      %acc = pypto.for (%part = 0 to %parts) iter(%a1 = %a0) {
        %ap = pypto.view %as[%r, %part, %g +: %c, :]
        %a2 = pypto.add %a1, %ap
        pypto.yield %a2
      }
      %ob = pypto.cast %acc to bf16
      pypto.store %ob into %o[%r, %g, 0]
    }
    scf.yield %o1 : !latent
  }
  func.return %attn : !latent
}

// The rows that %idx names, dequantised: [w, 512], and with their rope part behind: [w, 576].
func.func private @keys(%idx: !indices, %table: !indices, %kn8: !kn8, %kr16: !kr16, %ks32: !ks32) -> (!kn, !k) {
  %k8 = pypto.gather_rows %kn8 at %idx through %table page 128 {tag = "gather"}          // [w, 512] i8
  %ks = pypto.gather_rows %ks32 at %idx through %table page 128                          // [w, 4] f32
  %kr = pypto.gather_rows %kr16 at %idx through %table page 128 {tag = "gather"}         // [w, 64] bf16
  %kn = pypto.dequantize %k8 scales %ks axis -1 group 128 to bf16
  %k  = pypto.concat %kn, %kr axis -1
  func.return %kn, %k : !kn, !k
}

// The same rows, each as much as its weight, and added up.
func.func private @weighted(
    %q: tensor<?x576xbf16>, %mx: tensor<?x1xf32>, %l: tensor<?x1xf32>,
    %idx: !indices, %table: !indices, %kn8: !kn8, %kr16: !kr16, %ks32: !ks32) -> tensor<?x512xf32> {
  %kn, %k = func.call @keys(%idx, %table, %kn8, %kr16, %ks32) : (!indices, !indices, !kn8, !kr16, !ks32) -> (!kn, !k)
  %s  = pypto.matmul %q, %k {b_trans, tag = "qk"}
  %ss = pypto.mul %s, 0.041666666666666664
  %sm = pypto.sub %ss, %mx
  %e  = pypto.exp %sm
  %p  = pypto.div %e, %l
  %pb = pypto.cast %p to bf16
  %pv = pypto.matmul %pb, %kn {tag = "pv"}
  func.return %pv : tensor<?x512xf32>
}

// 6. Back from latent rows to the width of the model.
func.func private @output_projection(%attn: !latent, %w_uv: !w_uv, %w_o: !w_o, %w_o_scale: !w_o_scale) -> !hidden
    attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [16, 16], k = [256, 256], n = [256, 256]>, vec = [16, 512]>} {
  %v   = pypto.einsum "thc,hcd->thd" %attn, %w_uv to bf16 {tag = "matmul_uv"}
  %row = pypto.reshape %v[-1, 16384]
  %q, %q_scale = pypto.quantize %row axis -1 to i8
  %sum = pypto.matmul %q, %w_o {tag = "matmul_o"}
  %out = pypto.dequantize %sum scales %q_scale, %w_o_scale to bf16
  func.return %out : !hidden
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @deepseek_decode(
// CHECK: func.call @sparse_attention
// CHECK: func.return %out, %topk, %kv_out, %kr_out, %ks_out, %ki_out, %kis_out
