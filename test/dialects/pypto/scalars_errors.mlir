// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

// Index and float expressions, reads, sizes, asserts.

func.func @slash(%n: index) {
  // CHECK: :[[# @LINE + 2]]:23: error[PTO145]: there is no / for integers
  // CHECK: help: write floordiv (rounds down) or ceildiv (rounds up)
  %y = pypto.index %n / 2
  func.return
}

// -----

func.func @quotient(%n: index) {
  // CHECK: :[[# @LINE + 2]]:23: error[PTO145]: there is no // for integers: it begins a comment
  // CHECK: help: write floordiv (rounds down) or ceildiv (rounds up)
  %y = pypto.index %n // 2
  // CHECK-NOT: :[[# @LINE + 1]]:
  %z = pypto.index %n // 2 pages
  // CHECK-NOT: :[[# @LINE + 1]]:
  %v = pypto.index %n // 2: the half
  // CHECK: :[[# @LINE + 1]]:23: error[PTO145]: there is no // for integers: it begins a comment
  %w = pypto.index %n // 2 // the half
  // CHECK: :[[# @LINE + 1]]:24: error[PTO145]: there is no // for integers: it begins a comment
  %u = pypto.index (%n // 2) + 1
  func.return
}

// -----

func.func @percent(%n: index) {
  // CHECK: :[[# @LINE + 2]]:23: error[PTO107]: % is not an operator: it starts the name of a value
  // CHECK: help: for the remainder write %a mod %b
  %y = pypto.index %n % 2
  func.return
}

// -----

func.func @percent_number(%n: index) {
  // CHECK: :[[# @LINE + 2]]:23: error[PTO107]: % is not an operator: it starts the name of a value
  // CHECK: help: for the remainder write mod 2
  %y = pypto.index %n %2
  func.return
}

// -----

func.func @not_equal(%n: index) {
  // CHECK: :[[# @LINE + 2]]:23: error[PTO107]: there is no operator !=
  // CHECK: help: write ne
  %y = pypto.index %n != 2
  func.return
}

// -----

func.func @unknown_operator(%n: index) {
  // CHECK: :[[# @LINE + 3]]:23: error[PTO145]: 'floor' is no operator
  // CHECK: rule: index has + - * floordiv ceildiv mod min max ne == < <= > >=
  // CHECK: help: did you mean floordiv?
  %y = pypto.index %n floor 2
  func.return
}

// -----

func.func @unknown_function(%n: index) {
  // CHECK: :[[# @LINE + 3]]:20: error[PTO145]: 'mix' is no operator or function here
  // CHECK: rule: there are + - * floordiv ceildiv mod min max ne
  // CHECK: help: did you mean min?
  %y = pypto.index mix(%n, 2)
  func.return
}

// -----

func.func @ends_early(%n: index) {
  // CHECK: :[[# @LINE + 1]]:23: error[PTO145]: the expression ends too early
  %y = pypto.index %n +
  func.return
}

// -----

func.func @unclosed(%n: index) {
  // CHECK: :[[# @LINE + 1]]:26: error[PTO145]: the expression ends too early
  %y = pypto.index (%n + 2
  func.return
}

// -----

func.func @left_operand(%n: index) {
  // CHECK: :[[# @LINE + 1]]:24: error[PTO145]: 'mod' needs an operand on its left
  %y = pypto.index mod %n
  func.return
}

// -----

func.func @float_operand(%s: f32) {
  // CHECK: :[[# @LINE + 2]]:20: error[PTO134]: %s is f32, not index
  // CHECK: rule: integer expressions are over values of type index
  %y = pypto.index %s + 1
  func.return
}

// -----

func.func @generic_operands(%n: index) {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO145]: expr names s1, but has 1 operand
  %y = "pypto.index"(%n) <{expr = #npu.expr<s0 + s1>}> : (index) -> index
  func.return
}

// -----

func.func @generic_scalar(%s: f32) {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO145]: expr names s1, but has 1 operand
  %y = "pypto.scalar"(%s) <{expr = #pypto.expr<s0 + s1>}> : (f32) -> f32
  func.return
}

// -----

func.func @generic_symbol(%s: f32) {
  // CHECK: :[[# @LINE + 2]]:48: error[PTO145]: there is no function x0 here
  // CHECK: rule: the functions are pow, sqrt, exp, log, abs, min, max
  %y = "pypto.scalar"(%s) <{expr = #pypto.expr<x0>}> : (f32) -> f32
  func.return
}

// -----

func.func @generic_assert(%n: index) {
  // CHECK: :[[# @LINE + 2]]:3: error[PTO145]: assert needs a compare
  // CHECK: rule: a compare is one of == ne < <= > >=
  "pypto.assert"(%n) <{expr = #npu.expr<s0>, message = "text", operandSegmentSizes = array<i32: 1, 0>}> : (index) -> ()
  func.return
}

// -----

func.func @folded() {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO145]: 9223372036854775808 does not fit in 64 bits
  %y = pypto.index 9223372036854775807 + 1
  func.return
}

// -----

func.func @scalar_minus(%s: f32) {
  // CHECK: :[[# @LINE + 1]]:81: error[PTO108]: signs nest too deep here
  %y = pypto.scalar ----------------------------------------------------------------------%s
  func.return
}

// -----

func.func @large(%n: index) {
  // CHECK: :[[# @LINE + 1]]:25: error[PTO145]: 99999999999999999999 does not fit in 64 bits
  %y = pypto.index %n + 99999999999999999999
  func.return
}

// -----

func.func @index_type(%n: index) {
  // CHECK: :[[# @LINE + 2]]:29: error[PTO140]: result 1 of index is index, not f32
  // CHECK: rule: a written type may differ from the inferred one in ? only
  %y = pypto.index %n + 1 : f32
  func.return
}

// -----

func.func @scalar_wide(%n: i64) {
  // CHECK: :[[# @LINE + 1]]:21: error[PTO110]: scalar takes f32, index or i32 operands, %n is i64
  %y = pypto.scalar %n + 1.0
  func.return
}

// -----

func.func @scalar_function(%s: f32) {
  // CHECK: :[[# @LINE + 3]]:21: error[PTO145]: there is no function sqr here
  // CHECK: rule: the functions are pow, sqrt, exp, log, abs, min, max
  // CHECK: help: did you mean sqrt?
  %y = pypto.scalar sqr(%s)
  func.return
}

// -----

func.func @scalar_arguments(%s: f32) {
  // CHECK: :[[# @LINE + 1]]:21: error[PTO145]: pow takes 2 arguments, not 1
  %y = pypto.scalar pow(%s)
  func.return
}

// -----

func.func @scalar_ends_early(%s: f32) {
  // CHECK: :[[# @LINE + 1]]:24: error[PTO145]: the expression ends too early
  %y = pypto.scalar %s *
  func.return
}

// -----

func.func @read_subscripts(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 3]]:19: error[PTO131]: 1 subscript for a tensor of rank 2
  // CHECK: tensor<16x8xf32>
  // CHECK: help: %a[%i, :] drops the first dimension and keeps the rest
  %y = pypto.read %a[0]
  func.return
}

// -----

func.func @read_outside(%g: tensor<2xi64>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO132]: 2 +: 1 ends at 3, dimension 0 of %g has 2 elements
  // CHECK: rule: offset + size <= size of the dimension
  %y = pypto.read %g[2]
  func.return
}

