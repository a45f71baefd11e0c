// Flash attention forward, [B, N, S, D], every query sees every key.
#qk = #pypto.cube<m = [128, 128], k = [128, 128], n = [256, 512]>
#pv = #pypto.cube<m = [128, 128], k = [128, 128], n = [128, 128]>
func.func @flash_attention_full(
    %q: tensor<?x?x?x128xf16> {pypto.dims = ["B", "N", "Sq"]},
    %k: tensor<?x?x?x128xf16> {pypto.dims = ["B", "N", "Skv"]},
    %v: tensor<?x?x?x128xf16> {pypto.dims = ["B", "N", "Skv"]})
    -> (tensor<?x?x?x128xf16> {pypto.name = "out", pypto.tol = #pypto.tol<atol = 1.0e-4, rtol = 0.002, outliers = 0.005>})
    attributes {pypto.tiles = #pypto.tiles<vec = [32, 512]>} {
  %B   = pypto.dim %q, 0
  %N   = pypto.dim %q, 1
  %Sq  = pypto.dim %q, 2
  %Skv = pypto.dim %k, 2
  %o0 = pypto.empty[%B, %N, %Sq, 128] : tensor<?x?x?x128xf16>
  %out = pypto.forall (%b = 0 to %B, %h = 0 to %N, %i +: %m = 0 to %Sq step 128) outs(%o = %o0) {tag = "q"} {
    %qt = pypto.view %q[%b, %h, %i +: %m, :]
    %m0 = pypto.full -inf[%m, 1] : tensor<?x1xf32>
    %l0 = pypto.full 0.0[%m, 1] : tensor<?x1xf32>
    %a0 = pypto.full 0.0[%m, 128] : tensor<?x128xf32>
    %mx, %l, %acc = pypto.for (%j +: %n = 0 to %Skv step 512) iter(%m1 = %m0, %l1 = %l0, %a1 = %a0) {tag = "kv"} {
      %kt = pypto.view %k[%b, %h, %j +: %n, :]
      %vt = pypto.view %v[%b, %h, %j +: %n, :]
      %s  = pypto.matmul %qt, %kt {b_trans, tile = #qk}
      %ss = pypto.mul %s, 0.08838834764831845
      %m2, %l2, %p, %alpha = pypto.online_softmax %ss state %m1, %l1
      %ph = pypto.cast %p to f16
      %pv = pypto.matmul %ph, %vt {tile = #pv}
      %ar = pypto.mul %a1, %alpha
      %a2 = pypto.add %ar, %pv
      pypto.yield %m2, %l2, %a2
    }
    %on = pypto.div %acc, %l {zero_if_zero}                       // without keys: zeros
    %oh = pypto.cast %on to f16
    pypto.store %oh into %o[%b, %h, %i, 0]
  }
  func.return %out : tensor<?x?x?x128xf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @flash_attention_full(
// CHECK: func.return %out
