// RUN: pyptoc %s --pipeline= | filecheck %s
// CHECK: func.func @f
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  func.return %x : tensor<4x4xf32>
}
