// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds --split-input-file | filecheck %s

// Boxes of a loop that covers a dimension in steps are proven: tails, two axes, products.
// CHECK-LABEL: func.func @proven
// CHECK-NOT:   pypto.assert
// CHECK:       func.return
func.func @proven(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %m = pypto.dim %x, 0
  %o0 = pypto.empty[%m, 64] : tensor<?x64xf32>
  %r = pypto.forall (%i +: %n = 0 to %m step 16, %j = 0 to 2) outs(%o = %o0) {
    %c = pypto.index %j * 32
    %v = pypto.view %x[%i +: %n, %c +: 32]
    %k = pypto.index %i floordiv 16
    %b = pypto.index %k * 16
    %w = pypto.view %x[%b +: %n, 0 +: 32]
    %s = pypto.add %v, %w
    pypto.store %s into %o[%i, %c]
  }
  func.return %r : tensor<?x64xf32>
}

// -----
// What was read is not known: asserts before the op, each once, with the values and
// sizes that are at hand.
// CHECK-LABEL: func.func @read
// CHECK:         %n = pypto.read %k[1]
// CHECK-NEXT:    pypto.assert 0 <= %b, "view of %x rows {0} +: {1} starts below 0", %b, %n {code = "PTO402"}
// CHECK-NEXT:    pypto.assert 0 <= %n, "view of %x rows {0} +: {1} has no such size", %b, %n {code = "PTO402"}
// CHECK-NEXT:    [[END:%.*]] = pypto.index %b + %n
// CHECK-NEXT:    pypto.assert %b + %n <= %m, "view of %x rows {0} +: {1} ends at {2}, %x has {3} rows", %b, %n, [[END]], %m {code = "PTO402"}
// CHECK-NEXT:    pypto.view %x[%b +: %n, :]
// CHECK-NEXT:    pypto.view %x[%b +: %n, 8 +: 8]
// CHECK-NEXT:    pypto.add
func.func @read(%x: tensor<?x64xf32>, %k: tensor<2xi32>) -> tensor<?x8xf32> {
  %m = pypto.dim %x, 0
  %b = pypto.read %k[0]
  %n = pypto.read %k[1]
  %v = pypto.view %x[%b +: %n, :]
  %w = pypto.view %x[%b +: %n, 8 +: 8]
  %r = pypto.add %w, %w
  func.return %r : tensor<?x8xf32>
}

// -----
// The author's assert is a fact from there on; so is a branch's condition inside it.
// CHECK-LABEL: func.func @facts
// CHECK:       pypto.assert %n <= 64, "n is {0}"
// CHECK-NOT:   pypto.assert
// CHECK:       func.return
func.func @facts(%x: tensor<64xf32>, %n: index) -> tensor<64xf32> {
  pypto.assert %n <= 64, "n is {0}"
  %some = pypto.index %n > 0
  %r = scf.if %some -> (tensor<64xf32>) {
    %v = pypto.view %x[0 +: %n]
    %w = pypto.assemble %v into %x[0]
    scf.yield %w : tensor<64xf32>
  } else {
    scf.yield %x : tensor<64xf32>
  }
  func.return %r : tensor<64xf32>
}

// -----
// A row that a loop carries starts at 0 and grows by sizes: it stays non-negative.
// CHECK-LABEL: func.func @carried
// CHECK:       scf.for
// CHECK:         pypto.assert 0 <= %n
// CHECK-NOT:     starts below 0
// CHECK:         ends at {2}
// CHECK:         pypto.view %x[%b +: %n]
func.func @carried(%x: tensor<?xf32>, %k: tensor<4xi32>) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = pypto.full 0.0[1] : tensor<1xf32>
  %e, %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%b = %c0, %a = %z) -> (index, tensor<1xf32>) {
    %n = pypto.read %k[%i]
    pypto.assert 0 <= %n, "negative size {1}"
    %v = pypto.view %x[%b +: %n]
    %s = pypto.sum %v axis 0 {keepdim}
    %t = pypto.add %a, %s
    %f = pypto.index %b + %n
    scf.yield %f, %t : index, tensor<1xf32>
  }
  func.return %r : tensor<1xf32>
}

