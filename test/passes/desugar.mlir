// RUN: pyptoc %s --pipeline=desugar --split-input-file | filecheck %s

// Several indices: one loop each, all parallel, the destination carried through. A tail
// is the rest of its dimension, at most a step.
// CHECK-LABEL: func.func @forall
// CHECK:       %r = scf.for %i = %c0 to %m step %c16 iter_args([[O1:%.*]] = %o0)
// CHECK-NEXT:    [[R1:%.*]] = scf.for %j = %c0 to %c2 step %c1 iter_args([[O2:%.*]] = [[O1]])
// CHECK-NEXT:      %n = pypto.index min(%m - %i, 16)
// CHECK-NEXT:      %v = pypto.view %x[%i +: %n, %j]
// CHECK-NEXT:      [[O3:%.*]] = pypto.assemble %v into [[O2]][0, %i]
// CHECK-NEXT:      scf.yield [[O3]]
// CHECK-NEXT:    } {npu.parallel, tag = "rows"}
// CHECK-NEXT:    scf.yield [[R1]]
// CHECK-NEXT:  } {npu.parallel, tag = "rows"}
// CHECK-NEXT:  func.return %r
func.func @forall(%x: tensor<?x2xf32>) -> tensor<1x?xf32> {
  %m = pypto.dim %x, 0
  %o0 = pypto.empty[1, %m] : tensor<1x?xf32>
  %r = pypto.forall (%i +: %n = 0 to %m step 16, %j = 0 to 2) outs(%o = %o0) {tag = "rows"} {
    %v = pypto.view %x[%i +: %n, %j]
    pypto.store %v into %o[0, %i]
  }
  func.return %r : tensor<1x?xf32>
}

// -----
// Stores under branches and inner loops: each hands the destination on. An inner forall
// without outs of its own stores into those of the outer one.
// CHECK-LABEL: func.func @nested
// CHECK:       %r, %p = scf.for %i = {{.*}} iter_args([[O:%.*]] = %o0, [[Q:%.*]] = %p0)
// CHECK:         [[T:%.*]], [[Q1:%.*]] = scf.if %is -> (tensor<8xf32>, tensor<4xf32>) {
// CHECK:           [[Q2:%.*]] = pypto.assemble {{.*}} into [[Q]][%i]
// CHECK-NEXT:      scf.yield %row, [[Q2]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %row, [[Q]]
// CHECK-NEXT:    }
// CHECK:         [[O1:%.*]] = scf.for %j = {{.*}} iter_args([[O2:%.*]] = [[O]])
// CHECK:           [[O3:%.*]] = scf.for %k = {{.*}} iter_args([[O4:%.*]] = [[O2]])
// CHECK:             [[O5:%.*]] = pypto.assemble {{.*}} into [[O4]][%i, %k]
// CHECK-NEXT:        scf.yield [[O5]]
// CHECK-NEXT:      }{{$}}
// CHECK-NEXT:      scf.yield [[O3]]
// CHECK-NEXT:    } {npu.parallel}
// CHECK-NEXT:    scf.yield [[O1]], [[Q1]]
func.func @nested(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %o0 = pypto.empty[4, 8] : tensor<4x8xf32>
  %p0 = pypto.full 0.0[4] : tensor<4xf32>
  %r, %p = pypto.forall (%i = 0 to 4) outs(%o = %o0, %q = %p0) {
    %row = pypto.view %x[%i, :]
    %is = pypto.index %i > 1
    %t = scf.if %is -> (tensor<8xf32>) {
      %one = pypto.view %row[0 +: 1]
      pypto.store %one into %q[%i]
      scf.yield %row : tensor<8xf32>
    } else {
      scf.yield %row : tensor<8xf32>
    }
    pypto.forall (%j = 0 to 2) {
      scf.for %k = %c0 to %c4 step %c4 {
        %part = pypto.view %t[%k +: 4]
        pypto.store %part into %o[%i, %k]
      }
    }
  }
  func.return %r, %p : tensor<4x8xf32>, tensor<4xf32>
}

// -----
// A forall with outs of its own inside another: its result is a value of the body.
// CHECK-LABEL: func.func @inner_outs
// CHECK:       scf.for %i {{.*}} iter_args([[O:%.*]] = %x)
// CHECK:         %t = scf.for %j {{.*}} iter_args([[U:%.*]] = %y)
// CHECK:           [[U1:%.*]] = pypto.assemble %v into [[U]][%j]
// CHECK-NEXT:      scf.yield [[U1]] : tensor<8xf32>
// CHECK:         [[O1:%.*]] = pypto.assemble %t into [[O]][%i, 0]
func.func @inner_outs(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %r = pypto.forall (%i = 0 to 4) outs(%o = %x) {
    %t = pypto.forall (%j = 0 to 8 step 2) outs(%u = %y) {
      %v = pypto.view %x[%i, %j +: 2]
      pypto.store %v into %u[%j]
    }
    pypto.store %t into %o[%i, 0]
  }
  func.return %r : tensor<4x8xf32>
}

