// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-short | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-debuginfo | pyptoc - --pipeline= --print-debuginfo | filecheck %s --check-prefix=LOC

// LOC: npu.assemble {{.*}} loc("{{.*}}tasks.mlir":[[# @LINE + 7]]:5)
// LOC: } loc("{{.*}}tasks.mlir":[[# @LINE + 4]]:13)
// CHECK-LABEL: func.func @tensor_form
func.func @tensor_form(%z0: tensor<?x512xf32>, %m0: tensor<?x1xf32>, %n: index, %t: tensor<16x512xf32>, %r: tensor<?x1xf32, #npu.max<16, 1>>) -> tensor<?x512xf32> {
  // CHECK-NEXT: %z, %mx = npu.tasks (%i, %j) in (%n, 2) outs(%o = %z0 : tensor<?x512xf32>, %mo = %m0 : tensor<?x1xf32>) on vector {tag = "swiglu"} {
  %z, %mx = npu.tasks (%i, %j) in (%n, 2) outs(%o = %z0 : tensor<?x512xf32>, %mo = %m0) on vector {tag = "swiglu"} {
    // CHECK-NEXT: npu.assemble %t into %o[%i, 0] : tensor<16x512xf32>, tensor<?x512xf32>
    npu.assemble %t into %o[%i, 0]
    // CHECK-NEXT: npu.assemble %r into %mo[%i, 0] {combine = "max"} : tensor<?x1xf32, #npu.max<16, 1>>, tensor<?x1xf32>
    npu.assemble %r into %mo[%i, 0] {combine = "max"}
  }
  // CHECK: npu.tasks (%k, seq %l) in (4, %n) outs(%q = %z : tensor<?x512xf32>) on cube {
  // CHECK-NEXT: }
  %y = npu.tasks (%k, seq %l) in (4, %n) outs(%q = %z) on cube {
  }
  func.return %y : tensor<?x512xf32>
}

// CHECK-LABEL: func.func @memory_form
func.func @memory_form(%a: memref<?x512xf32, "gm">, %y: memref<?x512xf32, "gm">, %n: index, %p: !npu.events) -> memref<?x512xf32, "gm"> {
  // No grid axis: one task.
  // CHECK-NEXT: %t0 = npu.tasks () in () buffers(%a : memref<?x512xf32, "gm">) accesses(read %a[0, 0] [1, 512]) on vector {
  %t0 = npu.tasks () in () buffers(%a) accesses(read %a[0, 0] [1, 512]) on vector {
  }
  // CHECK: npu.tasks (%i, %j) in (%n, 2) buffers(%a, %y : memref<?x512xf32, "gm">, memref<?x512xf32, "gm">) scalars(%n : index) after(%t0, %p overlaps, %t0[4 * %i : 4 * %i + 4, *, %j]) accesses(read %a[%n + 16 * %i, 0] [min(%n, 16), 512], write %y[%i, %j] [1, 1] inexact) on mixed {tag = "x"} {
  %t = npu.tasks (%i, %j) in (%n, 2) buffers(%a, %y : memref<?x512xf32, "gm">, memref<?x512xf32, "gm">) scalars(%n : index)
      after(%t0, %p overlaps, %t0[4 * %i : 4 * %i + 4, *, %j])
      accesses(read %a[%n + 16 * %i, 0] [min(16, %n), 512], write %y[%i, %j] [1, 1] inexact) on mixed {tag = "x"} {
    // CHECK-NEXT: %v = npu.load %a[%i, 256 +: %n] : memref<?x512xf32, "gm"> -> tensor<?xf32, #npu.max<256>>
    %v = npu.load %a[%i, 256 +: %n] : tensor<?xf32, #npu.max<256>>
    // CHECK-NEXT: %w = npu.load %a[0 +: 16, :] : memref<?x512xf32, "gm"> -> tensor<16x512xf32>
    %w = npu.load %a[0 +: 16, :]
    // CHECK-NEXT: npu.store %v into %y[%i, 256] : tensor<?xf32, #npu.max<256>>, memref<?x512xf32, "gm">
    npu.store %v into %y[%i, 256]
    // CHECK-NEXT: npu.store %w into %y[%i, 0] {combine = "add"} :
    npu.store %w into %y[%i, 0] {combine = "add"}
  }
  func.return %y : memref<?x512xf32, "gm">
}
