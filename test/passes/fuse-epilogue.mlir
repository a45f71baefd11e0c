// RUN: pyptoc %s --pipeline=fuse-epilogue --split-input-file --remarks 2>%t.err | filecheck %s
// RUN: filecheck %s --check-prefix=REMARK < %t.err

// CHECK-LABEL: func.func @relu_then_cast
// CHECK-NEXT: %h = pypto.matmul %a, %b to bf16 {b_trans, relu, tag = "mm"}
// CHECK-NEXT: func.return %h
func.func @relu_then_cast(%a: tensor<?x64xbf16>, %b: tensor<96x64xbf16>) -> tensor<?x96xbf16> {
  %y = pypto.matmul %a, %b {b_trans, tag = "mm"}
  %r = pypto.relu %y
  %h = pypto.cast %r to bf16
  func.return %h : tensor<?x96xbf16>
}

// -----
// Rounding keeps the order of numbers, so relu may come behind it.
// CHECK-LABEL: func.func @cast_then_relu
// CHECK-NEXT: %r = pypto.matmul %a, %b to f16 {relu}
// CHECK-NEXT: %e = pypto.exp %r
func.func @cast_then_relu(%a: tensor<4x64xi8>, %b: tensor<64x96xi8>) -> tensor<4x96xf16> {
  %y = pypto.matmul %a, %b
  %h = pypto.cast %y to f16
  %r = pypto.relu %h
  %e = pypto.exp %r
  func.return %e : tensor<4x96xf16>
}

// -----
// CHECK-LABEL: func.func @scaled_to_i8
// CHECK-NEXT: %q = pypto.matmul %a, %b scale %s to i8
// CHECK-NEXT: func.return
func.func @scaled_to_i8(%a: tensor<4x64xi8>, %b: tensor<64x96xi8>, %s: tensor<96xf32>) -> tensor<4x96xi8> {
  %y = pypto.matmul %a, %b scale %s
  %q = pypto.cast %y to i8 mode rint
  func.return %q : tensor<4x96xi8>
}

// -----
// CHECK-LABEL: func.func @mx
// CHECK-NEXT: %h = pypto.scaled_mm %a, %b scales %sa, %sb to bf16
// CHECK-NEXT: %r = pypto.relu %h
// REMARK: remark[PTO333]: the store of the product does not do the relu: a scaled product stores what it sums up
func.func @mx(%a: tensor<4x64xf8E4M3FN>, %b: tensor<64x96xf8E4M3FN>, %sa: tensor<4x1x2xf8E8M0FNU>, %sb: tensor<1x96x2xf8E8M0FNU>) -> tensor<4x96xbf16> {
  %y = pypto.scaled_mm %a, %b scales %sa, %sb
  %h = pypto.cast %y to bf16
  %r = pypto.relu %h
  func.return %r : tensor<4x96xbf16>
}

// -----
// CHECK-LABEL: func.func @rounded_twice
// CHECK-NEXT: pypto.matmul %a, %b to f16
// CHECK-NEXT: pypto.cast %y to bf16
// REMARK: the store of the product does not do the cast: the product is rounded to f16 before
func.func @rounded_twice(%a: tensor<4x64xf16>, %b: tensor<64x96xf16>) -> tensor<4x96xbf16> {
  %y = pypto.matmul %a, %b to f16
  %h = pypto.cast %y to bf16
  func.return %h : tensor<4x96xbf16>
}

// -----
// CHECK-LABEL: func.func @other_modes
// CHECK-NEXT: pypto.matmul %a, %b :
// CHECK-NEXT: pypto.cast %y to f16 mode floor
// CHECK-NEXT: pypto.matmul %a, %b {relu}
// CHECK-NEXT: pypto.cast %r to i32 mode rint
// CHECK-NEXT: pypto.matmul %c, %d scale %s :
// CHECK-NEXT: pypto.cast %w to i8 :
// REMARK: the store of the product does not do the cast: a store rounds to nearest, not by mode floor
// REMARK: the store of the product does not do the cast: no store turns f32 into i32
// REMARK: the store of the product does not do the cast: a store to i8 rounds to nearest and saturates
func.func @other_modes(%a: tensor<4x64xf16>, %b: tensor<64x96xf16>, %c: tensor<4x64xi8>, %d: tensor<64x96xi8>, %s: tensor<1xf32>)
    -> (tensor<4x96xf16>, tensor<4x96xi32>, tensor<4x96xi8>) {
  %y = pypto.matmul %a, %b
  %h = pypto.cast %y to f16 mode floor
  %z = pypto.matmul %a, %b
  %r = pypto.relu %z
  %i = pypto.cast %r to i32 mode rint
  %w = pypto.matmul %c, %d scale %s
  %q = pypto.cast %w to i8
  func.return %h, %i, %q : tensor<4x96xf16>, tensor<4x96xi32>, tensor<4x96xi8>
}

