// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-short | pyptoc - --pipeline= | filecheck %s

// CHECK-LABEL: func.func @memory
func.func @memory(%g: memref<4xi64, "gm">, %n: index, %e: !npu.events) -> memref<?x8x64xf32, "gm"> {
  // CHECK-NEXT: %a = npu.alloc[%n, 512] : memref<?x512xf32, "gm">
  %a = npu.alloc[%n, 512] : memref<?x512xf32, "gm">
  // CHECK-NEXT: %b = npu.alloc[4] {policy = "carried"} : memref<4xf32, "gm">
  %b = npu.alloc[4] {policy = "carried"} : memref<4xf32, "gm">
  // CHECK-NEXT: %c = npu.alloc[%n, %n] {policy = "slots", slots = 2} : memref<?x?xi8, "gm">
  %c = npu.alloc[%n, %n] {slots = 2, policy = "slots"} : memref<?x?xi8, "gm">
  // CHECK-NEXT: %r = npu.reshape %a[%n, 8, 64] : memref<?x512xf32, "gm"> -> memref<?x8x64xf32, "gm">
  %r = npu.reshape %a[%n, 8, 64]
  // CHECK-NEXT: %r2 = npu.reshape %b[2, 2] : memref<4xf32, "gm"> -> memref<2x2xf32, "gm">
  %r2 = npu.reshape %b[2, 2] : memref<4xf32, "gm"> -> memref<2x2xf32, "gm">
  // CHECK-NEXT: %s = npu.reinterpret %a to i8 : memref<?x512xf32, "gm"> -> memref<?x2048xi8, "gm">
  %s = npu.reinterpret %a to i8
  // CHECK-NEXT: %s2 = npu.reinterpret %c to f32 : memref<?x?xi8, "gm"> -> memref<?x?xf32, "gm">
  %s2 = npu.reinterpret %c to f32 : memref<?x?xi8, "gm"> -> memref<?x?xf32, "gm">
  // CHECK-NEXT: %arena = npu.alloc[4096] {policy = "slots", slots = 2} : memref<4096xi8, "gm">
  %arena = npu.alloc[4096] {policy = "slots", slots = 2} : memref<4096xi8, "gm">
  // CHECK-NEXT: %p = npu.place %arena at 512[%n, 64] : memref<4096xi8, "gm"> -> memref<?x64xf32, "gm">
  %p = npu.place %arena at 512[%n, 64] : memref<4096xi8, "gm"> -> memref<?x64xf32, "gm">
  // CHECK-NEXT: %q = npu.place %arena at %n[14, 64] {tag = "q"} : memref<4096xi8, "gm"> -> memref<14x64xf32, "gm">
  %q = npu.place %arena at %n[14, 64] {tag = "q"} : memref<14x64xf32, "gm">
  // CHECK-NEXT: %v = npu.read %g[3] : memref<4xi64, "gm"> -> index
  %v = npu.read %g[3]
  // CHECK-NEXT: %w = npu.read %g[%n] after(%e, %e overlaps) : memref<4xi64, "gm"> -> f32
  %w = npu.read %g[%n] after(%e, %e overlaps) : f32
  // CHECK-NEXT: npu.print "g" %g : memref<4xi64, "gm">
  npu.print "g" %g
  // CHECK-NEXT: npu.print "g" %g after(%e, %e[0 : 4, *]) {tag = "p"} : memref<4xi64, "gm">
  npu.print "g" %g after(%e, %e[0 : 4, *]) {tag = "p"}
  // CHECK-NEXT: %x = npu.read %b[0] after(%e[0 : 4, *]) {tag = "x"} : memref<4xf32, "gm"> -> f32
  %x = npu.read %b[0] after(%e[0 : 4, *]) {tag = "x"}
  // CHECK-NEXT: %none = npu.no_events
  %none = npu.no_events
  // CHECK-NEXT: %all = npu.join %e, %none
  %all = npu.join %e, %none
  func.return %r : memref<?x8x64xf32, "gm">
}
