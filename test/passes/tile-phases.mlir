// RUN: pyptoc %s --pipeline=partition,infer-tiles,tile | filecheck %s

// Rows longer than the column tile are visited in phases: a loop for each reduction,
// which carries the partial result, and one for what is as wide as the row. %e is
// computed again in the second phase rather than kept.
func.func @normalise(%x: tensor<?x1000xf32>) -> tensor<?x1000xf32> {
  %e = pypto.exp %x {tile = #pypto.vec<8, 256>}
  %s = pypto.sum %e axis -1 {keepdim}
  %y = pypto.div %e, %s
  func.return %y : tensor<?x1000xf32>
}
// CHECK-LABEL: func.func @normalise
// CHECK: npu.tasks (%i) in
// CHECK: [[ZERO:%[0-9]+]] = pypto.full 0.0[{{%[0-9]+}}, 1] : tensor<?x1xf32, #npu.max<8, 1>>
// CHECK: [[SUM:%[0-9]+]] = scf.for %c = {{.*}} iter_args([[ACC:%[0-9]+]] = [[ZERO]])
// CHECK: [[N:%[0-9]+]] = pypto.index min(1000 - %c, 256)
// CHECK: [[X:%[0-9]+]] = pypto.view %x[{{.*}}, %c +: [[N]]]
// CHECK: [[E:%[a-z0-9_]+]] = pypto.exp [[X]]
// CHECK: [[PART:%[0-9]+]] = pypto.sum [[E]] axis -1 {keepdim}
// CHECK: pypto.add [[ACC]], [[PART]]
// CHECK: scf.for
// CHECK: [[E2:%[a-z0-9_]+]] = pypto.exp
// CHECK: [[Y:%[a-z0-9_]+]] = pypto.div [[E2]], [[SUM]]
// CHECK: npu.assemble [[Y]] into %out

// A dynamic row length always takes phases; sums of f16 are carried in f32 and rounded
// once, maxima stay in their type and start at the least value.
func.func @dynamic(%x: tensor<4x?xf16>, %q: tensor<4x?xi8>) -> (tensor<4x1xf16>, tensor<4x1xi8>) {
  %s = pypto.sum %x axis -1 {keepdim}
  %m = pypto.amax %q axis -1 {keepdim}
  func.return %s, %m : tensor<4x1xf16>, tensor<4x1xi8>
}
// CHECK-LABEL: func.func @dynamic
// CHECK: pypto.full 0.0[4, 1] : tensor<4x1xf32>
// CHECK: [[L:%[0-9]+]] = scf.for
// CHECK: pypto.cast {{.*}} to f32
// CHECK: pypto.sum {{.*}} -> tensor<4x1xf32>
// CHECK: pypto.cast [[L]] to f16
// CHECK: pypto.full -128[4, 1] : tensor<4x1xi8>
// CHECK: pypto.maximum {{.*}} tensor<4x1xi8>

// Rows that fit are taken whole, without a loop.
func.func @whole(%x: tensor<?x256xf32>) -> tensor<?x1xf32> {
  %m = pypto.amax %x axis -1 {keepdim}
  func.return %m : tensor<?x1xf32>
}
// CHECK-LABEL: func.func @whole
// CHECK-NOT: scf.for
// CHECK: pypto.amax

// A scan of a longer row carries what the column tiles before summed up to.
func.func @scan(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = pypto.cumsum %x axis 1 {tile = #pypto.vec<8, 256>}
  func.return %y : tensor<?x?xf32>
}
// CHECK-LABEL: func.func @scan
// CHECK: [[ZERO:%[0-9]+]] = pypto.full 0.0[{{%[0-9]+}}, 1]
// CHECK: scf.for %c = {{.*}} iter_args([[SUM:%[0-9]+]] = [[ZERO]])
// CHECK: [[X:%[0-9]+]] = pypto.view %x
// CHECK: [[Y:%[0-9]+]] = pypto.cumsum [[X]] axis -1
// CHECK: [[PART:%[0-9]+]] = pypto.sum [[X]] axis -1 {keepdim}
// CHECK: [[Z:%[0-9]+]] = pypto.add [[Y]], [[SUM]]
// CHECK: npu.assemble [[Z]] into %out
// CHECK: [[NEXT:%[0-9]+]] = pypto.add [[SUM]], [[PART]]
// CHECK: scf.yield [[NEXT]]
