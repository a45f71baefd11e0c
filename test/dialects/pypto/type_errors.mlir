// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

// CHECK: :[[# @LINE + 3]]:36: error[PTO100]: there is no element type f23
// CHECK: rule: element types are f32, f16, bf16, f8E4M3FN, f8E5M2, f8E8M0FNU, i8, ui8, i16, i32, i64, i1
// CHECK: help: did you mean f32?
func.func @misspelt(%x: tensor<4x8xf23>) {
  func.return
}

// -----

func.func @in_a_clause(%x: tensor<4x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:53: error[PTO100]: there is no element type fp16
  // CHECK: help: did you mean f16?
  %y = pypto.exp %x : tensor<4x8xf32> -> tensor<4x8xfp16>
  func.return
}

// -----

func.func @after_to(%x: tensor<4x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:25: error[PTO100]: there is no type float32
  // CHECK: help: did you mean f32?
  %y = pypto.cast %x to float32
  func.return
}

// -----

// CHECK: :[[# @LINE + 2]]:29: error[PTO100]: there is no type tensr
// CHECK: help: did you mean tensor?
func.func @no_such_type(%x: tensr<4x8xf32>) {
  func.return
}

// -----

// CHECK: :[[# @LINE + 1]]:36: error[PTO100]: a size, ? or an element type is expected here
func.func @no_element(%x: tensor<4x>) {
  func.return
}

// -----

// CHECK: :[[# @LINE + 2]]:30: error[PTO100]: 'x' is expected here
// CHECK: help: sizes and the element type are joined by x: tensor<4x8xf32>
func.func @comma(%x: tensor<4, 8xf32>) {
  func.return
}
