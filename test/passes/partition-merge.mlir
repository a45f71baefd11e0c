// RUN: pyptoc %s --pipeline=decompose,partition | filecheck %s

// Four rows of each of n matrices: a task of one matrix would have no more. All values lie
// side by side, so the group works on one matrix of 4 n rows.
func.func @merged(%x: tensor<?x512xi8> {pypto.dims = ["n"]}, %s: tensor<?x4xf32> {pypto.dims = ["n"]}) -> tensor<?x512xbf16> {
  %x4 = pypto.reshape %x[-1, 4, 128]
  %s4 = pypto.reshape %s[-1, 4, 1]
  %d = pypto.dequantize %x4 scales %s4 to bf16
  %y = pypto.reshape %d[-1, 512]
  func.return %y : tensor<?x512xbf16>
}
// CHECK-LABEL: func.func @merged
// CHECK: %[[X:.*]] = pypto.reshape %x4[%{{.*}}, 128] : tensor<?x4x128xi8> -> tensor<?x128xi8>
// CHECK: %[[S:.*]] = pypto.reshape %s4[%{{.*}}, 1] : tensor<?x4x1xf32> -> tensor<?x1xf32>
// CHECK: pypto.cast %[[X]] to f32 {{.*}}npu.group = 0{{.*}} -> tensor<?x128xf32>
// CHECK: pypto.mul %{{.*}}, %[[S]] {{.*}}npu.group = 0
// CHECK: %[[D:.*]] = pypto.cast {{.*}} to bf16
// CHECK: pypto.reshape %[[D]][%{{.*}}, 4, 128] : tensor<?x128xbf16> -> tensor<?x4x128xbf16>

// Rows are folded as before; what is one row, and no matrix, stays.
func.func @folded(%x: tensor<6x4x128xf32>, %g: tensor<128xf32>) -> (tensor<6x4x128xf32>, tensor<6x4x1xf32>) {
  %m = pypto.amax %x axis 2 {keepdim}
  %d = pypto.sub %x, %m
  %y = pypto.mul %d, %g
  func.return %y, %m : tensor<6x4x128xf32>, tensor<6x4x1xf32>
}
// CHECK-LABEL: func.func @folded
// CHECK: pypto.amax %{{.*}} axis 1 {keepdim{{.*}} : tensor<24x128xf32> -> tensor<24x1xf32>
// CHECK: pypto.mul %{{.*}}, %g {{.*}} : tensor<24x128xf32>, tensor<128xf32> -> tensor<24x128xf32>
// CHECK: pypto.reshape %m[6, 4, 1]
// CHECK: pypto.reshape %y[6, 4, 128]

// %c is the same for the four rows of a matrix.
func.func @broadcast(%x: tensor<?x4x64xf32> {pypto.dims = ["n"]}, %c: tensor<?x1x64xf32> {pypto.dims = ["n"]}) -> tensor<?x4x64xf32> {
  %y = pypto.mul %x, %c
  func.return %y : tensor<?x4x64xf32>
}
// CHECK-LABEL: func.func @broadcast
// CHECK-NOT: pypto.reshape

// The rows of a part do not lie side by side.
func.func @part(%x: tensor<?x4x128xf32>) -> tensor<?x4x64xf32> {
  %v = pypto.view %x[:, :, 64 +: 64]
  %y = pypto.exp %v
  func.return %y : tensor<?x4x64xf32>
}
// CHECK-LABEL: func.func @part
// CHECK-NOT: pypto.reshape

// A matrix of 64 rows is a tile by itself.
func.func @tall(%x: tensor<?x64x128xf32>) -> tensor<?x64x128xf32> {
  %y = pypto.exp %x
  func.return %y : tensor<?x64x128xf32>
}
// CHECK-LABEL: func.func @tall
// CHECK-NOT: pypto.reshape

// A tile that the author gave speaks of three dimensions.
func.func @given(%x: tensor<?x4x128xf32>) -> tensor<?x4x128xf32> {
  %y = pypto.exp %x {tile = #pypto.vec<2, 4, 128>}
  func.return %y : tensor<?x4x128xf32>
}
// CHECK-LABEL: func.func @given
// CHECK-NOT: pypto.reshape
