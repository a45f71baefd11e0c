// RUN: pyptoc %s --pipeline=desugar --split-input-file --verify-diagnostics

func.func @unsigned(%a: index, %b: index) -> index {
  // expected-error@below {{unsigned arith.divui on index values}}
  %0 = arith.divui %a, %b : index
  func.return %0 : index
}

// -----
func.func @compare(%a: index, %b: index) -> i1 {
  // expected-error@below {{unsigned arith.cmpi on index values}}
  %0 = arith.cmpi ult, %a, %b : index
  func.return %0 : i1
}

// -----
func.func @while(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %r = pypto.forall (%i = 0 to 4) outs(%o = %x) {
    // expected-error@below {{pypto.store inside scf.while is not supported}}
    %w = scf.while (%k = %n) : (index) -> index {
      %go = pypto.index %k > 0
      scf.condition(%go) %k : index
    } do {
    ^bb0(%k: index):
      %v = pypto.view %x[0 +: 1]
      pypto.store %v into %o[%i]
      scf.yield %k : index
    }
  }
  func.return %r : tensor<4xf32>
}

// -----
func.func @probes(%x: tensor<3x4xf32>, %c: i1) {
  pypto.probe %x "a"
  %v = pypto.view %x[0, :]
  scf.if %c {
    // expected-error@below {{"a" is tensor<4xf32> here and tensor<3x4xf32> elsewhere}}
    pypto.probe %v "a"
  }
  func.return
}
