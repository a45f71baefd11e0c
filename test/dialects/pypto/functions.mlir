// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// Inputs keep their names although the values are renamed: numeric suffixes are the
// printer's own.
// CHECK-LABEL: @names
// CHECK-SAME: (%scale: tensor<4xf32> {pypto.name = "scale_1"}, %scale_1: f32 {pypto.name = "scale"}, %0: f32 {pypto.name = "arg2"})
// CHECK-SAME: -> (f32 {pypto.name = "result0"}, tensor<4xf32> {pypto.name = "out"}, f32 {pypto.name = "result2"})
func.func @names(%scale_1: tensor<4xf32>, %scale: f32, %2: f32)
    -> (f32, tensor<4xf32> {pypto.name = "out"}, f32) {
  // CHECK: pypto.mul %scale, %scale_1 : tensor<4xf32>, f32 -> tensor<4xf32>
  %y = pypto.mul %scale_1, %scale
  func.return %scale, %y, %2 : f32, tensor<4xf32>, f32
}

// A result with the name of an argument is that argument, updated in place.
// CHECK-LABEL: @in_place
// CHECK-SAME: %p: tensor<?xf32> {pypto.name = "p", pypto.dims = ["n"]}
// CHECK-SAME: %lr: f32 {pypto.name = "lr", pypto.default = 1.000000e-03 : f32}
// CHECK-SAME: -> (tensor<?xf32> {pypto.name = "p"})
func.func @in_place(%p: tensor<?xf32> {pypto.dims = ["n"]}, %lr: f32 {pypto.default = 1.0e-3 : f32})
    -> (tensor<?xf32> {pypto.name = "p"}) {
  %q = pypto.mul %p, %lr
  func.return %q : tensor<?xf32>
}

// CHECK-LABEL: @declared
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
