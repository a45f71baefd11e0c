// RUN: pyptoc %s --pipeline=collapse-rows --split-input-file | filecheck %s

// The sizes that are known stay known; a row value is collapsed with its row.
// CHECK-LABEL: func.func @normalised
// CHECK: [[ROWS:%[0-9]+]] = pypto.index 8 * %{{[0-9]+}} : index
// CHECK: %x_1 = pypto.reshape %x{{\[}}[[ROWS]], 32] : tensor<?x8x32xf32> -> tensor<?x32xf32>
// CHECK: %e = pypto.exp %x_1 {tag = "e"} : tensor<?x32xf32> -> tensor<?x32xf32>
// CHECK: %m = pypto.amax %e axis -1 {keepdim} : tensor<?x32xf32> -> tensor<?x1xf32>
// CHECK: %d = pypto.div %e, %m : tensor<?x32xf32>, tensor<?x1xf32> -> tensor<?x32xf32>
// CHECK: %d_1 = pypto.reshape %d[%{{[0-9]+}}, 8, 32] : tensor<?x32xf32> -> tensor<?x8x32xf32>
// CHECK: func.return %d_1
func.func @normalised(%x: tensor<?x8x32xf32>) -> tensor<?x8x32xf32> {
  %e = pypto.exp %x {tag = "e"}
  %m = pypto.amax %e axis -1 {keepdim}
  %d = pypto.div %e, %m
  func.return %d : tensor<?x8x32xf32>
}

// -----
// What is the same in all rows stays so; four axes are one of rows.
// CHECK-LABEL: func.func @broadcast
// CHECK: %x_1 = pypto.reshape %x[24, 5]
// CHECK: %y = pypto.add %x_1, %g : tensor<24x5xf32>, tensor<5xf32> -> tensor<24x5xf32>
// CHECK: %h_1 = pypto.reshape %h[1, 5]
// CHECK: %z = pypto.mul %y, %h_1 : tensor<24x5xf32>, tensor<1x5xf32> -> tensor<24x5xf32>
// CHECK: pypto.reshape %z[2, 3, 4, 5]
func.func @broadcast(%x: tensor<2x3x4x5xf32>, %g: tensor<5xf32>, %h: tensor<1x1x1x5xf32>) -> tensor<2x3x4x5xf32> {
  %y = pypto.add %x, %g
  %z = pypto.mul %y, %h
  func.return %z : tensor<2x3x4x5xf32>
}

// -----
// Indices, lengths of rows and what has no operand are collapsed, too.
// CHECK-LABEL: func.func @selected
// CHECK: %n_1 = pypto.reshape %n[6]
// CHECK: %v, %i = pypto.topk %x_1 k 2 axis -1 lengths %n_1{{.*}} -> (tensor<6x2xf32>, tensor<6x2xi32>)
// CHECK: %w = pypto.gather %x_1, %i axis -1 : tensor<6x9xf32>, tensor<6x2xi32> -> tensor<6x2xf32>
// CHECK: %two = pypto.full 2.0[6, 2] : tensor<6x2xf32>
// CHECK: %s = pypto.mul %w, %two
func.func @selected(%x: tensor<2x3x9xf32>, %n: tensor<2x3xi32>) -> tensor<2x3x2xf32> {
  %v, %i = pypto.topk %x k 2 axis -1 lengths %n {pad_index = -1, pad_value = 0.0}
  %w = pypto.gather %x, %i axis -1
  %two = pypto.full 2.0[2, 3, 2] : tensor<2x3x2xf32>
  %s = pypto.mul %w, %two
  func.return %s : tensor<2x3x2xf32>
}

// -----
// Columns of all rows are columns of the collapsed rows.
// CHECK-LABEL: func.func @columns
// CHECK: %x_1 = pypto.reshape %x[6, 8]
// CHECK: %l = pypto.view %x_1[:, 0 +: 4]
// CHECK: %r = pypto.view %x_1[:, 4 +: 4]
// CHECK: %y = pypto.mul %l, %r : tensor<6x4xf32>, tensor<6x4xf32> -> tensor<6x4xf32>
func.func @columns(%x: tensor<2x3x8xf32>) -> tensor<2x3x4xf32> {
  %l = pypto.view %x[:, :, 0 +: 4]
  %r = pypto.view %x[:, :, 4 +: 4]
  %y = pypto.mul %l, %r
  func.return %y : tensor<2x3x4xf32>
}

