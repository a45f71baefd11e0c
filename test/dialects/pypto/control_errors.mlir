// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

// Loops: headers, what they carry, where they store.

func.func @no_yield(%a: tensor<16x8xf32>) {
  %y = pypto.for (%i = 0 to 4) iter(%k = %a) {
    // CHECK: :[[# @LINE + 2]]:10: error[PTO150]: the body of a for ends with pypto.yield
    // CHECK: help: pypto.yield with one value for each iter
    %z = pypto.exp %k
  }
  func.return
}

// -----

func.func @yield_type(%a: tensor<16x8xf32>, %h: tensor<16x8xbf16>) {
  %y = pypto.for (%i = 0 to 4) iter(%k = %a) {
    // CHECK: :[[# @LINE + 2]]:17: error[PTO151]: yield of tensor<16x8xbf16>, the loop carries tensor<16x8xf32>
    // CHECK: rule: value and initial value have the same type, up to ?
    pypto.yield %h
  }
  func.return
}

// -----

func.func @yield_count(%a: tensor<16x8xf32>) {
  %y = pypto.for (%i = 0 to 4) iter(%k = %a) {
    // CHECK: :[[# @LINE + 1]]:5: error[PTO150]: yield has 2 values, the loop carries 1
    pypto.yield %a, %a
  }
  func.return
}

// -----

func.func @yield_nothing(%a: tensor<16x8xf32>) {
  %y = pypto.for (%i = 0 to 4) iter(%k = %a) {
    // CHECK: :[[# @LINE + 1]]:5: error[PTO150]: yield has 0 values, the loop carries 1
    pypto.yield
  }
  func.return
}

// -----

func.func @zero_step() {
  // CHECK: :[[# @LINE + 1]]:31: error[PTO154]: step 0 is not positive
  pypto.for (%i = 0 to 4 step 0) {
  }
  func.return
}

// -----

func.func @two_indices() {
  // CHECK: :[[# @LINE + 2]]:13: error[PTO154]: for has one index
  // CHECK: rule: only forall has several: its iterations are independent
  pypto.for (%i = 0 to 4, %j = 0 to 4) {
  }
  func.return
}

// -----

func.func @for_outs(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:27: error[PTO154]: 'outs' cannot follow here
  // CHECK: help: for has iter(%x = %init)
  pypto.for (%i = 0 to 4) outs(%o = %a) {
  }
  func.return
}

// -----

func.func @forall_iter(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:30: error[PTO154]: 'iter' cannot follow here
  // CHECK: help: forall has outs(%x = %init)
  pypto.forall (%i = 0 to 4) iter(%o = %a) {
  }
  func.return
}

// -----

func.func @float_bound(%s: f32) {
  // CHECK: :[[# @LINE + 2]]:24: error[PTO134]: %s is f32, not index
  // CHECK: rule: subscripts, sizes and bounds are numbers or of type index
  pypto.for (%i = 0 to %s) {
  }
  func.return
}

// -----

func.func @no_index() {
  // CHECK: :[[# @LINE + 1]]:14: error[PTO100]: an index such as %i is expected here
  pypto.for (0 to 4) {
  }
  func.return
}

// -----

func.func @generic_step() {
  // CHECK: :[[# @LINE + 1]]:3: error[PTO154]: step 0 is not positive
  "pypto.for"() <{static_lowers = array<i64: 0>, static_uppers = array<i64: 4>, static_steps = array<i64: 0>, tails = array<i64: 0>, operandSegmentSizes = array<i32: 0, 0, 0, 0>}> ({
  ^bb0(%i: index):
    "pypto.yield"() : () -> ()
  }) : () -> ()
  func.return
}

// -----

func.func @no_bound() {
  // CHECK: :[[# @LINE + 1]]:20: error[PTO100]: 'to' is expected here
  pypto.for (%i = 0) {
  }
  func.return
}

// -----

func.func @binding_type(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:42: error[PTO141]: %a is tensor<16x8xf32>, not tensor<4xf32>
  %y = pypto.for (%i = 0 to 4) iter(%k = %a : tensor<4xf32>) {
    pypto.yield %k
  }
  func.return
}

// -----

func.func @outs_read(%a: tensor<16x8xf32>) {
  %r = pypto.forall (%i = 0 to 4) outs(%o = %a) {
    // CHECK: :[[# @LINE + 3]]:20: error[PTO153]: %o cannot be read: it is write-only in the forall
    // CHECK: note: an iteration sees nothing of what the others store
    // CHECK: help: read the initial value instead, or carry a value with pypto.for
    %z = pypto.exp %o
  }
  func.return
}

// -----

func.func @outs_stored(%a: tensor<16x8xf32>) {
  %r = pypto.forall (%i = 0 to 4) outs(%o = %a) {
    // CHECK: :[[# @LINE + 3]]:17: error[PTO153]: %o cannot be read: it is write-only in the forall
    // CHECK: note: an iteration sees nothing of what the others store
    // CHECK: help: read the initial value instead, or carry a value with pypto.for
    pypto.store %o into %o[0, 0]
  }
  func.return
}

// -----

func.func @index_outside() {
  pypto.for (%i = 0 to 4) {
  }
  // CHECK: :[[# @LINE + 1]]:20: error[PTO103]: %i is not defined here
  %y = pypto.index %i + 1
  func.return
}

// -----

func.func @unclosed(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:27: error[PTO100]: this { is never closed
  pypto.for (%i = 0 to 4) {
    %y = pypto.exp %a
