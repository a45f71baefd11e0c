// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

// Operations that cut, move and put together.

func.func @too_few_subscripts(%a: tensor<16x8xf32>, %n: index) {
  // CHECK: :[[# @LINE + 3]]:19: error[PTO131]: 1 subscript for a tensor of rank 2
  // CHECK: tensor<16x8xf32>
  // CHECK: help: %a[%i, :] drops the first dimension and keeps the rest
  %y = pypto.view %a[%n]
  func.return
}

// -----

func.func @too_many_subscripts(%n: index, %g: tensor<2xi64>) {
  // CHECK: :[[# @LINE + 2]]:19: error[PTO131]: 2 subscripts for a tensor of rank 1
  // CHECK: tensor<2xi64>
  %y = pypto.view %g[%n, :]
  func.return
}

// -----

func.func @range_outside(%a: tensor<16x8xf32>, %n: index) {
  // CHECK: :[[# @LINE + 2]]:26: error[PTO132]: 0 +: 9 ends at 9, dimension 1 of %a has 8 elements
  // CHECK: rule: offset + size <= size of the dimension
  %y = pypto.view %a[%n, 0 +: 9]
  func.return
}

// -----

func.func @index_outside(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO132]: 16 +: 1 ends at 17, dimension 0 of %a has 16 elements
  // CHECK: rule: offset + size <= size of the dimension
  %y = pypto.view %a[16, :]
  func.return
}

// -----

func.func @arithmetic(%a: tensor<16x8xf32>, %n: index) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO133]: subscripts hold no arithmetic
  // CHECK: help: compute it first: %o = pypto.index %n + 1
  %y = pypto.view %a[%n + 1, :]
  func.return
}

// -----

func.func @quotient(%a: tensor<16x8xf32>, %n: index) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO133]: subscripts hold no arithmetic
  // CHECK: help: compute it first: %o = pypto.index %n floordiv 2
  %y = pypto.view %a[%n // 2, :]
  // CHECK: help: compute it first: %o = pypto.index %n floordiv 3
  %z = pypto.view %a[%n / 3, :]
  func.return
}

// -----

func.func @minus(%a: tensor<16x8xf32>, %n: index) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO133]: subscripts hold no arithmetic
  // CHECK: help: compute it first: %o = pypto.index %n - 1
  %y = pypto.view %a[%n - 1 +: 4, :]
  func.return
}

// -----

func.func @begin_end(%a: tensor<16x8xf32>, %n: index) {
  // CHECK: :[[# @LINE + 2]]:25: error[PTO133]: a range is offset +: size here, not begin : end
  // CHECK: help: write %n +: and the number of elements
  %y = pypto.view %a[%n : 4, :]
  func.return
}

// -----

func.func @negative_offset(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO133]: offset -1 is negative
  // CHECK: rule: offsets count from 0
  %y = pypto.view %a[-1, :]
  func.return
}

// -----

func.func @negative_size(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:27: error[PTO133]: size -2 is negative
  %y = pypto.view %a[0 +: -2, :]
  func.return
}

// -----

func.func @float_subscript(%a: tensor<16x8xf32>, %s: f32) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO134]: %s is f32, not index
  // CHECK: rule: subscripts, sizes and bounds are numbers or of type index
  %y = pypto.view %a[%s, :]
  func.return
}

// -----

func.func @bounds(%a: tensor<16x8xf32>, %n: index) {
  // CHECK: :[[# @LINE + 1]]:35: error[PTO131]: max has 1 bound, the result has rank 2
  %y = pypto.view %a[0 +: %n, :] {max = [4]}
  func.return
}

// -----

func.func @no_tensor(%n: index) {
  // CHECK: :[[# @LINE + 1]]:19: error[PTO110]: view takes a tensor, %n is index
  %y = pypto.view %n[0]
  func.return
}

// -----

func.func @no_subscripts(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:20: error[PTO100]: '[' is expected at the end of this line
  %y = pypto.view %a
  func.return
}

// -----

func.func @reshape_product(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:22: error[PTO130]: reshape of [16, 8] to [3, 8] changes the number of elements: 128 and 24
  %y = pypto.reshape %a[3, 8]
  func.return
}

// -----

func.func @reshape_two_rests(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:8: error[PTO130]: reshape to [-1, -1] has 2 sizes of -1
  // CHECK: rule: at most one size is -1: it takes what is left
  %y = pypto.reshape %a[-1, -1]
  func.return
}

// -----

