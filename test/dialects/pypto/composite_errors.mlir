// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

func.func @odd(%y: tensor<?x7169xf32>) {
  // CHECK: :[[# @LINE + 4]]:21: error[PTO137]: swiglu halves the last axis of %y, 7169 is odd
  // CHECK: %y is tensor<?x7169xf32>
  // CHECK: rule: the first half is the SiLU side, the second the gate
  // CHECK: help: give both: pypto.swiglu %value, %gate
  %0 = pypto.swiglu %y
  func.return
}

// -----

// Value and gate have one shape: no broadcasting.
func.func @gate(%v: tensor<?x64xf32>, %g: tensor<?x1xf32>) {
  // CHECK: error[PTO136]: value is [?, 64], gate is [?, 1]
  %0 = pypto.swiglu %v, %g
  func.return
}

// -----

func.func @softmax_axis(%x: tensor<4x8xf32>) {
  // CHECK: error[PTO135]: axis 2 of a tensor of rank 2
  %0 = pypto.softmax %x axis 2
  func.return
}

// -----

func.func @softmax_type(%x: tensor<4x8xi32>) {
  // CHECK: error[PTO111]: softmax of i32 elements
  %0 = pypto.softmax %x axis -1
  func.return
}

// -----

func.func @state(%s: tensor<?x512xf32>, %m: tensor<?xf32>, %l: tensor<?x1xf32>) {
  // CHECK: error[PTO136]: %m is [?], the state of [?, 512] is [?, 1]
  // CHECK: rule: maximum and sum hold one number for each row of the scores
  %0, %1, %2, %3 = pypto.online_softmax %s state %m, %l
  func.return
}

// -----

func.func @state_type(%s: tensor<?x512xf32>, %m: tensor<?x1xbf16>, %l: tensor<?x1xf32>) {
  // CHECK: error[PTO111]: online_softmax of bf16 elements: %m is tensor<?x1xbf16>
  %0, %1, %2, %3 = pypto.online_softmax %s state %m, %l
  func.return
}

// -----

func.func @mask_rank(%s: tensor<512xf32>, %r: index) {
  // CHECK: error[PTO135]: mask_causal takes rank at least 2, %s has rank 1
  %0 = pypto.mask_causal %s offset %r
  func.return
}

// -----

func.func @mask_offset(%s: tensor<4x512xf32>, %r: f32) {
  // CHECK: error[PTO111]: the offset of mask_causal is f32
  %0 = pypto.mask_causal %s offset %r
  func.return
}

// -----

func.func @gamma(%x: tensor<?x512xbf16>, %g: tensor<256xbf16>) {
  // CHECK: error[PTO136]: %g is [256], the last axis of %x has 512
  // CHECK: rule: one weight for each element of the last axis: [D]
  %0 = pypto.rms_norm %x, %g eps 1.0e-5
  func.return
}

// -----

func.func @beta(%x: tensor<?x512xbf16>, %g: tensor<512xbf16>, %b: tensor<1x512xbf16>) {
  // CHECK: error[PTO136]: %b is [1, 512], the last axis of %x has 512
  %0 = pypto.layer_norm %x, %g, %b eps 1.0e-6
  func.return
}

// -----

func.func @norm_target(%x: tensor<?x512xbf16>, %g: tensor<512xbf16>) {
  // CHECK: error[PTO117]: rms_norm to i8
  %0 = pypto.rms_norm %x, %g eps 1.0e-5 to i8
  func.return
}

// -----

func.func @no_eps(%x: tensor<?x512xbf16>, %g: tensor<512xbf16>) {
  // CHECK: error[PTO142]: rms_norm needs 'eps ...'
  %0 = pypto.rms_norm %x, %g
  func.return
}

// -----

func.func @rope_odd(%x: tensor<?x63xbf16>, %c: tensor<?x63xbf16>) {
  // CHECK: error[PTO137]: rope rotates pairs: 63 of the 63 elements of the last axis
  %0 = pypto.rope %x, %c, %c
  func.return
}

// -----

func.func @rope_first(%x: tensor<?x64xbf16>, %c: tensor<?x128xbf16>) {
  // CHECK: error[PTO137]: rope rotates pairs: 128 of the 64 elements of the last axis
  // CHECK: rule: an even number of elements, at most the last axis
  %0 = pypto.rope %x, %c, %c first 128
  func.return
}

// -----

func.func @rope_table(%x: tensor<?x128x64xbf16>, %c: tensor<?x64xbf16>, %s: tensor<?x2x64xbf16>) {
  // CHECK: error[PTO113]: %s of [?, 2, 64] does not broadcast to [?, 128, 64]
  %0 = pypto.rope %x, %c, %s
  func.return
}

// -----

func.func @quantize_target(%x: tensor<?x512xf32>) {
  // CHECK: error[PTO117]: quantize to i32
  // CHECK: rule: the type after `to` is i8
  %0, %1 = pypto.quantize %x axis -1 to i32
  func.return
}

// -----

func.func @quantize_group(%x: tensor<?x500xf32>) {
  // CHECK: error[PTO137]: quantize in groups of 128: axis 1 has 500 elements
  // CHECK: rule: the axis is a whole number of groups
  %0, %1 = pypto.quantize %x axis -1 group 128 to i8
  func.return
}

// -----

