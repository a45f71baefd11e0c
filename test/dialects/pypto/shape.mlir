// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// A bare index drops its dimension, `:` keeps it whole, `+:` takes a range.
// CHECK-LABEL: @view
func.func @view(%x: tensor<?x8x64xf32>, %i: index, %n: index) {
  // CHECK: pypto.view %x[%i, :, :] : tensor<?x8x64xf32> -> tensor<8x64xf32>
  %0 = pypto.view %x[%i, :, :]
  // CHECK: pypto.view %x[0, 7, 63] : tensor<?x8x64xf32> -> tensor<f32>
  %1 = pypto.view %x[0, 7, 63]
  // CHECK: pypto.view %x[%i +: %n, 2 +: 4, :] : tensor<?x8x64xf32> -> tensor<?x4x64xf32>
  %2 = pypto.view %x[%i +: %n, 2 +: 4, :]
  // CHECK: pypto.view %x[:, 8 +: 0, %i +: 16] : tensor<?x8x64xf32> -> tensor<?x0x16xf32>
  %3 = pypto.view %x[:, 8 +: 0, %i +: 16]
  func.return
}

// Bounds come from `max`, and inside task bodies from the source's bounds.
// CHECK-LABEL: @bounds
func.func @bounds(%x: tensor<64x512xf32>, %t: tensor<?x512xf32, #npu.max<16, 512>>, %n: index) {
  // CHECK: pypto.view %x[0 +: %n, :] : tensor<64x512xf32> -> tensor<?x512xf32>
  %0 = pypto.view %x[0 +: %n, :]
  // CHECK: pypto.view %x[0 +: %n, :] {max = [16, 512]} : tensor<64x512xf32> -> tensor<?x512xf32>
  %1 = pypto.view %x[0 +: %n, :] {max = [16, 512]}
  // CHECK: pypto.view %t[0 +: %n, 0 +: 8] : tensor<?x512xf32, #npu.max<16, 512>> -> tensor<?x8xf32, #npu.max<16, 8>>
  %2 = pypto.view %t[0 +: %n, 0 +: 8]
  // CHECK: pypto.transpose %t perm [1, 0] : tensor<?x512xf32, #npu.max<16, 512>> -> tensor<512x?xf32, #npu.max<512, 16>>
  %3 = pypto.transpose %t perm [1, 0]
  func.return
}

// CHECK-LABEL: @moves
func.func @moves(%x: tensor<?x512xf32>, %y: tensor<16x1xf32>, %a: index, %b: index) {
  // CHECK: pypto.reshape %x[-1, 4, 128] : tensor<?x512xf32> -> tensor<?x4x128xf32>
  %0 = pypto.reshape %x[-1, 4, 128]
  // CHECK: pypto.reshape %x[%a, %b] : tensor<?x512xf32> -> tensor<?x?xf32>
  %1 = pypto.reshape %x[%a, %b]
  // CHECK: pypto.reshape %y[-1] : tensor<16x1xf32> -> tensor<16xf32>
  %2 = pypto.reshape %y[-1]
  // CHECK: pypto.expand %y[-1, 8] : tensor<16x1xf32> -> tensor<16x8xf32>
  %3 = pypto.expand %y[-1, 8]
  // CHECK: pypto.expand %y[%a, 16, %b] : tensor<16x1xf32> -> tensor<?x16x?xf32>
  %4 = pypto.expand %y[%a, 16, %b]
  // CHECK: pypto.concat %x, %x, %x axis -1 : tensor<?x512xf32>, tensor<?x512xf32>, tensor<?x512xf32> -> tensor<?x1536xf32>
  %5 = pypto.concat %x, %x, %x axis -1
  // CHECK: pypto.clone %x : tensor<?x512xf32> -> tensor<?x512xf32>
  %6 = pypto.clone %x
  func.return
}

