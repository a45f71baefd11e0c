// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// Every op of one operand keeps the type.
// CHECK-LABEL: @unary
func.func @unary(%x: tensor<?x64xf32>, %n: tensor<8xi32>, %c: tensor<8xi1>) {
  // CHECK: pypto.exp %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %0 = pypto.exp %x
  // CHECK: pypto.log %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %1 = pypto.log %x
  // CHECK: pypto.sqrt %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %2 = pypto.sqrt %x
  // CHECK: pypto.rsqrt %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %3 = pypto.rsqrt %x
  // CHECK: pypto.sigmoid %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %4 = pypto.sigmoid %x
  // CHECK: pypto.silu %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %5 = pypto.silu %x
  // CHECK: pypto.gelu %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %6 = pypto.gelu %x
  // CHECK: pypto.tanh %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %7 = pypto.tanh %x
  // CHECK: pypto.reciprocal %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %8 = pypto.reciprocal %x
  // CHECK: pypto.floor %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %9 = pypto.floor %x
  // CHECK: pypto.ceil %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %10 = pypto.ceil %x
  // CHECK: pypto.trunc %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %11 = pypto.trunc %x
  // CHECK: pypto.round %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %12 = pypto.round %x
  // CHECK: pypto.sin %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %13 = pypto.sin %x
  // CHECK: pypto.cos %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %14 = pypto.cos %x
  // CHECK: pypto.erf %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %15 = pypto.erf %x
  // CHECK: pypto.neg %n : tensor<8xi32> -> tensor<8xi32>
  %16 = pypto.neg %n
  // CHECK: pypto.abs %n : tensor<8xi32> -> tensor<8xi32>
  %17 = pypto.abs %n
  // CHECK: pypto.relu %n : tensor<8xi32> -> tensor<8xi32>
  %18 = pypto.relu %n
  // CHECK: pypto.logical_not %c : tensor<8xi1> -> tensor<8xi1>
  %19 = pypto.logical_not %c
  func.return
}

// Shapes broadcast from the right; a static size is kept where the other is `?`.
// CHECK-LABEL: @binary
func.func @binary(%x: tensor<?x64xf32>, %row: tensor<64xf32>, %col: tensor<8x1xf32>,
                  %n: tensor<8xi32>, %c: tensor<8xi1>) {
  // CHECK: pypto.add %x, %row : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
  %0 = pypto.add %x, %row
  // CHECK: pypto.sub %x, %col : tensor<?x64xf32>, tensor<8x1xf32> -> tensor<8x64xf32>
  %1 = pypto.sub %x, %col
  // CHECK: pypto.mul %col, %row : tensor<8x1xf32>, tensor<64xf32> -> tensor<8x64xf32>
  %2 = pypto.mul %col, %row
  // CHECK: pypto.div %x, %col {zero_if_zero} : tensor<?x64xf32>, tensor<8x1xf32> -> tensor<8x64xf32>
  %3 = pypto.div %x, %col {zero_if_zero}
  // CHECK: pypto.maximum %x, %x : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %4 = pypto.maximum %x, %x
  // CHECK: pypto.minimum %n, %n : tensor<8xi32>, tensor<8xi32> -> tensor<8xi32>
  %5 = pypto.minimum %n, %n
  // CHECK: pypto.pow %x, 2.0 : tensor<?x64xf32> -> tensor<?x64xf32>
  %6 = pypto.pow %x, 2.0
  // CHECK: pypto.rem %n, %n : tensor<8xi32>, tensor<8xi32> -> tensor<8xi32>
  %7 = pypto.rem %n, %n
  // CHECK: pypto.floordiv %n, 3 : tensor<8xi32> -> tensor<8xi32>
  %8 = pypto.floordiv %n, 3
  // CHECK: pypto.and %c, %c : tensor<8xi1>, tensor<8xi1> -> tensor<8xi1>
  %9 = pypto.and %c, %c
  // CHECK: pypto.or %n, 1 : tensor<8xi32> -> tensor<8xi32>
  %10 = pypto.or %n, 1
  // CHECK: pypto.xor %c, true : tensor<8xi1> -> tensor<8xi1>
  %11 = pypto.xor %c, true
  func.return
}

