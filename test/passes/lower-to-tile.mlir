// RUN: pyptoc %s --pipeline=partition,infer-tiles,tile,assemble-buffers,lower-to-tile | filecheck %s

// L1 and L0 staging with two slots each, the accumulator in L0C; the first product of a
// task overwrites it, the others add. The store casts.
func.func @matmul(%a: tensor<?x300xf16>, %b: tensor<300x64xf16>) -> tensor<?x64xbf16> {
  %y = pypto.matmul %a, %b to bf16 {tag = "mm", tile = #pypto.cube<m = [16, 16], k = [64, 128], n = [64, 64]>}
  func.return %y : tensor<?x64xbf16>
}
// CHECK-LABEL: npu.kernel @mm_0 (%i, %j) (%a: memref<?x300xf16, "gm">
// CHECK-SAME: on cube accesses(read %a
// CHECK-DAG: tile.alloc {slots = 2} : !tile.buf<16x128xf16, l1>
// CHECK-DAG: tile.alloc {slots = 2} : !tile.buf<128x64xf16, l1>
// CHECK-DAG: tile.alloc {slots = 2} : !tile.buf<16x64xf16, l0a>
// CHECK-DAG: tile.alloc {slots = 2} : !tile.buf<64x64xf16, l0b>
// CHECK: [[C:%[0-9]+]] = tile.alloc : !tile.buf<16x64xf32, l0c>
// CHECK: scf.for %k =
// CHECK: [[S:%slot]] = pypto.index (%k floordiv 128) mod 2
// CHECK: [[KN:%[0-9]+]] = pypto.index min(128, 300 - %k)
// CHECK: [[A1:%[0-9]+]] = tile.slot {{%[0-9]+}}[[[S]]] : !tile.buf<16x128xf16, l1>
// CHECK: tile.load %a[{{%[0-9]+}}, %k] [{{%[0-9]+}}, [[KN]]] into [[A1]]
// CHECK: scf.for [[K0:%[0-9]+]] =
// CHECK: [[K0N:%[0-9]+]] = pypto.index min([[KN]] - [[K0]], 64)
// CHECK: tile.move [[A1]][0, [[K0]]] [{{%[0-9]+}}, [[K0N]]] into
// CHECK: [[MORE:%[0-9]+]] = pypto.index {{.*}} > 0 : i1
// CHECK: tile.matmul {{.*}} into [[C]] [{{%[0-9]+}}, 64, [[K0N]]] accumulate [[MORE]]
// CHECK: tile.store [[C]] [{{%[0-9]+}}, 64] into %y[{{%[0-9]+}}, 0] : !tile.buf<16x64xf32, l0c>, memref<?x64xbf16, "gm">
// CHECK: func.func @matmul
// CHECK: npu.launch @mm_0[{{%[0-9]+}}, 1] (%a, %b, %y,

// With a dynamic K the loops run once at least: a product of no elements writes zeros.
func.func @dynamic_k(%a: tensor<16x?xf16> {pypto.dims = ["K"]}, %b: tensor<?x64xf16> {pypto.dims = ["K"]}) -> tensor<16x64xf32> {
  %y = pypto.matmul %a, %b {tag = "dk"}
  func.return %y : tensor<16x64xf32>
}
// CHECK-LABEL: npu.kernel @dk_1
// CHECK: [[ONCE:%[0-9]+]] = pypto.index max({{%[0-9]+}}, 1)
// CHECK: scf.for %k = {{%[a-z0-9_]+}} to [[ONCE]]

// Scales of [kb, 2n] are regrouped to [n, 2kb] on the way to scale_b.
func.func @scaled(%a: tensor<16x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>,
    %sa: tensor<16x1x2xf8E8M0FNU>, %sb: tensor<1x64x2xf8E8M0FNU>) -> tensor<16x64xf32> {
  %y = pypto.scaled_mm %a, %b scales %sa, %sb {tag = "mx", tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64]>}
  func.return %y : tensor<16x64xf32>
}
// CHECK-LABEL: npu.kernel @mx_2
// CHECK: tile.move {{.*}} [16, 2] into {{.*}} : !tile.buf<16x2xf8E8M0FNU, l1>, !tile.buf<16x2xf8E8M0FNU, scale_a>
// CHECK: tile.move {{.*}} [1, 128] into {{.*}} {pairs} : !tile.buf<1x128xf8E8M0FNU, l1>, !tile.buf<64x2xf8E8M0FNU, scale_b>
// CHECK: tile.matmul_mx

// Vector ops become instructions of the same name, with the valid extent; a row vector
// is read by column. What a loop carries is one buffer, updated in place.
func.func @rows(%x: tensor<?x1000xf32>, %g: tensor<1000xf32>) -> tensor<?x1xf32> {
  %y = pypto.mul %x, %g {tile = #pypto.vec<8, 256>}
  %m = pypto.amax %y axis -1 {keepdim}
  func.return %m : tensor<?x1xf32>
}
// CHECK-LABEL: npu.kernel @mul_3 (%i)
// CHECK-DAG: tile.alloc {slots = 2} : !tile.buf<8x256xf32, ub>
// CHECK-DAG: tile.alloc {slots = 2} : !tile.buf<1x256xf32, ub>
// CHECK: [[ACC:%[0-9]+]] = tile.alloc : !tile.buf<8x1xf32, ub>
// CHECK: tile.fill -inf into [[ACC]]
// CHECK: scf.for %c =
// CHECK: tile.load %x
// CHECK: tile.load %g[%c] [1, [[N:%[0-9]+]]]
// CHECK: tile.mul {{%[0-9]+}}, {{%[0-9]+}} col into [[Y:%[0-9]+]] [{{%[0-9]+}}, [[N]]]
// CHECK: tile.row_max [[Y]] into [[P:%[0-9]+]] [{{%[0-9]+}}, [[N]]]
// CHECK: tile.maximum [[ACC]], [[P]] into [[ACC]] [{{%[0-9]+}}, 1]
// CHECK: tile.store [[ACC]] [{{%[0-9]+}}, 1] into %m
