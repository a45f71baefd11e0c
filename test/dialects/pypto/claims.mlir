// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// CHECK-LABEL: @claims
func.func @claims(%m: index, %i: index) {
  // CHECK: %c = pypto.claims "o"[%m, 64] : !pypto.claims
  %c = pypto.claims "o"[%m, 64]
  // CHECK: pypto.claim %c at %i from[%i, 0] size[4, %m]
  pypto.claim %c at %i from[%i, 0] size[4, %m]
  func.return
}