// -----
// A loop that carries values, with a tail and another destination's store inside. A
// yield whose type is known better or worse than the initial one becomes a view, which
// check-bounds checks.
// CHECK-LABEL: func.func @carried
// CHECK:       scf.for %i
// CHECK:         %a, [[O1:%.*]] = scf.for %j = {{.*}} to %n step {{.*}} iter_args([[C:%.*]] = %c0, [[O:%.*]] = {{%.*}})
// CHECK-NEXT:      %w = pypto.index min(%n - %j, 4)
// CHECK:           [[O2:%.*]] = pypto.assemble %row into [[O]][%i]
// CHECK-NEXT:      [[V:%.*]] = pypto.view %z[:, :] : tensor<?x1xf32> -> tensor<4x1xf32>
// CHECK-NEXT:      scf.yield [[V]], [[O2]] : tensor<4x1xf32>, tensor<4xf32>
// CHECK-NEXT:    } {tag = "steps"}
func.func @carried(%n: index, %k: index) -> tensor<4xf32> {
  %c0 = pypto.full 0.0[4, 1] : tensor<4x1xf32>
  %o0 = pypto.full 0.0[4] : tensor<4xf32>
  %r = pypto.forall (%i = 0 to 4) outs(%o = %o0) {
    %a = pypto.for (%j +: %w = 0 to %n step 4) iter(%c = %c0) {tag = "steps"} {
      %z = pypto.full 1.0[%k, 1] : tensor<?x1xf32>
      %row = pypto.full 2.0[1] : tensor<1xf32>
      pypto.store %row into %o[%i]
      pypto.yield %z
    }
  }
  func.return %r : tensor<4xf32>
}

// -----
// A loop without values, and one that the author wrote in scf: it stays.
// CHECK-LABEL: func.func @plain
// CHECK:       scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:    pypto.assert %i < %n, "m"
// CHECK-NEXT:  }{{$}}
// CHECK:       scf.for %j = %c2 to %n step %c2 iter_args(%s = %c2) -> (index) {
// CHECK-NEXT:    %t = pypto.index %j + %s
func.func @plain(%n: index) -> index {
  %c2 = arith.constant 2 : index
  pypto.for (%i = 0 to %n) {
    pypto.assert %i < %n, "m"
  }
  %r = scf.for %j = %c2 to %n step %c2 iter_args(%s = %c2) -> (index) {
    %t = arith.addi %s, %j : index
    scf.yield %t : index
  }
  func.return %r : index
}

// -----
// Integer arithmetic of arith; division rounds toward zero there. Other types stay.
// CHECK-LABEL: func.func @arith
// CHECK-NEXT:  %0 = pypto.index %a - %b : index
// CHECK-NEXT:  %1 = pypto.index %a floordiv %b : index
// CHECK-NEXT:  %2 = pypto.index %a ceildiv %b : index
// CHECK-NEXT:  %d = arith.constant 4 : index
// CHECK-NEXT:  %3 = pypto.index (max(%a, 0) floordiv 4) - (max(-%a, 0) floordiv 4) : index
// CHECK-NEXT:  %4 = pypto.index min(%a, %b) {tag = "t"} : index
// CHECK-NEXT:  %5 = pypto.index %a >= %b : i1
// CHECK-NEXT:  %6 = arith.addi %i, %i : i32
func.func @arith(%a: index, %b: index, %i: i32)
    -> (index, index, index, index, index, i1, i32) {
  %0 = arith.subi %a, %b : index
  %1 = arith.floordivsi %a, %b : index
  %2 = arith.ceildivsi %a, %b : index
  %c = arith.constant 4 : i64
  %d = arith.index_cast %c : i64 to index
  %3 = arith.divsi %a, %d : index
  %4 = arith.minsi %a, %b {tag = "t"} : index
  %5 = arith.cmpi sge, %a, %b : index
  %6 = arith.addi %i, %i : i32
  func.return %0, %1, %2, %3, %4, %5, %6
    : index, index, index, index, index, i1, i32
}

// -----
// A probed value is a result behind the operator's own; one inside a loop is stored
// into zeros that the loops carry.
// CHECK-LABEL: func.func @probes
// CHECK-SAME:  -> (tensor<?x4xf32> {pypto.name = "result0"}, tensor<?x4xf32> {pypto.name = "mid"}, tensor<4xf32> {pypto.name = "row"}) {
// CHECK-NEXT:  %row = pypto.full 0.0[4] : tensor<4xf32>
// CHECK-NEXT:  %y = pypto.exp %x
// CHECK:       %r, [[L:%.*]] = scf.for {{.*}} iter_args(%a = %y, [[C:%.*]] = %row)
// CHECK:         %v = pypto.view
// CHECK-NEXT:    [[N:%.*]] = pypto.assemble %v into [[C]][0]
// CHECK:         scf.yield {{.*}}, [[N]]
// CHECK:       func.return %r, %y, [[L]]
func.func @probes(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = pypto.exp %x
  pypto.probe %y "mid"
  %r = pypto.for (%i = 0 to 2) iter(%a = %y) {
    %v = pypto.view %a[%i, :]
    pypto.probe %v "row"
    %b = pypto.add %a, %v
    pypto.yield %b
  }
  func.return %r : tensor<?x4xf32>
}
