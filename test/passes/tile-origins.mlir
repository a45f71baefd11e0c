// RUN: pyptoc %s --pipeline=partition,infer-tiles,tile | filecheck %s
// RUN: pyptoc %s --pipeline=partition,infer-tiles,tile,assemble-buffers,lower-to-tile | filecheck %s --check-prefix=KERNEL

// What depends on a tile's place: the diagonal of a mask moves with the tile's origin.
func.func @mask(%x: tensor<?x300xf32>, %n: index) -> tensor<?x300xf32> {
  %y = pypto.mask_causal %x offset %n {tag = "mask", tile = #pypto.vec<16, 128>}
  func.return %y : tensor<?x300xf32>
}
// CHECK-LABEL: func.func @mask
// CHECK: npu.tasks (%i, %j)
// CHECK: [[O:%[0-9]+]] = pypto.index {{.*}}%n{{.*}}
// CHECK: pypto.mask_causal {{%[0-9]+}} offset [[O]]
// KERNEL-LABEL: npu.kernel @mask_0
// KERNEL: [[O:%[0-9]+]] = pypto.index %n + 16 * %i - 128 * %j
// KERNEL: tile.mask_causal {{%[0-9]+}}, [[O]] into

// An arange is no tensor that anyone loads: each task counts from its own start.
func.func @count(%x: tensor<8x300xi32>) -> tensor<8x300xi32> {
  %a = pypto.arange[300] : tensor<300xi32>
  %y = pypto.add %x, %a {tag = "count", tile = #pypto.vec<8, 128>}
  func.return %y : tensor<8x300xi32>
}
// CHECK-LABEL: func.func @count
// CHECK-NOT: pypto.view %a
// CHECK: [[N:%[0-9]+]] = pypto.arange[{{%[0-9]+}}] : tensor<?xi32, #npu.max<128>>
// CHECK: pypto.add [[N]], {{%[0-9]+}}
// KERNEL-LABEL: npu.kernel @count_1
// KERNEL: tile.arange 0 into
