// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds,partition,infer-tiles,form-tasks,tile,assemble-buffers | filecheck %s
// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds,partition,infer-tiles,form-tasks,tile,assemble-buffers,lower-to-tile,split-mixed | filecheck %s --check-prefix=KERNEL
// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds,partition --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// Rows of keys from anywhere go to UB, are multiplied by their scales there, and go on to
// L1: nothing but the result is stored. Tiles side by side are no copy: the first product
// adds up three pieces of K, the second reads the first two of them again.
// CHECK-LABEL: func.func @attend
// CHECK:         npu.tasks ([[I:%[a-z0-9_]+]]) in (6) buffers(
// CHECK-SAME:      read %at{{\[}}[[I]], 0] [1, 128], read %kv[0, 0] [{{%[0-9]+}}, 64] inexact, read %table[0] [9] inexact,
// CHECK-SAME:      on mixed
// CHECK:           [[Q:%[0-9]+]] = npu.load %q{{\[}}[[I]], 0 +: 32, 0 +: 160]
// CHECK:           scf.for %j
// CHECK:             [[A:%[0-9]+]] = npu.load %at{{\[}}[[I]], %j +: [[N:%[0-9]+]]]
// CHECK:             npu.gather %kv[0, 0] of {{%[0-9]+}} at [[A]][0] {{\[}}[[N]], 64] through %table[0] of 9 {{.*}}per = "row", page = 16
// CHECK:             npu.gather %ks[0, 0] {{.*}} at [[A]][0] {{\[}}[[N]], 1] through
// CHECK:             [[D:%d]] = pypto.cast {{.*}} to f16
// CHECK:             [[H:%[0-9]+]] = npu.gather %kr[0, 0] {{.*}} at [[A]][0] {{\[}}[[N]], 32] through
// CHECK:             [[Q0:%[0-9]+]] = pypto.view [[Q]][0 +: 32, 0 +: 64]
// CHECK:             [[S0:%[0-9]+]] = pypto.mma {{%[0-9]+}}, [[Q0]], [[D]] {b_trans
// CHECK:             [[Q1:%[0-9]+]] = pypto.view [[Q]][0 +: 32, 64 +: 64]
// CHECK:             [[S1:%[0-9]+]] = pypto.mma [[S0]], [[Q1]], [[D]] {b_trans
// CHECK:             [[Q2:%[0-9]+]] = pypto.view [[Q]][0 +: 32, 128 +: 32]
// CHECK:             pypto.mma [[S1]], [[Q2]], [[H]] {b_trans
// CHECK:             pypto.mma {{%[0-9]+}}, %p, [[D]] {npu.tile
// CHECK:             pypto.mma {{%[0-9]+}}, %p, [[D]] {npu.tile
// CHECK-NOT:         npu.store
// CHECK:             scf.yield
// CHECK:           npu.store {{%[0-9]+}} into %e{{\[}}[[I]], 0, 0]
// CHECK-NEXT:      npu.store {{%[0-9]+}} into %e{{\[}}[[I]], 0, 64]
// Each vector core loads half of the indices, gathers by them, and pushes that half.
// KERNEL-LABEL: npu.kernel @nest_0
// KERNEL:         tile.section vector (%half) {
// KERNEL:           [[MINE:%mine[_0-9]*]] = pypto.index min(24, max({{%[0-9]+}} - 24 * %half, 0))
// KERNEL:           tile.load %at{{.*}} [1, [[MINE]]] into [[X:%[0-9]+]]
// KERNEL:           tile.gather %kv[0, 0] {{.*}} at [[X]][{{%[0-9]+}}] {{\[}}[[MINE]], 64] through %table[0] of 9
// KERNEL:           tile.push {{%[0-9]+}} {{\[}}[[MINE]], 64] into {{.*}} !tile.chan<48x64xf16, ub -> l1, rows>
func.func @attend(%q: tensor<6x32x160xf16>, %kv: tensor<?x64xi8>, %ks: tensor<?x1xf32>, %kr: tensor<?x32xf16>,
    %at: tensor<6x128xi32>, %table: tensor<9xi32>) -> tensor<6x32x128xf32> {
  %e = pypto.empty[6, 32, 128] : tensor<6x32x128xf32>
  %r = pypto.forall (%t = 0 to 6) outs(%o = %e) {
    %v = pypto.view %q[%t, :, :]
    %z = pypto.full 0.0[32, 128] : tensor<32x128xf32>
    %sum = pypto.for (%j +: %n = 0 to 128 step 48) iter(%a = %z) {
      %i = pypto.view %at[%t, %j +: %n]
      %k8 = pypto.gather_rows %kv at %i through %table page 16
      %s = pypto.gather_rows %ks at %i through %table page 16
      %d = pypto.dequantize %k8 scales %s to f16
      %h = pypto.gather_rows %kr at %i through %table page 16
      %k = pypto.concat %d, %d, %h axis -1
      %w = pypto.view %k[:, 0 +: 128]
      %y = pypto.matmul %v, %k {b_trans}
      %p = pypto.cast %y to f16
      %x = pypto.matmul %p, %w
      %b = pypto.add %a, %x
      pypto.yield %b
    }
    pypto.store %sum into %o[%t, 0, 0]
  }
  func.return %r : tensor<6x32x128xf32>
}

