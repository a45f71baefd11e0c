// A bad module does not hide the next one, and keeps its line numbers.
// RUN: not pyptoc %s --pipeline= --split-input-file 2>%t.err | filecheck %s
// RUN: filecheck %s --input-file=%t.err --check-prefix=ERROR
// RUN: pyptoc %s --pipeline= --split-input-file --verify-diagnostics

// CHECK: func.func @first
// CHECK-NOT: func.func @second
// CHECK: // -----
// CHECK: func.func @third

// ERROR: split-input-file.mlir:[[# @LINE + 8]]:{{[0-9]+}}: error[PTO112]: operand types differ: f32 and bf16

func.func @first() {
  func.return
}
// -----
func.func @second(%x: tensor<4xf32>, %y: tensor<4xbf16>) {
  // expected-error@below {{operand types differ: f32 and bf16}}
  %z = pypto.add %x, %y
  func.return
}
// -----
func.func @third() {
  func.return
}
