// RUN: pyptoc %s --pipeline=desugar,decompose --split-input-file | filecheck %s
// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds,partition --split-input-file | filecheck %s --check-prefix=APART

// Groups become an axis, along which what is for a group is repeated.
// CHECK-LABEL: func.func @middle
// CHECK:       [[F:%.*]] = pypto.cast %x to f32
// CHECK-NEXT:  [[X:%.*]] = pypto.reshape [[F]][4, 2, 3, -1]
// CHECK:       [[Z:%.*]] = pypto.reshape {{%.*}}[2, 1, -1]
// CHECK-NEXT:  [[D:%.*]] = pypto.sub [[X]], [[Z]]
// CHECK-NEXT:  [[S:%.*]] = pypto.reshape %s[4, 2, 1, -1]
// CHECK-NEXT:  [[Y:%.*]] = pypto.mul [[D]], [[S]]
// CHECK-NEXT:  pypto.reshape [[Y]][4, 6, -1]
func.func @middle(%x: tensor<4x6x?xi8>, %s: tensor<4x2x?xf32>, %z: tensor<2x?xi8>) -> tensor<4x6x?xf32> {
  %y = pypto.dequantize %x scales %s axis 1 group 3 zero_point %z to f32
  func.return %y : tensor<4x6x?xf32>
}

// -----
// In a loop a task may multiply where a tile lies; this one's body is one group, which is
// cut further, and so the groups become rows.
// CHECK-LABEL: func.func @loop
// CHECK:       [[F:%.*]] = pypto.cast {{%.*}} to f32
// CHECK-NEXT:  [[Y:%.*]] = pypto.mul_groups [[F]], {{%.*}} group 16 first 0
// CHECK-NEXT:  pypto.cast [[Y]] to bf16
// APART-LABEL: func.func @loop
// APART:       [[X:%.*]] = pypto.reshape {{%.*}}[256, 16]
// APART-NEXT:  [[S:%.*]] = pypto.reshape {{%.*}}[256, 1]
// APART-NEXT:  [[Y:%.*]] = pypto.mul [[X]], [[S]]
// APART-NEXT:  pypto.reshape [[Y]][64, 64]
func.func @loop(%x: tensor<8x64x64xi8>, %s: tensor<8x64x4xf32>) -> tensor<8x64x64xbf16> {
  %e = pypto.empty[8, 64, 64] : tensor<8x64x64xbf16>
  %r = pypto.forall (%t = 0 to 8) outs(%o = %e) {
    %a = pypto.view %x[%t, :, :]
    %b = pypto.view %s[%t, :, :]
    %y = pypto.dequantize %a scales %b axis -1 group 16 to bf16
    pypto.store %y into %o[%t, 0, 0]
  }
  func.return %r : tensor<8x64x64xbf16>
}
