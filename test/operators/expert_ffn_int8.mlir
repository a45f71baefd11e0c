// The feed-forward networks of a few experts in int8: quantise rows, gate and up projection, SwiGLU, quantise, down projection.
// h 7168, 2048 columns of gate and of up for each expert; the M rows of x are sorted by expert.
// Weights have a scale for each column, activations one for each row; products are exact in i32.
// A block of 64 rows of an expert at a time: what lies between its two products and its row scales stays on chip.
func.func @expert_ffn_int8(
    %x: tensor<?x7168xbf16> {pypto.dims = ["M"], pypto.data = #pypto.data<uniform -1.0 to 1.0>},
    %w_up: tensor<3x7168x4096xi8>,
    %w_up_scale: tensor<3x4096xf32> {pypto.data = #pypto.data<uniform 1.0e-3 to 2.0e-3>},
    %w_down: tensor<3x2048x7168xi8>,
    %w_down_scale: tensor<3x7168xf32> {pypto.data = #pypto.data<uniform 1.0e-3 to 2.0e-3>},
    %group_list: tensor<3xi64> {pypto.data = #pypto.data<partition "M">})
    -> (tensor<?x7168xbf16> {pypto.name = "out", pypto.tol = #pypto.tol<atol = 1.0e-4, rtol = 0.0078125, outliers = 0.005>}) {
  %m    = pypto.dim %x, 0
  %zero = pypto.index 0
  %none = pypto.empty[%m, 7168] : tensor<?x7168xbf16>
  %q, %q_scale = pypto.quantize %x axis -1 to i8 {tag = "quant_x"}
  %all, %out = pypto.for (%e = 0 to 3) iter(%begin = %zero, %o = %none) {tag = "expert"} {
    %rows = pypto.read %group_list[%e]
    %wu   = pypto.view %w_up[%e, :, :]
    %wus  = pypto.view %w_up_scale[%e, :]
    %wd   = pypto.view %w_down[%e, :, :]
    %wds  = pypto.view %w_down_scale[%e, :]
    %done = pypto.for (%t +: %n = 0 to %rows step 64) iter(%o1 = %o) {
      %first = pypto.index %begin + %t
      %a  = pypto.view %q[%first +: %n, :]
      %as = pypto.view %q_scale[%first +: %n, :]
      %up = pypto.matmul %a, %wu {tag = "gate_up"}
      %f  = pypto.dequantize %up scales %as, %wus to f32
      %s  = pypto.swiglu %f                                   // the first half is the gate
      %h, %hs = pypto.quantize %s axis -1 to i8
      %down = pypto.matmul %h, %wd {tag = "down"}
      %y  = pypto.dequantize %down scales %hs, %wds to bf16
      %o2 = pypto.assemble %y into %o1[%first, 0]
      pypto.yield %o2
    }
    %end = pypto.index %begin + %rows
    pypto.yield %end, %done
  }
  pypto.assert %all == %m, "group_list sums to {0}, but %x has {1} rows", %all, %m
  func.return %out : tensor<?x7168xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @expert_ffn_int8(
// CHECK: func.return %out
