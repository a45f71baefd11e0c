// RUN: pyptoc %s --pipeline='desugar,decompose,partition{fuse=false nests=false},infer-tiles,form-tasks,tile,split-k,assemble-buffers' --remarks 2>&1 | filecheck %s
// RUN: pyptoc %s --pipeline='desugar,decompose,partition{fuse=false nests=false},infer-tiles,form-tasks,tile,split-k,assemble-buffers{share=false}' --remarks 2>&1 | filecheck %s --check-prefix=OFF

#tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [64, 64]>

// CHECK-DAG: remark[PTO340]: workspaces take 384 * M B, 640 * M B if none shared memory
// CHECK-DAG: remark[PTO341]: 'z' takes the memory of 'y' and waits for its readers
// CHECK-DAG: remark[PTO342]: 'y' is kept for every trip of the loop: data decides its size
// OFF-NOT: workspaces take

// Of one size: the third product takes the memory of the first, which the second has
// read. A task waits for the reader of its own rows only, and has to anyway.
// CHECK-LABEL: func.func @chain
// CHECK: %y = npu.alloc[{{%[0-9]+}}, 64] {policy = "carried"} : memref<?x64xf32, "gm">
// CHECK: [[CAST:%[0-9]+]] = npu.tasks ({{.*}} {tag = "tanh"}
// CHECK: npu.tasks ([[I:%[_i0-9]+]], {{.*}} after([[CAST]][[[I]], *]) {{.*}} write %y[
// CHECK: npu.store {{.*}} into %y
// CHECK: npu.load %y
// OFF-LABEL: func.func @chain
// OFF: npu.store {{.*}} into %z
// OFF: npu.load %z
func.func @chain(%a: tensor<?x64xf16> {pypto.dims = ["M"]}, %b: tensor<64x64xf16>) -> tensor<?x1xf32> {
  %y = pypto.matmul %a, %b {tile = #tile}
  %t = pypto.tanh %y {tile = #pypto.vec<16, 64>}
  %h = pypto.cast %t to f16
  %z = pypto.matmul %h, %b {tile = #tile}
  %s = pypto.sum %z axis -1 {keepdim, tile = #pypto.vec<16, 64>}
  func.return %s : tensor<?x1xf32>
}

// Of two sizes: the larger one counts, and readers are found by their bytes.
// CHECK-LABEL: func.func @sizes
// CHECK: %workspace = npu.alloc[16384] {policy = "single"} : memref<16384xi8, "gm">
// CHECK: %y = npu.place %workspace at 0[64, 32]
// CHECK: [[CAST:%[0-9]+]] = npu.tasks {{.*}} {tag = "tanh"}
// CHECK: %z = npu.place %workspace at 0[64, 64]
// CHECK: npu.tasks ([[I:%[_i0-9]+]], {{.*}} after([[CAST]][[[I]], *], [[CAST]][2 * [[I]] : 2 * [[I]] + 2, *])
func.func @sizes(%a: tensor<64x64xf16>, %b: tensor<64x32xf16>, %c: tensor<32x64xf16>) -> tensor<64x1xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [32, 32]>}
  %t = pypto.tanh %y {tile = #pypto.vec<16, 32>}
  %h = pypto.cast %t to f16
  %z = pypto.matmul %h, %c {tile = #pypto.cube<m = [16, 16], k = [32, 32], n = [64, 64]>}
  %s = pypto.sum %z axis -1 {keepdim, tile = #pypto.vec<16, 64>}
  func.return %s : tensor<64x1xf32>
}

// Trips of a parallel loop take turns in slots, each with 8 tasks for 64 cores: only
// the first writer of a slot waits for the trip that had it.
// CHECK-LABEL: func.func @parallel
// CHECK: %workspace = npu.alloc[{{%[0-9]+}}] {policy = "slots", slots = 16} : memref<?xi8, "gm">
// CHECK: scf.for %i = {{.*}} iter_args([[E:%[0-9]+]] =
// CHECK: [[AT:%[0-9]+]] = pypto.index 32768 * (%i mod 16)
// CHECK: %y = npu.place %workspace at [[AT]][128, 64]
// CHECK: [[T:%[0-9]+]] = npu.tasks {{.*}} after([[E]] overlaps)
// CHECK: npu.tasks {{.*}} after([[T]][{{%[_i0-9]+}}, *]) accesses
func.func @parallel(%a: tensor<?x128x64xf16>, %b: tensor<64x64xf16>) -> tensor<?x128x64xf32> {
  %m = pypto.dim %a, 0
  %o0 = pypto.empty[%m, 128, 64] : tensor<?x128x64xf32>
  %r = pypto.forall (%i = 0 to %m) outs(%o = %o0) {
    %v = pypto.view %a[%i, :, :]
    %y = pypto.matmul %v, %b {tile = #tile}
    %e = pypto.exp %y {tile = #pypto.vec<16, 64>}
    pypto.store %e into %o[%i, 0, 0]
  }
  func.return %r : tensor<?x128x64xf32>
}

// As many slots as trips: none waits for another.
// CHECK-LABEL: func.func @few_trips
// CHECK: npu.alloc[131072] {policy = "slots", slots = 4}
// CHECK: pypto.index 32768 * %i
// CHECK: npu.tasks {{.*}} on cube
// CHECK-NOT: overlaps
// CHECK: func.return
func.func @few_trips(%a: tensor<4x128x64xf16>, %b: tensor<64x64xf16>) -> tensor<4x128x64xf32> {
  %o0 = pypto.empty[4, 128, 64] : tensor<4x128x64xf32>
  %r = pypto.forall (%i = 0 to 4) outs(%o = %o0) {
    %v = pypto.view %a[%i, :, :]
    %y = pypto.matmul %v, %b {tile = #tile}
    %e = pypto.exp %y {tile = #pypto.vec<16, 64>}
    pypto.store %e into %o[%i, 0, 0]
  }
  func.return %r : tensor<4x128x64xf32>
}

// A sequential loop: what a trip makes for itself has two slots, and so has the sum
// that it hands on.
// CHECK-LABEL: func.func @sequential
// CHECK: %zero = npu.alloc[16, 64]
// CHECK: [[P:%workspace[_0-9]*]] = npu.alloc[8192] {policy = "slots", slots = 2}
// CHECK: [[S:%workspace[_0-9]*]] = npu.alloc[8192] {policy = "slots", slots = 2}
// CHECK: scf.for
// CHECK: %y = npu.place [[P]] at {{%[0-9]+}}[16, 64]
// CHECK: %s = npu.place [[S]] at {{%[0-9]+}}[16, 64]
func.func @sequential(%a: tensor<?x16x64xf16>, %b: tensor<64x64xf16>) -> tensor<16x64xf32> {
  %m = pypto.dim %a, 0
  %zero = pypto.full 0.0[16, 64] : tensor<16x64xf32>
  %r = pypto.for (%i = 0 to %m) iter(%acc = %zero) {
    %v = pypto.view %a[%i, :, :]
    %y = pypto.matmul %v, %b {tile = #tile}
    %s = pypto.add %acc, %y
    pypto.yield %s
  }
  %e = pypto.exp %r
  func.return %e : tensor<16x64xf32>
}

// Data decides how many rows a group has: each trip keeps its own.
// CHECK-LABEL: func.func @groups
// CHECK: scf.for
// CHECK: %y = npu.alloc[%n, 64] {policy = "carried"}
func.func @groups(%a: tensor<?x64xf16>, %b: tensor<64x64xf16>, %sizes: tensor<4xi32>) -> tensor<?x64xf32> {
  %m = pypto.dim %a, 0
  %o0 = pypto.empty[%m, 64] : tensor<?x64xf32>
  %r = pypto.forall (%i = 0 to 4) outs(%o = %o0) {
    %n = pypto.read %sizes[%i]
    %v = pypto.view %a[0 +: %n, :]
    %y = pypto.matmul %v, %b {tile = #tile}
    %e = pypto.exp %y
    pypto.store %e into %o[%n, 0]
  }
  func.return %r : tensor<?x64xf32>
}

// What a loop returns is in one of two slots as well: the last trip's is the result.
// CHECK-LABEL: func.func @returned
// CHECK: %zero = npu.alloc[16, 64]
// CHECK: [[S:%workspace[_0-9]*]] = npu.alloc[8192] {policy = "slots", slots = 2}
// CHECK: [[R:%r[_0-9]*]], {{.*}} = scf.for
// CHECK: npu.place [[S]] at {{%[0-9]+}}[16, 64]
// CHECK: func.return [[R]]
func.func @returned(%a: tensor<?x16x64xf32>) -> tensor<16x64xf32> {
  %m = pypto.dim %a, 0
  %zero = pypto.full 0.0[16, 64] : tensor<16x64xf32>
  %r = pypto.for (%i = 0 to %m) iter(%acc = %zero) {
    %v = pypto.view %a[%i, :, :]
    %s = pypto.add %acc, %v
    pypto.yield %s
  }
  func.return %r : tensor<16x64xf32>
}
