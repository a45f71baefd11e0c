// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline=assemble-buffers,lower-to-tile | filecheck %s --check-prefix=KERNEL
// The attention of attention_kernel.mlir at task level, as one tensor program: a task has
// 128 queries of one head. Products sum over K in pieces of 64; the second one reads the
// weights, which are a tile, by views of it. Sums and maxima are carried as tiles.

#qk = #pypto.cube<m = [128, 128], k = [64, 64], n = [128, 128]>
#pv = #pypto.cube<m = [128, 128], k = [32, 64], n = [128, 128]>

// CHECK-LABEL: func.func @attention
// CHECK: npu.tasks (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) outs
// CHECK-SAME: on mixed
// CHECK: pypto.view %p[0 +: %m, %k0 +: %nk]
func.func @attention(%q: tensor<?x?x128xbf16>, %k: tensor<?x?x128xbf16>,
                     %v: tensor<?x?x128xbf16>)
    -> (tensor<?x?x128xbf16> {pypto.name = "out"}) {
  %heads = pypto.dim %q, 0
  %queries = pypto.dim %q, 1
  %keys = pypto.dim %k, 1
  %zero = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %o0 = pypto.empty[%heads, %queries, 128] : tensor<?x?x128xbf16>
  %mb = pypto.index %queries ceildiv 128
  %out = npu.tasks (%h, %i) in (%heads, %mb) outs(%o = %o0 : tensor<?x?x128xbf16>) on mixed {tag = "attend"} {
    %row = pypto.index %i * 128
    %m = pypto.index min(128, %queries - %row)
    %qt = pypto.view %q[%h, %row +: %m, 0 +: 128] : tensor<?x128xbf16, #npu.max<128, 128>>
    %max0 = pypto.full -inf[%m, 1] : tensor<?x1xf32, #npu.max<128, 1>>
    %sum0 = pypto.full 0.0[%m, 1] : tensor<?x1xf32, #npu.max<128, 1>>
    %acc0 = pypto.full 0.0[%m, 128] : tensor<?x128xf32, #npu.max<128, 128>>
    %max, %sum, %acc = scf.for %t = %zero to %keys step %c128
        iter_args(%max1 = %max0, %sum1 = %sum0, %acc1 = %acc0)
        -> (tensor<?x1xf32, #npu.max<128, 1>>, tensor<?x1xf32, #npu.max<128, 1>>,
            tensor<?x128xf32, #npu.max<128, 128>>) {
      %n = pypto.index min(128, %keys - %t)
      %s0 = pypto.full 0.0[%m, %n] : tensor<?x?xf32, #npu.max<128, 128>>
      %s = scf.for %d = %zero to %c128 step %c64 iter_args(%c = %s0)
          -> (tensor<?x?xf32, #npu.max<128, 128>>) {
        %qd = pypto.view %qt[0 +: %m, %d +: 64] : tensor<?x64xbf16, #npu.max<128, 64>>
        %kd = pypto.view %k[%h, %t +: %n, %d +: 64] : tensor<?x64xbf16, #npu.max<128, 64>>
        %c1 = pypto.mma %c, %qd, %kd {b_trans, npu.tile = #qk}
        scf.yield %c1 : tensor<?x?xf32, #npu.max<128, 128>>
      }
      %ss = pypto.mul %s, 0.08838834764831845
      %top = pypto.amax %ss axis -1 {keepdim}
      %max2 = pypto.maximum %max1, %top
      %x = pypto.sub %ss, %max2
      %e = pypto.exp %x
      %y = pypto.sub %max1, %max2
      %alpha = pypto.exp %y
      %kept = pypto.mul %sum1, %alpha
      %part = pypto.sum %e axis -1 {keepdim}
      %sum2 = pypto.add %kept, %part
      %p = pypto.cast %e to bf16
      %pv0 = pypto.full 0.0[%m, 128] : tensor<?x128xf32, #npu.max<128, 128>>
      %pv = scf.for %k0 = %zero to %n step %c64 iter_args(%c = %pv0)
          -> (tensor<?x128xf32, #npu.max<128, 128>>) {
        %nk = pypto.index min(64, %n - %k0)
        %from = pypto.index %t + %k0
        %pk = pypto.view %p[0 +: %m, %k0 +: %nk] : tensor<?x?xbf16, #npu.max<128, 64>>
        %vk = pypto.view %v[%h, %from +: %nk, 0 +: 128] : tensor<?x128xbf16, #npu.max<64, 128>>
        %c1 = pypto.mma %c, %pk, %vk {npu.tile = #pv}
        scf.yield %c1 : tensor<?x128xf32, #npu.max<128, 128>>
      }
      %ar = pypto.mul %acc1, %alpha
      %acc2 = pypto.add %ar, %pv
      scf.yield %max2, %sum2, %acc2 : tensor<?x1xf32, #npu.max<128, 1>>,
          tensor<?x1xf32, #npu.max<128, 1>>, tensor<?x128xf32, #npu.max<128, 128>>
    }
    %on = pypto.div %acc, %sum
    %ob = pypto.cast %on to bf16
    npu.assemble %ob into %o[%h, %row, 0]
  }
  func.return %out : tensor<?x?x128xbf16>
}

// KERNEL: npu.kernel @attend_0
