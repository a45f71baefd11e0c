// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

// Nothing is converted implicitly.
func.func @mixed(%grad: tensor<?xbf16>, %scale: tensor<?xf32>) {
  // CHECK: :[[# @LINE + 4]]:19: error[PTO112]: operand types differ: bf16 and f32
  // CHECK: %grad is tensor<?xbf16>, %scale is tensor<?xf32>
  // CHECK: note: pypto never converts implicitly
  // CHECK: help: %grad_f32 = pypto.cast %grad to f32
  %m2 = pypto.mul %grad, %scale
  func.return
}

// -----

func.func @mixed_integers(%a: tensor<4xi32>, %b: tensor<4xi64>) {
  // CHECK: error[PTO112]: operand types differ: i32 and i64
  // CHECK: help: %a_i64 = pypto.cast %a to i64
  %0 = pypto.add %a, %b
  func.return
}

// -----

func.func @sizes(%a: tensor<8x4xf32>, %b: tensor<8xf32>) {
  // CHECK: error[PTO113]: sizes 4 and 8 of dimension -1 do not broadcast
  // CHECK: %a is [8, 4], %b is [8]
  // CHECK: note: shapes align at the last dimension; only a static 1 is repeated
  %0 = pypto.add %a, %b
  func.return
}

// -----

// A dynamic size that cannot reach the static one.
func.func @bounded(%a: tensor<?x4xf32, #npu.max<1, 4>>, %b: tensor<8x4xf32>) {
  // CHECK: error[PTO113]: sizes ? and 8 of dimension -2 do not broadcast
  // CHECK: note: the ? is at most 1; a dynamic size of 1 does not broadcast
  %0 = pypto.add %a, %b
  func.return
}

// -----

func.func @where_sizes(%c: tensor<4xi1>, %x: tensor<3xf32>) {
  // CHECK: error[PTO113]: sizes 4 and 3 of dimension -1 do not broadcast
  // CHECK: %c is [4], %x is [3]
  %0 = pypto.where %c, %x, 0.0
  func.return
}

// -----

func.func @integers(%n: tensor<4xi32>) {
  // CHECK: error[PTO111]: exp of i32 elements: %n is tensor<4xi32>
  // CHECK: rule: elements are f32, f16 or bf16
  %0 = pypto.exp %n
  func.return
}

// -----

func.func @division(%n: tensor<4xi32>) {
  // CHECK: error[PTO111]: div of i32 elements
  // CHECK: help: integers divide with pypto.floordiv, or cast to a float first
  %0 = pypto.div %n, %n
  func.return
}

// -----

func.func @f8(%x: tensor<4xf8E4M3FN>) {
  // CHECK: error[PTO111]: add of f8E4M3FN elements
  // CHECK: help: cast %x to bf16 or f32 first
  %0 = pypto.add %x, %x
  func.return
}

// -----

func.func @truth(%c: tensor<4xi1>) {
  // CHECK: error[PTO111]: mul of i1 elements
  %0 = pypto.mul %c, %c
  func.return
}

// -----

func.func @unsigned(%n: tensor<4xui8>) {
  // CHECK: error[PTO111]: neg of ui8 elements
  // CHECK: rule: elements are f32, f16, bf16 or a signed integer
  %0 = pypto.neg %n
  func.return
}

// -----

func.func @logical(%n: tensor<4xi32>) {
  // CHECK: error[PTO111]: logical_not of i32 elements
  // CHECK: rule: elements are i1
  %0 = pypto.logical_not %n
  func.return
}

// -----

func.func @bitwise(%x: tensor<4xf32>) {
  // CHECK: error[PTO111]: and of f32 elements
  // CHECK: rule: elements are i1 or an integer
  %0 = pypto.and %x, %x
  func.return
}

// -----

func.func @float_literal(%n: tensor<4xi32>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO115]: 0.5 in mul of i32 elements
  // CHECK: rule: an integer tensor takes only integer literals
  %0 = pypto.mul %n, 0.5
  func.return
}

// -----

func.func @large_literal(%n: tensor<4xi8>) {
  // CHECK: error[PTO115]: 200 does not fit in i8
  // CHECK: rule: i8 holds -128 to 127
  %0 = pypto.add %n, 200
  func.return
}

// -----

func.func @infinite_literal(%x: tensor<4xf16>) {
  // CHECK: error[PTO115]: 70000.0 does not fit in f16
  // CHECK: rule: it would be rounded to inf
  %0 = pypto.mul %x, 70000.0
  func.return
}

// -----

