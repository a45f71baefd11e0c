// RUN: pyptoc %s --pipeline='inline,desugar,partition' | filecheck %s

// A view of a tensor without elements, reshaped: rows of no elements split nothing.
// CHECK-LABEL: func.func @empty_view
// CHECK: pypto.reshape %{{.*}} : {{.*}} -> tensor<4x0x8x4xf32>
func.func @empty_view(%x: tensor<0x32xf32>) -> tensor<4x0x8x4xf32> {
  %v = pypto.view %x[:, 4 +: 4]
  %r = pypto.reshape %v[4, 0, 8, 4]
  func.return %r : tensor<4x0x8x4xf32>
}
