// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

func.func @contraction(%q: tensor<128x576xbf16>, %kn: tensor<?x512xbf16>) {
  // CHECK: :[[# @LINE + 2]]:21: error[PTO120]: matmul contracts 576 with 512
  // CHECK: A is [128, 576], B is [?, 512] read transposed: K is 576 on the left, 512 on the right
  %s = pypto.matmul %q, %kn {b_trans}
  func.return
}

// -----

func.func @other_way(%a: tensor<4x64xbf16>, %b: tensor<32x64xbf16>) {
  // CHECK: error[PTO120]: matmul contracts 64 with 32
  // CHECK: help: with {b_trans} B contracts 64
  %0 = pypto.matmul %a, %b
  func.return
}

// -----

func.func @mixed(%a: tensor<4x64xbf16>, %b: tensor<64x32xf32>) {
  // CHECK: error[PTO112]: operand types differ: bf16 and f32
  %0 = pypto.matmul %a, %b
  func.return
}

// -----

func.func @wide_integers(%a: tensor<4x64xi32>, %b: tensor<64x32xi32>) {
  // CHECK: error[PTO111]: matmul of i32 elements
  // CHECK: rule: elements are f8, bf16, f16, f32 or i8
  %0 = pypto.matmul %a, %b
  func.return
}

// -----

func.func @target(%a: tensor<4x64xbf16>, %b: tensor<64x32xbf16>) {
  // CHECK: error[PTO117]: matmul to i32
  // CHECK: rule: the type after `to` is f32 or bf16 or f16
  %0 = pypto.matmul %a, %b to i32
  func.return
}

// -----

func.func @rank(%a: tensor<64xbf16>, %b: tensor<64x32xbf16>) {
  // CHECK: error[PTO135]: matmul takes rank at least 2, %a has rank 1
  %0 = pypto.matmul %a, %b
  func.return
}

// -----

func.func @batch(%a: tensor<3x4x64xbf16>, %b: tensor<2x64x32xbf16>) {
  // CHECK: error[PTO121]: batch sizes 3 and 2 do not broadcast
  // CHECK: the batch of A is [3], of B [2]
  %0 = pypto.matmul %a, %b
  func.return
}

// -----

func.func @scale_shape(%a: tensor<16x448xf8E4M3FN>, %b: tensor<448x32xf8E4M3FN>,
                       %sa: tensor<16x14xf8E8M0FNU>, %sb: tensor<7x32x2xf8E8M0FNU>) {
  // CHECK: :[[# @LINE + 4]]:38: error[PTO122]: %sa is [16, 14], scaled_mm needs [16, 7, 2]
  // CHECK: rule: [M, ceil(K/64), 2], transposed [ceil(K/64), M, 2]: two scales side by side for each 64 elements of K
  // CHECK: here: M = 16, K = 448, ceil(448/64) = 7: [16, 7, 2]
  // CHECK: help: %sa_pairs = pypto.reshape %sa[16, 7, 2]
  %0 = pypto.scaled_mm %a, %b scales %sa, %sb
  func.return
}

// -----

func.func @scale_transposed(%a: tensor<16x448xf8E4M3FN>, %b: tensor<448x32xf8E4M3FN>,
                            %sa: tensor<16x7x2xf8E8M0FNU>, %sb: tensor<32x7x2xf8E8M0FNU>) {
  // CHECK: error[PTO122]: %sb is [32, 7, 2], scaled_mm needs [7, 32, 2]
  // CHECK: rule: [ceil(K/64), N, 2], transposed [N, ceil(K/64), 2]
  // CHECK: help: %sb is stored the other way round: add {scales_b_trans}
  %0 = pypto.scaled_mm %a, %b scales %sa, %sb
  func.return
}

// -----

func.func @scale_straight(%a: tensor<16x448xf8E4M3FN>, %b: tensor<448x32xf8E4M3FN>,
                          %sa: tensor<16x7x2xf8E8M0FNU>, %sb: tensor<7x32x2xf8E8M0FNU>) {
  // CHECK: error[PTO122]: %sa is [16, 7, 2], scaled_mm needs [7, 16, 2]
  // CHECK: help: %sa is stored the other way round: leave out {scales_a_trans}
  %0 = pypto.scaled_mm %a, %b scales %sa, %sb {scales_a_trans}
  func.return
}

// -----

