// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-short | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-debuginfo | pyptoc - --pipeline= --print-debuginfo | filecheck %s --check-prefix=LOC

// LOC: npu.kernel @gmm (%i, %j) (%a: memref<?x512xf32, "gm"> loc("{{.*}}kernels.mlir":[[# @LINE + 3]]:27)
// LOC-NEXT: tile.barrier loc("{{.*}}kernels.mlir":[[# @LINE + 5]]:3)
// CHECK-LABEL: npu.kernel @gmm (%i, %j) (%a: memref<?x512xf32, "gm">, %y: memref<?x512xf32, "gm">, %begin: index, %scale: f32) on cube accesses(read %a[%begin + 16 * %i, 0] [16, 512], write %y[%i, %j] [1, 1] inexact) {tag = "g"} {
npu.kernel @gmm (%i, %j) (%a: memref<?x512xf32, "gm">, %y: memref<?x512xf32, "gm">, %begin: index, %scale: f32) on cube
    accesses(read %a[%begin + 16 * %i, 0] [16, 512], write %y[%i, %j] [1, 1] inexact) {tag = "g"} {
  // CHECK-NEXT: tile.barrier
  tile.barrier
}

// CHECK: npu.kernel @empty () () on vector {
// CHECK-NEXT: }
npu.kernel @empty () () on vector {
}

// CHECK: npu.kernel @empty3
npu.kernel @empty3 (%i, %j, %k) () on vector {
}

// A body whose first operation looks like an attribute dictionary.
// CHECK: npu.kernel @bare () () on vector {
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: }
npu.kernel @bare () () on vector { tile.barrier }

// CHECK-LABEL: func.func @launches
func.func @launches(%a: memref<?x512xf32, "gm">, %n: index, %s: f32, %p: !npu.events) -> memref<?x512xf32, "gm"> {
  %y = npu.alloc[%n, 512] : memref<?x512xf32, "gm">
  // CHECK: %e = npu.launch @empty[] () : () -> !npu.events
  %e = npu.launch @empty[] ()
  // CHECK-NEXT: %t = npu.launch @gmm[%n, 28] (%a, %y, %n, %s) after(%e, %p overlaps) : (memref<?x512xf32, "gm">, memref<?x512xf32, "gm">, index, f32) -> !npu.events
  %t = npu.launch @gmm[%n, 28] (%a, %y, %n, %s) after(%e, %p overlaps)
  // CHECK-NEXT: %t2 = npu.launch @gmm[d0 = %n, d1 = 28] (%a, %y, %n, %s) after(%t[4 * d0 : 4 * d0 + 4, *], %t[%n + d0, d1]) {assign = "static", order = "row"} :
  %t2 = npu.launch @gmm[i = %n, j = 28] (%a, %y, %n, %s) after(%t[i * 4 : i * 4 + 4, *], %t[i + %n, j])
      {assign = "static", order = "row"} : (memref<?x512xf32, "gm">, memref<?x512xf32, "gm">, index, f32) -> !npu.events
  // The names of the axes need not be given.
  // CHECK-NEXT: %t3 = npu.launch @gmm[d0 = 4, d1 = 28] (%a, %y, %n, %s) after(%t[d0, 0 : d1]) :
  %t3 = npu.launch @gmm[4, 28] (%a, %y, %n, %s) after(%t[d0, 0 : d1])
  // How its tasks start: blocks of 6 x 4 of them; along other axes than the last two.
  // CHECK-NEXT: %t4 = npu.launch @gmm[4, 28] (%a, %y, %n, %s) {order = "blocked", blocks = [6, 4], assign = "dynamic"} :
  %t4 = npu.launch @gmm[4, 28] (%a, %y, %n, %s) {order = "blocked", blocks = [6, 4], assign = "dynamic"}
  // CHECK-NEXT: %t5 = npu.launch @empty3[4, %n, 2] () {order = "snake", axes = [0, 1]} :
  %t5 = npu.launch @empty3[4, %n, 2] () {order = "snake", axes = [0, 1]}
  func.return %y : memref<?x512xf32, "gm">
}
