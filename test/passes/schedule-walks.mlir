// RUN: pyptoc %s | filecheck %s
// RUN: pyptoc %s | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --compile-to=kernels | filecheck %s --check-prefix=KERNELS

// The walk and the assignment of a tile reach its launch; without them rows, dealt out.
// The part of a split K is an axis behind rows and columns, the batch one before them.
#blocks = #pypto.cube<m = [16, 16], k = [32, 32], n = [32, 32], walk = blocked<6, 4>, assign = dynamic>
#column = #pypto.cube<m = [16, 16], k = [32, 32], n = [32, 32], walk = column>
#snake = #pypto.cube<m = [16, 16], k = [32, 32], n = [32, 32], split_k = 2, walk = snake>
#plain = #pypto.cube<m = [16, 16], k = [32, 32], n = [32, 32]>

// CHECK-LABEL: func.func @main
// CHECK: npu.launch @blocks_0[{{%[0-9]+}}, 8] {{.*}} {order = "blocked", blocks = [6, 4], assign = "dynamic"} :
// CHECK: npu.launch @column_1[4, {{%[0-9]+}}, 8] {{.*}} {order = "column", assign = "static"} :
// CHECK: npu.launch @snake_2[{{%[0-9]+}}, 8, 2] {{.*}} {order = "snake", axes = [0, 1], assign = "static"} :
// CHECK: npu.launch @split_k_3[{{.*}} {order = "row", assign = "dynamic"} :
// CHECK: npu.launch @plain_4[{{%[0-9]+}}, 8] {{.*}} {order = "row", assign = "static"} :
// KERNELS: npu.launch @blocks_0[{{.*}} {order = "blocked", blocks = [6, 4], axes = [0, 1], assign = "dynamic"} :
func.func @main(%a: tensor<?x64xf16> {pypto.dims = ["M"]}, %c: tensor<4x?x64xf16> {pypto.dims = ["M"]}, %b: tensor<64x256xf16>)
    -> (tensor<?x256xf32>, tensor<4x?x256xf32>, tensor<?x256xf32>, tensor<?x256xf32>) {
  %x = pypto.matmul %a, %b {tag = "blocks", tile = #blocks}
  %y = pypto.matmul %c, %b {tag = "column", tile = #column}
  %z = pypto.matmul %a, %b {tag = "snake", tile = #snake}
  %w = pypto.matmul %a, %b {tag = "plain", tile = #plain}
  func.return %x, %y, %z, %w : tensor<?x256xf32>, tensor<4x?x256xf32>, tensor<?x256xf32>, tensor<?x256xf32>
}