func.func @scale_type(%a: tensor<16x64xf8E4M3FN>, %b: tensor<64x32xf8E4M3FN>,
                      %sa: tensor<16x1x2xf32>, %sb: tensor<1x32x2xf8E8M0FNU>) {
  // CHECK: error[PTO111]: scaled_mm of f32 elements: %sa is tensor<16x1x2xf32>
  // CHECK: rule: elements are f8E8M0FNU
  %0 = pypto.scaled_mm %a, %b scales %sa, %sb
  func.return
}

// -----

func.func @scaled_type(%a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>,
                       %sa: tensor<16x1x2xf8E8M0FNU>, %sb: tensor<1x32x2xf8E8M0FNU>) {
  // CHECK: error[PTO111]: scaled_mm of bf16 elements
  // CHECK: help: without scales: pypto.matmul
  %0 = pypto.scaled_mm %a, %b scales %sa, %sb
  func.return
}

// -----

func.func @experts(%a: tensor<?x16xbf16>, %b: tensor<2x16x8xbf16>, %g: tensor<3xi64>) {
  // CHECK: error[PTO123]: %g has 3 groups, %b has 2 experts
  %0 = pypto.grouped_matmul %a, %b groups %g
  func.return
}

// -----

func.func @groups_type(%a: tensor<?x16xbf16>, %b: tensor<2x16x8xbf16>, %g: tensor<2xf32>) {
  // CHECK: error[PTO111]: grouped_matmul of f32 elements: %g is tensor<2xf32>
  // CHECK: rule: elements are i32 or i64
  %0 = pypto.grouped_matmul %a, %b groups %g
  func.return
}

// -----

func.func @grouped_rank(%a: tensor<?x16xbf16>, %b: tensor<16x8xbf16>, %g: tensor<2xi64>) {
  // CHECK: error[PTO135]: grouped_matmul takes rank 3, %b has rank 2
  %0 = pypto.grouped_matmul %a, %b groups %g
  func.return
}

// -----

func.func @grouped_batch(%a: tensor<5x?x16xbf16>, %b: tensor<2x16x8xbf16>, %g: tensor<2xi64>) {
  // CHECK: error[PTO135]: grouped_matmul takes rank 2, %a has rank 3
  %0 = pypto.grouped_matmul %a, %b groups %g
  func.return
}

// -----

func.func @grouped_scale(%a: tensor<?x512xf8E4M3FN>, %b: tensor<2x512x32xf8E4M3FN>, %g: tensor<2xi64>,
                         %sa: tensor<?x8x2xf8E8M0FNU>, %sb: tensor<2x32x8x2xf8E8M0FNU>) {
  // CHECK: error[PTO122]: %sb is [2, 32, 8, 2], grouped_matmul needs [2, 8, 32, 2]
  // CHECK: rule: [.., ceil(K/64), N, 2], transposed [.., N, ceil(K/64), 2]
  // CHECK: here: N = 32, K = 512, ceil(512/64) = 8: [2, 8, 32, 2]
  // CHECK: help: %sb is stored the other way round: add {scales_b_trans}
  %0 = pypto.grouped_matmul %a, %b groups %g scales %sa, %sb
  func.return
}

// -----

func.func @grouped_scaled_type(%a: tensor<?x64xbf16>, %b: tensor<2x64x32xbf16>, %g: tensor<2xi64>,
                               %sa: tensor<?x1x2xf8E8M0FNU>, %sb: tensor<2x1x32x2xf8E8M0FNU>) {
  // CHECK: error[PTO111]: grouped_matmul of bf16 elements
  // CHECK: help: leave out the scales
  %0 = pypto.grouped_matmul %a, %b groups %g scales %sa, %sb
  func.return
}

// -----

func.func @group_kind(%a: tensor<?x16xbf16>, %b: tensor<2x16x8xbf16>, %g: tensor<2xi64>) {
  // CHECK: error[PTO143]: group_kind cannot be 'offsets'
  // CHECK: rule: group_kind is one of counts, ends
  %0 = pypto.grouped_matmul %a, %b groups %g {group_kind = "offsets"}
  func.return
}

// -----

func.func @equation(%a: tensor<4x8xbf16>, %b: tensor<8x4xbf16>) {
  // CHECK: error[PTO124]: "ij,jk" is not an equation of two operands
  %0 = pypto.einsum "ij,jk" %a, %b
  func.return
}

