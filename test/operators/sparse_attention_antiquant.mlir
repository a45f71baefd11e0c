// Sparse attention of DeepSeek-V3.2-Exp on packed cache rows: 512 i8 | 64 bf16 | 4 f32, 656 bytes a row.  Each query
// token attends to its top-k rows, gathered through the page table from reinterpreting views.
// In steps of 96 keys, 32 heads a task, so that all of it is one launch and keys stay on chip: so many fit both machines.
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
  %out = pypto.forall (%r = 0 to %t, %h = 0 to 4) outs(%o = %o0) {tag = "heads"} {
    %i     = pypto.index %r floordiv %s1
    %j     = pypto.index %r mod %s1
    %act   = pypto.read %act_seqs[%i]
    %n     = pypto.index min(max(%act - %s1 + 1 + %j, 0), 2048)
    %g     = pypto.index %h * 32                                                         // a task has 32 of the heads
    %table = pypto.view %block_table[%i, :]
    %qn    = pypto.view %q_nope[%r, %g +: 32, :]
    %qr    = pypto.view %q_rope[%r, %g +: 32, :]
    %q     = pypto.concat %qn, %qr axis -1                                               // [32, 576]
    // the greatest score of each head, and the sum of the weights
    %m0 = pypto.full -inf[32, 1] : tensor<32x1xf32>
    %l0 = pypto.full 0.0[32, 1] : tensor<32x1xf32>
    %mx, %l = pypto.for (%pos +: %w = 0 to %n step 96) iter(%m1 = %m0, %l1 = %l0) {tag = "softmax"} {
      %idx = pypto.view %topk[%r, %pos +: %w]
      %k8  = pypto.gather_rows %kn8 at %idx through %table page 128 {tag = "gather"}     // [w, 512] i8
      %ks  = pypto.gather_rows %ks32 at %idx through %table page 128                     // [w, 4] f32
      %kr  = pypto.gather_rows %kr16 at %idx through %table page 128 {tag = "gather"}    // [w, 64] bf16
      %kn  = pypto.dequantize %k8 scales %ks axis -1 group 128 to bf16
      %k   = pypto.concat %kn, %kr axis -1                                               // [w, 576]
      %s   = pypto.matmul %q, %k {b_trans, tag = "qk"}
      %ss  = pypto.mul %s, 0.041666666666666664                                          // 576^-0.5
      %m2, %l2, %e, %alpha = pypto.online_softmax %ss state %m1, %l1
      pypto.yield %m2, %l2
    }
    // the same scores again, so that weights are normalised before they are rounded
    %a9 = pypto.full 0.0[32, 512] : tensor<32x512xf32>                                   // a token with no key gives zeros
    %acc = pypto.for (%pos +: %w = 0 to %n step 96) iter(%acc1 = %a9) {tag = "values"} {
      %idx = pypto.view %topk[%r, %pos +: %w]
      %k8  = pypto.gather_rows %kn8 at %idx through %table page 128 {tag = "gather"}     // [w, 512] i8
      %ks  = pypto.gather_rows %ks32 at %idx through %table page 128                     // [w, 4] f32
      %kr  = pypto.gather_rows %kr16 at %idx through %table page 128 {tag = "gather"}    // [w, 64] bf16
      %kn  = pypto.dequantize %k8 scales %ks axis -1 group 128 to bf16
      %k   = pypto.concat %kn, %kr axis -1                                               // [w, 576]
      %s   = pypto.matmul %q, %k {b_trans, tag = "qk"}
      %ss  = pypto.mul %s, 0.041666666666666664                                          // 576^-0.5
      %sm  = pypto.sub %ss, %mx
      %e   = pypto.exp %sm
      %p   = pypto.div %e, %l
      %pb  = pypto.cast %p to bf16
      %pv  = pypto.matmul %pb, %kn {tag = "pv"}
      %acc2 = pypto.add %acc1, %pv
      pypto.yield %acc2
    }
    %ob = pypto.cast %acc to bf16
    pypto.store %ob into %o[%r, %g, 0]
  }
  func.return %out : tensor<?x128x512xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @sparse_attention_antiquant(
// CHECK: func.return %out
