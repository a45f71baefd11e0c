// RUN: pyptoc %s --pipeline=decompose,legalize-casts,partition{fuse=true} --remarks 2>&1 | filecheck %s
// RUN: pyptoc %s --pipeline=decompose,legalize-casts,partition{fuse=false} | filecheck %s --check-prefix=APART
// RUN: pyptoc %s --machine=ascend910b --pipeline=decompose,legalize-casts,partition{fuse=true} | filecheck %s --check-prefix=APART
// APART-NOT: npu.unit = "mixed"

// Remarks come first: why a product does not join its readers.
// CHECK: :[[#]]:{{.*}} the vector ops that read it share its tasks
// CHECK: not fused with the vector ops that read it: its result is read by 'pypto.matmul' as well
// CHECK: not fused with the vector ops that read it: its result is read by 'func.return' as well
// CHECK: not fused with the vector ops that read it: K is split in 2 parts, which meet in memory
// CHECK: not fused with the vector ops that read it: a scan needs whole rows
// CHECK: not fused with the vector ops that read it: its dimensions are read in another order than its tiles have
// CHECK: not fused with the vector ops that read it: two of the parts that are read overlap
// CHECK: not fused with the vector ops that read it: a part of it is repeated along rows or columns
// CHECK: not fused with the vector ops that read it: 'pypto.mul' stores one element a row, in every column tile
// CHECK: not fused with the vector ops that read it: its result is read by 'pypto.add' as well

// Two windows of one product, and a bias in bf16, of one row: one group.
func.func @swiglu(%a: tensor<?x64xf16>, %b: tensor<64x512xf16>, %g: tensor<256xbf16>) -> tensor<?x256xf32> {
  %y = pypto.matmul %a, %b
  %v = pypto.view %y[:, 0 +: 256]
  %w = pypto.view %y[:, 256 +: 256]
  %f = pypto.cast %g to f32
  %z = pypto.mul %v, %w
  %o = pypto.add %z, %f
  func.return %o : tensor<?x256xf32>
}
// CHECK-LABEL: func.func @swiglu
// CHECK: pypto.matmul %a, %b {npu.group = [[G:[0-9]+]], npu.unit = "mixed"}
// CHECK: pypto.cast %g {{.*}}npu.narrow, npu.cut = 0, npu.group = [[G]], npu.unit = "mixed"
// CHECK: pypto.mul {{.*}}npu.group = [[G]], npu.unit = "mixed"
// CHECK: pypto.add {{.*}}npu.group = [[G]], npu.unit = "mixed"
// APART-LABEL: func.func @swiglu
// APART: pypto.matmul {{.*}}npu.unit = "cube"
// APART: pypto.mul {{.*}}npu.unit = "vector"

// Two products and a residual.
func.func @products(%a: tensor<2x48x64xbf16>, %b: tensor<64x130xbf16>, %c: tensor<2x130x64xbf16>, %x: tensor<2x48x130xf32>) -> tensor<2x48x130xf32> {
  %y = pypto.matmul %a, %b
  %z = pypto.matmul %a, %c {b_trans}
  %s = pypto.add %y, %x
  %m = pypto.mul %s, %z
  func.return %m : tensor<2x48x130xf32>
}
// CHECK-LABEL: func.func @products
// CHECK: pypto.matmul {{.*}}npu.group = [[G:[0-9]+]], npu.unit = "mixed"
// CHECK: pypto.matmul {{.*}}npu.group = [[G]], npu.unit = "mixed"
// CHECK: pypto.mul {{.*}}npu.group = [[G]], npu.unit = "mixed"

// A row for each batch, which all heads share, is made in each of their tasks.
func.func @heads(%x: tensor<?x96x64xf32> {pypto.dims = ["t"]}, %c: tensor<?x1x64xbf16> {pypto.dims = ["t"]}) -> tensor<?x96x64xf32> {
  %f = pypto.cast %c to f32
  %y = pypto.mul %x, %f
  func.return %y : tensor<?x96x64xf32>
}
// CHECK-LABEL: func.func @heads
// CHECK: pypto.cast %c {{.*}}npu.narrow, npu.group = [[G:[0-9]+]], npu.unit = "vector"
// CHECK: pypto.mul {{.*}}npu.group = [[G]], npu.unit = "vector"

