// RUN: pyptoc %s --pipeline=desugar,decompose --split-input-file | filecheck %s

// What is folded along another axis is turned first, so that what is computed needs no
// turning. A size of 1 goes where the axis was, or away.
// CHECK-LABEL: func.func @reductions
// CHECK-NEXT:  [[T:%.*]] = pypto.transpose %x perm [1, 2, 0] {npu.from = "amin", tag = "t"}
// CHECK-NEXT:  [[A:%.*]] = pypto.amin [[T]] axis -1 {keepdim, npu.from = "amin", tag = "t"}
// CHECK-NEXT:  pypto.reshape [[A]][8, 64]
// CHECK-NEXT:  [[U:%.*]] = pypto.transpose %x perm [0, 2, 1]
// CHECK-NEXT:  [[W:%.*]] = pypto.cast [[U]] to f32
// CHECK-NEXT:  [[S:%.*]] = pypto.sum [[W]] axis -1 {keepdim
// CHECK-NEXT:  [[N:%.*]] = pypto.cast [[S]] to bf16
// CHECK-NEXT:  pypto.reshape [[N]][-1, 1, 64]
func.func @reductions(%x: tensor<?x8x64xbf16>)
    -> (tensor<8x64xbf16>, tensor<?x1x64xbf16>) {
  %0 = pypto.amin %x axis 0 {tag = "t"}
  %1 = pypto.sum %x axis -2 {keepdim}
  func.return %0, %1 : tensor<8x64xbf16>, tensor<?x1x64xbf16>
}

// -----
// A composite is turned as a whole, there and back.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:  [[T:%.*]] = pypto.transpose %x perm [1, 0]
// CHECK-NEXT:  pypto.amax [[T]] axis -1
// CHECK:       [[Q:%.*]] = pypto.div {{.*}} {zero_if_zero
// CHECK-NEXT:  %p = pypto.transpose [[Q]] perm [1, 0]
// CHECK-NEXT:  func.return %p
func.func @softmax(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %p = pypto.softmax %x axis 0
  func.return %p : tensor<?x64xf32>
}

// -----
// A running sum of bf16 is one of f32 that rounds each sum. Integers wrap; that a sum
// did is found where the last step to it, from the sum before, overflows.
// CHECK-LABEL: func.func @cumsum
// CHECK-NEXT:  [[T:%.*]] = pypto.transpose %x perm [0, 2, 1]
// CHECK-NEXT:  [[W:%.*]] = pypto.cast [[T]] to f32
// CHECK-NEXT:  [[S:%.*]] = pypto.cumsum [[W]] axis -1
// CHECK-NEXT:  [[N:%.*]] = pypto.cast [[S]] to bf16
// CHECK-NEXT:  pypto.transpose [[N]] perm [0, 2, 1]
// CHECK-NEXT:  [[U:%.*]] = pypto.cumsum %y axis -1 {wraps
// CHECK-NEXT:  [[P:%.*]] = pypto.sub [[U]], %y
// CHECK-NEXT:  pypto.add [[P]], %y {checked
// CHECK-NEXT:  [[E:%.*]] = pypto.cast %z to i32
// CHECK-NEXT:  [[V:%.*]] = pypto.cumsum [[E]] axis -1 {wraps
// CHECK-NEXT:  [[M:%.*]] = pypto.cast [[V]] to i8 {saturate = false
// CHECK-NEXT:  [[Q:%.*]] = pypto.sub [[M]], %z
// CHECK-NEXT:  pypto.add [[Q]], %z {checked
func.func @cumsum(%x: tensor<?x8x64xbf16>, %y: tensor<4x8xi32>, %z: tensor<4x8xi8>)
    -> (tensor<?x8x64xbf16>, tensor<4x8xi32>, tensor<4x8xi8>) {
  %0 = pypto.cumsum %x axis 1
  %1 = pypto.cumsum %y axis 1
  %2 = pypto.cumsum %z axis 1
  func.return %0, %1, %2 : tensor<?x8x64xbf16>, tensor<4x8xi32>, tensor<4x8xi8>
}