func.func @transpose_perm(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:24: error[PTO139]: perm [0, 0] does not permute the 2 dimensions of %a
  %y = pypto.transpose %a perm [0, 0]
  func.return
}

// -----

func.func @expand(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:21: error[PTO113]: expand of [16, 8] to [16, 16]: 8 against 16
  // CHECK: note: only a static size of 1 is repeated
  %y = pypto.expand %a[16, 16]
  func.return
}

// -----

func.func @concat_sizes(%x: tensor<?x4xf32>, %a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:25: error[PTO139]: concat along axis 0: sizes 8 and 4 of dimension 1 differ
  // CHECK: %a is [16, 8], %x is [?, 4]
  %y = pypto.concat %a, %x axis 0
  func.return
}

// -----

func.func @concat_types(%a: tensor<16x8xf32>, %h: tensor<16x8xbf16>) {
  // CHECK: :[[# @LINE + 4]]:21: error[PTO112]: operand types differ: f32 and bf16
  // CHECK: %a is tensor<16x8xf32>, %h is tensor<16x8xbf16>
  // CHECK: note: pypto never converts implicitly
  // CHECK: help: %h_f32 = pypto.cast %h to f32
  %y = pypto.concat %a, %h axis 0
  func.return
}

// -----

func.func @concat_axis(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:21: error[PTO135]: axis 2 of a tensor of rank 2
  // CHECK: %a has axes -2 to 1
  %y = pypto.concat %a, %a axis 2
  func.return
}

// -----

func.func @empty_without_type(%n: index) {
  // CHECK: :[[# @LINE + 2]]:8: error[PTO142]: empty needs a result type
  // CHECK: help: write : tensor<?x4xf32> at the end
  %y = pypto.empty[%n, 4]
  func.return
}

// -----

func.func @empty_of_another_type(%n: index) {
  // CHECK: :[[# @LINE + 2]]:19: error[PTO140]: empty of sizes [%n, 4] is not tensor<?x5xf32>
  // CHECK: help: write tensor<?x4xf32>
  %y = pypto.empty[%n, 4] : tensor<?x5xf32>
  func.return
}

// -----

func.func @empty_negative() {
  // CHECK: :[[# @LINE + 1]]:19: error[PTO133]: -4 is not a size
  %y = pypto.empty[-4] : tensor<4xf32>
  func.return
}

// -----

func.func @full_without_type() {
  // CHECK: :[[# @LINE + 2]]:8: error[PTO142]: full needs a result type
  // CHECK: help: write : tensor<4xf32> at the end
  %y = pypto.full 0.0[4]
  func.return
}

// -----

func.func @full_of_integers() {
  // CHECK: :[[# @LINE + 2]]:19: error[PTO115]: 0.5 in full of i32 elements
  // CHECK: rule: an integer tensor takes only integer literals
  %y = pypto.full 0.5[4] : tensor<4xi32>
  func.return
}

// -----

func.func @generic_full() {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO115]: a value of type f16 in tensor<4xf32>
  %y = "pypto.full"() <{value = 0.0 : f16, static_sizes = array<i64: 4>, operandSegmentSizes = array<i32: 0, 0>}> : () -> tensor<4xf32>
  func.return
}

// -----

func.func @generic_full_of_nothing() {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO142]: full has one of value and scalar
  %y = "pypto.full"() <{static_sizes = array<i64: 4>, operandSegmentSizes = array<i32: 0, 0>}> : () -> tensor<4xf32>
  func.return
}

// -----

func.func @full_of_a_scalar(%s: f32) {
  // CHECK: :[[# @LINE + 2]]:19: error[PTO112]: a scalar of f32 beside i32 elements
  // CHECK: rule: a scalar beside i32 elements is i32 or index
  %y = pypto.full %s[4] : tensor<4xi32>
  func.return
}

// -----

func.func @assemble_types(%a: tensor<16x8xf32>, %h: tensor<16x8xbf16>) {
  // CHECK: :[[# @LINE + 3]]:23: error[PTO112]: operand types differ: bf16 and f32
  // CHECK: %h is tensor<16x8xbf16>, %a is tensor<16x8xf32>
  // CHECK: help: pypto.cast %h to f32
  %y = pypto.assemble %h into %a[0, 0]
  func.return
}

// -----

func.func @assemble_offsets(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 3]]:31: error[PTO131]: 1 subscript for a tensor of rank 2
  // CHECK: tensor<16x8xf32>
  // CHECK: help: %a[%i, :] drops the first dimension and keeps the rest
  %y = pypto.assemble %a into %a[0]
  func.return
}

