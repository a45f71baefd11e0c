// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

// What the text itself gets wrong, before types matter.

func.func @python_float(%x: tensor<?x4xf32>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO101]: '1e-3' is not an MLIR number
  // CHECK: help: write 1.0e-3 (a float literal needs a digit, then a point)
  %y = pypto.mul %x, 1e-3
  func.return
}

// -----

func.func @bare_point(%x: tensor<?x4xf32>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO101]: '.5' is not an MLIR number
  // CHECK: help: write 0.5 (a float literal needs a digit, then a point)
  %y = pypto.mul %x, .5
  func.return
}

// -----

// CHECK: :[[# @LINE + 2]]:57: error[PTO101]: '1e-3' is not an MLIR number
// CHECK: help: write 1.0e-3 (a float literal needs a digit, then a point)
func.func @float_in_attribute(%lr: f32 {pypto.default = 1e-3 : f32}) {
  func.return
}

// -----

func.func @undefined(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:18: error[PTO103]: %aa is not defined here
  // CHECK: help: did you mean %a ({{.*}})?
  %y = pypto.mul %aa, 2.0
  %z = pypto.exp %a
  func.return
}

// -----

func.func @defined_later(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:18: error[PTO103]: %z is not defined here
  %y = pypto.exp %z
  %z = pypto.exp %a
  func.return
}

// -----

func.func @no_such_result(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:18: error[PTO103]: %a has no #1
  // CHECK: rule: it has #0 to #0
  %y = pypto.exp %a#1
  func.return
}

// -----

func.func @defined_twice(%a: tensor<16x8xf32>) {
  %y = pypto.exp %a
  // CHECK: :[[# @LINE + 2]]:3: error[PTO104]: %y is defined twice
  // CHECK: note: the other definition is at {{.*}}:3
  %y = pypto.log %a
  func.return
}

// -----

func.func @two_names(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:3: error[PTO100]: 1 result, but 2 before the =
  %y, %z = pypto.exp %a
  func.return
}

// -----

func.func @unknown_op(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:8: error[PTO105]: there is no operation pypto.mull
  // CHECK: help: did you mean pypto.mul?
  %y = pypto.mull %a, 2.0
  func.return
}

// -----

func.func @no_dialect(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:8: error[PTO105]: there is no dialect 'foo'
  // CHECK: rule: operations come from arith, builtin, func, math, npu, pypto, scf, tile
  %y = foo.mul %a, 2.0
  func.return
}

// -----

func.func @dialect_left_out(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:8: error[PTO105]: there is no operation mul
  // CHECK: help: did you mean pypto.mul?
  %y = mul %a, 2.0
  func.return
}

// -----

func.func @unknown_attribute(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 3]]:27: error[PTO143]: mul has no attribute 'tga'
  // CHECK: rule: it has tag, tile
  // CHECK: help: did you mean tag?
  %y = pypto.mul %a, 2.0 {tga = "m"}
  func.return
}

// -----

func.func @unknown_flag(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 3]]:30: error[PTO143]: sum has no attribute 'keepdims'
  // CHECK: rule: it has keepdim, tag, tile
  // CHECK: help: did you mean keepdim?
  %y = pypto.sum %a axis -1 {keepdims}
  func.return
}

// -----

func.func @wrong_value(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:30: error[PTO143]: keepdim of sum cannot be 3
  %y = pypto.sum %a axis -1 {keepdim = 3}
  func.return
}

// -----

func.func @given_twice(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:33: error[PTO143]: 'tag' is given twice
  %y = pypto.exp %a {tag = "p", tag = "q"}
  func.return
}

// -----

func.func @misspelt_clause(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:21: error[PTO143]: sum has no clause 'axs'
  // CHECK: help: did you mean axis?
  %y = pypto.sum %a axs -1
  func.return
}

// -----

func.func @clause_missing(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO142]: sum needs 'axis ...'
  %y = pypto.sum %a
  func.return
}

// -----

func.func @float_axis(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:26: error[PTO100]: an integer is expected here
  %y = pypto.sum %a axis 1.0
  func.return
}

// -----

func.func @unknown_word(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 3]]:35: error[PTO143]: mode cannot be 'rin'
  // CHECK: rule: mode is one of rint, round, floor, ceil, trunc, none, odd
  // CHECK: help: did you mean rint?
  %y = pypto.cast %a to bf16 mode rin
  func.return
}

// -----

func.func @unknown_type(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:25: error[PTO100]: there is no type bf17
  %y = pypto.cast %a to bf17
  func.return
}

// -----

