// Sparse attention of DeepSeek-V3.2-Exp on packed cache rows: 512 i8 | 64 bf16 | 4 f32, 656 bytes a row.  Each query
// token attends to its top-k rows, gathered through the page table from reinterpreting views.
// A task has 32 heads of a token and goes through all keys, 96 at a time: all of it is one launch, keys stay on chip.
// Of few tokens with many keys the keys are divided among tasks, and their parts put together: three launches.
!idx = tensor<?xi32>
!k = tensor<?x576xbf16>
!kn = tensor<?x512xbf16>
!kn8 = tensor<?x512xi8>
!kr16 = tensor<?x64xbf16>
!ks32 = tensor<?x4xf32>

func.func @sparse_attention_antiquant(
    %q_nope: tensor<?x128x512xbf16> {pypto.dims = ["t"]},
    %q_rope: tensor<?x128x64xbf16> {pypto.dims = ["t"]},
    %cache: tensor<?x128x1x656xi8> {pypto.dims = ["blocks"], pypto.data = #pypto.data<integer 0 to 64>},
    %topk: tensor<?x2048xi32> {pypto.dims = ["t"], pypto.data = #pypto.data<causal_topk "act_seqs">},
    %block_table: tensor<?x?xi32> {pypto.dims = ["b", "pages"], pypto.data = #pypto.data<distinct 0 to "blocks">},
    %act_seqs: tensor<?xi32> {pypto.dims = ["b"], pypto.data = #pypto.data<integer 1 to "pages * 128">})
    -> (tensor<?x128x512xbf16> {pypto.name = "out", pypto.tol = #pypto.tol<atol = 1.0e-4, rtol = 5.0e-3, outliers = 0.005>}) {
  %t    = pypto.dim %q_nope, 0
  %b    = pypto.dim %act_seqs, 0
  %s1   = pypto.index %t floordiv max(%b, 1)
  pypto.assert %s1 * %b == %t, "{1} tokens are not a whole number of steps for each sequence"
  %rows = pypto.reshape %cache[-1, 656]
  %kn8  = pypto.view %rows[:, 0 +: 512]
  %kr16 = pypto.view %rows[:, 512 +: 128] to bf16                       // [rows, 64]
  %ks32 = pypto.view %rows[:, 640 +: 16] to f32                         // [rows, 4]
  %o0   = pypto.empty[%t, 128, 512] : tensor<?x128x512xbf16>
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
  %out = scf.if %whole -> (tensor<?x128x512xbf16>) {
    %o1 = pypto.forall (%r = 0 to %t, %h = 0 to 4) outs(%o = %o0) {tag = "heads"} {
      %i     = pypto.index %r floordiv %s1
      %j     = pypto.index %r mod %s1
      %act   = pypto.read %act_seqs[%i]
      %n     = pypto.index min(max(%act - %s1 + 1 + %j, 0), 2048)
      %g     = pypto.index %h * 32
      %table = pypto.view %block_table[%i, :]
      %qn    = pypto.view %q_nope[%r, %g +: 32, :]
      %qr    = pypto.view %q_rope[%r, %g +: 32, :]
      %q     = pypto.concat %qn, %qr axis -1                                             // [32, 576]
      // the greatest score of each head, and the sum of the weights
      %m0 = pypto.full -inf[32, 1] : tensor<32x1xf32>
      %l0 = pypto.full 0.0[32, 1] : tensor<32x1xf32>
      %mx, %l = pypto.for (%pos +: %w = 0 to %n step 96) iter(%m1 = %m0, %l1 = %l0) {tag = "softmax"} {
        %idx = pypto.view %topk[%r, %pos +: %w]
        %kn, %k = func.call @keys(%idx, %table, %kn8, %kr16, %ks32) : (!idx, !idx, !kn8, !kr16, !ks32) -> (!kn, !k)
        %s  = pypto.matmul %q, %k {b_trans, tag = "qk"}
        %ss = pypto.mul %s, 0.041666666666666664                                         // 576^-0.5
        %m2, %l2, %e, %alpha = pypto.online_softmax %ss state %m1, %l1
        pypto.yield %m2, %l2
      }
      // the same scores again, so that weights are normalised before they are rounded
      %a0 = pypto.full 0.0[32, 512] : tensor<32x512xf32>                                 // a token with no key gives zeros
      %acc = pypto.for (%pos +: %w = 0 to %n step 96) iter(%a1 = %a0) {tag = "values"} {
        %idx = pypto.view %topk[%r, %pos +: %w]
        %pv = func.call @weighted(%q, %mx, %l, %idx, %table, %kn8, %kr16, %ks32)
          : (tensor<32x576xbf16>, tensor<32x1xf32>, tensor<32x1xf32>, !idx, !idx, !kn8, !kr16, !ks32) -> tensor<32x512xf32>
        %a2 = pypto.add %a1, %pv
        pypto.yield %a2
      }
      %ob = pypto.cast %acc to bf16
      pypto.store %ob into %o[%r, %g, 0]
    }
    scf.yield %o1 : tensor<?x128x512xbf16>
  } else {
    // a quarter of a part at a time, for all heads
    %quarters = pypto.index 4 * %parts
    %ms0 = pypto.empty[%t, 128, %quarters] : tensor<?x128x?xf32>
    %ls0 = pypto.empty[%t, 128, %quarters] : tensor<?x128x?xf32>
    %ms, %ls = pypto.forall (%r = 0 to %t, %part = 0 to %quarters) outs(%mo = %ms0, %lo = %ls0) {tag = "scores"} {
      %i     = pypto.index %r floordiv %s1
      %j     = pypto.index %r mod %s1
      %act   = pypto.read %act_seqs[%i]
      %n     = pypto.index min(max(%act - %s1 + 1 + %j, 0), 2048)
      %begin = pypto.index %part * %n floordiv %quarters
      %end   = pypto.index (%part + 1) * %n floordiv %quarters
      %table = pypto.view %block_table[%i, :]
      %qn    = pypto.view %q_nope[%r, :, :]
      %qr    = pypto.view %q_rope[%r, :, :]
      %q     = pypto.concat %qn, %qr axis -1                                             // [128, 576]
      %m0 = pypto.full -inf[128, 1] : tensor<128x1xf32>
      %l0 = pypto.full 0.0[128, 1] : tensor<128x1xf32>
      %mx, %l = pypto.for (%pos +: %w = %begin to %end step 64) iter(%m1 = %m0, %l1 = %l0) {tag = "softmax"} {
        %idx = pypto.view %topk[%r, %pos +: %w]
        %kn, %k = func.call @keys(%idx, %table, %kn8, %kr16, %ks32) : (!idx, !idx, !kn8, !kr16, !ks32) -> (!kn, !k)
        %s  = pypto.matmul %q, %k {b_trans, tag = "qk"}
        %ss = pypto.mul %s, 0.041666666666666664
        %m2, %l2, %e, %alpha = pypto.online_softmax %ss state %m1, %l1
        pypto.yield %m2, %l2
      }
      pypto.store %mx into %mo[%r, 0, %part]
      pypto.store %l into %lo[%r, 0, %part]
    }
    %as0 = pypto.empty[%t, %parts, 128, 512] : tensor<?x?x128x512xf32>
    %as = pypto.forall (%r = 0 to %t, %part = 0 to %parts, %h = 0 to 4) outs(%ao = %as0) {tag = "values"} {
      %i     = pypto.index %r floordiv %s1
      %j     = pypto.index %r mod %s1
      %act   = pypto.read %act_seqs[%i]
      %n     = pypto.index min(max(%act - %s1 + 1 + %j, 0), 2048)
      %begin = pypto.index %part * %n floordiv %parts
      %end   = pypto.index (%part + 1) * %n floordiv %parts
      %g     = pypto.index %h * 32
      %table = pypto.view %block_table[%i, :]
      %qn    = pypto.view %q_nope[%r, %g +: 32, :]
      %qr    = pypto.view %q_rope[%r, %g +: 32, :]
      %q     = pypto.concat %qn, %qr axis -1
      // what the quarters found: a sum counts as much as its maximum is below the greatest
      %mq = pypto.view %ms[%r, %g +: 32, :]
      %lq = pypto.view %ls[%r, %g +: 32, :]
      %mx = pypto.amax %mq axis -1 {keepdim}
      %md = pypto.sub %mq, %mx
      %me = pypto.exp %md
      %le = pypto.mul %lq, %me
      %l  = pypto.sum %le axis -1 {keepdim}
      %a0 = pypto.full 0.0[32, 512] : tensor<32x512xf32>
      %acc = pypto.for (%pos +: %w = %begin to %end step 96) iter(%a1 = %a0) {tag = "values"} {
        %idx = pypto.view %topk[%r, %pos +: %w]
        %pv = func.call @weighted(%q, %mx, %l, %idx, %table, %kn8, %kr16, %ks32)
          : (tensor<32x576xbf16>, tensor<32x1xf32>, tensor<32x1xf32>, !idx, !idx, !kn8, !kr16, !ks32) -> tensor<32x512xf32>
        %a2 = pypto.add %a1, %pv
        pypto.yield %a2
      }
      pypto.store %acc into %ao[%r, %part, %g, 0]
    }
    %o1 = pypto.forall (%r = 0 to %t, %h = 0 to 32) outs(%o = %o0) {tag = "merge"} {
      %g   = pypto.index %h * 4
      %a0  = pypto.full 0.0[4, 512] : tensor<4x512xf32>
      %acc = pypto.for (%part = 0 to %parts) iter(%a1 = %a0) {
        %ap = pypto.view %as[%r, %part, %g +: 4, :]
        %a2 = pypto.add %a1, %ap
        pypto.yield %a2
      }
      %ob = pypto.cast %acc to bf16
      pypto.store %ob into %o[%r, %g, 0]
    }
    scf.yield %o1 : tensor<?x128x512xbf16>
  }
  func.return %out : tensor<?x128x512xbf16>
}

// The rows that %idx names, dequantised: [w, 512], and with their rope part behind: [w, 576].
func.func private @keys(%idx: !idx, %table: !idx, %kn8: !kn8, %kr16: !kr16, %ks32: !ks32) -> (!kn, !k) {
  %k8 = pypto.gather_rows %kn8 at %idx through %table page 128 {tag = "gather"}          // [w, 512] i8
  %ks = pypto.gather_rows %ks32 at %idx through %table page 128                          // [w, 4] f32
  %kr = pypto.gather_rows %kr16 at %idx through %table page 128 {tag = "gather"}         // [w, 64] bf16
  %kn = pypto.dequantize %k8 scales %ks axis -1 group 128 to bf16
  %k  = pypto.concat %kn, %kr axis -1
  func.return %kn, %k : !kn, !k
}

// The same rows, each as much as its weight, and added up.
func.func private @weighted(
    %q: tensor<32x576xbf16>, %mx: tensor<32x1xf32>, %l: tensor<32x1xf32>,
    %idx: !idx, %table: !idx, %kn8: !kn8, %kr16: !kr16, %ks32: !ks32) -> tensor<32x512xf32> {
  %kn, %k = func.call @keys(%idx, %table, %kn8, %kr16, %ks32) : (!idx, !idx, !kn8, !kr16, !ks32) -> (!kn, !k)
  %s  = pypto.matmul %q, %k {b_trans, tag = "qk"}
  %ss = pypto.mul %s, 0.041666666666666664
  %sm = pypto.sub %ss, %mx
  %e  = pypto.exp %sm
  %p  = pypto.div %e, %l
  %pb = pypto.cast %p to bf16
  %pv = pypto.matmul %pb, %kn {tag = "pv"}
  func.return %pv : tensor<32x512xf32>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @sparse_attention_antiquant(
// CHECK: func.return %out
