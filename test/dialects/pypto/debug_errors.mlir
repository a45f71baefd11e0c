// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

func.func @in_forall(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = pypto.forall (%i = 0 to 4) outs(%o = %x) {
    %v = pypto.view %x[%i, :]
    // CHECK: :[[# @LINE + 3]]:5: error[PTO155]: "row" is probed in a forall
    // CHECK: rule: its iterations have no order, so no value is the last
    // CHECK: help: store it into an outs of the forall, and probe the result
    pypto.probe %v "row"
    pypto.store %v into %o[%i, 0]
  }
  func.return %r : tensor<4x4xf32>
}

// -----

func.func @dynamic_in_loop(%x: tensor<?x4xf32>, %c: i1) {
  scf.if %c {
    // CHECK: :[[# @LINE + 3]]:5: error[PTO155]: "x" of tensor<?x4xf32> is probed in a loop or a branch
    // CHECK: rule: a probe there shows the last value, whose sizes must be static
    // CHECK: help: store it into a tensor of static size, and probe that
    pypto.probe %x "x"
    scf.yield
  }
  func.return
}

// -----

func.func @taken(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: :[[# @LINE + 2]]:3: error[PTO155]: "x" is an argument or a result already
  // CHECK: help: give the probe a name of its own
  pypto.probe %x "x"
  // CHECK: :[[# @LINE + 1]]:3: error[PTO155]: "result0" is an argument or a result already
  pypto.probe %x "result0"
  func.return %x : tensor<4xf32>
}

// -----

func.func @scalar(%n: index) {
  // CHECK: :[[# @LINE + 1]]:15: error[PTO110]: {{.*}}%n is index
  pypto.probe %n "n"
  func.return
}

// -----

func.func @printed(%n: f64) {
  // CHECK: error[PTO170]: pypto.print: {{.*}}
  pypto.print "n" %n
  func.return
}