func.func @quantize_scale(%x: tensor<?x512xf32>) {
  // CHECK: error[PTO143]: scale cannot be 'max'
  // CHECK: rule: scale is one of 127/amax, amax/127
  %0, %1 = pypto.quantize %x axis -1 to i8 {scale = "max"}
  func.return
}

// -----

func.func @dequantize_scale(%x: tensor<?x64xi32>, %s: tensor<32xf32>) {
  // CHECK: error[PTO113]: %s of [32] does not broadcast to [?, 64]
  %0 = pypto.dequantize %x scales %s to bf16
  func.return
}

// -----

func.func @dequantize_group(%x: tensor<?x64xi8>, %s: tensor<?x2xf32>) {
  // CHECK: error[PTO137]: dequantize in groups of 24: axis 1 has 64 elements
  // CHECK: rule: the axis is a whole number of groups
  %0 = pypto.dequantize %x scales %s axis -1 group 24 to bf16
  func.return
}

// -----

func.func @dequantize_groups(%x: tensor<?x64xi8>, %s: tensor<?x2xf32>) {
  // CHECK: error[PTO113]: %s of [?, 2] does not broadcast to [?, 4]
  %0 = pypto.dequantize %x scales %s axis -1 group 16 to bf16
  func.return
}

// -----

func.func @dequantize_axis(%x: tensor<?x64xi8>, %s: tensor<?x1xf32>) {
  // CHECK: error[PTO144]: dequantize with 'axis' needs 'group ...'
  %0 = pypto.dequantize %x scales %s axis -1 to bf16
  func.return
}

// -----

// Scales may repeat along the values, not the other way round.
func.func @dequantize_grow(%x: tensor<1x64xi32>, %s: tensor<8x64xf32>) {
  // CHECK: error[PTO113]: %s of [8, 64] does not broadcast to [1, 64]
  %0 = pypto.dequantize %x scales %s to bf16
  func.return
}

// -----

func.func @dequantize_type(%x: tensor<?x64xf32>, %s: tensor<64xf32>) {
  // CHECK: error[PTO111]: dequantize of f32 elements
  %0 = pypto.dequantize %x scales %s to bf16
  func.return
}

// -----

func.func @mx_axis(%x: tensor<4x64x32xf32>) {
  // CHECK: error[PTO135]: quant_mx along axis 0 of 3
  // CHECK: rule: the axis is the last or the one before: K of a matrix
  %0, %1 = pypto.quant_mx %x axis 0 to f8E4M3FN
  func.return
}

// -----

func.func @mx_target(%x: tensor<4x64xf32>) {
  // CHECK: error[PTO117]: quant_mx to i8
  // CHECK: rule: the type after `to` is f8E4M3FN or f8E5M2
  %0, %1 = pypto.quant_mx %x axis -1 to i8
  func.return
}

// -----

func.func @generic_mask(%s: tensor<4x4xf32>) {
  // CHECK: error[PTO142]: mask_causal needs 'offset ...'
  %0 = "pypto.mask_causal"(%s) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return
}

// -----

func.func @quantize_both(%x: tensor<?x64xf32>, %s: tensor<64xf32>) {
  // CHECK: error[PTO144]: quantize with both 'scale %s' and 'axis'
  // CHECK: rule: a scale is given (scale %s), or computed (axis, group) by one rule
  %0 = pypto.quantize %x axis -1 scale %s to i8
  func.return
}

// -----

func.func @quantize_two_rules(%x: tensor<?x64xf32>) {
  // CHECK: error[PTO144]: quantize with both 'asymmetric' and 'scale'
  %0, %1, %2 = pypto.quantize %x axis -1 to i8 {asymmetric, scale = "amax/127"}
  func.return
}

// -----

func.func @quantize_group_of_all(%x: tensor<?x64xf32>) {
  // CHECK: error[PTO144]: quantize with 'group' needs 'axis ...'
  %0, %1 = pypto.quantize %x group 8 to i8
  func.return
}

// -----

func.func @quantize_zero_only(%x: tensor<?x64xf32>, %z: tensor<64xi8>) {
  // CHECK: error[PTO144]: quantize with 'zero_point' needs 'scale ...'
  %0 = pypto.quantize %x zero_point %z to i8
  func.return
}

// -----

func.func @quantize_zero_type(%x: tensor<?x64xf32>, %s: tensor<64xf32>) {
  // CHECK: error[PTO111]: quantize of f32 elements
  // CHECK: rule: elements are an integer of at least 8 bits
  %0 = pypto.quantize %x scale %s zero_point %s to i8
  func.return
}

// -----

func.func @quantize_given_size(%x: tensor<?x64xf32>, %s: tensor<32xf32>) {
  // CHECK: error[PTO113]: %s of [32] does not broadcast to [?, 64]
  %0 = pypto.quantize %x scale %s to i8
  func.return
}

// -----

func.func @dequantize_zero(%x: tensor<?x64xi8>, %s: tensor<64xf32>, %z: tensor<32xi8>) {
  // CHECK: error[PTO113]: %z of [32] does not broadcast to [?, 64]
  %0 = pypto.dequantize %x scales %s zero_point %z to bf16
  func.return
}

// -----

func.func @results(%x: tensor<?x64xf32>) {
  // CHECK: error[PTO140]: quantize has 2 results, the clause gives 3 types
  %0, %1, %2 = pypto.quantize %x axis -1 to i8 : tensor<?x64xi8>, tensor<?x1xf32>, tensor<?x1xi32>
  func.return
}