// -----
// The least position of what equals the greatest element, or of a NaN.
// CHECK-LABEL: func.func @argmax
// CHECK-NEXT:  [[M:%.*]] = pypto.amax %x axis -1
// CHECK-NEXT:  [[E:%.*]] = pypto.eq %x, [[M]]
// CHECK-NEXT:  [[N:%.*]] = pypto.ne %x, %x
// CHECK-NEXT:  [[H:%.*]] = pypto.or [[E]], [[N]]
// CHECK-NEXT:  [[I:%.*]] = pypto.arange[64]
// CHECK-NEXT:  [[W:%.*]] = pypto.where [[H]], [[I]], 2147483647
// CHECK-NEXT:  [[A:%.*]] = pypto.amin [[W]] axis -1
// CHECK-NEXT:  pypto.reshape [[A]][-1]
func.func @argmax(%x: tensor<?x64xf32>) -> tensor<?xi32> {
  %0 = pypto.argmax %x axis -1
  func.return %0 : tensor<?xi32>
}

// -----
// Integers have no NaN; an axis of unknown size must have an element.
// CHECK-LABEL: func.func @argmin
// CHECK:       [[N:%.*]] = pypto.dim %x, 0
// CHECK-NEXT:  pypto.assert 1 <= [[N]], "argmin of no elements"
// CHECK-NOT:   pypto.ne
// CHECK:       pypto.arange[
func.func @argmin(%x: tensor<?x64xi8>) -> tensor<64xi32> {
  %0 = pypto.argmin %x axis 0
  func.return %0 : tensor<64xi32>
}

// -----
// CHECK-LABEL: func.func @topk
// CHECK-NEXT:  [[T:%.*]] = pypto.transpose %x perm [1, 0]
// CHECK-NEXT:  [[V:%.*]], [[I:%.*]] = pypto.topk [[T]] k 8 axis -1 lengths %n {pad_index = -1
// CHECK-NEXT:  %v = pypto.transpose [[V]] perm [1, 0]
// CHECK-NEXT:  %i = pypto.transpose [[I]] perm [1, 0]
func.func @topk(%x: tensor<?x64xf32>, %n: tensor<64xi32>)
    -> (tensor<8x64xf32>, tensor<8x64xi32>) {
  %v, %i = pypto.topk %x k 8 axis 0 lengths %n {pad_index = -1}
  func.return %v, %i : tensor<8x64xf32>, tensor<8x64xi32>
}

// CHECK-LABEL: func.func @argsort
// CHECK-NEXT:  [[T:%.*]] = pypto.transpose %x perm [1, 0]
// CHECK-NEXT:  [[I:%.*]] = pypto.argsort [[T]] axis -1 {descending, npu.from = "argsort"}
// CHECK-NEXT:  pypto.transpose [[I]] perm [1, 0]
func.func @argsort(%x: tensor<?x64xf32>) -> tensor<?x64xi32> {
  %i = pypto.argsort %x axis 0 {descending}
  func.return %i : tensor<?x64xi32>
}

// Every second element is a view; where none is left over, and of all it is no copy.
// CHECK-LABEL: func.func @even
// CHECK-NEXT:  [[P:%.*]] = pypto.reshape %x[3, 5, 2]
// CHECK-NEXT:  %y = pypto.view [[P]][:, :, 1]
// CHECK-NEXT:  %z = pypto.view %x[:, :]
func.func @even(%x: tensor<3x10xf32>) -> (tensor<3x5xf32>, tensor<3x10xf32>) {
  %y = pypto.gather_mask %x pattern P1010
  %z = pypto.gather_mask %x pattern P1111
  func.return %y, %z : tensor<3x5xf32>, tensor<3x10xf32>
}

// CHECK-LABEL: func.func @uneven
// CHECK-NEXT:  [[N:%.*]] = pypto.arange[3]
// CHECK-NEXT:  [[M:%.*]] = pypto.mul [[N]], 4
// CHECK-NEXT:  [[I:%.*]] = pypto.add [[M]], 1
// CHECK-NEXT:  %y = pypto.index_select %x at [[I]] axis -1
func.func @uneven(%x: tensor<3x10xf32>) -> tensor<3x3xf32> {
  %y = pypto.gather_mask %x pattern P0010
  func.return %y : tensor<3x3xf32>
}
