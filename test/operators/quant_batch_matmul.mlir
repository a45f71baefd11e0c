// Batched FP8 matmul with a static output scale: the cube unit rounds to i8 while it stores.
// s = s1 * s2 in f32; the unit keeps 10 bits of its mantissa (`scale` clears the low 13).
func.func @quant_batch_matmul(
    %x1: tensor<16x?x512xf8E4M3FN> {pypto.dims = ["M"]},
    %x2: tensor<16x1024x512xf8E4M3FN>,
    %s1: tensor<1xf32> {pypto.data = #pypto.data<uniform 0.5 to 1.5>},
    %s2: tensor<1024xf32> {pypto.data = #pypto.data<uniform 0.5 to 1.5>})
    -> (tensor<16x?x1024xi8> {pypto.name = "out"}) {
  %s   = pypto.mul %s1, %s2
  %out = pypto.matmul %x1, %x2 scale %s to i8 {b_trans, tag = "qbmm"}   // ties to even, saturating
  func.return %out : tensor<16x?x1024xi8>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @quant_batch_matmul(
// CHECK: func.return %out
