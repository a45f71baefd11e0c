// RUN: pyptoc %s --pipeline=desugar,decompose --split-input-file | filecheck %s

// CHECK-LABEL: func.func @columns
// CHECK-NEXT:  [[T:%.*]] = pypto.transpose %x perm [1, 0]
// CHECK-NEXT:  pypto.abs [[T]]
// CHECK:       [[S:%.*]] = pypto.div 1.0, {{%.*}}
// CHECK:       [[Q:%.*]] = pypto.cast {{%.*}} to i8 mode rint
// CHECK-NEXT:  %q = pypto.transpose [[Q]] perm [1, 0]
// CHECK-NEXT:  %d = pypto.reshape [[S]][1, 64]
func.func @columns(%x: tensor<?x64xf32>) -> (tensor<?x64xi8>, tensor<1x64xf32>) {
  %q, %d = pypto.quantize %x axis 0 to i8
  func.return %q, %d : tensor<?x64xi8>, tensor<1x64xf32>
}

// -----
// The axis is cut into groups as the tensor lies, then the elements of a group go last.
// CHECK-LABEL: func.func @groups
// CHECK-NEXT:  [[G:%.*]] = pypto.reshape %x[4, 16, -1]
// CHECK-NEXT:  [[T:%.*]] = pypto.transpose [[G]] perm [0, 2, 1]
// CHECK:       [[Q:%.*]] = pypto.cast {{%.*}} to i8 mode rint
// CHECK-NEXT:  [[U:%.*]] = pypto.transpose [[Q]] perm [0, 2, 1]
// CHECK-NEXT:  %q = pypto.reshape [[U]][64, -1]
// CHECK-NEXT:  %d = pypto.reshape {{%.*}}[4, -1]
func.func @groups(%x: tensor<64x?xf32>) -> (tensor<64x?xi8>, tensor<4x?xf32>) {
  %q, %d = pypto.quantize %x axis 0 group 16 to i8
  func.return %q, %d : tensor<64x?xi8>, tensor<4x?xf32>
}

// -----
// The scale is the power of two at or below the greatest magnitude, over 2^8.
// CHECK-LABEL: func.func @mx
// CHECK-NEXT:  [[X:%.*]] = pypto.reshape %x[-1, 2, 2, 32]
// CHECK-NEXT:  [[A:%.*]] = pypto.abs [[X]]
// CHECK-NEXT:  [[M:%.*]] = pypto.amax [[A]] axis -1
// CHECK-NEXT:  [[E:%.*]] = pypto.cast [[M]] to f8E8M0FNU
// CHECK-NEXT:  [[P:%.*]] = pypto.cast [[E]] to f32
// CHECK-NEXT:  [[G:%.*]] = pypto.gt [[P]], [[M]]
// CHECK-NEXT:  [[H:%.*]] = pypto.mul [[P]], 0.5
// CHECK-NEXT:  [[W:%.*]] = pypto.where [[G]], [[H]], [[P]]
// CHECK-NEXT:  [[N:%.*]] = pypto.mul [[W]], 0.00390625
// CHECK-NEXT:  [[S:%.*]] = pypto.cast [[N]] to f8E8M0FNU
// CHECK-NEXT:  [[F:%.*]] = pypto.cast [[S]] to f32
// CHECK-NEXT:  [[I:%.*]] = pypto.div 1.0, [[F]]
// CHECK-NEXT:  [[Y:%.*]] = pypto.mul [[X]], [[I]]
// CHECK-NEXT:  [[Q:%.*]] = pypto.cast [[Y]] to f8E4M3FN
// CHECK-NEXT:  %q = pypto.reshape [[Q]][-1, 128]
// CHECK-NEXT:  %s = pypto.reshape [[S]][-1, 2, 2]
func.func @mx(%x: tensor<?x128xf32>)
    -> (tensor<?x128xf8E4M3FN>, tensor<?x2x2xf8E8M0FNU>) {
  %q, %s = pypto.quant_mx %x axis -1 to f8E4M3FN
  func.return %q, %s : tensor<?x128xf8E4M3FN>, tensor<?x2x2xf8E8M0FNU>
}

// -----
// A last block that is not full counts as filled with zeros. Of a right-hand matrix the
// scales are laid out by block, then column.
// CHECK-LABEL: func.func @mx_rows
// CHECK-NEXT:  [[Z:%.*]] = pypto.full 0.0[128, 8]
// CHECK-NEXT:  [[A:%.*]] = pypto.assemble %x into [[Z]][0, 0]
// CHECK-NEXT:  [[X:%.*]] = pypto.reshape [[A]][2, 2, 32, 8]
// CHECK-NEXT:  pypto.transpose [[X]] perm [0, 1, 3, 2]
// CHECK:       pypto.mul {{%.*}}, 3.05175781e-5
// CHECK-NEXT:  [[S:%.*]] = pypto.cast {{.*}} to f8E8M0FNU
// CHECK:       [[Q:%.*]] = pypto.cast {{.*}} to f8E5M2
// CHECK-NEXT:  [[T:%.*]] = pypto.transpose [[Q]] perm [0, 1, 3, 2]
// CHECK-NEXT:  [[R:%.*]] = pypto.reshape [[T]][128, 8]
// CHECK-NEXT:  %q = pypto.view [[R]][0 +: 100, :]
// CHECK-NEXT:  [[D:%.*]] = pypto.reshape [[S]][2, 2, 8]
// CHECK-NEXT:  %s = pypto.transpose [[D]] perm [0, 2, 1]
func.func @mx_rows(%x: tensor<100x8xf32>)
    -> (tensor<100x8xf8E5M2>, tensor<2x8x2xf8E8M0FNU>) {
  %q, %s = pypto.quant_mx %x axis 0 to f8E5M2
  func.return %q, %s : tensor<100x8xf8E5M2>, tensor<2x8x2xf8E8M0FNU>
}
