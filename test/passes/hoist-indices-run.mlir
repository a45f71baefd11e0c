// A paged cache whose positions are made in the loop: the same values, with and without trips.
// RUN: pyptoc %s --check-each --random-inputs=1 --bind=t=3,pages=20 2>&1 | filecheck %s
// RUN: pyptoc %s --check-each --random-inputs=1 --bind=t=0,pages=20 2>&1 | filecheck %s
// RUN: pyptoc %s --run --check --random-inputs=1 --bind=t=3,pages=20 | filecheck %s --check-prefix=SAFE
// RUN: pyptoc %s --simulate --bind=t=64,pages=512 | filecheck %s --check-prefix=ONE

// CHECK: every result as in the source
// SAFE: hazards checked: 0 races
// ONE: tag
// ONE-NEXT: arange {{ *}} arange_0
// ONE-NEXT: nest {{ *}} nest_1 {{ *}} 1 {{ *}} 64
// ONE-NEXT: moved
func.func @paged(
    %q: tensor<?x16x64xbf16> {pypto.dims = ["t"]}, %cache: tensor<?x16x64xbf16> {pypto.dims = ["pages"]},
    %table: tensor<?x8xi32> {pypto.dims = ["t"], pypto.data = #pypto.data<integer 0 to "pages">},
    %lens: tensor<?xi32> {pypto.dims = ["t"], pypto.data = #pypto.data<integer 1 to 129>})
    -> (tensor<?x16x64xbf16> {pypto.name = "out"}) {
  %t = pypto.dim %q, 0
  %e = pypto.empty[%t, 16, 64] : tensor<?x16x64xbf16>
  %o = pypto.forall (%i = 0 to %t) outs(%d = %e) {
    %qi = pypto.view %q[%i, :, :]
    %n = pypto.read %lens[%i]
    %pages = pypto.view %table[%i, :]
    %flat = pypto.reshape %cache[-1, 64]
    %pos = pypto.arange[128] : tensor<128xi32>
    %k = pypto.gather_rows %flat at %pos through %pages page 16
    %s = pypto.matmul %qi, %k {b_trans}
    %ok = pypto.lt %pos, %n
    %m = pypto.where %ok, %s, -inf
    %p = pypto.softmax %m axis -1
    %h = pypto.cast %p to bf16
    %r = pypto.matmul %h, %k
    %b = pypto.cast %r to bf16
    pypto.store %b into %d[%i, 0, 0]
  }
  func.return %o : tensor<?x16x64xbf16>
}
