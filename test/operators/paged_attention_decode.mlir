// Paged attention of decode steps, GQA 64:8, [t, N, D], keys and values in bf16 pages of 128 rows behind a block table.
// Query token j of the s1 of a sequence sees the first act - (s1 - 1 - j) cached rows; online softmax from page to page.
#qk = #pypto.cube<m = [16, 16], k = [128, 128], n = [128, 128]>
#pv = #pypto.cube<m = [16, 16], k = [128, 128], n = [128, 128]>
func.func @paged_attention_decode(
    %q: tensor<?x64x128xbf16> {pypto.dims = ["t"]},
    %k_cache: tensor<?x128x8x128xbf16> {pypto.dims = ["blocks"]},
    %v_cache: tensor<?x128x8x128xbf16> {pypto.dims = ["blocks"]},
    %block_table: tensor<?x?xi32> {pypto.dims = ["b", "pages"], pypto.data = #pypto.data<distinct 0 to "blocks">},
    %act_seqs: tensor<?xi32> {pypto.dims = ["b"], pypto.data = #pypto.data<integer 1 to "pages * 128">})
    -> (tensor<?x64x128xbf16> {pypto.name = "out", pypto.tol = #pypto.tol<atol = 1.0e-4, rtol = 0.0078125, outliers = 0.005>}) {
  %t  = pypto.dim %q, 0
  %b  = pypto.dim %act_seqs, 0
  %s1 = pypto.index %t floordiv max(%b, 1)
  pypto.assert %s1 * %b == %t, "{1} tokens are not a whole number of steps for each sequence"
  %o0 = pypto.empty[%t, 64, 128] : tensor<?x64x128xbf16>
  %out = pypto.forall (%r = 0 to %t, %h = 0 to 8) outs(%o = %o0) {tag = "head"} {
    %i    = pypto.index %r floordiv %s1
    %j    = pypto.index %r mod %s1
    %act  = pypto.read %act_seqs[%i]
    %seen = pypto.index max(%act - %s1 + 1 + %j, 0)
    %g    = pypto.index %h * 8                                  // 8 query heads share a key head
    %qt   = pypto.view %q[%r, %g +: 8, :]
    %m0 = pypto.full -inf[8, 1] : tensor<8x1xf32>
    %l0 = pypto.full 0.0[8, 1] : tensor<8x1xf32>
    %a0 = pypto.full 0.0[8, 128] : tensor<8x128xf32>
    // walk the pages; %n rows of page %p are seen (128, fewer in the last one)
    %mx, %l, %acc = pypto.for (%pos +: %n = 0 to %seen step 128) iter(%m1 = %m0, %l1 = %l0, %a1 = %a0) {tag = "page"} {
      %page = pypto.index %pos floordiv 128
      %p  = pypto.read %block_table[%i, %page]
      %k  = pypto.view %k_cache[%p, 0 +: %n, %h, :]
      %v  = pypto.view %v_cache[%p, 0 +: %n, %h, :]
      %s  = pypto.matmul %qt, %k {b_trans, tile = #qk}
      %ss = pypto.mul %s, 0.08838834764831845
      %m2, %l2, %w, %alpha = pypto.online_softmax %ss state %m1, %l1
      %wb = pypto.cast %w to bf16
      %pv = pypto.matmul %wb, %v {tile = #pv}
      %ar = pypto.mul %a1, %alpha
      %a2 = pypto.add %ar, %pv
      pypto.yield %m2, %l2, %a2
    }
    %on = pypto.div %acc, %l {zero_if_zero}                     // a token that sees no row gives zeros
    %ob = pypto.cast %on to bf16
    pypto.store %ob into %o[%r, %g, 0]
  }
  func.return %out : tensor<?x64x128xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @paged_attention_decode(
// CHECK: func.return %out