// A compare gives i1.
// CHECK-LABEL: @compare
func.func @compare(%x: tensor<?x64xf32>, %c: tensor<8xi1>) {
  // CHECK: pypto.eq %c, %c : tensor<8xi1>, tensor<8xi1> -> tensor<8xi1>
  %0 = pypto.eq %c, %c
  // CHECK: pypto.ne %x, %x : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xi1>
  %1 = pypto.ne %x, %x
  // CHECK: pypto.lt %x, 0.0 : tensor<?x64xf32> -> tensor<?x64xi1>
  %2 = pypto.lt %x, 0.0
  // CHECK: pypto.le 0.0, %x : tensor<?x64xf32> -> tensor<?x64xi1>
  %3 = pypto.le 0.0, %x
  // CHECK: pypto.gt %x, -inf : tensor<?x64xf32> -> tensor<?x64xi1>
  %4 = pypto.gt %x, -inf
  // CHECK: pypto.ge %x, inf : tensor<?x64xf32> -> tensor<?x64xi1>
  %5 = pypto.ge %x, inf
  func.return
}

// A literal is rounded once to the element type; an SSA scalar stands in its place.
// CHECK-LABEL: @scalars
func.func @scalars(%x: tensor<4xf32>, %h: tensor<4xbf16>, %n: tensor<4xi32>,
                   %s: f32, %i: index) {
  // CHECK: pypto.sub 1.0, %x : tensor<4xf32> -> tensor<4xf32>
  %0 = pypto.sub 1.0, %x
  // CHECK: pypto.mul %h, 0.100098 : tensor<4xbf16> -> tensor<4xbf16>
  %1 = pypto.mul %h, 0.1
  // CHECK: pypto.mul %x, %s : tensor<4xf32>, f32 -> tensor<4xf32>
  %2 = pypto.mul %x, %s
  // CHECK: pypto.mul %s, %h : f32, tensor<4xbf16> -> tensor<4xbf16>
  %3 = pypto.mul %s, %h
  // CHECK: pypto.lt %n, %i : tensor<4xi32>, index -> tensor<4xi1>
  %4 = pypto.lt %n, %i
  // CHECK: pypto.clip %x, -127.0, %s : tensor<4xf32>, f32 -> tensor<4xf32>
  %5 = pypto.clip %x, -127.0, %s
  // CHECK: pypto.clip %n, 0, 255 : tensor<4xi32> -> tensor<4xi32>
  %6 = pypto.clip %n, 0, 255
  func.return
}

// CHECK-LABEL: @bits
func.func @bits(%x: tensor<?x8xi8>, %y: tensor<8xi8>, %n: index) {
  // CHECK: pypto.bitwise_not %x : tensor<?x8xi8> -> tensor<?x8xi8>
  %0 = pypto.bitwise_not %x
  // CHECK: pypto.shift_left %x, 7 : tensor<?x8xi8> -> tensor<?x8xi8>
  %1 = pypto.shift_left %x, 7
  // CHECK: pypto.shift_right %x, %y : tensor<?x8xi8>, tensor<8xi8> -> tensor<?x8xi8>
  %2 = pypto.shift_right %x, %y
  // CHECK: pypto.shift_right -1, %y : tensor<8xi8> -> tensor<8xi8>
  %3 = pypto.shift_right -1, %y
  // CHECK: pypto.shift_left %y, %n : tensor<8xi8>, index -> tensor<8xi8>
  %4 = pypto.shift_left %y, %n
  // CHECK: pypto.add %x, %y {checked} : tensor<?x8xi8>, tensor<8xi8> -> tensor<?x8xi8>
  %5 = pypto.add %x, %y {checked}
  func.return
}

