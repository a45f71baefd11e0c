// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s

func.func private @attributes() attributes {
  // CHECK: a = #npu.max<16, 256>
  a = #npu.max<16, 256>,
  // CHECK-SAME: b = #npu.expr<16 * d0 + s0>
  b = #npu.expr<s0 + d0 * 16>,
  // CHECK-SAME: c = #npu.expr<min(16, s0 - 16 * d0)>
  c = #npu.expr<min(s0 - 16 * d0, 16)>,
  // CHECK-SAME: d = #npu.expr<s0 floordiv 2 lt s1 mod 4>
  d = #npu.expr<s0 floordiv 2 lt s1 mod 4>,
  // CHECK-SAME: e = #npu.expr<-3 ge s1 ceildiv 4>
  e = #npu.expr<-3 ge s1 ceildiv 4>,
  // CHECK-SAME: f = #npu.access<read, buffer = 0, [16 * d0, 0] [16, 512], exact>
  f = #npu.access<read, buffer = 0, [16 * d0, 0] [16, 512], exact>,
  // CHECK-SAME: g = #npu.access<accumulate, buffer = 3, [] [], inexact>
  g = #npu.access<accumulate, buffer = 3, [] [], inexact>,
  // CHECK-SAME: h = #npu.select<all>
  h = #npu.select<all>,
  // CHECK-SAME: i = #npu.select<overlaps>
  i = #npu.select<overlaps>,
  // CHECK-SAME: j = #npu.select<[4 * d0 : 4 * d0 + 4, d1, *]>
  j = #npu.select<[4 * d0 : 4 + 4 * d0, d1 : d1 + 1, *]>,
  // CHECK-SAME: k = #npu<unit cube>
  k = #npu<unit cube>,
  // CHECK-SAME: l = !npu.events
  l = !npu.events
}