// -----

func.func @read_elements(%h: tensor<16x8xbf16>) {
  // CHECK: :[[# @LINE + 3]]:19: error[PTO111]: read of bf16 elements
  // CHECK: rule: elements are integers or f32
  // CHECK: help: cast %h to f32 first
  %y = pypto.read %h[0, 0]
  func.return
}

// -----

func.func @read_type(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:30: error[PTO140]: result 1 of read is f32, not index
  // CHECK: rule: a written type may differ from the inferred one in ? only
  %y = pypto.read %a[0, 0] : index
  func.return
}

// -----

func.func @dim_axis(%g: tensor<2xi64>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO135]: dim 1 of a tensor of rank 1
  // CHECK: %g has dimensions 0 to 0
  %y = pypto.dim %g, 1
  func.return
}

// -----

func.func @dim_of_index(%n: index) {
  // CHECK: :[[# @LINE + 1]]:18: error[PTO110]: dim takes a tensor, %n is index
  %y = pypto.dim %n, 0
  func.return
}

// -----

func.func @assert_value(%n: index) {
  // CHECK: :[[# @LINE + 2]]:3: error[PTO145]: assert needs a compare
  // CHECK: rule: a compare is one of == ne < <= > >=
  pypto.assert %n, "text"
  func.return
}

// -----

func.func @assert_comma(%n: index) {
  // CHECK: :[[# @LINE + 1]]:24: error[PTO100]: ',' is expected here
  pypto.assert %n == 2 "text"
  func.return
}

// -----

func.func @assert_argument(%n: index, %s: f32) {
  // CHECK: :[[# @LINE + 1]]:37: error[PTO134]: %s is f32, not index
  pypto.assert %n == 2, "text {0}", %s
  func.return
}