// Not where a task has another batch than the row.
func.func @other_batches(%x: tensor<2x8x96x64xf32>, %c: tensor<8x1x64xbf16>) -> tensor<2x8x96x64xf32> {
  %f = pypto.cast %c to f32
  %y = pypto.mul %x, %f
  func.return %y : tensor<2x8x96x64xf32>
}
// CHECK-LABEL: func.func @other_batches
// CHECK-NOT: npu.narrow
// CHECK: func.return

// Rows are folded in two steps: parts of the maximum, and what the second group needs
// in its narrowest form.
func.func @quantize(%a: tensor<?x64xf16>, %b: tensor<64x8192xf16>) -> (tensor<?x8192xi8>, tensor<?x1xf32>) {
  %y = pypto.matmul %a, %b
  %e = pypto.exp %y
  %h = pypto.cast %e to bf16
  %q, %s = pypto.quantize %h axis -1 to i8
  func.return %q, %s : tensor<?x8192xi8>, tensor<?x1xf32>
}
// CHECK-LABEL: func.func @quantize
// CHECK: pypto.matmul {{.*}}npu.group = [[G:[0-9]+]], npu.unit = "mixed"
// CHECK: %h = pypto.cast {{.*}}npu.group = [[G]], npu.unit = "mixed"
// CHECK: [[R:%[0-9]+]] = pypto.amax {{.*}}npu.group = [[G]], npu.unit = "mixed"
// CHECK: [[P:%[0-9]+]] = pypto.assemble [[R]] into {{.*}}npu.partial, {{.*}}npu.group = [[G]]
// CHECK: pypto.cast %h to f32 {{.*}}npu.group = [[H:[0-9]+]], npu.unit = "vector"
// CHECK: pypto.amax [[P]] axis -1 {{.*}}npu.fold, npu.group = [[H]], npu.unit = "vector"
// CHECK: %q = {{.*}}npu.group = [[H]]

// What the loop of a grouped product makes, row by row, is read in the loop.
func.func @grouped(%a: tensor<?x64xf16>, %b: tensor<4x64x256xf16>, %g: tensor<4xi64>, %s: tensor<?x1xf32>) -> tensor<?x256xbf16> {
  %y = pypto.grouped_matmul %a, %b groups %g
  %t = pypto.tanh %y
  %o = pypto.cast %t to bf16
  func.return %o : tensor<?x256xbf16>
}
// CHECK-LABEL: func.func @grouped
// CHECK: scf.for {{.*}} = %o
// CHECK: [[Y:%[0-9]+]] = pypto.matmul {{.*}}npu.unit = "mixed"
// CHECK: pypto.tanh [[Y]] {{.*}}npu.unit = "mixed"
// CHECK: [[O:%[a-z0-9_]+]] = pypto.assemble {{.*}}[%begin, 0] {{.*}}npu.unit = "mixed"
// CHECK: scf.yield %end, [[O]]
// CHECK-NOT: npu.unit = "vector"

// A reshape that only adds a dimension of 1 moves in front of the loop.
func.func @weighted(%a: tensor<?x64xf16> {pypto.dims = ["M"]}, %b: tensor<4x64x256xf16>, %g: tensor<4xi64>, %s: tensor<?xf32> {pypto.dims = ["M"]}) -> tensor<?x256xf32> {
  %y = pypto.grouped_matmul %a, %b groups %g
  %w = pypto.reshape %s[-1, 1]
  %o = pypto.mul %y, %w
  func.return %o : tensor<?x256xf32>
}
// CHECK-LABEL: func.func @weighted
// CHECK: %w = pypto.reshape %s
// CHECK: scf.for {{.*}} = %o
// CHECK-DAG: [[Y:%[0-9]+]] = pypto.matmul {{.*}}npu.unit = "mixed"
// CHECK-DAG: [[W:%[a-z0-9_]+]] = pypto.view %w[%begin +: %rows, :]
// CHECK: pypto.mul [[Y]], [[W]] {{.*}}npu.unit = "mixed"
// CHECK-NOT: npu.unit = "vector"

