// Constants with many elements are printed without them on request.
// RUN: pyptoc %s --pipeline= --elide-elements-larger-than=3 | filecheck %s --check-prefix=SOME
// RUN: pyptoc %s --pipeline= --mlir-elide-elementsattrs-if-larger=3 --print-op-generic | filecheck %s --check-prefix=SOME
// RUN: pyptoc %s --pipeline= --elide-elements-larger-than=4 | filecheck %s --check-prefix=ALL
// RUN: pyptoc %s --pipeline= | filecheck %s --check-prefix=ALL
// RUN: not pyptoc %s --pipeline= --elide-elements-larger-than=few 2>&1 | filecheck %s --check-prefix=WRONG

// A splat is short as it is.
// SOME: dense<[1, 2, 3]> : tensor<3xi32>
// SOME: dense_resource<__elided__> : tensor<4xi32>
// SOME: dense<7> : tensor<4xi32>
// ALL: dense<[1, 2, 3, 4]> : tensor<4xi32>
// WRONG: 'few' is not a count

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %b = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %c = arith.constant dense<7> : tensor<4xi32>
  func.return %x : tensor<4xf32>
}
