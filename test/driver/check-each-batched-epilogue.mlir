// RUN: pyptoc %s --check-each --random-inputs=1 2>&1 | filecheck %s

// A leading dimension of 1 beside a bias and a scale, which stand in front of the sides.
func.func @f(%x: tensor<2x1x33x16xf16>, %w: tensor<2x3x16x32xf16>, %c: tensor<32xf32>, %s: tensor<32xf32>)
    -> (tensor<2x3x33x32xf16>, tensor<2x3x33x32xf16>) {
  %y = pypto.matmul %x, %w scale %s to f16
  %z = pypto.matmul %x, %w bias %c scale %s to f16
  func.return %y, %z : tensor<2x3x33x32xf16>, tensor<2x3x33x32xf16>
}
// CHECK: every result as in the source