// -----
// One that shrinks does not.
// CHECK-LABEL: func.func @shrinking
// CHECK:         pypto.assert 0 <= %b, "view of %x element {0}, %x has {1} elements"
func.func @shrinking(%x: tensor<64xf32>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %c63) -> (index) {
    %v = pypto.view %x[%b]
    %d = pypto.index %b - 1
    scf.yield %d : index
  }
  func.return %r : index
}

// -----
// Sizes: named dimensions are equal, others must be; a dynamic 1 does not broadcast.
// CHECK-LABEL: func.func @sizes
// CHECK-NEXT:  %s = pypto.add %x, %y
// CHECK:       pypto.assert [[A:%.*]] == [[B:%.*]], "dimension 0 of %s is {0}, dimension 0 of %z is {1} (a dynamic size of 1 does not broadcast)", [[A]], [[B]] {code = "PTO402"}
// CHECK-NEXT:  %t = pypto.add %s, %z
// CHECK-NEXT:  %u = pypto.add %t, %one
// CHECK:       pypto.assert [[C:%.*]] == 8, "dimension 0 of the result is {0}, its type says 8", [[C]]
// CHECK-NEXT:  %v = pypto.view %u[:, 0 +: 4]
// CHECK:       pypto.assert {{.*}}, "dimension 1 of %v is {0}, dimension 0 of %w is {1}
// CHECK-NEXT:  pypto.matmul
func.func @sizes(%x: tensor<?x8xf32> {pypto.dims = ["M"]},
    %y: tensor<?x8xf32> {pypto.dims = ["M"]}, %z: tensor<?x8xf32>,
    %one: tensor<1x8xf32>, %w: tensor<?x16xf32>) -> tensor<8x16xf32> {
  %s = pypto.add %x, %y
  %t = pypto.add %s, %z
  %u = pypto.add %t, %one
  %v = pypto.view %u[:, 0 +: 4] : tensor<8x4xf32>
  %r = pypto.matmul %v, %w
  func.return %r : tensor<8x16xf32>
}

// -----
// Elements of a reshape, and the bound that the author states.
// CHECK-LABEL: func.func @reshape
// CHECK:       pypto.assert 16 * ({{.*}} mod 3) == 0, "reshape: the {0} elements of %x are no multiple of {1}"
// CHECK-NEXT:  pypto.reshape %x[-1, 48]
// CHECK:       pypto.assert {{.*}} == 8 * %n, "reshape: %x has {0} elements, the result {1}"
// CHECK-NEXT:  pypto.reshape %x[%n, 8]
// CHECK-NEXT:  pypto.reshape %x[-1, 8]
// CHECK:       pypto.assert 1 <= %n, "reshape: -1 beside a size of 0 is undefined" {code = "PTO404"}
// CHECK:       pypto.assert {{.*}} mod %n == 0, "reshape: the {0} elements of %x are no multiple of {1}"
// CHECK-NEXT:  pypto.reshape %x[-1, %n]
// CHECK-NEXT:  pypto.assert %n <= 32, "dimension 0 is {0}, at most 32 (max)"
// CHECK-NEXT:  pypto.empty[%n]
func.func @reshape(%x: tensor<?x16xf32>, %k: tensor<1xi32>)
    -> (tensor<?x48xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x?xf32>) {
  %n = pypto.read %k[0]
  %a = pypto.reshape %x[-1, 48]
  %b = pypto.reshape %x[%n, 8]
  %c = pypto.reshape %x[-1, 8]
  %d = pypto.reshape %x[-1, %n]
  %e = pypto.empty[%n] {max = [32]} : tensor<?xf32>
  func.return %a, %b, %c, %d
    : tensor<?x48xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x?xf32>
}

