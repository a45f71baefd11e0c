// RUN: pyptoc %s --pipeline=desugar,decompose --split-input-file | filecheck %s

// h is a batch, d is summed over. Tasks read through transposes.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT:  [[A:%.*]] = pypto.transpose %q perm [1, 0, 2]
// CHECK-NEXT:  [[P:%.*]] = pypto.matmul [[A]], %w to bf16 {npu.from = "einsum", tag = "t"}
// CHECK-NEXT:  %y = pypto.transpose [[P]] perm [1, 0, 2]
// CHECK-NEXT:  func.return %y
func.func @heads(%q: tensor<?x4x6xbf16>, %w: tensor<4x6x8xbf16>) -> tensor<?x4x8xbf16> {
  %y = pypto.einsum "thd,hdc->thc" %q, %w to bf16 {tag = "t"}
  func.return %y : tensor<?x4x8xbf16>
}

// -----
// The result wants n first: the sides change places.
// CHECK-LABEL: func.func @turned
// CHECK-NEXT:  [[A:%.*]] = pypto.transpose %a perm [1, 0]
// CHECK-NEXT:  %y = pypto.matmul %b, [[A]]
// CHECK-NEXT:  func.return %y
func.func @turned(%a: tensor<?x6xf32>, %b: tensor<8x6xf32>) -> tensor<8x?xf32> {
  %y = pypto.einsum "mk,nk->nm" %a, %b
  func.return %y : tensor<8x?xf32>
}

// -----
// Letters that follow each other become one dimension at no cost.
// CHECK-LABEL: func.func @joined
// CHECK-NEXT:  [[A:%.*]] = pypto.reshape %a[-1, 12]
// CHECK-NEXT:  [[B:%.*]] = pypto.reshape %b[12, 5]
// CHECK-NEXT:  [[P:%.*]] = pypto.matmul [[A]], [[B]]
// CHECK-NEXT:  %y = pypto.reshape [[P]][-1, 2, 5]
func.func @joined(%a: tensor<?x2x3x4xf32>, %b: tensor<3x4x5xf32>) -> tensor<?x2x5xf32> {
  %y = pypto.einsum "abkl,klc->abc" %a, %b
  func.return %y : tensor<?x2x5xf32>
}

// -----
// No row and no column: dimensions of 1 that go away again.
// CHECK-LABEL: func.func @dot
// CHECK-NEXT:  [[A:%.*]] = pypto.reshape %a[32, 1]
// CHECK-NEXT:  [[T:%.*]] = pypto.transpose [[A]] perm [1, 0]
// CHECK-NEXT:  [[B:%.*]] = pypto.reshape %b[32, 1]
// CHECK-NEXT:  [[P:%.*]] = pypto.matmul [[T]], [[B]]
// CHECK-NEXT:  %y = pypto.reshape [[P]][]
func.func @dot(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<f32> {
  %y = pypto.einsum "k,k->" %a, %b
  func.return %y : tensor<f32>
}

// -----
// Nothing is summed over and no letter of %a is free: its rows and columns are ones.
// CHECK-LABEL: func.func @scaled
// CHECK:       pypto.matmul {{%.*}}, {{%.*}} : tensor<1x1xf16>, tensor<1x?xf16>
func.func @scaled(%a: tensor<f16>, %b: tensor<?xf16>) -> tensor<?xf32> {
  %y = pypto.einsum ",a->a" %a, %b
  func.return %y : tensor<?xf32>
}