// One whose sizes must be checked stays behind it.
func.func @resized(%a: tensor<?x64xf16> {pypto.dims = ["M"]}, %b: tensor<4x64x256xf16>, %g: tensor<4xi64>, %s: tensor<?xf32> {pypto.dims = ["S"]}) -> tensor<?x256xf32> {
  %m = pypto.dim %a, 0
  %y = pypto.grouped_matmul %a, %b groups %g
  %w = pypto.reshape %s[%m, 1]
  %o = pypto.mul %y, %w
  func.return %o : tensor<?x256xf32>
}
// CHECK-LABEL: func.func @resized
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: %w = pypto.reshape %s
// CHECK: pypto.mul %y, %w {{.*}}npu.unit = "vector"

// Refused: another product reads the result, the caller does, parts of K meet in memory.
func.func @readers(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b to f16
  %e = pypto.exp %y
  %z = pypto.matmul %y, %e
  func.return %z : tensor<64x64xf32>
}
// CHECK-LABEL: func.func @readers
// CHECK-NOT: npu.unit = "mixed"
// CHECK-LABEL: func.func @returned
// CHECK-NOT: npu.unit = "mixed"
// CHECK-LABEL: func.func @split
// CHECK-NOT: npu.unit = "mixed"

func.func @returned(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %y = pypto.matmul %a, %b
  %e = pypto.exp %y
  func.return %y, %e : tensor<64x64xf32>, tensor<64x64xf32>
}

func.func @split(%a: tensor<64x512xf16>, %b: tensor<512x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b {tile = #pypto.cube<m = [64, 64], k = [64, 64], n = [64, 64], split_k = 2>}
  %e = pypto.exp %y
  func.return %e : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @scan
// CHECK-NOT: npu.unit = "mixed"
// CHECK-LABEL: func.func @turned
// CHECK-NOT: npu.unit = "mixed"
// CHECK-LABEL: func.func @overlap
// CHECK-NOT: npu.unit = "mixed"
// CHECK-LABEL: func.func @repeated
// CHECK-NOT: npu.unit = "mixed"
// CHECK-LABEL: func.func @row
// CHECK-NOT: npu.unit = "mixed"
// CHECK-LABEL: func.func @between

// Refused: whole rows, turned, twice, repeated, one element a row.
func.func @scan(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b
  %e = pypto.cumsum %y axis -1
  func.return %e : tensor<64x64xf32>
}

func.func @turned(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b
  %t = pypto.transpose %y perm [1, 0]
  %e = pypto.exp %t
  func.return %e : tensor<64x64xf32>
}

func.func @overlap(%a: tensor<64x64xf16>, %b: tensor<64x96xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b
  %v = pypto.view %y[:, 0 +: 64]
  %w = pypto.view %y[:, 32 +: 64]
  %e = pypto.mul %v, %w
  func.return %e : tensor<64x64xf32>
}

func.func @repeated(%a: tensor<64x64xf16>, %b: tensor<64x1xf16>, %x: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %y = pypto.matmul %a, %b
  %e = pypto.mul %x, %y
  func.return %e : tensor<64x96xf32>
}

func.func @row(%a: tensor<64x64xf16>, %b: tensor<64x96xf16>, %x: tensor<64x1xf32>) -> (tensor<64x96xf32>, tensor<64x1xf32>) {
  %y = pypto.matmul %a, %b
  %r = pypto.mul %x, 2.0
  %e = pypto.mul %y, %r
  func.return %e, %r : tensor<64x96xf32>, tensor<64x1xf32>
}

// Refused: a second product stands between those that read the first.
func.func @between(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b
  %e = pypto.exp %y
  %h = pypto.cast %e to f16
  %z = pypto.matmul %h, %b
  %s = pypto.add %z, %y
  func.return %s : tensor<64x64xf32>
}
