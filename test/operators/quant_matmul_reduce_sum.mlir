// Batched i8 matmul, scaled by row and column, summed over the batch, to bf16.
// Each product is exact in i32; it becomes f32 * (x1_scale * x2_scale) before it is added up.
// One task makes a block of the result: what it adds up stays on chip.
func.func @quant_matmul_reduce_sum(
    %x1: tensor<8x?x1024xi8> {pypto.dims = ["M"]},
    %x2: tensor<8x1024x2048xi8>,
    %x1_scale: tensor<8x?xf32> {pypto.dims = ["M"], pypto.data = #pypto.data<uniform 0.001 to 0.01>},
    %x2_scale: tensor<2048xf32> {pypto.data = #pypto.data<uniform 0.001 to 0.01>})
    -> (tensor<?x2048xbf16> {pypto.name = "out", pypto.tol = #pypto.tol<atol = 1.0e-3, rtol = 0.0078125>}) {
  %m   = pypto.dim %x1, 1
  %row = pypto.reshape %x1_scale[8, -1, 1]
  %out = pypto.empty[%m, 2048] : tensor<?x2048xbf16>
  %all = pypto.forall (%i +: %n = 0 to %m step 128, %j = 0 to 2048 step 128) outs(%o = %out) {tag = "block"} {
    %column = pypto.view %x2_scale[%j +: 128]
    %zero   = pypto.full 0.0[%n, 128] : tensor<?x128xf32>
    %sum = pypto.for (%b = 0 to 8) iter(%acc = %zero) {
      %a = pypto.view %x1[%b, %i +: %n, :]
      %w = pypto.view %x2[%b, :, %j +: 128]
      %y = pypto.matmul %a, %w                            // i32
      %r = pypto.view %row[%b, %i +: %n, :]
      %s = pypto.mul %r, %column
      %f = pypto.cast %y to f32
      %z = pypto.mul %f, %s
      %next = pypto.add %acc, %z
      pypto.yield %next
    }
    %h = pypto.cast %sum to bf16
    pypto.store %h into %o[%i, %j]
  }
  func.return %all : tensor<?x2048xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @quant_matmul_reduce_sum(
// CHECK: func.return %all
