// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s

// Memory form: a gather through a page table, a scatter, lists of the best, a mask.
// CHECK-LABEL: func.func private @memory_form
func.func private @memory_form(%x: memref<?x64xi8, "gm">, %t: memref<4x?xi32, "gm">, %i: memref<?xi64, "gm">, %n: index, %p: index) {
  %e = npu.tasks (%k) in (%n) buffers(%x, %t, %i : memref<?x64xi8, "gm">, memref<4x?xi32, "gm">, memref<?xi64, "gm">) scalars(%n, %p : index, index) on vector {
    %it = npu.load %i[0 +: 16] : memref<?xi64, "gm"> -> tensor<16xi64>
    // CHECK: [[G:%\w+]] = npu.gather %x[0, 0] of %n at [[I:%\w+]][%k] [16, 64] through %t[2, 0] of %p {axis = 0, dims = [-1, 1], per = "row", page = 128, table_axis = 1, missing = -1, asked_by = "gather_rows", asked_at = "%i"} : memref<?x64xi8, "gm">, tensor<16xi64>, memref<4x?xi32, "gm"> -> tensor<16x64xi8>
    %g = npu.gather %x[0, 0] of %n at %it[%k] [16, 64] through %t[2, 0] of %p {axis = 0, dims = [-1, 1], per = "row", page = 128, table_axis = 1, missing = -1, asked_by = "gather_rows", asked_at = "%i"} : memref<?x64xi8, "gm">, tensor<16xi64>, memref<4x?xi32, "gm"> -> tensor<16x64xi8>
    // CHECK-NEXT: npu.scatter [[G]] into %x[0, 0] of %n at [[I]][0] [16, 64] {axis = 0, dims = [-1, 1], per = "row", unique} : memref<?x64xi8, "gm">, tensor<16xi64>, tensor<16x64xi8>
    npu.scatter %g into %x[0, 0] of %n at %it[0] [16, 64] {axis = 0, dims = [-1, 1], per = "row", unique}
    // CHECK-NEXT: npu.scatter [[G]] into %x[0, 0] of 3 at [[I]][0] [16, 64] {axis = 0, dims = [-1, 1], per = "row", combine = "add"} :
    npu.scatter %g into %x[0, 0] of 3 at %it[0] [16, 64] {axis = 0, dims = [-1, 1], per = "row", combine = "add"}
  }
  func.return
}

// Tensor form: the memory is a tensor from outside, the scatter's is a destination.
// CHECK-LABEL: func.func private @tensor_form
func.func private @tensor_form(%x: tensor<?x64xf32>, %i: tensor<8xi32>, %y: tensor<?x64xf32>, %n: index) -> tensor<?x64xf32> {
  %r = npu.tasks (%k) in (1) outs(%o = %y : tensor<?x64xf32>) on vector {
    %it = pypto.view %i[0 +: 8]
    // CHECK: npu.gather %x[0, 0] of %n at
    %g = npu.gather %x[0, 0] of %n at %it[0] [8, 64] {axis = 0, dims = [-1, 1], per = "row"} : tensor<?x64xf32>, tensor<8xi32> -> tensor<8x64xf32>
    // CHECK: npu.scatter {{.*}} into %o[0, 0] of %n at
    npu.scatter %g into %o[0, 0] of %n at %it[0] [8, 64] {axis = 0, dims = [-1, 1], per = "row"}
  }
  func.return %r : tensor<?x64xf32>
}

// An index for each element, also to write; an index for each of two axes.
// CHECK-LABEL: func.func private @elements_and_axes
func.func private @elements_and_axes(%x: memref<?x9x64xf32, "gm">, %i: tensor<8x64xi32>, %j: tensor<8xi32>, %k: tensor<8xi64>, %v: tensor<8x64xf32>, %n: index) {
  // CHECK: npu.scatter %v into %x[0, 2, 0] of %n at %i[0, 0] [8, 64] {axis = 0, dims = [-1, 2], per = "element", combine = "add"} :
  npu.scatter %v into %x[0, 2, 0] of %n at %i[0, 0] [8, 64] {axis = 0, dims = [-1, 2], per = "element", combine = "add"}
  // CHECK-NEXT: npu.scatter %v into %x[0, 0, 0] of %n, 9 at %j, %k[4] [8, 64] {axis = 0, more_axes = [1], dims = [-1, 2], per = "row"} : memref<?x9x64xf32, "gm">, tensor<8xi32>, tensor<8xi64>, tensor<8x64xf32>
  npu.scatter %v into %x[0, 0, 0] of %n, 9 at %j, %k[4] [8, 64] {axis = 0, more_axes = [1], dims = [-1, 2], per = "row"}
  func.return
}

// CHECK-LABEL: func.func private @selection
func.func private @selection(%x: tensor<4x?xf16, #npu.max<4, 64>>, %v: tensor<4x8xf16>, %i: tensor<4x8xi32>, %l: tensor<4xi32>, %c: index, %n: index) {
  // CHECK: %v1, %i1 = npu.topk %x from %c of %n into %v, %i : tensor<4x?xf16, #npu.max<4, 64>>, tensor<4x8xf16>, tensor<4x8xi32>
  %v1, %i1 = npu.topk %x from %c of %n into %v, %i
  // CHECK-NEXT: [[V:%\w+]], [[I:%\w+]] = npu.topk %x from 0 of 64 into %{{.*}}, %{{.*}} lengths %l {at_least = 8} :
  %v2, %i2 = npu.topk %x from 0 of 64 into %v1, %i1 lengths %l {at_least = 8}
  // CHECK-NEXT: npu.topk %x from 0 of 64 into %v, %i after [[V]], [[I]] {ascending} :
  %v3, %i3 = npu.topk %x from 0 of 64 into %v, %i after %v2, %i2 {ascending}
  // CHECK-NEXT: npu.one_hot %{{.*}} from %c [4, %n] : tensor<4x8xi32> -> tensor<4x?xi1, #npu.max<4, 64>>
  %h = npu.one_hot %i2 from %c [4, %n] : tensor<4x8xi32> -> tensor<4x?xi1, #npu.max<4, 64>>
  func.return
}
