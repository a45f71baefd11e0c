// RUN: pyptoc %s --pipeline= | filecheck %s
// The matmul of matmul_kernel.mlir at task level: a grid of 64 x 64 tiles, each of which
// sums products of 64 x 128 and 128 x 64 views. Every tensor in the body has a static
// bound, which later becomes a buffer.

// CHECK-LABEL: func.func @matmul
// CHECK: npu.tasks (%{{.*}}, %{{.*}}) in (%{{.*}}, %{{.*}}) outs
// CHECK: pypto.mma
// CHECK: npu.assemble
func.func @matmul(%a: tensor<?x?xf16>, %b: tensor<?x?xf16>)
    -> (tensor<?x?xf32> {pypto.name = "c"}) {
  %rows = pypto.dim %a, 0
  %depth = pypto.dim %a, 1
  %depth_b = pypto.dim %b, 0
  %columns = pypto.dim %b, 1
  pypto.assert %depth == %depth_b, "A has {0} columns, B has {1} rows"
  %zero = arith.constant 0 : index
  %step = arith.constant 128 : index
  %c0 = pypto.empty[%rows, %columns] : tensor<?x?xf32>
  %mb = pypto.index %rows ceildiv 64
  %nb = pypto.index %columns ceildiv 64
  %c = npu.tasks (%i, %j) in (%mb, %nb) outs(%o = %c0 : tensor<?x?xf32>) on cube {
    %row = pypto.index %i * 64
    %column = pypto.index %j * 64
    %m = pypto.index min(64, %rows - %row)
    %n = pypto.index min(64, %columns - %column)
    %start = pypto.full 0.0[%m, %n] : tensor<?x?xf32, #npu.max<64, 64>>
    %acc = scf.for %k = %zero to %depth step %step iter_args(%sum = %start)
        -> (tensor<?x?xf32, #npu.max<64, 64>>) {
      %kk = pypto.index min(128, %depth - %k)
      %at = pypto.view %a[%row +: %m, %k +: %kk] : tensor<?x?xf16, #npu.max<64, 128>>
      %bt = pypto.view %b[%k +: %kk, %column +: %n] : tensor<?x?xf16, #npu.max<128, 64>>
      %next = pypto.mma %sum, %at, %bt
      scf.yield %next : tensor<?x?xf32, #npu.max<64, 64>>
    }
    npu.assemble %acc into %o[%row, %column]
  }
  func.return %c : tensor<?x?xf32>
}
