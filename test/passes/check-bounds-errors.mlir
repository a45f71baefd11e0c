// RUN: pyptoc %s --pipeline=desugar,check-bounds --split-input-file --verify-diagnostics

// The last of 4 rows starts at 3: 3 + 2 is beyond the end in one iteration only, which
// is the run's to say.
func.func @sometimes(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = pypto.forall (%i = 0 to 2) outs(%o = %x) {
    %j = pypto.index %i * 3
    %v = pypto.view %x[%j +: 2, :]
    %k = pypto.index %i * 2
    pypto.store %v into %o[%k, 0]
  }
  func.return %r : tensor<4x8xf32>
}

// -----
// A branch that is never taken may hold what can never be.
func.func @never(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  pypto.assert %n <= 10, "n is {0}"
  %large = pypto.index %n > 32
  %r = scf.if %large -> (tensor<8xf32>) {
    %v = pypto.view %x[%n +: 1]
    %w = pypto.assemble %v into %x[0]
    scf.yield %w : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----
func.func @branch(%x: tensor<64xf32>, %n: index) -> tensor<64xf32> {
  %large = pypto.index %n > 32
  %r = scf.if %large -> (tensor<64xf32>) {
    // expected-error@below {{view of %x elements %n +: %n ends at 2 * %n, %x has 64 elements}}
    %v = pypto.view %x[%n +: %n]
    %w = pypto.assemble %v into %x[0]
    scf.yield %w : tensor<64xf32>
  } else {
    scf.yield %x : tensor<64xf32>
  }
  func.return %r : tensor<64xf32>
}

// -----
func.func @beyond(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = pypto.forall (%i = 0 to 2) outs(%o = %x) {
    %j = pypto.index %i + 3
    // expected-error@below {{view of %x rows %i + 3 +: 2 ends at %i + 5, %x has 4 rows}}
    %v = pypto.view %x[%j +: 2, :]
    // expected-error@below {{two iterations of forall store to the same element of %o}}
    pypto.store %v into %o[%i, 0]
  }
  func.return %r : tensor<4x8xf32>
}

// -----
func.func @negative(%x: tensor<?x8xf32>) -> tensor<1x8xf32> {
  %m = pypto.dim %x, 0
  %b = pypto.index -1 - %m
  // expected-error@below {{view of %x rows -dim(%x, 0) - 1 +: 1 starts below 0}}
  %v = pypto.view %x[%b +: 1, :]
  func.return %v : tensor<1x8xf32>
}

// -----
func.func @sizes(%x: tensor<?x8xf32> {pypto.dims = ["M"]}) -> tensor<?x8xf32> {
  %m = pypto.dim %x, 0
  %n = pypto.index %m + 1
  %y = pypto.full 0.0[%n, 8] : tensor<?x8xf32>
  // expected-error@below {{dimension 0 of %x is dim(%x, 0), dimension 0 of %y is dim(%x, 0) + 1}}
  %z = pypto.add %x, %y
  func.return %z : tensor<?x8xf32>
}
