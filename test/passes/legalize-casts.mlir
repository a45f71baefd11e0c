// RUN: pyptoc %s --pipeline=legalize-casts --split-input-file | filecheck %s
// RUN: pyptoc %s --pipeline=legalize-casts --split-input-file --machine=ascend910b | filecheck %s --check-prefixes=CHECK,B

// Rounding in i32 with the asked mode, then into the range; i8 is reached from f16.
// CHECK-LABEL: func.func @to_i8
// CHECK-NEXT:  [[I:%.*]] = pypto.cast %x to i32 mode rint {tag = "q"}
// CHECK-NEXT:  [[C:%.*]] = pypto.clip [[I]], -128, 127 {tag = "q"}
// CHECK-NEXT:  [[H:%.*]] = pypto.cast [[C]] to f16 {tag = "q"}
// CHECK-NEXT:  %q = pypto.cast [[H]] to i8 {tag = "q"}
func.func @to_i8(%x: tensor<?x64xf32>) -> tensor<?x64xi8> {
  %q = pypto.cast %x to i8 mode rint {tag = "q"}
  func.return %q : tensor<?x64xi8>
}

// -----
// Without saturation the low byte, with its sign.
// CHECK-LABEL: func.func @low_byte
// CHECK-NEXT:  [[I:%.*]] = pypto.cast %x to i32 {saturate = false}
// CHECK-NEXT:  [[A:%.*]] = pypto.add [[I]], 128
// CHECK-NEXT:  [[L:%.*]] = pypto.and [[A]], 255
// CHECK-NEXT:  [[S:%.*]] = pypto.sub [[L]], 128
// CHECK-NEXT:  [[H:%.*]] = pypto.cast [[S]] to f16
// CHECK-NEXT:  %q = pypto.cast [[H]] to i8
func.func @low_byte(%x: tensor<64xf32>) -> tensor<64xi8> {
  %q = pypto.cast %x to i8 {saturate = false}
  func.return %q : tensor<64xi8>
}

// -----
// Exact steps first; the step that rounds takes the mode.
// CHECK-LABEL: func.func @exact
// CHECK-NEXT:  [[I:%.*]] = pypto.cast %i to f16
// CHECK-NEXT:  pypto.cast [[I]] to f32
// CHECK-NEXT:  [[F:%.*]] = pypto.cast %h to f32
// CHECK-NEXT:  pypto.cast [[F]] to bf16 mode rint
// CHECK-NEXT:  pypto.cast %h to i8
func.func @exact(%i: tensor<64xi8>, %h: tensor<64xf16>)
    -> (tensor<64xf32>, tensor<64xbf16>, tensor<64xi8>) {
  %0 = pypto.cast %i to f32
  %1 = pypto.cast %h to bf16 mode rint
  %2 = pypto.cast %h to i8
  func.return %0, %1, %2 : tensor<64xf32>, tensor<64xbf16>, tensor<64xi8>
}

// -----
// i32 through f32 would round twice: what f32 cannot hold becomes one bit before it.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:  [[L:%.*]] = pypto.and %x, 511
// CHECK-NEXT:  [[O:%.*]] = pypto.minimum [[L]], 1
// CHECK-NEXT:  [[T:%.*]] = pypto.mul [[O]], 256
// CHECK-NEXT:  [[H:%.*]] = pypto.sub %x, [[L]]
// CHECK-NEXT:  [[R:%.*]] = pypto.add [[H]], [[T]]
// CHECK-NEXT:  [[A:%.*]] = pypto.ge %x, 16777216
// CHECK-NEXT:  [[B:%.*]] = pypto.le %x, -16777216
// CHECK-NEXT:  [[G:%.*]] = pypto.or [[A]], [[B]]
// CHECK-NEXT:  [[W:%.*]] = pypto.where [[G]], [[R]], %x
// CHECK-NEXT:  [[F:%.*]] = pypto.cast [[W]] to f32
// CHECK-NEXT:  pypto.cast [[F]] to bf16
func.func @twice(%x: tensor<64xi32>) -> tensor<64xbf16> {
  %q = pypto.cast %x to bf16
  func.return %q : tensor<64xbf16>
}

// -----
// Truth values select; a cast to the same type goes away.
// CHECK-LABEL: func.func @truth
// CHECK:       [[Z:%.*]] = pypto.full 0.0[{{.*}}, 8] : tensor<?x8xf32>
// CHECK-NEXT:  [[W:%.*]] = pypto.where %c, 1.0, [[Z]]
// CHECK-NEXT:  func.return [[W]], %x
func.func @truth(%c: tensor<?x8xi1>, %x: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>) {
  %0 = pypto.cast %c to f32
  %1 = pypto.cast %x to f32
  func.return %0, %1 : tensor<?x8xf32>, tensor<8xf32>
}

// -----
// B-LABEL: func.func @machine
// B-NEXT:  [[H:%.*]] = pypto.cast %x to f16
// B-NEXT:  pypto.cast [[H]] to i32
func.func @machine(%x: tensor<64xi8>) -> tensor<64xi32> {
  %0 = pypto.cast %x to i32
  func.return %0 : tensor<64xi32>
}