// -----
// What two ops use, or what a tile splits over K, stays as it is.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: pypto.matmul %a, %b :
// CHECK-NEXT: pypto.relu %y
// CHECK-NEXT: pypto.exp %y
// CHECK-NEXT: pypto.matmul %a, %b {tile = {{.*}}split_k = 2>}
// CHECK-NEXT: pypto.relu %z
// REMARK: the store of the product does not do the relu: the tile asks for a split of K
#split = #pypto.cube<m = [16, 16], k = [32, 32], n = [96, 96], split_k = 2>
func.func @kept(%a: tensor<4x64xf16>, %b: tensor<64x96xf16>) -> (tensor<4x96xf32>, tensor<4x96xf32>, tensor<4x96xf32>) {
  %y = pypto.matmul %a, %b
  %r = pypto.relu %y
  %e = pypto.exp %y
  %z = pypto.matmul %a, %b {tile = #split}
  %rz = pypto.relu %z
  func.return %r, %e, %rz : tensor<4x96xf32>, tensor<4x96xf32>, tensor<4x96xf32>
}

// -----
// The sums start at the bias, whatever its leading ones.
// CHECK-LABEL: func.func @bias
// CHECK-NEXT: %h = pypto.matmul %a, %b bias %s to bf16 {relu}
// CHECK-NEXT: %[[ROW:.*]] = pypto.reshape %t[-1]
// CHECK-NEXT: %z = pypto.matmul %c, %d bias %[[ROW]] :
func.func @bias(%a: tensor<?x64xbf16>, %b: tensor<64x96xbf16>, %s: tensor<96xf32>,
                %c: tensor<2x?x64xi8>, %d: tensor<2x64x?xi8>, %t: tensor<1x1x?xi32>) -> (tensor<?x96xbf16>, tensor<2x?x?xi32>) {
  %y = pypto.matmul %a, %b
  %p = pypto.add %s, %y
  %r = pypto.relu %p
  %h = pypto.cast %r to bf16
  %x = pypto.matmul %c, %d
  %z = pypto.add %x, %t
  func.return %h, %z : tensor<?x96xbf16>, tensor<2x?x?xi32>
}

// -----
// CHECK-LABEL: func.func @no_bias
// CHECK-COUNT-5: pypto.add
// REMARK-COUNT-2: the store of the product does not do the add: it adds no tensor
// REMARK: the store of the product does not do the add: a bias is one number for each column
// REMARK: the store of the product does not do the add: a bias is one number for each column
// REMARK: the store of the product does not do the add: it comes behind what the store does
func.func @no_bias(%a: tensor<4x64xf16>, %b: tensor<64x96xf16>, %c: tensor<4x96xf32>, %d: tensor<4x1xf32>, %s: tensor<96xf32>, %n: f32)
    -> (tensor<4x96xf32>, tensor<4x96xf32>, tensor<4x96xf32>, tensor<4x96xf32>, tensor<4x96xf32>) {
  %x = pypto.matmul %a, %b
  %0 = pypto.add %x, 1.0
  %v = pypto.matmul %a, %b
  %4 = pypto.add %v, %n
  %y = pypto.matmul %a, %b
  %1 = pypto.add %y, %c
  %z = pypto.matmul %a, %b
  %2 = pypto.add %d, %z
  %w = pypto.matmul %a, %b {relu}
  %3 = pypto.add %w, %s
  func.return %0, %1, %2, %3, %4 : tensor<4x96xf32>, tensor<4x96xf32>, tensor<4x96xf32>, tensor<4x96xf32>, tensor<4x96xf32>
}
