// RUN: pyptoc %s --pipeline=desugar,decompose --split-input-file | filecheck %s

// The steps carry the composite's name, tag and, where they have its shape, its tile. A
// masked row divides by 0, which gives 0.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:  [[X:%.*]] = pypto.cast %x to f32 {npu.from = "softmax", tag = "p", tile = #pypto.vec<8, 64>}
// CHECK-NEXT:  [[M:%.*]] = pypto.amax [[X]] axis -1 {keepdim, npu.from = "softmax", tag = "p"
// CHECK-NEXT:  [[I:%.*]] = pypto.eq [[M]], -inf
// CHECK-NEXT:  [[B:%.*]] = pypto.where [[I]], 0.0, [[M]]
// CHECK-NEXT:  [[D:%.*]] = pypto.sub [[X]], [[B]] {{.*}}tile = #pypto.vec<8, 64>
// CHECK-NEXT:  [[E:%.*]] = pypto.exp [[D]]
// CHECK-NEXT:  [[S:%.*]] = pypto.sum [[E]] axis -1 {keepdim,
// CHECK-NEXT:  [[Q:%.*]] = pypto.div [[E]], [[S]] {zero_if_zero,
// CHECK-NEXT:  %p = pypto.cast [[Q]] to bf16
// CHECK-NEXT:  func.return %p
func.func @softmax(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %p = pypto.softmax %x axis -1 {tag = "p", tile = #pypto.vec<8, 64>}
  func.return %p : tensor<?x64xbf16>
}

// -----
// CHECK-LABEL: func.func @online_softmax
// CHECK-NEXT:  [[A:%.*]] = pypto.amax %s axis -1 {keepdim
// CHECK-NEXT:  %m2 = pypto.maximum %m, [[A]]
// CHECK-NEXT:  [[I:%.*]] = pypto.eq %m2, -inf
// CHECK-NEXT:  [[B:%.*]] = pypto.where [[I]], 0.0, %m2
// CHECK-NEXT:  [[D:%.*]] = pypto.sub %s, [[B]]
// CHECK-NEXT:  %p = pypto.exp [[D]]
// CHECK-NEXT:  [[C:%.*]] = pypto.sub %m, [[B]]
// CHECK-NEXT:  [[F:%.*]] = pypto.exp [[C]]
// CHECK-NEXT:  %a = pypto.where [[I]], 1.0, [[F]]
// CHECK-NEXT:  [[L:%.*]] = pypto.mul %l, %a
// CHECK-NEXT:  [[S:%.*]] = pypto.sum %p axis -1
// CHECK-NEXT:  %l2 = pypto.add [[L]], [[S]]
func.func @online_softmax(%s: tensor<?x64xf32>, %m: tensor<?x1xf32>, %l: tensor<?x1xf32>)
    -> (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x64xf32>, tensor<?x1xf32>) {
  %m2, %l2, %p, %a = pypto.online_softmax %s state %m, %l
  func.return %m2, %l2, %p, %a
    : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x64xf32>, tensor<?x1xf32>
}

// -----
// The scale 1/D comes before the sum; 1/sqrt is a division.
// CHECK-LABEL: func.func @rms_norm
// CHECK:       [[Q:%.*]] = pypto.mul [[X:%.*]], [[X]]
// CHECK-NEXT:  [[P:%.*]] = pypto.mul [[Q]], 0.015625
// CHECK-NEXT:  [[S:%.*]] = pypto.sum [[P]] axis -1 {keepdim
// CHECK-NEXT:  [[E:%.*]] = pypto.add [[S]], 1.0e-5
// CHECK-NEXT:  [[R:%.*]] = pypto.sqrt [[E]]
// CHECK-NEXT:  [[I:%.*]] = pypto.div 1.0, [[R]]
// CHECK-NEXT:  [[Y:%.*]] = pypto.mul [[X]], [[I]]
// CHECK-NEXT:  [[G:%.*]] = pypto.cast %g to f32
// CHECK-NEXT:  [[Z:%.*]] = pypto.mul [[Y]], [[G]]
// CHECK-NEXT:  %r = pypto.cast [[Z]] to bf16
func.func @rms_norm(%x: tensor<?x64xbf16>, %g: tensor<64xbf16>) -> tensor<?x64xbf16> {
  %r = pypto.rms_norm %x, %g eps 1.0e-5
  func.return %r : tensor<?x64xbf16>
}

// -----
// A size that only the run knows: 1/D is computed there.
// CHECK-LABEL: func.func @dynamic_norm
// CHECK:       [[N:%.*]] = pypto.dim %x, 1
// CHECK-NEXT:  [[I:%.*]] = pypto.scalar 1.0 / [[N]] {{.*}}: f32
// CHECK-NEXT:  pypto.mul %x, [[I]]
func.func @dynamic_norm(%x: tensor<4x?xf32>, %g: tensor<?xf32>, %b: tensor<?xf32>)
    -> tensor<4x?xf32> {
  %r = pypto.layer_norm %x, %g, %b eps 1.0e-6
  func.return %r : tensor<4x?xf32>
}

// -----
// One operand: value and gate are the halves of its last axis. -inf gives -0.0.
// CHECK-LABEL: func.func @swiglu
// CHECK-NEXT:  [[V:%.*]] = pypto.view %y[:, 0 +: 32]
// CHECK-NEXT:  [[G:%.*]] = pypto.view %y[:, 32 +: 32]
// CHECK-NEXT:  [[L:%.*]] = pypto.maximum [[V]], -3.4{{[0-9]+}}e38
// CHECK-NEXT:  [[N:%.*]] = pypto.neg [[V]]
// CHECK-NEXT:  [[E:%.*]] = pypto.exp [[N]]
// CHECK-NEXT:  [[D:%.*]] = pypto.add [[E]], 1.0
// CHECK-NEXT:  [[S:%.*]] = pypto.div 1.0, [[D]]
// CHECK-NEXT:  [[U:%.*]] = pypto.mul [[L]], [[S]]
// CHECK-NEXT:  %s = pypto.mul [[U]], [[G]]
func.func @swiglu(%y: tensor<?x64xf32>) -> tensor<?x32xf32> {
  %s = pypto.swiglu %y
  func.return %s : tensor<?x32xf32>
}

// -----
// The ratio is inf for rows of zeros and tiny rows: their values are 0, their scale 0.
// CHECK-LABEL: func.func @quantize
// CHECK-NEXT:  [[A:%.*]] = pypto.abs %x
// CHECK-NEXT:  [[M:%.*]] = pypto.amax [[A]] axis -1 {keepdim
// CHECK-NEXT:  [[R:%.*]] = pypto.div 127.0, [[M]]
// CHECK-NEXT:  %d = pypto.div 1.0, [[R]]
// CHECK-NEXT:  [[I:%.*]] = pypto.eq [[R]], inf
// CHECK-NEXT:  [[W:%.*]] = pypto.where [[I]], 0.0, [[R]]
// CHECK-NEXT:  [[Y:%.*]] = pypto.mul %x, [[W]]
// CHECK-NEXT:  %q = pypto.cast [[Y]] to i8 mode rint
func.func @quantize(%x: tensor<?x64xf32>) -> (tensor<?x64xi8>, tensor<?x1xf32>) {
  %q, %d = pypto.quantize %x axis -1 to i8
  func.return %q, %d : tensor<?x64xi8>, tensor<?x1xf32>
}

// -----
// CHECK-LABEL: func.func @quantize_groups
// CHECK-NEXT:  [[G:%.*]] = pypto.reshape %x[-1, 4, 16]
// CHECK:       pypto.amax {{%.*}} axis -1 {keepdim
// CHECK:       [[S:%.*]] = pypto.div [[M:%.*]], 127.0
// CHECK:       pypto.clip {{%.*}}, -127.0, 127.0
// CHECK:       %q = pypto.reshape {{%.*}}[-1, 64]
// CHECK:       %d = pypto.reshape [[S]][-1, 4]
func.func @quantize_groups(%x: tensor<?x64xf32>) -> (tensor<?x64xi8>, tensor<?x4xf32>) {
  %q, %d = pypto.quantize %x axis -1 group 16 to i8 {scale = "amax/127"}
  func.return %q, %d : tensor<?x64xi8>, tensor<?x4xf32>
}

// -----
// Scales multiply one after the other; one rounding at the end.
// CHECK-LABEL: func.func @dequantize
// CHECK-NEXT:  [[X:%.*]] = pypto.cast %x to f32
// CHECK-NEXT:  [[A:%.*]] = pypto.mul [[X]], %s
// CHECK-NEXT:  [[T:%.*]] = pypto.cast %t to f32
// CHECK-NEXT:  [[B:%.*]] = pypto.mul [[A]], [[T]]
// CHECK-NEXT:  %y = pypto.cast [[B]] to bf16
func.func @dequantize(%x: tensor<?x64xi32>, %s: tensor<?x1xf32>, %t: tensor<64xbf16>)
    -> tensor<?x64xbf16> {
  %y = pypto.dequantize %x scales %s, %t to bf16
  func.return %y : tensor<?x64xbf16>
}

// -----
// Reductions over the last axis keep it; narrow sums accumulate wide.
// CHECK-LABEL: func.func @reductions
// CHECK-NEXT:  [[W:%.*]] = pypto.cast %x to f32
// CHECK-NEXT:  [[S:%.*]] = pypto.sum [[W]] axis -1 {keepdim
// CHECK-NEXT:  [[N:%.*]] = pypto.cast [[S]] to bf16
// CHECK-NEXT:  pypto.reshape [[N]][-1, 8]
// CHECK-NEXT:  [[K:%.*]] = pypto.amax %x axis -1 {keepdim
// CHECK-NEXT:  pypto.reshape [[K]][-1, 8]
// CHECK-NEXT:  pypto.amax %x axis -1 {keepdim} :
func.func @reductions(%x: tensor<?x8x64xbf16>)
    -> (tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?x8x1xbf16>) {
  %0 = pypto.sum %x axis -1
  %1 = pypto.amax %x axis 2
  %2 = pypto.amax %x axis -1 {keepdim}
  func.return %0, %1, %2 : tensor<?x8xbf16>, tensor<?x8xbf16>, tensor<?x8x1xbf16>
}