func.func @float_scalar(%x: tensor<4xf32>, %i: index) {
  // CHECK: :[[# @LINE + 3]]:22: error[PTO112]: a scalar of index beside f32 elements
  // CHECK: %i is index
  // CHECK: rule: a scalar beside f32 elements is f32
  %0 = pypto.mul %x, %i
  func.return
}

// -----

func.func @integer_scalar(%n: tensor<4xi32>, %s: f32) {
  // CHECK: error[PTO112]: a scalar of f32 beside i32 elements
  // CHECK: rule: a scalar beside i32 elements is i32 or index
  %0 = pypto.mul %n, %s
  func.return
}

// -----

func.func @no_tensor(%a: f32, %b: f32) {
  // CHECK: error[PTO110]: add takes at least one tensor
  // CHECK: note: scalars are computed with pypto.index and pypto.scalar
  %0 = pypto.add %a, %b
  func.return
}

// -----

func.func @condition(%n: tensor<4xi32>, %x: tensor<4xf32>) {
  // CHECK: error[PTO111]: where of i32 elements: %n is tensor<4xi32>
  // CHECK: help: compare first: pypto.ne %n, 0
  %0 = pypto.where %n, %x, 0.0
  func.return
}

// -----

func.func @literal_condition(%x: tensor<4xf32>) {
  // CHECK: error[PTO110]: the condition of where is a tensor
  %0 = pypto.where 1, %x, %x
  func.return
}

// -----

func.func @scalar_values(%c: tensor<4xi1>, %a: f32, %b: f32) {
  // CHECK: error[PTO142]: where of two scalars needs a result type
  // CHECK: help: write : tensor<4xf32> at the end
  %0 = pypto.where %c, %a, %b
  // CHECK: error[PTO142]: where of two literals needs a result type
  %1 = pypto.where %c, 1.0, 0.0
  // CHECK: error[PTO112]: a scalar of f32 beside i32 elements
  %2 = pypto.where %c, %a, 0 : tensor<4xi32>
  func.return
}

// -----

func.func @shift_counts(%x: tensor<4xi8>, %y: tensor<4xf32>) {
  // CHECK: :[[# @LINE + 2]]:29: error[PTO115]: shift_left of 8 bits by 8
  // CHECK: rule: a literal count is 0 to 7
  %0 = pypto.shift_left %x, 8
  // CHECK: error[PTO115]: shift_right of 8 bits by -1
  %1 = pypto.shift_right %x, -1
  // CHECK: error[PTO111]: shift_left of f32 elements
  %2 = pypto.shift_left %y, 1
  // CHECK: error[PTO111]: bitwise_not of f32 elements
  %3 = pypto.bitwise_not %y
  func.return
}

// -----

func.func @checked_floats(%x: tensor<4xf32>) {
  // CHECK: :[[# @LINE + 2]]:27: error[PTO143]: checked add of f32 elements
  // CHECK: rule: only a sum of integers can overflow
  %0 = pypto.add %x, 1.0 {checked}
  func.return
}

// -----

func.func @to_truth(%x: tensor<4xf32>) {
  // CHECK: error[PTO117]: there is no cast of f32 to i1
  // CHECK: help: say which values are true: pypto.ne %x, 0
  %0 = pypto.cast %x to i1
  func.return
}

// -----

func.func @integer_to_f8(%x: tensor<4xi8>) {
  // CHECK: error[PTO117]: there is no cast of i8 to f8E4M3FN
  // CHECK: help: %x_f32 = pypto.cast %x to f32
  %0 = pypto.cast %x to f8E4M3FN
  func.return
}

// -----

func.func @to_double(%x: tensor<4xf32>) {
  // CHECK: error[PTO117]: cast to f64
  // CHECK: rule: the type after `to` is f8E4M3FN
  %0 = pypto.cast %x to f64
  func.return
}

// -----

// A mode that a pair of types lacks is an error, never replaced.
func.func @mode(%x: tensor<4xf32>) {
  // CHECK: error[PTO117]: cast of f32 to bf16 has no mode odd
  // CHECK: rule: its modes: rint, round, floor, ceil, trunc, none
  %0 = pypto.cast %x to bf16 mode odd
  func.return
}

// -----

func.func @written(%x: tensor<?x4xf32>) {
  // CHECK: error[PTO140]: result 1 of exp is tensor<?x4xf32>, not tensor<?x5xf32>
  // CHECK: rule: a written type may differ from the inferred one in ? only
  %0 = pypto.exp %x : tensor<?x5xf32>
  func.return
}

// -----

func.func @written_element(%x: tensor<?x4xf32>) {
  // CHECK: error[PTO140]: result 1 of exp is tensor<?x4xf32>, not tensor<?x4xbf16>
  %0 = pypto.exp %x : tensor<?x4xbf16>
  func.return
}
