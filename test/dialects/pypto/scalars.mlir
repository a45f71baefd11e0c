// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// Expressions are kept in a normal form: like terms join, constants fold.
// CHECK-LABEL: @index
func.func @index(%a: index, %b: index) {
  // CHECK: pypto.index %a + %b : index
  %0 = pypto.index %a + %b
  // CHECK: pypto.index 3 * %a + 1 : index
  %1 = pypto.index %a + 1 + 2 * %a
  // CHECK: pypto.index %a floordiv 128 : index
  %2 = pypto.index %a floordiv 128
  // CHECK: pypto.index %a ceildiv %b : index
  %3 = pypto.index %a ceildiv %b
  // CHECK: pypto.index (%a - %b) mod 8 : index
  %4 = pypto.index (%a - %b) mod 8
  // CHECK: pypto.index min(2048, max(%a - %b + 1, 0)) : index
  %5 = pypto.index min(max(%a - %b + 1, 0), 2048)
  // CHECK: pypto.index %a * %b : index
  %6 = pypto.index %a * %b
  // CHECK: pypto.index 7 : index
  %7 = pypto.index 3 + 4
  // An operand that cancels out is gone.
  // CHECK: pypto.index %b : index
  %8 = pypto.index %a + %b - %a
  // CHECK: pypto.index -%a : index
  %9 = pypto.index -%a
  func.return
}

// A compare stands at the root only and gives a truth value.
// CHECK-LABEL: @compare
func.func @compare(%a: index, %b: index) {
  // CHECK: pypto.index %a == %b : i1
  %0 = pypto.index %a == %b
  // CHECK: pypto.index %a ne %b : i1
  %1 = pypto.index %a ne %b
  // CHECK: pypto.index %a < %b + 1 : i1
  %2 = pypto.index %a < %b + 1
  // CHECK: pypto.index %a <= 0 : i1
  %3 = pypto.index %a <= 0
  // CHECK: pypto.index %a > 0 : i1
  %4 = pypto.index %a > 0
  // CHECK: pypto.index %a >= 0 {tag = "any"} : i1
  %5 = pypto.index %a >= 0 {tag = "any"} : i1
  func.return
}

// Float expressions keep their order: each operation rounds.
// CHECK-LABEL: @scalar_of_integers
func.func @scalar_of_integers(%n: index, %i: i32) {
  // CHECK: pypto.scalar 1.0 / %n + %i : f32
  %0 = pypto.scalar 1.0 / %n + %i : f32
  func.return
}

// CHECK-LABEL: @scalar(
func.func @scalar(%x: f32, %y: f32) {
  // CHECK: pypto.scalar 1.0 - %x : f32
  %0 = pypto.scalar 1.0 - %x : f32
  // CHECK: pypto.scalar %x - (%y - 1.0) : f32
  %1 = pypto.scalar %x - (%y - 1.0) : f32
  // CHECK: pypto.scalar %x - %y - 1.0 : f32
  %2 = pypto.scalar (%x - %y) - 1.0
  // CHECK: pypto.scalar sqrt(1.0 - pow(%x, %y)) : f32
  %3 = pypto.scalar sqrt(1.0 - pow(%x, %y))
  // CHECK: pypto.scalar (-%x) * (%y + 2.0) / 3.0 : f32
  %4 = pypto.scalar -%x * (%y + 2) / 3.0
  // CHECK: pypto.scalar max(exp(%x), abs(min(%y, log(%x)))) : f32
  %5 = pypto.scalar max(exp(%x), abs(min(%y, log(%x))))
  // CHECK: pypto.scalar 1.0e-8 + %x : f32
  %6 = pypto.scalar 1.0e-8 + %x
  func.return
}

// Integers are read as index, or as f32 where the clause says so.
// CHECK-LABEL: @read
func.func @read(%x: tensor<2xi64>, %y: tensor<4x?xf32>, %i: index) {
  // CHECK: pypto.read %x[1] : tensor<2xi64> -> index
  %0 = pypto.read %x[1]
  // CHECK: pypto.read %x[%i] : tensor<2xi64> -> f32
  %1 = pypto.read %x[%i] : f32
  // CHECK: pypto.read %y[3, %i] : tensor<4x?xf32> -> f32
  %2 = pypto.read %y[3, %i]
  // CHECK: pypto.dim %y, 1 : tensor<4x?xf32> -> index
  %3 = pypto.dim %y, 1
  func.return
}

// CHECK-LABEL: @assert
func.func @assert(%a: index, %b: index) {
  // CHECK: pypto.assert %a * %b == 16, "{0} is not {1}"
  pypto.assert %a * %b == 16, "{0} is not {1}"
  // CHECK: pypto.assert %a <= 4, "{0} of {1}", %b, %a {code = "PTO402"}
  pypto.assert %a <= 4, "{0} of {1}", %b, %a {code = "PTO402"}
  func.return
}
