// RUN: pyptoc %s --pipeline=schedule | filecheck %s

// Cube tasks are equal boxes and are dealt out; vector tasks go to whoever is free. What
// is there already stays, and so do the waits.

// CHECK:      npu.launch @product[%m, 4] (%x) {order = "row", assign = "static"}
// CHECK-NEXT: npu.launch @rows[d0 = %m] (%x) after(%0[d0, *]) {order = "row", assign = "dynamic"}
// CHECK-NEXT: npu.launch @rows[%m] (%x) after(%1) {order = "column", assign = "dynamic"}
npu.kernel @product (%i, %j) (%x: memref<64x16xf32, "gm">) on cube {
}
npu.kernel @rows (%i) (%x: memref<64x16xf32, "gm">) on vector {
}
func.func @main(%x: memref<64x16xf32, "gm">, %m: index) {
  %0 = npu.launch @product[%m, 4] (%x)
  %1 = npu.launch @rows[i = %m] (%x) after(%0[i, *])
  %2 = npu.launch @rows[%m] (%x) after(%1) {order = "column"}
  func.return
}