// The type of what is made from nothing must be written.
// CHECK-LABEL: @made
func.func @made(%m: index) {
  // CHECK: pypto.empty[%m, 4] : tensor<?x4xbf16>
  %0 = pypto.empty[%m, 4] : tensor<?x4xbf16>
  // CHECK: pypto.empty[%m, %m] {max = [4, 131072]} : tensor<?x?xf32>
  %1 = pypto.empty[%m, %m] {max = [4, 131072]} : tensor<?x?xf32>
  // CHECK: pypto.full 0.0[%m, 4] : tensor<?x4xf32>
  %2 = pypto.full 0.0[%m, 4] : tensor<?x4xf32>
  // CHECK: pypto.full %m[%m, 4] : index -> tensor<?x4xi8>
  %20 = pypto.full %m[%m, 4] : tensor<?x4xi8>
  // CHECK: pypto.full -inf[4] : tensor<4xbf16>
  %3 = pypto.full -inf[4] : tensor<4xbf16>
  // The literal is rounded to the element type, once.
  // CHECK: pypto.full 0.100098[4] : tensor<4xbf16>
  %4 = pypto.full 0.1[4] : tensor<4xbf16>
  // CHECK: pypto.full -1[] : tensor<i32>
  %5 = pypto.full -1[] : tensor<i32>
  // CHECK: pypto.full true[4] : tensor<4xi1>
  %6 = pypto.full true[4] : tensor<4xi1>
  // CHECK: pypto.arange[%m] : tensor<?xi32>
  %7 = pypto.arange[%m] : tensor<?xi32>
  // A `?` may be written for a size that is known, and the other way round.
  // CHECK: pypto.empty[4] : tensor<?xf32>
  %8 = pypto.empty[4] : tensor<?xf32>
  // CHECK: pypto.empty[%m] : tensor<4xf32>
  %9 = pypto.empty[%m] : tensor<4xf32>
  func.return
}

// The source's dimensions are the trailing ones of the destination.
// CHECK-LABEL: @assemble
func.func @assemble(%t: tensor<?x64xf32>, %d: tensor<4x?x512xf32>, %i: index) {
  // CHECK: pypto.assemble %t into %d[3, %i, 448] : tensor<?x64xf32>, tensor<4x?x512xf32> -> tensor<4x?x512xf32>
  %0 = pypto.assemble %t into %d[3, %i, 448]
  func.return
}

// The bytes of the last dimension stay: it grows or shrinks.
// CHECK-LABEL: @bytes
func.func @bytes(%x: tensor<?x656xi8>, %n: index, %t: tensor<?x512xf32, #npu.max<16, 512>>) {
  // CHECK: pypto.view %x[:, 512 +: 128] to bf16 : tensor<?x656xi8> -> tensor<?x64xbf16>
  %0 = pypto.view %x[:, 512 +: 128] to bf16
  // CHECK: pypto.view %x[0, %n +: %n] to f32 : tensor<?x656xi8> -> tensor<?xf32>
  %1 = pypto.view %x[0, %n +: %n] to f32
  // CHECK: pypto.view %0[%n +: 2, :] to f8E4M3FN : tensor<?x64xbf16> -> tensor<2x128xf8E4M3FN>
  %2 = pypto.view %0[%n +: 2, :] to f8E4M3FN
  // CHECK: pypto.reinterpret %x to f32 : tensor<?x656xi8> -> tensor<?x164xf32>
  %3 = pypto.reinterpret %x to f32
  // CHECK: pypto.reinterpret %3 to i32 : tensor<?x164xf32> -> tensor<?x164xi32>
  %4 = pypto.reinterpret %3 to i32
  // CHECK: pypto.view %t[:, 0 +: %n] to i16 : tensor<?x512xf32, #npu.max<16, 512>> -> tensor<?x?xi16, #npu.max<16, 1024>>
  %5 = pypto.view %t[:, 0 +: %n] to i16
  func.return
}