// -----
// A bare index, a read, an assemble, and a tensor of higher rank.
// CHECK-LABEL: func.func @index
// CHECK:       pypto.assert 0 <= %h, "read of %k element {0}, %k has {1} elements", %h, %c2
// CHECK-NEXT:  pypto.assert %h + 1 <= 2, "read of %k element {0}, %k has {1} elements", %h, %c2
// CHECK-NEXT:  %i = pypto.read %k[%h]
// CHECK:       pypto.assert %i + 1 <= [[N:%.*]], "view of %x dimension 1: {0}, %x has {1}", %i, [[N]]
// CHECK:       pypto.assert %i + 4 <= 6, "store to %o elements {0} +: {1} ends at {2}, %o has {3} elements"
func.func @index(%x: tensor<2x?x4xf32>, %o: tensor<6xf32>, %k: tensor<2xi32>, %h: index)
    -> tensor<6xf32> {
  %i = pypto.read %k[%h]
  %v = pypto.view %x[0, %i, :]
  %r = pypto.assemble %v into %o[%i]
  func.return %r : tensor<6xf32>
}

// -----
// Scales of an MX product fit its rows and its K.
// CHECK-LABEL: func.func @scales
// CHECK:       pypto.assert {{.*}}, "dimension 1 of %a is {0}, dimension 0 of %b is {1}
// CHECK:       pypto.assert {{.*}}, "dimension 0 of %sa is {0}, not {1}"
// CHECK:       pypto.assert {{.*}} == {{.*}} ceildiv 64, "dimension 1 of %sa is {0}, not {1}"
// CHECK:       pypto.assert {{.*}} == {{.*}} ceildiv 64, "dimension 1 of %sb is {0}, not {1}"
// CHECK-NOT:   pypto.assert
// CHECK:       pypto.scaled_mm
func.func @scales(%a: tensor<?x?xf8E4M3FN>, %b: tensor<?x16xf8E4M3FN>,
    %sa: tensor<?x?x2xf8E8M0FNU>, %sb: tensor<16x?x2xf8E8M0FNU>) -> tensor<?x16xf32> {
  %y = pypto.scaled_mm %a, %b scales %sa, %sb {scales_b_trans}
  func.return %y : tensor<?x16xf32>
}

// -----
// Concat joins one dimension, the others agree; expand keeps what it does not repeat;
// batches of a matmul agree; a result's stated size is checked for each of them.
// CHECK-LABEL: func.func @shapes
// CHECK:       pypto.assert {{.*}}, "dimension 1 of %x is {0}, dimension 1 of %y is {1}
// CHECK:       pypto.assert {{.*}} == 9, "dimension 0 of the result is {0}, its type says 9"
// CHECK:       pypto.assert 0 <= %n, "dimension 0 is {0}"
// CHECK:       pypto.assert {{.*}} == 7, "dimension 1 of %w is {0}, not {1}"
// CHECK-NEXT:  pypto.expand %w[%n, 7]
// CHECK:       pypto.assert {{.*}}, "dimension 0 of %p is {0}, dimension 0 of %q is {1}
// CHECK:       pypto.assert {{.*}} == 6, "dimension 2 of the result is {0}, its type says 6"
// CHECK-NEXT:  pypto.matmul
func.func @shapes(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %w: tensor<1x?xf32>, %n: index,
    %p: tensor<?x4x8xf32>, %q: tensor<?x8x?xf32>)
    -> (tensor<9x?xf32>, tensor<?x7xf32>, tensor<?x4x6xf32>) {
  %c = pypto.concat %x, %y axis 0 : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<9x?xf32>
  %e = pypto.expand %w[%n, 7]
  %m = pypto.matmul %p, %q : tensor<?x4x8xf32>, tensor<?x8x?xf32> -> tensor<?x4x6xf32>
  func.return %c, %e, %m : tensor<9x?xf32>, tensor<?x7xf32>, tensor<?x4x6xf32>
}