// -----

func.func @diagonal(%a: tensor<4x4xbf16>, %b: tensor<4x8xbf16>) {
  // CHECK: error[PTO124]: 'i' stands twice in 'ii'
  // CHECK: note: einsum takes no diagonals
  %0 = pypto.einsum "ii,ij->ij" %a, %b
  func.return
}

// -----

func.func @lone_letter(%a: tensor<4x8xbf16>, %b: tensor<8x4xbf16>) {
  // CHECK: error[PTO124]: 'i' stands in one term only
  // CHECK: rule: a letter is in both operands, or in one operand and the result
  %0 = pypto.einsum "ij,jk->k" %a, %b
  func.return
}

// -----

func.func @letters(%a: tensor<4x8xbf16>, %b: tensor<8x4xbf16>) {
  // CHECK: error[PTO124]: 'hij' names 3 dimensions, %a has 2
  %0 = pypto.einsum "hij,jk->hik" %a, %b
  func.return
}

// -----

func.func @letter_sizes(%a: tensor<4x8xbf16>, %b: tensor<7x4xbf16>) {
  // CHECK: error[PTO120]: 'j' is 8 in %a and 7 in %b
  %0 = pypto.einsum "ij,jk->ik" %a, %b
  func.return
}

// -----

func.func @accumulator(%c: tensor<16x32xbf16>, %a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>) {
  // CHECK: error[PTO112]: bf16 accumulates in f32, not bf16
  %0 = pypto.mma %c, %a, %b
  func.return
}

// -----

func.func @accumulator_shape(%c: tensor<16x16xf32>, %a: tensor<16x64xbf16>, %b: tensor<64x32xbf16>) {
  // CHECK: error[PTO120]: the accumulator is [16, 16], the product [16, 32]
  %0 = pypto.mma %c, %a, %b
  func.return
}

// -----

func.func @tile_scale(%c: tensor<16x32xf32>, %a: tensor<16x64xf8E4M3FN>, %b: tensor<64x32xf8E4M3FN>,
                      %sa: tensor<16x2xf8E8M0FNU>, %sb: tensor<32x2xf8E8M0FNU>) {
  // CHECK: error[PTO122]: %sb is [32, 2], mma needs [1, 64]
  // CHECK: rule: [ceil(k/64), 2*n], transposed [n, 2*ceil(k/64)]
  %0 = pypto.mma %c, %a, %b scales %sa, %sb
  func.return
}

// -----

func.func @scale_size(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>, %s: tensor<7xf32>) {
  // CHECK: error[PTO122]: 7 output scales for 8 columns
  // CHECK: rule: one scale for each column, or one for all
  %0 = pypto.matmul %a, %b scale %s to i8
  func.return
}

// -----

func.func @scale_type(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>, %s: tensor<8xf16>) {
  // CHECK: error[PTO111]: matmul of f16 elements: %s is tensor<8xf16>
  %0 = pypto.matmul %a, %b scale %s to i8
  func.return
}

// -----

func.func @scale_rank(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>, %s: tensor<1x8xf32>) {
  // CHECK: error[PTO{{[0-9]+}}]: {{.*}}%s
  %0 = pypto.matmul %a, %b scale %s to i8
  func.return
}

// -----

func.func @scaled_target(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>, %s: tensor<8xf32>) {
  // CHECK: error[PTO117]: matmul to i32
  %0 = pypto.matmul %a, %b scale %s to i32
  func.return
}

// -----

func.func @i8_needs_a_scale(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>) {
  // CHECK: error[PTO117]: matmul to i8
  %0 = pypto.matmul %a, %b to i8 {relu}
  func.return
}

// -----

func.func @bias_size(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>, %s: tensor<1xi32>) {
  // CHECK: error[PTO122]: a bias of 1 for 8 columns
  // CHECK: rule: one number for each column
  %0 = pypto.matmul %a, %b bias %s
  func.return
}

// -----

func.func @bias_type(%a: tensor<4x16xi8>, %b: tensor<16x8xi8>, %s: tensor<8xf32>, %t: tensor<8xf32>) {
  // CHECK: error[PTO111]: matmul of f32 elements: %s is tensor<8xf32>
  // CHECK: rule: elements are i32
  %0 = pypto.matmul %a, %b bias %s scale %t
  func.return
}
