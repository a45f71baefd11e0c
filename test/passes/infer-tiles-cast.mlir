// RUN: pyptoc %s --machine=ascend910b | filecheck %s

// The store makes f32 of exact sums in i32: parts of K could not be added behind it.
func.func @f(%a: tensor<64x7168xi8>, %b: tensor<7168x256xi8>) -> tensor<64x256xf32> {
  %y = pypto.matmul %a, %b
  %f = pypto.cast %y to f32
  func.return %f : tensor<64x256xf32>
}
// CHECK: npu.kernel @{{.*}} split_k = 1>
// CHECK-NOT: npu.kernel
