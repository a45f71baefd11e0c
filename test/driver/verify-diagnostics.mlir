// Comments say what is reported, and all of them are held against it.
// RUN: pyptoc %s --pipeline=inline --split-input-file --verify-diagnostics
// RUN: not pyptoc %s --pipeline=inline --split-input-file 2>&1 | filecheck %s

// CHECK: error[PTO112]

// Two lines for one place, a regular expression, and the code.
func.func @first(%x: tensor<4xf32>, %y: tensor<4xbf16>) {
  // expected-error-re@below {{operand types differ: f{{[0-9]+}} and b}}
  // expected-note@below {{pypto.cast}}
  %z = pypto.add %x, %y
  // expected-error@-1 {{[PTO112]}}
  // expected-error@above {{differ}}
  func.return
}
// -----
func.func @second(%x: tensor<4xf32>, %y: tensor<4xbf16>) {
  %z = pypto.add %x, %y // expected-error {{f32}} expected-error {{bf16}}
  func.return
}
// -----
// expected-error@+1 {{@third has no body}}
func.func @third(%x: tensor<4xf32>) -> tensor<4xf32>