// -----
// A tensor that a loop carries keeps its size; the other branch knows the opposite.
// CHECK-LABEL: func.func @flow
// CHECK:       scf.for
// CHECK:         %v = pypto.view %t[0 +: %h]
// CHECK:         pypto.assert {{.*}}, "dimension 0 of %v is {0}, not {1}"
// CHECK-NEXT:    scf.yield %v
// CHECK:       scf.if
// CHECK:         pypto.assert {{.*}} ends at {2}
// CHECK:       } else {
// CHECK-NEXT:    pypto.view %x[%n +: %n]
func.func @flow(%x: tensor<64xf32>, %y: tensor<?xf32>, %n: index)
    -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  pypto.assert %n >= 0, "n is {0}"
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %y) -> (tensor<?xf32>) {
    %d = pypto.dim %t, 0
    %h = pypto.index %d floordiv 2
    %v = pypto.view %t[0 +: %h]
    scf.yield %v : tensor<?xf32>
  }
  %large = pypto.index %n > 16
  %s = scf.if %large -> (tensor<?xf32>) {
    %v = pypto.view %x[%n +: %n]
    scf.yield %v : tensor<?xf32>
  } else {
    %v = pypto.view %x[%n +: %n]
    scf.yield %v : tensor<?xf32>
  }
  func.return %r, %s : tensor<?xf32>, tensor<?xf32>
}

// -----
// Sizes are followed through transpose and concat; not through what is not known.
// CHECK-LABEL: func.func @through
// CHECK:       %t = pypto.transpose %x perm [1, 0]
// CHECK-NEXT:  %v = pypto.view %t[:, 0 +: %m]
// CHECK:       pypto.assert {{.*}}, "view of %t rows {0} +: {1} ends at {2}, %t has {3} rows"
// CHECK-NEXT:  %w = pypto.view %t[0 +: %m, :]
// CHECK-NOT:   pypto.assert
// CHECK:       %c = pypto.assemble %x into
// CHECK-NEXT:  %u = pypto.view %c[%m +: %m, 0 +: 1]
func.func @through(%x: tensor<?x?xf32>)
    -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x1xf32>) {
  %m = pypto.dim %x, 0
  %n = pypto.dim %x, 1
  pypto.assert %n >= 1, "n"
  %t = pypto.transpose %x perm [1, 0]
  %v = pypto.view %t[:, 0 +: %m]
  %w = pypto.view %t[0 +: %m, :]
  %c = pypto.concat %x, %x axis 0
  %u = pypto.view %c[%m +: %m, 0 +: 1]
  func.return %v, %w, %u : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x1xf32>
}

// -----
// An assert of the author's that always holds is no fence: the end of a tile, and of a
// tile up to a diagonal; one of what was read stays.
// CHECK-LABEL: func.func @ends
// CHECK:         scf.for %i
// CHECK-NOT:       pypto.assert %end
// CHECK:           scf.for %j
// CHECK-NOT:         ends at {2}
// CHECK:           pypto.assert %last <= %m, "{0} of {1}"
func.func @ends(%x: tensor<?x32xf32> {pypto.dims = ["M"]}, %k: tensor<1xi32>) -> tensor<?x32xf32> {
  %m = pypto.dim %x, 0
  %e = pypto.empty[%m, 32] : tensor<?x32xf32>
  %r = pypto.forall (%i +: %n = 0 to %m step 20) outs(%o = %e) {
    %end = pypto.index %i + %n
    pypto.assert %end <= %m, "{0} of {1}"
    %v = pypto.view %x[%i +: %n, :]
    pypto.store %v into %o[%i, 0]
    pypto.for (%j +: %t = 0 to %end step 40) {
      %w = pypto.view %x[%j +: %t, :]
      %s = pypto.sum %w axis 0
    }
    %g = pypto.read %k[0]
    %last = pypto.index %g + %n
    pypto.assert %last <= %m, "{0} of {1}"
  }
  func.return %r : tensor<?x32xf32>
}

// -----
// There is a length for each row.
// CHECK-LABEL: func.func @lengths_of_rows
// CHECK: pypto.assert %{{.*}}, "dimension 0 of %x is {0}, dimension 0 of %n is {1}
// CHECK: pypto.assert %{{.*}}, "dimension 1 of %x is {0}, dimension 1 of %n is {1}
// CHECK-NEXT: pypto.topk %x k 2 axis -1 lengths %n
func.func @lengths_of_rows(%x: tensor<?x?x9xf32>, %n: tensor<?x?xi32>) -> (tensor<?x?x2xf32>, tensor<?x?x2xi32>) {
  %v, %i = pypto.topk %x k 2 axis -1 lengths %n {pad_index = -1, pad_value = 0.0}
  func.return %v, %i : tensor<?x?x2xf32>, tensor<?x?x2xi32>
}