// -----
// A given tile has as many rows as before: 4 times 8, of 2 no more than there are.
// CHECK-LABEL: func.func @tiled
// CHECK: pypto.exp %x_1 {tile = #pypto.vec<32, 16>}
// CHECK: pypto.exp %y_1 {tile = #pypto.vec<6, 64>}
func.func @tiled(%x: tensor<?x8x32xf32>, %y: tensor<?x3x32xf32>) -> (tensor<?x8x32xf32>, tensor<?x3x32xf32>)
    attributes {pypto.tiles = #pypto.tiles<vec = [2, 5, 64]>} {
  %e = pypto.exp %x {tile = #pypto.vec<4, 8, 16>}
  %f = pypto.exp %y
  func.return %e, %f : tensor<?x8x32xf32>, tensor<?x3x32xf32>
}

// -----
// Of a chain all ops are collapsed or none: cos has other leading sizes than x.
// CHECK-LABEL: func.func @other_leading_sizes
// CHECK-NEXT: %e = pypto.exp %x : tensor<?x8x32xf32>
// CHECK-NEXT: %y = pypto.mul %e, %cos
// CHECK-NEXT: func.return %y
func.func @other_leading_sizes(%x: tensor<?x8x32xf32> {pypto.dims = ["t"]}, %cos: tensor<?x1x32xf32> {pypto.dims = ["t"]}) -> tensor<?x8x32xf32> {
  %e = pypto.exp %x
  %y = pypto.mul %e, %cos
  func.return %y : tensor<?x8x32xf32>
}

// -----
// CHECK-LABEL: func.func @another_axis_is_folded
// CHECK-NEXT: %e = pypto.exp %x : tensor<4x8x32xf32>
// CHECK-NEXT: %s = pypto.sum %e axis 0
func.func @another_axis_is_folded(%x: tensor<4x8x32xf32>) -> tensor<8x32xf32> {
  %e = pypto.exp %x
  %s = pypto.sum %e axis 0
  func.return %s : tensor<8x32xf32>
}

// -----
// CHECK-LABEL: func.func @another_axis_is_ordered
// CHECK-NEXT: %s = pypto.cumsum %x axis 0 : tensor<4x8x32xf32>
func.func @another_axis_is_ordered(%x: tensor<4x8x32xf32>) -> tensor<4x8x32xf32> {
  %s = pypto.cumsum %x axis 0
  func.return %s : tensor<4x8x32xf32>
}

// -----
// Vector ops that could read a product on chip keep its axes.
// CHECK-LABEL: func.func @product
// CHECK: %e = pypto.exp %y : tensor<2x16x16xf32>
func.func @product(%a: tensor<2x16x64xf16>, %b: tensor<2x64x16xf16>) -> tensor<2x16x16xf32> {
  %y = pypto.matmul %a, %b
  %e = pypto.exp %y
  func.return %e : tensor<2x16x16xf32>
}

// -----
// So does what a loop carries, on its way in and out.
// CHECK-LABEL: func.func @loop
// CHECK: %e = pypto.exp %acc : tensor<2x16x16xf32>
// CHECK: %g = pypto.exp %x : tensor<2x16x16xf32>
func.func @loop(%x: tensor<2x16x16xf32>) -> tensor<32x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = pypto.reshape %x[32, 16]
  %s, %t = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %x, %rows = %r) -> (tensor<2x16x16xf32>, tensor<32x16xf32>) {
    %e = pypto.exp %acc
    %f = pypto.reshape %e[32, 16]
    %g = pypto.exp %x
    scf.yield %g, %f : tensor<2x16x16xf32>, tensor<32x16xf32>
  }
  func.return %t : tensor<32x16xf32>
}

// -----
// Two axes are rows and columns already.
// CHECK-LABEL: func.func @matrix
// CHECK-NEXT: %e = pypto.exp %x : tensor<8x32xf32>
func.func @matrix(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %e = pypto.exp %x
  func.return %e : tensor<8x32xf32>
}

// -----
// The lengths of a top-k are rows of one axis less: what makes them has other rows.
// CHECK-LABEL: func.func @lengths
// CHECK: %m = pypto.minimum %n, 7 : tensor<2x3x4xi32> -> tensor<2x3x4xi32>
// CHECK: pypto.topk %{{.*}} lengths %m {{.*}} : tensor<2x3x4x16xf32>, tensor<2x3x4xi32>
func.func @lengths(%x: tensor<2x3x4x16xf32>, %n: tensor<2x3x4xi32>) -> tensor<2x3x4x4xf32> {
  %e = pypto.neg %x
  %m = pypto.minimum %n, 7
  %v, %i = pypto.topk %e k 4 axis -1 lengths %m {pad_index = -1}
  func.return %v : tensor<2x3x4x4xf32>
}
