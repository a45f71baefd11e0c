// RUN: pyptoc %s --check-each --random-inputs=1 2>&1 | filecheck %s

// A vector times a matrix is added up in an order that depends on how the matrix lies: MX
// matrices that are read transposed lie as in the source wherever they are multiplied.
func.func @vectors(
    %x: tensor<1x512xf8E4M3FN>, %sx: tensor<1x8x2xf8E8M0FNU>,
    %w: tensor<2048x512xf8E4M3FN>, %sw: tensor<2048x8x2xf8E8M0FNU>,
    %a: tensor<512x2048xf8E4M3FN>, %sa: tensor<8x2048x2xf8E8M0FNU>,
    %b: tensor<512x1xf8E4M3FN>, %sb: tensor<8x1x2xf8E8M0FNU>)
    -> (tensor<1x2048xf32>, tensor<2048x1xf32>) {
  %y = pypto.scaled_mm %x, %w scales %sx, %sw {b_trans, scales_b_trans}
  %z = pypto.scaled_mm %a, %b scales %sa, %sb {a_trans, scales_a_trans}
  func.return %y, %z : tensor<1x2048xf32>, tensor<2048x1xf32>
}
// CHECK: every result as in the source
