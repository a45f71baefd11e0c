// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

func.func @too_few(%x: tensor<?x4xf32>) {
  // CHECK: error[PTO138]: topk of 8 among 4
  // CHECK: help: add {pad_index = -1} to fill the places that are left
  %0, %1 = pypto.topk %x k 8 axis -1
  func.return
}

// -----

func.func @topk_type(%x: tensor<?x4xi1>) {
  // CHECK: error[PTO111]: topk of i1 elements
  %0, %1 = pypto.topk %x k 2 axis -1
  func.return
}

// -----

func.func @topk_lengths(%x: tensor<3x4xf32>, %n: tensor<2xi32>) {
  // CHECK: error[PTO113]: %n of [2] does not broadcast to [3]
  %0, %1 = pypto.topk %x k 2 axis -1 lengths %n {pad_index = -1}
  func.return
}

// -----

func.func @index_type(%x: tensor<?x512xi8>, %i: tensor<?xf32>) {
  // CHECK: error[PTO111]: gather_rows of f32 elements: %i is tensor<?xf32>
  // CHECK: rule: elements are i32 or i64
  %0 = pypto.gather_rows %x at %i
  func.return
}

// -----

func.func @table(%x: tensor<?x512xi8>, %i: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // CHECK: error[PTO135]: gather_rows takes rank 1, %t has rank 2
  %0 = pypto.gather_rows %x at %i through %t page 128
  func.return
}

// -----

func.func @page(%x: tensor<?x512xi8>, %i: tensor<?xi32>, %t: tensor<?xi32>) {
  // CHECK: error[PTO138]: pages of 0 rows
  %0 = pypto.gather_rows %x at %i through %t page 0
  func.return
}

// -----

func.func @scatter_type(%x: tensor<?x512xi8>, %d: tensor<?x512xbf16>, %i: tensor<?xi32>) {
  // CHECK: error[PTO112]: operand types differ: i8 and bf16
  %0 = pypto.scatter_rows %x into %d at %i
  func.return
}

// -----

func.func @scatter_row(%x: tensor<?x64xi8>, %d: tensor<?x128x1x512xi8>, %i: tensor<?xi32>) {
  // CHECK: error[PTO138]: rows of [?, 64] into [?, 128, 1, 512]: wanted [?, 512]
  %0 = pypto.scatter_rows %x into %d at %i {rows = [0, 1, 2]}
  func.return
}

// -----

func.func @scatter_rows(%x: tensor<?x512xi8>, %d: tensor<?x128x1x512xi8>, %i: tensor<?xi32>) {
  // CHECK: error[PTO138]: rows = [1, 2] are not the leading dimensions of %d
  // CHECK: rule: rows lists 0, 1, ... in order
  %0 = pypto.scatter_rows %x into %d at %i {rows = [1, 2]}
  func.return
}

// -----

func.func @scatter_rank(%x: tensor<?xi8>, %d: tensor<4xi8>, %i: tensor<?xi32>) {
  // CHECK: error[PTO135]: scatter_rows takes rank at least 2, %d has rank 1
  %0 = pypto.scatter_rows %x into %d at %i {rows = [0, 1]}
  func.return
}

// -----

func.func @gather_rank(%x: tensor<?x256xf32>, %i: tensor<8xi32>) {
  // CHECK: error[PTO135]: gather takes rank 2, %i has rank 1
  %0 = pypto.gather %x, %i axis -1
  func.return
}

// -----

func.func @gather_sizes(%x: tensor<4x256xf32>, %i: tensor<5x8xi32>) {
  // CHECK: error[PTO138]: gather along axis 1: dimension 0 is 4 and 5
  %0 = pypto.gather %x, %i axis -1
  func.return
}

// -----

func.func @select_rank(%x: tensor<4x256xf32>, %i: tensor<5x8xi32>) {
  // CHECK: error[PTO135]: index_select takes rank 1, %i has rank 2
  %0 = pypto.index_select %x at %i axis 0
  func.return
}

// -----

