// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// CHECK-LABEL: @softmax
func.func @softmax(%s: tensor<?x512xf32>, %m: tensor<?x1xf32>, %l: tensor<?x1xf32>, %r: index) {
  // CHECK: pypto.softmax %s axis -1 : tensor<?x512xf32> -> tensor<?x512xf32>
  %0 = pypto.softmax %s axis -1
  // CHECK: pypto.online_softmax %s state %m, %l : tensor<?x512xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x512xf32>, tensor<?x1xf32>)
  %1, %2, %3, %4 = pypto.online_softmax %s state %m, %l
  // CHECK: pypto.mask_causal %s offset %r : tensor<?x512xf32> -> tensor<?x512xf32>
  %5 = pypto.mask_causal %s offset %r
  // CHECK: pypto.mask_causal %s offset -3 : tensor<?x512xf32> -> tensor<?x512xf32>
  %50 = pypto.mask_causal %s offset -3
  func.return
}

// The state's static rows refine the scores' `?`, and the other way round.
// CHECK-LABEL: @state
func.func @state(%s: tensor<?x?xf32>, %m: tensor<128x1xf32>, %l: tensor<?x1xf32>) {
  // CHECK: pypto.online_softmax {{.*}} -> (tensor<128x1xf32>, tensor<128x1xf32>, tensor<128x?xf32>, tensor<128x1xf32>)
  %0, %1, %2, %3 = pypto.online_softmax %s state %m, %l
  func.return
}

// Norms give x's type unless `to`; weights may be of another float type.
// CHECK-LABEL: @norms
func.func @norms(%x: tensor<?x512xbf16>, %g: tensor<512xbf16>, %b: tensor<512xf32>) {
  // CHECK: pypto.rms_norm %x, %g eps 1.0e-5 : tensor<?x512xbf16>, tensor<512xbf16> -> tensor<?x512xbf16>
  %0 = pypto.rms_norm %x, %g eps 1.0e-5
  // CHECK: pypto.layer_norm %x, %g, %b eps 1.0e-6 to f32 : tensor<?x512xbf16>, tensor<512xbf16>, tensor<512xf32> -> tensor<?x512xf32>
  %1 = pypto.layer_norm %x, %g, %b eps 1.0e-6 to f32
  func.return
}

// CHECK-LABEL: @swiglu
func.func @swiglu(%y: tensor<?x7168xf32>, %v: tensor<?x64xbf16>, %g: tensor<8x64xbf16>,
                  %t: tensor<?x?xf32, #npu.max<16, 65>>) {
  // CHECK: pypto.swiglu %y : tensor<?x7168xf32> -> tensor<?x3584xf32>
  %0 = pypto.swiglu %y
  // CHECK: pypto.swiglu %v, %g : tensor<?x64xbf16>, tensor<8x64xbf16> -> tensor<8x64xbf16>
  %1 = pypto.swiglu %v, %g
  // CHECK: pypto.swiglu %t : {{.*}} -> tensor<?x?xf32, #npu.max<16, 32>>
  %2 = pypto.swiglu %t
  func.return
}

// CHECK-LABEL: @rope
func.func @rope(%x: tensor<?x128x64xbf16>, %cos: tensor<?x1x64xf32>, %sin: tensor<64xf32>,
                %w: tensor<?x128x128xbf16>) {
  // CHECK: pypto.rope %x, %cos, %sin {interleaved} : tensor<?x128x64xbf16>, tensor<?x1x64xf32>, tensor<64xf32> -> tensor<?x128x64xbf16>
  %0 = pypto.rope %x, %cos, %sin {interleaved}
  // CHECK: pypto.rope %w, %cos, %sin first 64 : {{.*}} -> tensor<?x128x128xbf16>
  %1 = pypto.rope %w, %cos, %sin first 64
  func.return
}

// CHECK-LABEL: @quantisation
func.func @quantisation(%x: tensor<?x512xbf16>, %i: tensor<?x64xi32>, %s1: tensor<?x1xf32>,
                        %s2: tensor<64xf32>) {
  // CHECK: pypto.quantize %x axis -1 to i8 : tensor<?x512xbf16> -> (tensor<?x512xi8>, tensor<?x1xf32>)
  %0, %1 = pypto.quantize %x axis -1 to i8
  // CHECK: pypto.quantize %x axis 0 to i8 {scale = "amax/127"} : tensor<?x512xbf16> -> (tensor<?x512xi8>, tensor<1x512xf32>)
  %2, %3 = pypto.quantize %x axis 0 to i8 {scale = "amax/127"}
  // CHECK: pypto.quantize %x axis -1 group 128 to i8 : tensor<?x512xbf16> -> (tensor<?x512xi8>, tensor<?x4xf32>)
  %4, %5 = pypto.quantize %x axis -1 group 128 to i8
  // CHECK: pypto.quantize %x axis -1 group 128 to i8 {asymmetric} : tensor<?x512xbf16> -> (tensor<?x512xi8>, tensor<?x4xf32>, tensor<?x4xi32>)
  %8, %9, %10 = pypto.quantize %x axis -1 group 128 to i8 {asymmetric}
  // CHECK: %q, %s, %z = pypto.quantize %x to i8 {asymmetric} : tensor<?x512xbf16> -> (tensor<?x512xi8>, tensor<1x1xf32>, tensor<1x1xi32>)
  %q, %s, %z = pypto.quantize %x to i8 {asymmetric}
  // CHECK: pypto.quantize %x scale %s zero_point %z to i8 : tensor<?x512xbf16>, tensor<1x1xf32>, tensor<1x1xi32> -> tensor<?x512xi8>
  %p = pypto.quantize %x scale %s zero_point %z to i8
  // CHECK: pypto.dequantize %q scales %s, %s zero_point %z to f16 : tensor<?x512xi8>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xi32> -> tensor<?x512xf16>
  %d = pypto.dequantize %q scales %s, %s zero_point %z to f16
  // CHECK: pypto.dequantize %6 scales %7 axis -1 group 128 zero_point %8 to f16 : tensor<?x512xi8>, tensor<?x4xf32>, tensor<?x4xi32> -> tensor<?x512xf16>
  %e = pypto.dequantize %8 scales %9 axis -1 group 128 zero_point %10 to f16
  // CHECK: pypto.dequantize %i scales %s1, %s2 to bf16 : tensor<?x64xi32>, tensor<?x1xf32>, tensor<64xf32> -> tensor<?x64xbf16>
  %6 = pypto.dequantize %i scales %s1, %s2 to bf16
  // CHECK: pypto.dequantize %i scales %s2 to f32 : tensor<?x64xi32>, tensor<64xf32> -> tensor<?x64xf32>
  %7 = pypto.dequantize %i scales %s2 to f32
  func.return
}

// Scales as scaled_mm reads them: the left side along axis -1, the right along -2.
// CHECK-LABEL: @mx
func.func @mx(%a: tensor<?x96xbf16>, %b: tensor<2x96x32xbf16>) {
  // CHECK: pypto.quant_mx %a axis -1 to f8E4M3FN : tensor<?x96xbf16> -> (tensor<?x96xf8E4M3FN>, tensor<?x2x2xf8E8M0FNU>)
  %0, %sa = pypto.quant_mx %a axis -1 to f8E4M3FN
  // CHECK: pypto.quant_mx %b axis -2 to f8E5M2 : tensor<2x96x32xbf16> -> (tensor<2x96x32xf8E5M2>, tensor<2x2x32x2xf8E8M0FNU>)
  %1, %sb = pypto.quant_mx %b axis -2 to f8E5M2
  func.return
}