// Without a product it is a task of vector cores.
// REMARK: :[[# @LINE + 11]]:8: remark[PTO330]: the body of the loop is one vector task:
// CHECK-LABEL: func.func @together
// CHECK:         npu.tasks {{.*}} on vector
// CHECK:           npu.gather %x[0, 0] of 64 at [[A:%[0-9]+]][0] [16, 96]
// CHECK:           npu.gather %s[0, 0] of 64 at [[A]][0] [16, 1]
// CHECK:           npu.store %d into %e[{{%[a-z0-9_]+}}, 0, 0] : tensor<16x96xf32>
// CHECK-NEXT:      npu.store %w into %e[{{%[a-z0-9_]+}}, 0, 96] : tensor<16x32xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @together(%x: tensor<64x96xi8>, %s: tensor<64x1xf32>, %at: tensor<4x16xi32>, %y: tensor<4x16x32xf32>) -> tensor<4x16x128xf32> {
  %e = pypto.empty[4, 16, 128] : tensor<4x16x128xf32>
  %r = pypto.forall (%t = 0 to 4) outs(%o = %e) {
    %i = pypto.view %at[%t, :]
    %g = pypto.gather_rows %x at %i
    %c = pypto.gather_rows %s at %i
    %d = pypto.dequantize %g scales %c to f32
    %v = pypto.view %y[%t, :, :]
    %w = pypto.neg %v
    %k = pypto.concat %d, %w axis -1
    pypto.store %k into %o[%t, 0, 0]
  }
  func.return %r : tensor<4x16x128xf32>
}

// Indices must be known before.
// REMARK: :[[# @LINE + 3]]:8: remark[PTO331]: the body of the loop is no single task: it gathers by %i, made in the body
func.func @computed(%x: tensor<64x64xf16>, %at: tensor<4x16xi32>, %w: tensor<64x64xf16>) -> tensor<4x16x64xf32> {
  %e = pypto.empty[4, 16, 64] : tensor<4x16x64xf32>
  %r = pypto.forall (%t = 0 to 4) outs(%o = %e) {
    %v = pypto.view %at[%t, :]
    %i = pypto.add %v, 1
    %g = pypto.gather_rows %x at %i
    %y = pypto.matmul %g, %w
    pypto.store %y into %o[%t, 0, 0]
  }
  func.return %r : tensor<4x16x64xf32>
}

