// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// A loop that carries values; `%n` is the size of the last, ragged piece.
// CHECK-LABEL: @for
func.func @for(%x: tensor<?x64xf32>, %len: index) -> tensor<1x64xf32> {
  %s0 = pypto.full 0.0[1, 64] : tensor<1x64xf32>
  // CHECK: %s = pypto.for (%j +: %n = 0 to %len step 512) iter(%c = %s0 : tensor<1x64xf32>) {tag = "rows"} {
  %s = pypto.for (%j +: %n = 0 to %len step 512) iter(%c = %s0) {tag = "rows"} {
    // CHECK: %t = pypto.view %x[%j +: %n, :]
    %t = pypto.view %x[%j +: %n, :]
    %p = pypto.sum %t axis 0 {keepdim}
    %q = pypto.add %c, %p
    // CHECK: pypto.yield %q : tensor<1x64xf32>
    pypto.yield %q
  }
  func.return %s : tensor<1x64xf32>
}

// Index and float values are carried, too; a step of 1 is not written.
// CHECK-LABEL: @for_scalars
func.func @for_scalars(%x: tensor<?xi64>, %n: index) {
  %zero = pypto.index 0
  // CHECK: %end = pypto.for (%i = 0 to %n) iter(%c = %zero : index) {
  %end = pypto.for (%i = 0 to %n step 1) iter(%c = %zero) {
    %r = pypto.read %x[%i]
    %d = pypto.index %c + %r
    pypto.yield %d
  }
  // CHECK: pypto.for (%k = %end to 8) {
  // CHECK-NEXT: }
  pypto.for (%k = %end to 8) {
  }
  func.return
}

// The value yielded may be more or less static than the initial value.
// CHECK-LABEL: @for_refined
func.func @for_refined(%x: tensor<?x8xf32>, %y: tensor<4x8xf32>) {
  // CHECK: pypto.yield %y : tensor<4x8xf32>
  %r = pypto.for (%i = 0 to 4) iter(%c = %x) {
    pypto.yield %y
  }
  func.return
}

// Several indices; stores stand anywhere, also in loops and branches inside.
// CHECK-LABEL: @forall
func.func @forall(%x: tensor<?x32x128xf32>, %b: index, %any: i1) -> tensor<?x32x128xf32> {
  %o0 = pypto.empty[%b, 32, 128] : tensor<?x32x128xf32>
  // CHECK: %r = pypto.forall (%i = 0 to %b, %h = 0 to 32, %c +: %m = 0 to 128 step 64) outs(%o = %o0 : tensor<?x32x128xf32>) {
  %r = pypto.forall (%i = 0 to %b, %h = 0 to 32, %c +: %m = 0 to 128 step 64) outs(%o = %o0) {
    %t = pypto.view %x[%i, %h, %c +: %m]
    scf.if %any {
      // CHECK: pypto.store %t into %o[%i, %h, %c] : tensor<?xf32>, tensor<?x32x128xf32>
      pypto.store %t into %o[%i, %h, %c]
    }
    // CHECK: pypto.forall (%p = 0 to 4) {tag = "inner"} {
    pypto.forall (%p = 0 to 4) {tag = "inner"} {
      %u = pypto.view %t[0 +: 1]
      // CHECK: pypto.store %u into %o[%i, %h, %p]
      pypto.store %u into %o[%i, %h, %p]
    }
  }
  func.return %r : tensor<?x32x128xf32>
}