func.func @add_sizes(%x: tensor<7x256xf32>, %d: tensor<100x256xf32>, %i: tensor<8xi32>) {
  // CHECK: error[PTO138]: index_add of [7, 256] into [100, 256]: wanted [8, 256]
  %0 = pypto.index_add %x into %d at %i axis 0
  func.return
}

// -----

func.func @columns(%i: tensor<?x8xi32>) {
  // CHECK: error[PTO138]: one_hot of -1 columns
  %0 = pypto.one_hot %i -1
  func.return
}

// -----

func.func @scatter_shape(%x: tensor<?x8xf32>, %d: tensor<?x256xf32>, %i: tensor<?x9xi64>) {
  // CHECK: :[[# @LINE + 1]]:22: error[PTO138]: scatter of [?, 8] into [?, 256]: wanted [?, 9]
  %0 = pypto.scatter %x into %d at %i axis -1
  func.return
}

// -----

func.func @scatter_other_dimension(%x: tensor<4x8xf32>, %d: tensor<5x256xf32>, %i: tensor<4x8xi64>) {
  // CHECK: error[PTO138]: scatter along axis 1: dimension 0 is 5 and 4
  %0 = pypto.scatter %x into %d at %i axis 1
  func.return
}

// -----

func.func @scatter_adds_truths(%x: tensor<4x8xi1>, %i: tensor<4x8xi64>) {
  %0 = pypto.scatter %x into %x at %i axis 1
  // CHECK: :[[# @LINE + 1]]:{{[0-9]+}}: error[PTO111]: scatter of i1 elements
  %1 = pypto.scatter %x into %x at %i axis 1 {add}
  func.return
}

// -----

func.func @scatter_rank(%x: tensor<4x8xi8>, %i: tensor<8xi64>) {
  // CHECK: error[PTO135]: scatter takes rank 2, %i has rank 1
  %1 = pypto.scatter %x into %x at %i axis 1
  func.return
}

// -----

func.func @index_put_counts(%x: tensor<4x8xi8>, %d: tensor<2x3x8xi8>, %i: tensor<4xi64>, %j: tensor<5xi64>) {
  // CHECK: error[PTO138]: index_put at 4 and 5 indices
  %1 = pypto.index_put %x into %d at %i, %j
  func.return
}

// -----

func.func @index_put_shape(%x: tensor<4x9xi8>, %d: tensor<2x3x8xi8>, %i: tensor<4xi64>) {
  // CHECK: error[PTO138]: index_put of [4, 9] into [2, 3, 8]: wanted [4, 3, 8]
  %1 = pypto.index_put %x into %d at %i
  func.return
}

// -----

func.func @index_put_rank(%x: tensor<4xi8>, %d: tensor<2x3xi8>, %i: tensor<4xi64>) {
  // CHECK: error[PTO135]: {{.*}}%d
  %1 = pypto.index_put %x into %d at %i, %i, %i
  func.return
}

// -----

func.func @index_put_type(%x: tensor<4xi8>, %d: tensor<2x3xi8>, %i: tensor<4xi64>, %j: tensor<4xi8>) {
  // CHECK: error[PTO111]: {{.*}}i8
  %1 = pypto.index_put %x into %d at %i, %j
  func.return
}

// -----

func.func @argsort_type(%x: tensor<4xi1>) {
  // CHECK: error[PTO111]: argsort of i1 elements
  %1 = pypto.argsort %x axis 0
  func.return
}

// -----

func.func @gather_mask_pattern(%x: tensor<4xi1>) {
  // CHECK: error[PTO143]: pattern cannot be 'P0011'
  // CHECK: rule: pattern is one of P0101, P1010, P0001, P0010, P0100, P1000, P1111
  %1 = pypto.gather_mask %x pattern P0011
  func.return
}

// -----

func.func @gather_mask_rank(%x: tensor<i32>) {
  // CHECK: error[PTO135]: {{.*}}%x
  %1 = pypto.gather_mask %x pattern P0101
  func.return
}
