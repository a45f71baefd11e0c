// Sparse attention of DeepSeek-V3.2-Exp on packed cache rows: 512 i8 | 64 bf16 | 4 f32, 656 bytes a row.  Each query
// token attends to its top-k rows, gathered once through the page table and read by reinterpreting views.
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
  %qs   = pypto.concat %q_nope, %q_rope axis -1
  %rows = pypto.reshape %cache[-1, 656]
  %o0   = pypto.full 0.0[%t, 128, 512] : tensor<?x128x512xbf16>     // a token with no key gives zeros
  %out = pypto.forall (%r = 0 to %t) outs(%o = %o0) {tag = "token"} {
    %i   = pypto.index %r floordiv %s1
    %j   = pypto.index %r mod %s1
    %act = pypto.read %act_seqs[%i]
    %n   = pypto.index min(max(%act - %s1 + 1 + %j, 0), 2048)
    %any = pypto.index %n > 0
    scf.if %any {
      %idx   = pypto.view %topk[%r, 0 +: %n]
      %table = pypto.view %block_table[%i, :]
      %kv    = pypto.gather_rows %rows at %idx through %table page 128 {tag = "gather"}    // [n, 656] i8
      %kr    = pypto.view %kv[:, 512 +: 128] to bf16                                       // [n, 64]
      %ks    = pypto.view %kv[:, 640 +: 16] to f32                                         // [n, 4]
      %a0    = pypto.view %kv[:, 0 +: 128]
      %c0    = pypto.view %ks[:, 0 +: 1]
      %d0    = pypto.dequantize %a0 scales %c0 to bf16
      %a1    = pypto.view %kv[:, 128 +: 128]
      %c1    = pypto.view %ks[:, 1 +: 1]
      %d1    = pypto.dequantize %a1 scales %c1 to bf16
      %a2    = pypto.view %kv[:, 256 +: 128]
      %c2    = pypto.view %ks[:, 2 +: 1]
      %d2    = pypto.dequantize %a2 scales %c2 to bf16
      %a3    = pypto.view %kv[:, 384 +: 128]
      %c3    = pypto.view %ks[:, 3 +: 1]
      %d3    = pypto.dequantize %a3 scales %c3 to bf16
      %k     = pypto.concat %d0, %d1, %d2, %d3, %kr axis -1                                // [n, 576]
      %kn    = pypto.view %k[:, 0 +: 512]
      %q     = pypto.view %qs[%r, :, :]                                                    // [128, 576]
      %s     = pypto.matmul %q, %k {b_trans, tag = "qk", tile = #pypto.cube<m = [128, 128], k = [64, 64], n = [256, 256]>}
      %ss    = pypto.mul %s, 0.041666666666666664                                          // 576^-0.5
      %p     = pypto.softmax %ss axis -1 {tag = "softmax", tile = #pypto.vec<8, 2048>}
      %pb    = pypto.cast %p to bf16
      %or    = pypto.matmul %pb, %kn to bf16 {tag = "pv", tile = #pypto.cube<m = [128, 128], k = [128, 128], n = [128, 128]>}
      pypto.store %or into %o[%r, 0, 0]
    }
  }
  func.return %out : tensor<?x128x512xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @sparse_attention_antiquant(
// CHECK: func.return %out
