// RUN: pyptoc %s --pipeline=decompose,fuse-epilogue,partition --machine=ascend950 | filecheck %s

// A SwiGLU of what is dequantised first: its halves are computed from halves of the product.
func.func @dequantised(%a: tensor<64x512xi8>, %b: tensor<512x4096xi8>, %r: tensor<64x1xf32>, %c: tensor<4096xf32>) -> tensor<64x2048xf32> {
  %y = pypto.matmul %a, %b
  %f = pypto.dequantize %y scales %r, %c to f32
  %s = pypto.swiglu %f
  func.return %s : tensor<64x2048xf32>
}
// CHECK-LABEL: func.func @dequantised
// CHECK-DAG: [[CG:%[a-z0-9_]+]] = pypto.view %c[0 +: 2048]
// CHECK-DAG: [[CU:%[a-z0-9_]+]] = pypto.view %c[2048 +: 2048]
// CHECK: [[Y:%[a-z0-9]+]] = pypto.matmul {{.*}} to f32 {{.*}}npu.unit = "mixed"
// CHECK: [[G:%[a-z0-9]+]] = pypto.view [[Y]][:, 0 +: 2048]
// CHECK: [[GR:%[a-z0-9_]+]] = pypto.mul [[G]], %r {{.*}}npu.unit = "mixed"
// CHECK: [[U:%[a-z0-9]+]] = pypto.view [[Y]][:, 2048 +: 2048]
// CHECK: [[UR:%[a-z0-9_]+]] = pypto.mul [[U]], %r {{.*}}npu.unit = "mixed"
// CHECK-DAG: pypto.mul [[GR]], [[CG]] {{.*}}npu.unit = "mixed"
// CHECK-DAG: pypto.mul [[UR]], [[CU]] {{.*}}npu.unit = "mixed"
// CHECK-NOT: pypto.view %f

// Parts that overlap would be computed twice.
func.func @overlapping(%a: tensor<64x512xf16>, %b: tensor<512x96xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b
  %f = pypto.exp %y
  %u = pypto.view %f[:, 0 +: 64]
  %v = pypto.view %f[:, 32 +: 64]
  %s = pypto.add %u, %v
  func.return %s : tensor<64x64xf32>
}
// CHECK-LABEL: func.func @overlapping
// CHECK: [[F:%f]] = pypto.exp
// CHECK: pypto.view [[F]][:, 0 +: 64]
// CHECK: pypto.view [[F]][:, 32 +: 64]

// Somebody needs all of it: here another product.
func.func @read_whole(%a: tensor<64x512xf16>, %b: tensor<512x128xf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %y = pypto.matmul %a, %b
  %e = pypto.tanh %y
  %f = pypto.cast %e to f16
  %u = pypto.view %f[:, 0 +: 64]
  %v = pypto.view %f[:, 64 +: 64]
  %s = pypto.matmul %u, %v {b_trans}
  %uf = pypto.cast %u to f32
  func.return %s, %uf : tensor<64x64xf32>, tensor<64x64xf32>
}
// CHECK-LABEL: func.func @read_whole
// CHECK: [[F:%f]] = pypto.cast %e to f16
// CHECK: pypto.view [[F]][:, 0 +: 64]
// CHECK: pypto.view [[F]][:, 64 +: 64]

// Nothing comes from a product.
func.func @plain(%x: tensor<64x128xf32>) -> tensor<64x64xf32> {
  %f = pypto.exp %x
  %u = pypto.view %f[:, 0 +: 64]
  %v = pypto.view %f[:, 64 +: 64]
  %s = pypto.add %u, %v
  func.return %s : tensor<64x64xf32>
}
// CHECK-LABEL: func.func @plain
// CHECK: [[F:%f]] = pypto.exp
// CHECK: pypto.view [[F]][:, 0 +: 64]
