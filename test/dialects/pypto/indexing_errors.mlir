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
