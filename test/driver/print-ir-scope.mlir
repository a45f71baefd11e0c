// What a dump shows: the module, one function at a time, or what a failed pass left.
// RUN: pyptoc %s --pipeline='func.func(check-bounds,decompose)' --print-ir-after=decompose 2>&1 >%t.out | filecheck %s --check-prefix=EACH
// RUN: pyptoc %s --pipeline='func.func(check-bounds,decompose)' --print-ir-after-change 2>&1 >%t.out | filecheck %s --check-prefix=CHANGE
// RUN: pyptoc %s --pipeline='func.func(check-bounds,decompose)' --mlir-print-ir-after=decompose --mlir-print-ir-module-scope 2>&1 >%t.out | filecheck %s --check-prefix=MODULE
// RUN: pyptoc %s --pipeline='decompose' --print-ir-after-all 2>&1 >%t.out | filecheck %s --check-prefix=MODULE
// RUN: not pyptoc %s --pipeline='check-bounds,decompose,partition,tile' --print-ir-after-failure 2>&1 | filecheck %s --check-prefix=FAILED
// RUN: pyptoc %s --pipeline='func.func(check-bounds,decompose)' --mlir-print-ir-after-all --mlir-print-ir-after-change 2>&1 >%t.out | filecheck %s --check-prefix=CHANGE
// RUN: pyptoc %s --pipeline='check-bounds,decompose' --print-ir-after=check-bounds --print-ir-after-change 2>&1 | filecheck %s --check-prefix=FINE
// RUN: pyptoc %s --pipeline='check-bounds' --print-ir-after-all --print-ir-after-failure 2>&1 | filecheck %s --check-prefix=FINE
// RUN: pyptoc %s --pipeline='check-bounds' --print-ir-after-failure 2>&1 | filecheck %s --check-prefix=FINE
// RUN: pyptoc %s --pipeline= --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s --check-prefix=LOCAL

// EACH: // -----// IR Dump After decompose ('func.func' operation: @f) //----- //
// EACH-NEXT: {{^}}func.func @f
// EACH-NOT: func.func @g
// EACH: // -----// IR Dump After decompose ('func.func' operation: @g) //----- //
// EACH-NEXT: {{^}}func.func @g

// CHANGE-NOT: After check-bounds
// CHANGE-NOT: @f
// CHANGE: // -----// IR Dump After decompose ('func.func' operation: @g) //----- //

// MODULE: // -----// IR Dump After decompose //----- //
// MODULE-NEXT: builtin.module
// MODULE: @f
// MODULE: @g
// MODULE-NOT: IR Dump

// FAILED-NOT: IR Dump After check-bounds
// FAILED: // -----// IR Dump After tile Failed //----- //
// FAILED-NEXT: builtin.module
// FAILED: error[PTO
// FINE-NOT: IR Dump

// LOCAL: pypto.exp {{.*}} loc("{{.*}}print-ir-scope.mlir":[[# @LINE + 4]]:8)
// LOCAL-NOT: #loc

func.func @f(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = pypto.exp %x
  func.return %y : tensor<4x64xf32>
}
func.func @g(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = pypto.softmax %x axis -1
  func.return %y : tensor<4x64xf32>
}
