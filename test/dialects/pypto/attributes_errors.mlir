// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

// Tiles, tolerances and rules for data.

func.func @cube_sizes(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:61: error[PTO100]: m of a cube tile is [mL0, mL1]
  %y = pypto.matmul %a, %a {b_trans, tile = #pypto.cube<m = [16], k = [16, 16], n = [16, 16]>}
  func.return
}

// -----

func.func @cube_missing(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:56: error[PTO100]: a cube tile needs n = [..]
  %y = pypto.matmul %a, %a {b_trans, tile = #pypto.cube<m = [16, 16], k = [16, 16]>}
  func.return
}

// -----

func.func @cube_key(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:71: error[PTO100]: there is no entry 'l' here, only m, k, n, split_k, walk, assign
  %y = pypto.matmul %a, %a {b_trans, tile = #pypto.cube<m = [16, 16], l = [16, 16]>}
  func.return
}

// -----

func.func @cube_twice(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:71: error[PTO100]: m is given twice
  %y = pypto.matmul %a, %a {b_trans, tile = #pypto.cube<m = [16, 16], m = [16, 16]>}
  func.return
}

// -----

func.func @walk(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:106: error[PTO100]: a walk is one of row, column, snake, blocked, not 'diagonal'
  %y = pypto.matmul %a, %a {b_trans, tile = #pypto.cube<m = [16, 16], k = [16, 16], n = [16, 16], walk = diagonal>}
  func.return
}

// -----

func.func @walk_blocks(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:106: error[PTO100]: blocked<rows, columns> has two sizes of at least 1
  %y = pypto.matmul %a, %a {b_trans, tile = #pypto.cube<m = [16, 16], k = [16, 16], n = [16, 16], walk = blocked<6>>}
  func.return
}

// -----

func.func @assign(%a: tensor<16x8xf32>) {
  // CHECK: error[PTO100]: there is no assignment 'round' here, only static, dynamic
  %y = pypto.matmul %a, %a {b_trans, tile = #pypto.cube<m = [16, 16], k = [16, 16], n = [16, 16], assign = round>}
  func.return
}

// -----

func.func @vec_size(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 1]]:40: error[PTO100]: a positive size is expected here
  %y = pypto.exp %a {tile = #pypto.vec<0>}
  func.return
}

// -----

func.func @unknown(%a: tensor<16x8xf32>) {
  // CHECK: :[[# @LINE + 2]]:30: error[PTO100]: there is no pypto.vek
  // CHECK: help: did you mean #pypto.vec?
  %y = pypto.exp %a {tile = #pypto.vek<8>}
  func.return
}

// -----

// CHECK: :[[# @LINE + 1]]:66: error[PTO100]: a #pypto.cube<..> is expected here
func.func @tiles() attributes {pypto.tiles = #pypto.tiles<cube = 3>} {
  func.return
}

// -----

// CHECK: :[[# @LINE + 1]]:70: error[PTO100]: atol is not negative
func.func @tolerance(%x: f32) -> (f32 {pypto.tol = #pypto.tol<atol = -1.0>}) {
  func.return %x : f32
}

// -----

// CHECK: :[[# @LINE + 1]]:66: error[PTO100]: there is no kind of data 'unifrom' here, only uniform, integer, distinct, partition, causal_topk; did you mean uniform?
func.func @data_kind(%x: tensor<4xf32> {pypto.data = #pypto.data<unifrom 0 to 1>}) {
  func.return
}

// -----

// CHECK: :[[# @LINE + 1]]:76: error[PTO100]: 'to' is expected here
func.func @data_range(%x: tensor<4xf32> {pypto.data = #pypto.data<uniform 0, 1>}) {
  func.return
}

// -----

func.func @kind_of_tile(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>) {
  // CHECK: :[[# @LINE + 2]]:29: error[PTO143]: tile of matmul cannot be #pypto.vec<16, 32>
  // CHECK: rule: tile of matmul is #pypto.cube<..>
  %0 = pypto.matmul %a, %b {tile = #pypto.vec<16, 32>}
  // CHECK: error[PTO143]: tile of matmul cannot be [16 : i64, 32 : i64]
  %1 = pypto.matmul %a, %b {tile = [16, 32]}
  // CHECK: error[PTO143]: tile of exp cannot be #pypto.cube<
  // CHECK: rule: tile of exp is #pypto.vec<..>
  %2 = pypto.exp %a {tile = #pypto.cube<m = [16, 16], k = [16, 16], n = [16, 16]>}
  // CHECK: error[PTO143]: pypto.tiles of exp cannot be [4 : i64]
  %3 = pypto.exp %a {pypto.tiles = [4]}
  func.return
}