func.func @operand_missing(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO116]: mul takes 2 operands, this one has 1
  %y = pypto.mul %a
  func.return
}

// -----

func.func @operands_missing(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO116]: matmul takes 2 operands here, this one has 1
  %y = pypto.matmul %a
  func.return
}

// -----

func.func @operand_before_a_line(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:20: error[PTO100]: an operand is missing after this
  %y = pypto.mul %a,
  %z = pypto.exp %a
  func.return
}

// -----

func.func @no_operand(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:22: error[PTO100]: a value or a number is expected here
  %y = pypto.mul %a, {}
  func.return
}

// -----

func.func @minus_nothing(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:24: error[PTO100]: a number is expected here
  %y = pypto.mul %a, - {}
  func.return
}

// -----

func.func @literal_of_complex() {
  // CHECK: :[[# @LINE + 1]]:19: error[PTO115]: full has elements complex<f32>: no literal fits
  %y = pypto.full 0.0[4] : tensor<4xcomplex<f32>>
  func.return
}

// -----

func.func @attribute_does_not_verify(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:37: error[PTO100]: an integer is expected here
  %y = pypto.exp %a {a.b = #npu.max<-1>}
  func.return
}

// -----

func.func @operand_left_out() {
  // CHECK: :[[# @LINE + 1]]:16: error[PTO100]: a value such as %x is expected at the end of this line
  %y = pypto.exp  // of what?
  func.return
}

// -----

func.func @operand_too_many(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO116]: exp takes 1 operand, this one has 2
  %y = pypto.exp %a, %a
  func.return
}

// -----

func.func @only_literals() {
  // CHECK: :[[# @LINE + 2]]:8: error[PTO116]: mul needs an operand that is no literal
  // CHECK: rule: a literal takes its type from a tensor beside it
  %y = pypto.mul 1.0, 2.0
  func.return
}

// -----

func.func @literal_of_integers(%g: tensor<2xi64>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO115]: 2.5 in mul of i64 elements
  // CHECK: rule: an integer tensor takes only integer literals
  %y = pypto.mul %g, 2.5
  func.return
}

// -----

func.func @literal_of_floats(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO115]: true in mul of f32 elements
  // CHECK: help: write 1.0
  %y = pypto.mul %a, true
  func.return
}

// -----

func.func @literal_too_large() {
  // CHECK: :[[# @LINE + 2]]:19: error[PTO115]: 300 does not fit in i8
  // CHECK: rule: i8 holds -128 to 127
  %y = pypto.full 300[4] : tensor<4xi8>
  func.return
}

// -----

func.func @more_on_the_line(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:21: error[PTO100]: 'axis' cannot follow here
  %y = pypto.exp %a axis
  func.return
}

// -----

func.func @stray_bracket(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:20: error[PTO100]: ')' cannot follow here
  %y = pypto.exp %a)
  func.return
}

// -----

func.func @minus_in_a_name(%n: index) {
  // CHECK: :[[# @LINE + 2]]:20: error[PTO106]: %n-1 is not defined: - is a letter of names here
  // CHECK: help: write %n - 1 (operators need spaces)
  %y = pypto.index %n-1
  func.return
}

// -----

func.func @operand_types_in_clause(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:23: error[PTO141]: the operands of exp are tensor<16x8xf32>
  %y = pypto.exp %a : tensor<4xf32> -> tensor<16x8xf32>
  func.return
}

// -----

func.func @result_type_in_clause(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:23: error[PTO140]: result 1 of exp is tensor<16x8xf32>, not tensor<16x9xf32>
  // CHECK: rule: a written type may differ from the inferred one in ? only
  %y = pypto.exp %a : tensor<16x9xf32>
  func.return
}

// -----

func.func @result_count_in_clause(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:42: error[PTO140]: quantize has 2 results, the clause gives 1 type
  %y = pypto.quantize %a axis -1 to i8 : tensor<16x8xi8>
  func.return
}

// -----

func.func @other_dialects(%n: index, %s: f32) {
  // CHECK: :[[# @LINE + 2]]:23: error[PTO141]: %n is index, not f32
  // CHECK: note: %n is defined at {{.*}}:27
  %y = arith.addf %s, %n : f32
  func.return
}

// -----

func.func @alias(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:29: error[PTO100]: there is no #tile
  %y = pypto.exp %a {tile = #tile}
  func.return
}

// -----

func.func @unclosed_settings(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:30: error[PTO100]: '}' is expected at the end of this line
  %y = pypto.exp %a {tag = "p"
  func.return
}
