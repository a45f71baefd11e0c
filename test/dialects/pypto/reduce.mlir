// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// The axis is dropped, or stays with size 1; axes count from either end.
// CHECK-LABEL: @axes
func.func @axes(%x: tensor<?x8x64xf32>) {
  // CHECK: pypto.sum %x axis -1 : tensor<?x8x64xf32> -> tensor<?x8xf32>
  %0 = pypto.sum %x axis -1
  // CHECK: pypto.sum %x axis 2 {keepdim} : tensor<?x8x64xf32> -> tensor<?x8x1xf32>
  %1 = pypto.sum %x axis 2 {keepdim}
  // CHECK: pypto.sum %x axis 0 : tensor<?x8x64xf32> -> tensor<8x64xf32>
  %2 = pypto.sum %x axis 0
  // CHECK: pypto.sum %x axis -3 {keepdim, tag = "total"} : tensor<?x8x64xf32> -> tensor<1x8x64xf32>
  %3 = pypto.sum %x axis -3 {keepdim, tag = "total"}
  func.return
}

// Floats keep their type unless `to f32`; i8 sums need `to`.
// CHECK-LABEL: @types
func.func @types(%h: tensor<4x8xbf16>, %b: tensor<4x8xi8>, %n: tensor<4x8xi64>) {
  // CHECK: pypto.sum %h axis -1 : tensor<4x8xbf16> -> tensor<4xbf16>
  %0 = pypto.sum %h axis -1
  // CHECK: pypto.sum %h axis -1 to f32 : tensor<4x8xbf16> -> tensor<4xf32>
  %1 = pypto.sum %h axis -1 to f32
  // CHECK: pypto.sum %b axis -1 to i32 : tensor<4x8xi8> -> tensor<4xi32>
  %2 = pypto.sum %b axis -1 to i32
  // CHECK: pypto.sum %n axis -1 : tensor<4x8xi64> -> tensor<4xi64>
  %3 = pypto.sum %n axis -1
  // CHECK: pypto.amax %b axis -1 : tensor<4x8xi8> -> tensor<4xi8>
  %4 = pypto.amax %b axis -1
  // CHECK: pypto.argmax %h axis -1 : tensor<4x8xbf16> -> tensor<4xi32>
  %5 = pypto.argmax %h axis -1
  func.return
}

// CHECK-LABEL: @every
func.func @every(%x: tensor<?x64xf32>) {
  // CHECK: pypto.prod %x axis -1 : tensor<?x64xf32> -> tensor<?xf32>
  %0 = pypto.prod %x axis -1
  // CHECK: pypto.mean %x axis -1 : tensor<?x64xf32> -> tensor<?xf32>
  %1 = pypto.mean %x axis -1
  // CHECK: pypto.var %x axis -1 : tensor<?x64xf32> -> tensor<?xf32>
  %2 = pypto.var %x axis -1
  // CHECK: pypto.logsumexp %x axis -1 {keepdim} : tensor<?x64xf32> -> tensor<?x1xf32>
  %3 = pypto.logsumexp %x axis -1 {keepdim}
  // CHECK: pypto.amin %x axis 0 : tensor<?x64xf32> -> tensor<64xf32>
  %4 = pypto.amin %x axis 0
  // CHECK: pypto.argmin %x axis 0 : tensor<?x64xf32> -> tensor<64xi32>
  %5 = pypto.argmin %x axis 0
  // CHECK: pypto.cumsum %x axis 0 : tensor<?x64xf32> -> tensor<?x64xf32>
  %6 = pypto.cumsum %x axis 0
  func.return
}

// CHECK-LABEL: @bounds
func.func @bounds(%x: tensor<?x64xf32, #npu.max<16, 64>>) {
  // CHECK: pypto.sum %x axis -1 {keepdim} {{.*}} -> tensor<?x1xf32, #npu.max<16, 1>>
  %0 = pypto.sum %x axis -1 {keepdim}
  // CHECK: pypto.sum %x axis 0 {{.*}} -> tensor<64xf32>
  %1 = pypto.sum %x axis 0
  func.return
}
