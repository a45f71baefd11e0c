// RUN: pyptoc %s --pipeline=desugar,decompose --split-input-file | filecheck %s
// RUN: pyptoc %s --pipeline=desugar,decompose --split-input-file --remarks 2>&1 >%t.out | filecheck %s --check-prefix=REMARK

// A tile goes to every op that has the composite's shape; where the axis has moved last,
// its sizes have moved, too.
// CHECK-LABEL: func.func @moved
// CHECK:       pypto.amax {{%.*}} axis -1 {{.*}}tile = #pypto.vec<8, 64>
// CHECK:       pypto.sub {{.*}}tile = #pypto.vec<8, 64>
// CHECK:       pypto.div {{.*}}tile = #pypto.vec<8, 64>
// CHECK:       [[S:%.*]] = pypto.sum {{%.*}} axis -1 {{.*}}tile = #pypto.vec<16, 1, 128>
func.func @moved(%x: tensor<512x384xf32>, %z: tensor<128x16x2xf32>) -> (tensor<512x384xf32>, tensor<16x2xf32>) {
  %y = pypto.softmax %x axis 0 {tile = #pypto.vec<64, 8>}
  %s = pypto.sum %z axis 0 {tile = #pypto.vec<128, 16, 1>}
  func.return %y, %s : tensor<512x384xf32>, tensor<16x2xf32>
}

// -----
// Of groups no part has the shape of all: the tile is not used, and a remark says so.
// CHECK-LABEL: func.func @groups
// CHECK-NOT:   tile =
func.func @groups(%x: tensor<64x64xf32>) -> tensor<64x64xi8> {
  // REMARK: remark[PTO325]: the tile of quantize is not used: no part of it has its shape
  %q, %d = pypto.quantize %x axis -1 group 16 to i8 {tile = #pypto.vec<8, 64>}
  func.return %q : tensor<64x64xi8>
}