// -----

func.func @assemble_outside(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:37: error[PTO132]: 1 +: 8 ends at 9, dimension 1 of %a has 8 elements
  // CHECK: rule: offset + size <= size of the dimension
  %y = pypto.assemble %a into %a[0, 1]
  func.return
}

// -----

func.func @assemble_rank(%a: tensor<16x8xf32>, %v: tensor<16xf32>) {
  // CHECK: :[[# @LINE + 2]]:23: error[PTO131]: assemble of rank 2 into rank 1
  // CHECK: tensor<16x8xf32>
  %y = pypto.assemble %a into %v[0]
  func.return
}

// -----

func.func @store_outside(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 3]]:23: error[PTO152]: %a is not an output of a forall
  // CHECK: rule: store writes into the outs of an enclosing pypto.forall
  // CHECK: help: %r = pypto.assemble %a into %a[...] gives a new tensor
  pypto.store %a into %a[0, 0]
  func.return
}

// -----

func.func @store_types(%a: tensor<16x8xf32>, %h: tensor<16x8xbf16>) {
  %r = pypto.forall (%i = 0 to 4) outs(%o = %a) {
    // CHECK: :[[# @LINE + 3]]:17: error[PTO112]: operand types differ: bf16 and f32
    // CHECK: %h is tensor<16x8xbf16>, %o is tensor<16x8xf32>
    // CHECK: help: pypto.cast %h to f32
    pypto.store %h into %o[0, 0]
  }
  func.return
}

// -----

func.func @least_offset(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO145]: -9223372036854775808 does not fit in 64 bits
  // CHECK: rule: integers lie between -2^63 and 2^63, which are excluded
  %y = pypto.view %a[-9223372036854775808 +: 2, :]
  func.return
}

// -----

func.func @large_size(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:25: error[PTO145]: 9223372036854775808 does not fit in 64 bits
  %y = pypto.reshape %a[9223372036854775808]
  func.return
}

// -----

func.func @odd_rows(%a: tensor<16x6xi8>) {
  // CHECK: :[[# @LINE + 3]]:19: error[PTO134]: a row of %a has 6 elements of 1 B: 6 B are no multiple of the 4 B of f32
  // CHECK: tensor<16x6xi8>
  // CHECK: rule: whole elements of f32 in each row
  %y = pypto.view %a[:, 0 +: 4] to f32
  func.return
}

// -----

func.func @odd_size(%a: tensor<16xi8>) {
  // CHECK: :[[# @LINE + 1]]:19: error[PTO134]: the last dimension of %a has 6 elements of 1 B: 6 B are no multiple of the 4 B of f32
  %y = pypto.view %a[4 +: 6] to f32
  func.return
}

// -----

func.func @odd_offset(%a: tensor<16xi16>) {
  // CHECK: :[[# @LINE + 2]]:22: error[PTO134]: view to f32 starts at byte 6, which is no multiple of 4
  // CHECK: here: element 3 of 2 B
  %y = pypto.view %a[3 +: 2] to f32
  func.return
}

// -----

func.func @last_dropped(%a: tensor<16x4xi16>) {
  // CHECK: :[[# @LINE + 3]]:25: error[PTO131]: view to f32 drops the last dimension
  // CHECK: rule: the bytes of the last dimension are read in another way
  // CHECK: help: offset +: size keeps it
  %y = pypto.view %a[:, 3] to f32
  func.return
}

// -----

func.func @truth(%a: tensor<16xi1>) {
  // CHECK: :[[# @LINE + 3]]:26: error[PTO111]: reinterpret of i1 elements to i8
  // CHECK: rule: only types of whole bytes are read in another way
  // CHECK: help: pypto.cast %a to i8 converts
  %y = pypto.reinterpret %a to i8
  func.return
}

// -----

func.func @no_dimension(%a: tensor<f32>) {
  // CHECK: :[[# @LINE + 2]]:26: error[PTO131]: reinterpret to i32 of a tensor without dimensions
  // CHECK: rule: the bytes of the last dimension are read in another way
  %y = pypto.reinterpret %a to i32
  func.return
}

// -----

func.func @arange_of_what_does_not_count(%n: index) {
  // CHECK: :[[# @LINE + 2]]:27: error[PTO111]: arange of i1 elements
  // CHECK: rule: elements are f32, f16, bf16 or an integer of at least 8 bits
  %y = pypto.arange[%n] : tensor<?xi1>
  func.return
}