// CHECK-LABEL: @where_of_scalars
func.func @where_of_scalars(%c: tensor<?x8xi1>, %s: f32) {
  // CHECK: pypto.where %c, 1.0, -inf : tensor<?x8xi1> -> tensor<?x8xbf16>
  %0 = pypto.where %c, 1.0, -inf : tensor<?x8xbf16>
  // CHECK: pypto.where %c, %s, 0.0 : tensor<?x8xi1>, f32 -> tensor<?x8xf32>
  %1 = pypto.where %c, %s, 0.0 : tensor<?x8xf32>
  // CHECK: pypto.where %c, 1, -2 : tensor<?x8xi1> -> tensor<?x8xi8>
  %2 = pypto.where %c, 1, -2 : tensor<?x8xi8>
  func.return
}

// CHECK-LABEL: @where
func.func @where(%c: tensor<?x8x1xi1>, %x: tensor<?x8x32xf32>) {
  // CHECK: pypto.where %c, %x, -inf : tensor<?x8x1xi1>, tensor<?x8x32xf32> -> tensor<?x8x32xf32>
  %0 = pypto.where %c, %x, -inf
  // CHECK: pypto.where %c, 0.0, %x : tensor<?x8x1xi1>, tensor<?x8x32xf32> -> tensor<?x8x32xf32>
  %1 = pypto.where %c, 0.0, %x
  func.return
}

// CHECK-LABEL: @cast
func.func @cast(%x: tensor<?x4xf32>, %n: tensor<4xi8>, %c: tensor<4xi1>) {
  // CHECK: pypto.cast %x to bf16 : tensor<?x4xf32> -> tensor<?x4xbf16>
  %0 = pypto.cast %x to bf16
  // CHECK: pypto.cast %x to i32 mode rint : tensor<?x4xf32> -> tensor<?x4xi32>
  %1 = pypto.cast %x to i32 mode rint
  // CHECK: pypto.cast %x to f16 mode odd : tensor<?x4xf32> -> tensor<?x4xf16>
  %2 = pypto.cast %x to f16 mode odd
  // CHECK: pypto.cast %x to i8 {saturate = false} : tensor<?x4xf32> -> tensor<?x4xi8>
  %3 = pypto.cast %x to i8 {saturate = false}
  // CHECK: pypto.cast %x to f8E8M0FNU : tensor<?x4xf32> -> tensor<?x4xf8E8M0FNU>
  %4 = pypto.cast %x to f8E8M0FNU
  // CHECK: pypto.cast %n to f16 : tensor<4xi8> -> tensor<4xf16>
  %5 = pypto.cast %n to f16
  // CHECK: pypto.cast %c to f32 : tensor<4xi1> -> tensor<4xf32>
  %6 = pypto.cast %c to f32
  func.return
}

// A written result type may leave a size open, or state one that is checked at run time.
// CHECK-LABEL: @written
func.func @written(%x: tensor<?x4xf32>) {
  // CHECK: pypto.exp %x : tensor<?x4xf32> -> tensor<8x?xf32>
  %0 = pypto.exp %x : tensor<8x?xf32>
  // CHECK: pypto.add %x, 1.0 {tile = #pypto.vec<8, 4>, tag = "bias"} : tensor<?x4xf32> -> tensor<?x4xf32>
  %1 = pypto.add %x, 1.0 {tile = #pypto.vec<8, 4>, tag = "bias"}
  func.return
}

// In task bodies sizes carry bounds, which follow the sizes.
// CHECK-LABEL: @bounds
func.func @bounds(%x: tensor<?x64xf32, #npu.max<16, 64>>, %y: tensor<?x1xf32, #npu.max<9, 1>>,
                  %z: tensor<?x64xf32>) {
  // CHECK: pypto.exp {{.*}} -> tensor<?x64xf32, #npu.max<16, 64>>
  %0 = pypto.exp %x
  // CHECK: pypto.mul {{.*}} -> tensor<?x64xf32, #npu.max<9, 64>>
  %1 = pypto.mul %x, %y
  // CHECK: pypto.mul {{.*}} -> tensor<?x64xf32, #npu.max<16, 64>>
  %2 = pypto.mul %x, %z
  func.return
}
