// RUN: pyptoc %s --check-each --random-inputs=1 2>&1 | filecheck %s

// numpy adds up a matrix times its own transpose in another order than two matrices, and
// two matrices in one that depends on how they lie: neither may differ from pass to pass.
func.func @gram(%x: tensor<33x257xf32>, %h: tensor<33x257xf16>, %b: tensor<2x17x99xf32>,
    %g: tensor<257x40xf16>)
    -> (tensor<33x33xf32>, tensor<33x33xf32>, tensor<2x17x17xf32>, tensor<40x33xf32>) {
  %y = pypto.matmul %x, %x {b_trans}
  %z = pypto.matmul %h, %h {b_trans}
  %w = pypto.matmul %b, %b {b_trans}
  %v = pypto.matmul %g, %h {a_trans, b_trans}
  func.return %y, %z, %w, %v
      : tensor<33x33xf32>, tensor<33x33xf32>, tensor<2x17x17xf32>, tensor<40x33xf32>
}
// CHECK: every result as in the source
