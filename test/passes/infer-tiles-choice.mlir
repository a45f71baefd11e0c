// RUN: pyptoc %s --pipeline=desugar,partition,infer-tiles --machine=ascend910b | filecheck %s
// RUN: pyptoc %s --pipeline=desugar,partition,infer-tiles --machine=ascend910b --remarks 2>&1 | filecheck %s --check-prefix=SAID

#cube = #pypto.cube<m = [128, 128], k = [64, 256], n = [256, 256]>
#snake = #pypto.cube<m = [128, 128], k = [64, 256], n = [256, 256], walk = snake>

// What comes again is in L2 only if blocks of tiles are walked: by rows each row of tiles
// loads all of B.
// SAID: [[# @LINE + 2]]:8: remark[PTO324]: tile m [128, 128] k [64, 256] n [256, 256] chosen: 1447.38 us modelled, mte2 is the bottleneck, 1152 tasks in 48 waves; walk blocked<2, 16>, which by rows would take {{[0-9.]+}} us
func.func @large(%a: tensor<6144x6144xf16>, %b: tensor<6144x6144xf16>) -> tensor<6144x6144xf32> {
  %y = pypto.matmul %a, %b
  func.return %y : tensor<6144x6144xf32>
}
// CHECK-LABEL: func.func @large
// CHECK: npu.tile = #pypto.cube<m = [128, 128], k = [64, 256], n = [256, 256], split_k = 1, walk = blocked<2, 16>>

// A given tile keeps its sizes and, if it has one, its walk.
// SAID: remark[PTO324]: tile m [128, 128] k [64, 256] n [256, 256] given: 1{{.*}} us modelled{{.*}}; walk blocked<{{.*}}>, which by rows would take 2{{.*}} us
// SAID: remark[PTO324]: tile m [128, 128] k [64, 256] n [256, 256] given: 2{{.*}} us modelled{{.*}}; walk snake, which by rows
func.func @given(%a: tensor<6144x6144xf16>, %b: tensor<6144x6144xf16>) -> (tensor<6144x6144xf32>, tensor<6144x6144xf32>) {
  %x = pypto.matmul %a, %b {tile = #cube}
  %y = pypto.matmul %a, %b {tile = #snake}
  func.return %x, %y : tensor<6144x6144xf32>, tensor<6144x6144xf32>
}
// CHECK-LABEL: func.func @given
// CHECK: %x = {{.*}}npu.tile = #pypto.cube<m = [128, 128], k = [64, 256], n = [256, 256], split_k = 1, walk = blocked<{{[0-9]+, [0-9]+}}>>
// CHECK: %y = {{.*}}npu.tile = #pypto.cube<m = [128, 128], k = [64, 256], n = [256, 256], split_k = 1, walk = snake>

// Two tasks and a long K: parts of it for the other cores. The vector task that reads the
// sum adds them. With an epilogue, or into a tensor that is there, K stays whole.
// SAID: [[# @LINE + 3]]:8: remark[PTO324]: tile {{.*}} chosen: {{.*}}; K in {{[0-9]+}} parts, which whole would take {{[0-9.]+}} us
func.func @long(%a: tensor<16x65536xf16>, %b: tensor<65536x64xf16>, %s: tensor<64xf32>, %o: tensor<32x64xf32>)
    -> (tensor<16x64xf32>, tensor<16x64xf16>, tensor<32x64xf32>) {
  %x = pypto.matmul %a, %b
  %e = pypto.exp %x
  %y = pypto.matmul %a, %b scale %s to f16
  %z = pypto.matmul %a, %b
  %p = pypto.assemble %z into %o[16, 0]
  func.return %e, %y, %p : tensor<16x64xf32>, tensor<16x64xf16>, tensor<32x64xf32>
}
// CHECK-LABEL: func.func @long
// CHECK: %x = {{.*}}npu.tile = #pypto.cube<{{.*}}split_k = {{[2-9]|[1-9][0-9]}}>
// CHECK: %y = {{.*}}npu.tile = #pypto.cube<{{.*}}split_k = 1>
// CHECK: %z = {{.*}}npu.tile = #pypto.cube<{{.*}}split_k = 1>

// A dynamic size counts as its upper bound, here 32: the tile is no taller.
func.func @bounded(%a: tensor<?x512xf16>, %b: tensor<512x256xf16>) -> tensor<?x256xf32> {
  %m = pypto.dim %a, 0
  %y0 = pypto.empty[%m, 256] : tensor<?x256xf32>
  %y = pypto.forall (%i +: %n = 0 to %m step 32) outs(%o = %y0) {
    %v = pypto.view %a[%i +: %n, :]
    %p = pypto.matmul %v, %b
    pypto.store %p into %o[%i, 0]
  }
  func.return %y : tensor<?x256xf32>
}
// CHECK-LABEL: func.func @bounded
// CHECK: npu.tile = #pypto.cube<m = [32, 32],

// An independent loop around one product is an axis of its grid: there are tasks enough.
func.func @batch(%a: tensor<96x32x512xf16>, %b: tensor<512x256xf16>) -> tensor<96x32x256xf32> {
  %y0 = pypto.empty[96, 32, 256] : tensor<96x32x256xf32>
  %y = pypto.forall (%i = 0 to 96) outs(%o = %y0) {
    %v = pypto.view %a[%i, :, :]
    %p = pypto.matmul %v, %b
    pypto.store %p into %o[%i, 0, 0]
  }
  func.return %y : tensor<96x32x256xf32>
}
// CHECK-LABEL: func.func @batch
// CHECK: pypto.matmul {{.*}}npu.tile = #pypto.cube<m = [32, 32], k = [{{[0-9]+, [0-9]+}}], n = [256, 256],

// 64 rows would fit UB, and leave 46 of 48 cores without a task.
func.func @rows(%x: tensor<96x512xf32>) -> tensor<96x512xf32> {
  %y = pypto.exp %x
  func.return %y : tensor<96x512xf32>
}
// CHECK-LABEL: func.func @rows
// CHECK: pypto.exp {{.*}}npu.tile = #pypto.vec<2, 512>
