// RUN: pyptoc %s --pipeline=desugar,decompose --split-input-file | filecheck %s

// Each part is written to its place; one that is empty is left out.
// CHECK-LABEL: func.func @concat
// CHECK:       pypto.assert {{%.*}} == {{%.*}}, "dimension 0 of %x is {0}, dimension 0 of %y is {1}"
// CHECK:       [[E:%.*]] = pypto.empty[{{%.*}}, 24] {{.*}}npu.from = "concat"
// CHECK-NEXT:  [[A:%.*]] = pypto.assemble %x into [[E]][0, 0]
// CHECK-NEXT:  %r = pypto.assemble %y into [[A]][0, 8]
// CHECK-NEXT:  func.return %r
func.func @concat(%x: tensor<?x8xf32>, %e: tensor<?x0xf32>, %y: tensor<?x16xf32>)
    -> tensor<?x24xf32> {
  %r = pypto.concat %x, %e, %y axis -1
  func.return %r : tensor<?x24xf32>
}

// -----
// Each half of the result comes from both halves of x; the rest is copied.
// CHECK-LABEL: func.func @rope
// CHECK-NEXT:  [[A:%.*]] = pypto.view %x[:, :, 0 +: 32]
// CHECK-NEXT:  [[B:%.*]] = pypto.view %x[:, :, 32 +: 32]
// CHECK-NEXT:  [[C:%.*]] = pypto.view %c[:, :, 0 +: 32]
// CHECK-NEXT:  [[D:%.*]] = pypto.view %c[:, :, 32 +: 32]
// CHECK-NEXT:  [[E:%.*]] = pypto.view %s[0 +: 32]
// CHECK-NEXT:  [[F:%.*]] = pypto.view %s[32 +: 32]
// CHECK-NEXT:  [[P:%.*]] = pypto.mul [[A]], [[C]]
// CHECK-NEXT:  [[N:%.*]] = pypto.neg [[B]]
// CHECK-NEXT:  [[Q:%.*]] = pypto.mul [[N]], [[E]]
// CHECK-NEXT:  [[Y:%.*]] = pypto.add [[P]], [[Q]]
// CHECK-NEXT:  [[R:%.*]] = pypto.mul [[B]], [[D]]
// CHECK-NEXT:  [[S:%.*]] = pypto.mul [[A]], [[F]]
// CHECK-NEXT:  [[Z:%.*]] = pypto.add [[R]], [[S]]
// CHECK-NEXT:  [[W:%.*]] = pypto.view %x[:, :, 64 +: 64]
// CHECK:       [[U:%.*]] = pypto.assemble [[Y]] into {{%.*}}[0, 0, 0]
// CHECK-NEXT:  [[V:%.*]] = pypto.assemble [[Z]] into [[U]][0, 0, 32]
// CHECK-NEXT:  %r = pypto.assemble [[W]] into [[V]][0, 0, 64]
func.func @rope(%x: tensor<?x4x128xf32>, %c: tensor<?x1x64xf32>, %s: tensor<64xf32>)
    -> tensor<?x4x128xf32> {
  %r = pypto.rope %x, %c, %s first 64
  func.return %r : tensor<?x4x128xf32>
}

// -----
// Pairs are read apart, from the tensor as it lies; a cos of one element broadcasts.
// CHECK-LABEL: func.func @interleaved
// CHECK-NEXT:  [[P:%.*]] = pypto.reshape %x[-1, 32, 2]
// CHECK-NEXT:  [[A:%.*]] = pypto.view [[P]][:, 0 +: 32, 0]
// CHECK-NEXT:  [[B:%.*]] = pypto.view [[P]][:, 0 +: 32, 1]
// CHECK-NEXT:  pypto.view %s[:, 0 +: 32]
// CHECK-NEXT:  pypto.view %s[:, 32 +: 32]
// CHECK-NEXT:  [[F:%.*]] = pypto.cast [[A]] to f32
// CHECK:       pypto.mul [[F]], %c
// CHECK-NOT:   pypto.view %x
func.func @interleaved(%x: tensor<?x64xbf16>, %c: tensor<1xf32>, %s: tensor<?x64xf32>)
    -> tensor<?x64xbf16> {
  %r = pypto.rope %x, %c, %s {interleaved}
  func.return %r : tensor<?x64xbf16>
}

// -----
// Counting is done in i32; narrow integers wrap.
// CHECK-LABEL: func.func @arange
// CHECK-NEXT:  [[N:%.*]] = pypto.arange[%n] {npu.from = "arange"} : tensor<?xi32>
// CHECK-NEXT:  %a = pypto.cast [[N]] to i8 {saturate = false, npu.from = "arange"}
// CHECK-NEXT:  [[M:%.*]] = pypto.arange[%n] {npu.from = "arange"} : tensor<?xi32>
// CHECK-NEXT:  %b = pypto.cast [[M]] to bf16 {npu.from = "arange"}
func.func @arange(%n: index) -> (tensor<?xi8>, tensor<?xbf16>) {
  %a = pypto.arange[%n] : tensor<?xi8>
  %b = pypto.arange[%n] : tensor<?xbf16>
  func.return %a, %b : tensor<?xi8>, tensor<?xbf16>
}
