// RUN: pyptoc %s --pipeline=partition,infer-tiles --machine=ascend950 | filecheck %s

// The order of rows counts, so cores share columns: 7168 of them, 512 bytes a task at least.
func.func @wide(%x: tensor<?x7168xf32>, %y: tensor<100x7168xf32>, %i: tensor<?xi64>) -> tensor<100x7168xf32> {
  %z = pypto.index_add %x into %y at %i axis 0
  func.return %z : tensor<100x7168xf32>
}
// CHECK-LABEL: func.func @wide
// CHECK: pypto.index_add {{.*}}npu.tile = #pypto.vec<64, 128>

func.func @wider(%x: tensor<?x65536xf16>, %y: tensor<100x65536xf16>, %i: tensor<?xi64>) -> tensor<100x65536xf16> {
  %z = pypto.index_add %x into %y at %i axis 0
  func.return %z : tensor<100x65536xf16>
}
// CHECK-LABEL: func.func @wider
// CHECK: pypto.index_add {{.*}}npu.tile = #pypto.vec<32, 1024>

// A tile that is given counts, and rows of 512 bytes stay whole.
func.func @given(%x: tensor<?x7168xf32>, %y: tensor<100x7168xf32>, %i: tensor<?xi64>) -> tensor<100x7168xf32> {
  %z = pypto.index_add %x into %y at %i axis 0 {tile = #pypto.vec<8, 1024>}
  func.return %z : tensor<100x7168xf32>
}
// CHECK-LABEL: func.func @given
// CHECK: pypto.index_add {{.*}}npu.tile = #pypto.vec<8, 1024>

func.func @narrow(%x: tensor<?x512xi8>, %c: tensor<100x512xi8>, %i: tensor<?xi64>) -> tensor<100x512xi8> {
  %z = pypto.scatter_rows %x into %c at %i
  func.return %z : tensor<100x512xi8>
}
// CHECK-LABEL: func.func @narrow
// CHECK: pypto.scatter_rows {{.*}}npu.tile = #pypto.vec<64, 512>
