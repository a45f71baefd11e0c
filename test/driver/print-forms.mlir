// One program in its forms; each can be read back.
// RUN: pyptoc %s --pipeline= | filecheck %s --check-prefix=FULL
// RUN: pyptoc %s --pipeline= --print-short | filecheck %s --check-prefix=SHORT
// RUN: pyptoc %s --pipeline= --print-short | pyptoc - --pipeline= | filecheck %s --check-prefix=FULL
// RUN: pyptoc %s --pipeline= --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s --check-prefix=FULL
// RUN: pyptoc %s --pipeline= --print-debuginfo | filecheck %s --check-prefix=PLACES
// RUN: pyptoc - --pipeline= -o %t.mlir < %s
// RUN: filecheck %s --input-file=%t.mlir --check-prefix=FULL

// FULL: %[[Y:.*]] = pypto.mul %x, 2.0 : tensor<4xf32> -> tensor<4xf32>
// SHORT: = pypto.mul %x, 2.0{{$}}
// GENERIC: "pypto.mul"(%x)
// PLACES: pypto.mul {{.*}} loc("{{.*}}print-forms.mlir":[[# @LINE + 3]]:8)

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = pypto.mul %x, 2.0
  func.return %y : tensor<4xf32>
}
