// RUN: pyptoc %s --pipeline=partition,infer-tiles,tile | filecheck %s

// A matmul: a task an output tile, a loop over K. Rows are dynamic, columns and K have
// tails; every tile that is not static carries its bound.
func.func @matmul(%a: tensor<?x300xf16>, %b: tensor<300x200xf16>) -> tensor<?x200xbf16> {
  %y = pypto.matmul %a, %b to bf16 {tile = #pypto.cube<m = [64, 64], k = [64, 128], n = [128, 128]>}
  func.return %y : tensor<?x200xbf16>
}
// CHECK-LABEL: func.func @matmul
// CHECK: [[M:%[0-9]+]] = pypto.dim %a, 0
// CHECK: [[Y0:%[a-z0-9_]+]] = pypto.empty[[[M]], 200]
// CHECK: [[ROWS:%[0-9]+]] = pypto.index [[M]] ceildiv 64
// CHECK: %y{{[_0-9]*}} = npu.tasks (%i, %j) in ([[ROWS]], 2) outs(%out = [[Y0]] : tensor<?x200xbf16>) on cube
// CHECK-DAG: [[TM:%[0-9]+]] = pypto.index min([[M]] - 64 * %i, 64)
// CHECK-DAG: [[TN:%[0-9]+]] = pypto.index min(128, 200 - 128 * %j)
// CHECK: [[ZERO:%[0-9]+]] = pypto.full 0.0[[[TM]], [[TN]]] : tensor<?x?xf32, #npu.max<64, 128>>
// CHECK: [[ACC:%[0-9]+]] = scf.for %k = {{.*}} iter_args([[C:%[0-9]+]] = [[ZERO]])
// CHECK: [[TK:%[0-9]+]] = pypto.index min(128, 300 - %k)
// CHECK: pypto.view %a[{{%[0-9]+}} +: [[TM]], %k +: [[TK]]] : {{.*}} -> tensor<?x?xf16, #npu.max<64, 128>>
// CHECK: pypto.view %b[%k +: [[TK]], {{%[0-9]+}} +: [[TN]]] : {{.*}} -> tensor<?x?xf16, #npu.max<128, 128>>
// CHECK: pypto.mma [[C]],
// CHECK: [[CAST:%[0-9]+]] = pypto.cast [[ACC]] to bf16
// CHECK: npu.assemble [[CAST]] into %out

// Batch dimensions are grid axes; an L1 tile of two L0 tiles is a loop in the task.
func.func @batched(%a: tensor<3x64x64xf16>, %b: tensor<64x128xf16>) -> tensor<3x64x128xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [32, 64], k = [64, 64], n = [128, 128]>}
  func.return %y : tensor<3x64x128xf32>
}
// CHECK-LABEL: func.func @batched
// CHECK: npu.tasks (%i, %j, %k) in (3, 1, 1)
// CHECK: scf.for [[ROW:%[0-9]+]] =
// CHECK: pypto.view %a[%i, [[ROW]] +: 32, %{{[a-z0-9_]+}} +: 64]
// CHECK: npu.assemble {{.*}} into %out[%i, [[ROW]], 0]

// MX scales lie in pairs for 64 elements: [M, K/64, 2] is read as [M, 2 * K/64].
func.func @scaled(%a: tensor<16x128xf8E4M3FN>, %b: tensor<128x64xf8E4M3FN>,
    %sa: tensor<16x2x2xf8E8M0FNU>, %sb: tensor<2x64x2xf8E8M0FNU>) -> tensor<16x64xf32> {
  %y = pypto.scaled_mm %a, %b scales %sa, %sb {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64]>}
  func.return %y : tensor<16x64xf32>
}
// CHECK-LABEL: func.func @scaled
// CHECK-DAG: [[SA:%[a-z0-9_]+]] = pypto.reshape %sa[16, 4]
// CHECK-DAG: [[SB:%[a-z0-9_]+]] = pypto.reshape %sb[2, 128]
// CHECK: npu.tasks
// CHECK: pypto.view [[SA]][0 +: 16, {{%[0-9]+}} +: 2]
// CHECK: pypto.view [[SB]][{{%[0-9]+}} +: 1, 0 +: 128]

// A fused body: each op once, in order, on tiles; a row vector is read as such.
func.func @fused(%x: tensor<?x512xf32>, %g: tensor<512xf32>) -> tensor<?x512xf32> {
  %e = pypto.exp %x {tile = #pypto.vec<16, 256>}
  %y = pypto.mul %e, %g
  func.return %y : tensor<?x512xf32>
}
// CHECK-LABEL: func.func @fused
// CHECK: npu.tasks (%i, %j) in ({{%[0-9]+}}, 2) {{.*}} on vector
// CHECK: [[X:%[0-9]+]] = pypto.view %x
// CHECK: [[E:%[a-z0-9_]+]] = pypto.exp [[X]]
// CHECK: [[G:%[0-9]+]] = pypto.view %g[{{%[0-9]+}} +: 256] : tensor<512xf32> -> tensor<256xf32>
// CHECK: [[Y:%[a-z0-9_]+]] = pypto.mul [[E]], [[G]]
// CHECK: npu.assemble [[Y]] into %out

// Views end here: the task reads the tensor behind two of them.
func.func @views(%x: tensor<8x64x96xf32>, %p: tensor<4xi32>) -> tensor<64x32xf32> {
  %i = pypto.read %p[0]
  %v = pypto.view %x[%i, :, 16 +: 64]
  %w = pypto.view %v[:, 8 +: 32]
  %y = pypto.neg %w
  func.return %y : tensor<64x32xf32>
}
// CHECK-LABEL: func.func @views
// CHECK: [[I:%i]] = pypto.read
// CHECK-NOT: pypto.view %x[[[I]], :
// CHECK: npu.tasks
// CHECK: pypto.view %x[[[I]], 0 +: 64, 24 +: 32] : tensor<8x64x96xf32> -> tensor<64x32xf32>
