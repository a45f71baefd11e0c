// RUN: pyptoc %s --pipeline=legalize-casts --split-input-file --verify-diagnostics
// RUN: not pyptoc %s --pipeline=legalize-casts --split-input-file --machine=ascend910b 2>&1 | filecheck %s

// What no later pass lowers, and what the machine does not have.
func.func @softmax(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  // expected-error@below {{'pypto.softmax' is not lowered yet}}
  %v = pypto.softmax %x axis -1
  func.return %v : tensor<4x64xf32>
}

// -----
func.func @tensors(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@below {{'arith.constant' makes a tensor}}
  // expected-note@below {{pypto.full makes a tensor of one value}}
  %c = arith.constant dense<1.5> : tensor<4x8xf32>
  // expected-error@below {{'arith.addf' makes a tensor}}
  // expected-note@below {{--list-ops shows them}}
  %y = arith.addf %x, %c : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// -----
func.func @integers(%x: tensor<4x64xi64>) -> tensor<4x64xbf16> {
  // expected-error@below {{ascend950 has no cast from i64 to bf16}}
  %v = pypto.cast %x to bf16
  func.return %v : tensor<4x64xbf16>
}

// -----
// CHECK: error[PTO220]: ascend910b has no f8E4M3FN product (pypto.scaled_mm)
// CHECK:   here: the cube unit of ascend910b multiplies bf16, f16, f32, i8
// CHECK:   help: machines that have it: ascend950
func.func @mx(%a: tensor<16x64xf8E4M3FN>, %b: tensor<64x16xf8E4M3FN>,
    %sa: tensor<16x1x2xf8E8M0FNU>, %sb: tensor<1x16x2xf8E8M0FNU>) -> tensor<16x16xf32> {
  %y = pypto.scaled_mm %a, %b scales %sa, %sb
  func.return %y : tensor<16x16xf32>
}

// -----
// CHECK: error[PTO221]: ascend910b has no cast from f8E4M3FN to f32
// CHECK:   here: from f8E4M3FN: none
func.func @f8(%x: tensor<4x64xf8E4M3FN>) -> tensor<4x64xf32> {
  %v = pypto.cast %x to f32
  func.return %v : tensor<4x64xf32>
}