// Nor are rows made in the loop.
// REMARK: :[[# @LINE + 3]]:8: remark[PTO331]: the body of the loop is no single task: it gathers from %n, made in the body
func.func @negated(%x: tensor<4x64x64xf16>, %at: tensor<4x16xi32>, %w: tensor<64x64xf16>) -> tensor<4x16x64xf32> {
  %e = pypto.empty[4, 16, 64] : tensor<4x16x64xf32>
  %r = pypto.forall (%t = 0 to 4) outs(%o = %e) {
    %v = pypto.view %x[%t, :, :]
    %n = pypto.neg %v
    %i = pypto.view %at[%t, :]
    %g = pypto.gather_rows %n at %i
    %y = pypto.matmul %g, %w
    pypto.store %y into %o[%t, 0, 0]
  }
  func.return %r : tensor<4x16x64xf32>
}

// Each index is for a row.
// REMARK: :[[# @LINE + 3]]:8: remark[PTO331]: the body of the loop is no single task: its body holds an indexing op that gathers no rows
func.func @elements(%x: tensor<16x64xf32>, %at: tensor<4x16x8xi32>) -> tensor<4x16x8xf32> {
  %e = pypto.empty[4, 16, 8] : tensor<4x16x8xf32>
  %r = pypto.forall (%t = 0 to 4) outs(%o = %e) {
    %i = pypto.view %at[%t, :, :]
    %g = pypto.gather %x, %i axis -1
    %y = pypto.exp %g
    pypto.store %y into %o[%t, 0, 0]
  }
  func.return %r : tensor<4x16x8xf32>
}

// A product does not read tiles whose pieces are no fractals.
// REMARK: :[[# @LINE + 3]]:8: remark[PTO331]: the body of the loop is no single task: a product of tiles in pieces of 40 columns, which are no multiple of 32
func.func @narrow(%x: tensor<64x40xf16>, %at: tensor<4x16xi32>, %w: tensor<80x64xf16>) -> tensor<4x16x64xf32> {
  %e = pypto.empty[4, 16, 64] : tensor<4x16x64xf32>
  %r = pypto.forall (%t = 0 to 4) outs(%o = %e) {
    %i = pypto.view %at[%t, :]
    %g = pypto.gather_rows %x at %i
    %k = pypto.concat %g, %g axis -1
    %y = pypto.matmul %k, %w
    pypto.store %y into %o[%t, 0, 0]
  }
  func.return %r : tensor<4x16x64xf32>
}

// What a loop gathers has a place of its own all the time: four times 64 KB are too much,
// whatever else could lie there meanwhile.
// REMARK: :[[# @LINE + 3]]:8: remark[PTO331]: the body of the loop is no single task: its tiles take {{[0-9]+}} B of UB, which has 253952 B
func.func @crowded(%x: tensor<4x900x128xf32>, %at: tensor<4x256xi32>) -> tensor<4x128x1xf32> {
  %e = pypto.empty[4, 128, 1] : tensor<4x128x1xf32>
  %r = pypto.forall (%t = 0 to 4) outs(%o = %e) {
    %z = pypto.full 0.0[128, 1] : tensor<128x1xf32>
    %sum = pypto.for (%j = 0 to 256 step 128) iter(%a0 = %z) {
      %i = pypto.view %at[%t, %j +: 128]
      %x0 = pypto.view %x[0, :, :]
      %g0 = pypto.gather_rows %x0 at %i
      %s0 = pypto.sum %g0 axis -1 {keepdim}
      %a1 = pypto.add %a0, %s0
      %x1 = pypto.view %x[1, :, :]
      %g1 = pypto.gather_rows %x1 at %i
      %s1 = pypto.sum %g1 axis -1 {keepdim}
      %a2 = pypto.add %a1, %s1
      %x2 = pypto.view %x[2, :, :]
      %g2 = pypto.gather_rows %x2 at %i
      %s2 = pypto.sum %g2 axis -1 {keepdim}
      %a3 = pypto.add %a2, %s2
      %x3 = pypto.view %x[3, :, :]
      %g3 = pypto.gather_rows %x3 at %i
      %s3 = pypto.sum %g3 axis -1 {keepdim}
      %a4 = pypto.add %a3, %s3
      pypto.yield %a4
    }
    pypto.store %sum into %o[%t, 0, 0]
  }
  func.return %r : tensor<4x128x1xf32>
}
