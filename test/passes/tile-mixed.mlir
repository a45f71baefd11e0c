// RUN: pyptoc %s --pipeline=decompose,legalize-casts,partition{force=true},infer-tiles,form-tasks,tile | filecheck %s

// Two windows of a product are two accumulators; what vector ops make of them is all
// that is stored. N = 200 and M leave tails.
func.func @windows(%a: tensor<?x96xf16>, %b: tensor<96x400xf16>, %s: tensor<?x1xf32>, %g: tensor<200xbf16>) -> tensor<?x200xbf16>
    attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [32, 32], k = [64, 64], n = [128, 128]>>} {
  %m = pypto.dim %a, 0
  %y = pypto.matmul %a, %b
  %v = pypto.view %y[:, 0 +: 200]
  %w = pypto.view %y[:, 200 +: 200]
  %t = pypto.view %s[0 +: %m, :]
  %f = pypto.cast %g to f32
  %z = pypto.mul %v, %w
  %p = pypto.mul %z, %t
  %q = pypto.add %p, %f
  %o = pypto.cast %q to bf16
  func.return %o : tensor<?x200xbf16>
}
// CHECK-LABEL: func.func @windows
// CHECK-NOT: tensor<?x400xf32>
// CHECK: npu.tasks (%i, %j) in ({{.*}}, 2) outs(%out = %o : tensor<?x200xbf16>) on mixed {npu.tile = #pypto.cube<m = [32, 32], k = [64, 64], n = [128, 128], split_k = 1>
// CHECK: [[N:%[0-9]+]] = pypto.index min({{.*}}128{{.*}})
// CHECK: [[V:%[0-9]+]] = scf.for %k = {{.*}}tensor<?x?xf32, #npu.max<32, 128>>
// CHECK: [[J:%[0-9]+]] = pypto.index 128 * %j
// CHECK: pypto.view %b[{{.*}}, [[J]] +: [[N]]]
// CHECK: pypto.mma
// CHECK: [[W:%[0-9]+]] = scf.for %k
// CHECK: [[J2:%[0-9]+]] = pypto.index 128 * %j + 200
// CHECK: pypto.view %b[{{.*}}, [[J2]] +: [[N]]]
// CHECK: pypto.mma
// CHECK: [[JO:%[0-9]+]] = pypto.index 128 * %j :
// CHECK: pypto.view %g{{\[}}[[JO]]
// CHECK: pypto.cast {{.*}} to f32
// CHECK: %z = pypto.mul [[V]], [[W]]
// CHECK: [[I:%[0-9]+]] = pypto.index 32 * %i
// CHECK: pypto.view %s{{\[}}[[I]]
// CHECK: %o_2 = pypto.cast
// CHECK: npu.assemble %o_2 into %out{{\[}}[[I]], [[JO]]{{\]}}
// CHECK-NOT: npu.tasks

// Each column tile stores its part of a row's maximum; the next group folds them where
// it first needs the row's. 1000 columns in tiles of 256 are 4 parts.
func.func @parts(%a: tensor<40x64xi8>, %b: tensor<64x1000xi8>, %c: tensor<1000xf32>) -> tensor<40x1000xf32>
    attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [16, 16], k = [64, 64], n = [256, 256]>>} {
  %y = pypto.matmul %a, %b
  %f = pypto.cast %y to f32
  %s = pypto.mul %f, %c
  %m = pypto.amax %s axis -1 {keepdim}
  %d = pypto.sub %s, %m
  func.return %d : tensor<40x1000xf32>
}
// CHECK-LABEL: func.func @parts
// CHECK: [[E:%[0-9]+]] = pypto.empty[40, 4] : tensor<40x4xf32>
// CHECK: %s{{[_0-9]*}}, [[P:%[0-9]+]] = npu.tasks (%i, %j) in (3, 4) outs({{.*}}, %out_1 = [[E]] : tensor<40x4xf32>) on mixed
// CHECK: %m = pypto.amax {{.*}} axis -1 {keepdim}
// CHECK: npu.assemble %m into %out_1[{{.*}}, %j]
// CHECK: npu.tasks {{.*}} on vector
// CHECK: [[V:%[0-9]+]] = pypto.view [[P]][{{.*}}, 0 +: 4]
// CHECK-NEXT: pypto.amax [[V]] axis -1 {keepdim}
// CHECK: pypto.sub

// A given tile is an upper bound: two accumulators of 128 x 512 are more than L0C, and
// half the rows of each, with what is made of them, must fit UB.
func.func @smaller(%a: tensor<512x64xf16>, %b: tensor<64x2048xf16>) -> tensor<512x1024xf32>
    attributes {pypto.tiles = #pypto.tiles<cube = #pypto.cube<m = [128, 128], k = [64, 64], n = [512, 512]>>} {
  %y = pypto.matmul %a, %b
  %v = pypto.view %y[:, 0 +: 1024]
  %w = pypto.view %y[:, 1024 +: 1024]
  %s = pypto.swiglu %v, %w
  func.return %s : tensor<512x1024xf32>
}
// CHECK-LABEL: func.func @smaller
// CHECK: npu.tasks (%i, %j) in (4, 4) {{.*}} on mixed {npu.tile = #pypto.cube<m = [128, 128], k = [64, 64], n = [256, 256]
