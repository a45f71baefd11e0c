// RUN: pyptoc %s --pipeline=check-bounds,partition | filecheck %s

// Views to another type become plain views of all of the tensor under that type, which
// stands outside the loop.
// CHECK-LABEL: @row
// CHECK: %[[B:.*]] = pypto.reinterpret %cache to bf16 : tensor<?x656xi8> -> tensor<?x328xbf16>
// CHECK: scf.for %i
// CHECK: %[[R:.*]] = pypto.view %[[B]][%i, :] : tensor<?x328xbf16> -> tensor<328xbf16>
// CHECK: pypto.view %[[R]][256 +: 64] : tensor<328xbf16> -> tensor<64xbf16>
func.func @row(%cache: tensor<?x656xi8>, %c0: index, %c1: index, %n: index, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%o = %y) -> (tensor<?x64xf32>) {
    %row = pypto.view %cache[%i, :]
    %v = pypto.view %row[512 +: 128] to bf16
    %f = pypto.cast %v to f32
    %s = pypto.assemble %f into %o[%i, 0]
    scf.yield %s : tensor<?x64xf32>
  }
  func.return %r : tensor<?x64xf32>
}

// Offsets that are not known are scaled, once they are known to be aligned.
// CHECK-LABEL: @offset
// CHECK: pypto.assert %o mod 4 == 0, "view of %x: offset of {0} elements of 1 B is no multiple of 4 B", %o
// CHECK: %[[O:.*]] = pypto.index %o floordiv 4
// CHECK: pypto.view %x_1[%[[O]] +: 2] : tensor<?xf32> -> tensor<2xf32>
func.func @offset(%x: tensor<?xi8>, %o: index) -> tensor<2xf32> {
  %v = pypto.view %x[%o +: 8] to f32
  %y = pypto.exp %v
  func.return %y : tensor<2xf32>
}

// What does not lie so is copied: columns, and rows that may start anywhere.
// CHECK-LABEL: @copies
// CHECK: %[[T:.*]] = pypto.transpose %x perm [1, 0]
// CHECK: %[[C:.*]] = pypto.clone %[[T]]
// CHECK: pypto.reinterpret %[[C]] to i16
// CHECK: %[[V:.*]] = pypto.view %x[:, %o +: 4]
// CHECK: %[[D:.*]] = pypto.clone %[[V]]
// CHECK: pypto.reinterpret %[[D]] to i32
func.func @copies(%x: tensor<6x8xi8>, %o: index) -> (tensor<8x3xi16>, tensor<6x1xi32>) {
  %t = pypto.transpose %x perm [1, 0]
  %a = pypto.view %t[:, :] to i16
  %a2 = pypto.add %a, 1
  %u = pypto.view %x[:, %o +: 4]
  %b = pypto.view %u[:, :] to i32
  %b2 = pypto.add %b, 1
  func.return %a2, %b2 : tensor<8x3xi16>, tensor<6x1xi32>
}

// A narrower type starts anywhere: nothing is copied.
// CHECK-LABEL: @narrower
// CHECK: %[[N:.*]] = pypto.reinterpret %x to i8
// CHECK: %[[W:.*]] = pypto.index 4 * %o
// CHECK: pypto.view %[[N]][:, %[[W]] +: 16]
// CHECK-NOT: clone
func.func @narrower(%x: tensor<6x8xf32>, %o: index) -> tensor<6x16xi8> {
  %u = pypto.view %x[:, %o +: 4]
  %b = pypto.view %u[:, :] to i8
  %y = pypto.add %b, 1
  func.return %y : tensor<6x16xi8>
}

// The bytes of what a result or a loop changes are read only: a copy.
// CHECK-LABEL: @result
// CHECK: %[[Q:.*]] = pypto.reinterpret %x to i32
// CHECK: pypto.clone %[[Q]]
func.func @result(%x: tensor<6x8xf32>) -> tensor<6x8xi32> {
  %y = pypto.reinterpret %x to i32
  func.return %y : tensor<6x8xi32>
}
