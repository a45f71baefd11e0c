// RUN: not pyptoc %s --pipeline=inline --split-input-file 2>&1 | filecheck %s

// CHECK:      inline-errors.mlir:[[# @LINE + 11]]:8: error[PTO181]: @even calls itself
// CHECK:        rule: a call is replaced by the body of the function
// CHECK:        note: @even calls @odd
// CHECK:        help: write the repetition as a pypto.for
func.func private @even(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @odd(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @odd(%x: tensor<4xf32>) -> tensor<4xf32> {
  // The call that closes the circle:

  %y = func.call @even(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----
// CHECK: error[PTO180]: call of @outside, which has no body
func.func private @outside(tensor<8xf32>) -> tensor<8xf32>
func.func @caller(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = func.call @outside(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----
// CHECK: error[PTO180]: @declared has no body
func.func @declared(%x: tensor<8xf32>) -> tensor<8xf32>
