// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor --print-short | filecheck %s --check-prefix=SHORT
// RUN: pyptoc %s --compile-to=tensor --print-short | pyptoc - --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor --print-op-generic | pyptoc - --compile-to=tensor | filecheck %s

// Types are optional when read, and always printed: operands -> results.
// CHECK-LABEL: @optional
// SHORT-LABEL: @optional
func.func @optional(%x: tensor<?x64xf32>, %lr: f32) {
  // CHECK: %a = pypto.exp %x : tensor<?x64xf32> -> tensor<?x64xf32>
  // SHORT: %a = pypto.exp %x{{$}}
  %a = pypto.exp %x
  // CHECK: %b = pypto.exp %x : tensor<?x64xf32> -> tensor<?x64xf32>
  // SHORT: %b = pypto.exp %x{{$}}
  %b = pypto.exp %x : tensor<?x64xf32>
  // CHECK: %c = pypto.exp %x : tensor<?x64xf32> -> tensor<?x64xf32>
  // SHORT: %c = pypto.exp %x{{$}}
  %c = pypto.exp %x : tensor<?x64xf32> -> tensor<?x64xf32>
  // CHECK: %q, %s = pypto.quantize %x axis -1 to i8 : tensor<?x64xf32> -> (tensor<?x64xi8>, tensor<?x1xf32>)
  // SHORT: %q, %s = pypto.quantize %x axis -1 to i8{{$}}
  %q, %s = pypto.quantize %x axis -1 to i8 : tensor<?x64xi8>, tensor<?x1xf32>
  // CHECK: %m = pypto.mul %x, %lr : tensor<?x64xf32>, f32 -> tensor<?x64xf32>
  // SHORT: %m = pypto.mul %x, %lr{{$}}
  %m = pypto.mul %x, %lr
  // CHECK: %f = pypto.full 0.0[4] : tensor<4xf32>
  // SHORT: %f = pypto.full 0.0[4] : tensor<4xf32>
  %f = pypto.full 0.0[4] : tensor<4xf32>
  func.return
}

// A written type may be more or less static than the inferred one; it is kept.
// CHECK-LABEL: @refined
// SHORT-LABEL: @refined
func.func @refined(%x: tensor<?x64xf32>) {
  // CHECK: %a = pypto.exp %x : tensor<?x64xf32> -> tensor<16x64xf32>
  // SHORT: %a = pypto.exp %x : tensor<?x64xf32> -> tensor<16x64xf32>
  %a = pypto.exp %x : tensor<16x64xf32>
  // CHECK: %b = pypto.exp %x : tensor<?x64xf32> -> tensor<?x?xf32>
  // SHORT: %b = pypto.exp %x : tensor<?x64xf32> -> tensor<?x?xf32>
  %b = pypto.exp %x : tensor<?x?xf32>
  func.return
}

// Literals are rounded to the element type and printed as short as possible.
// CHECK-LABEL: @literals
func.func @literals(%x: tensor<4xf32>, %h: tensor<4xf16>, %i: tensor<4xi8>, %c: tensor<4xi1>) {
  // CHECK: pypto.mul %x, 0.1 :
  %0 = pypto.mul %x, 0.1
  // CHECK: pypto.mul %h, 0.0999756 :
  %1 = pypto.mul %h, 0.1
  // CHECK: pypto.sub 1.0, %x :
  %2 = pypto.sub 1, %x
  // CHECK: pypto.add %x, 1.0e-20 :
  %3 = pypto.add %x, 1.0e-20
  // CHECK: pypto.add %i, -128 :
  %4 = pypto.add %i, -128
  // CHECK: pypto.where %c, %x, -inf :
  %5 = pypto.where %c, %x, -inf
  // CHECK: pypto.where %c, %x, nan :
  %6 = pypto.where %c, %x, nan
  func.return
}
