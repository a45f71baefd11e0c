// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds,legalize-casts,partition,infer-tiles,form-tasks,tile,assemble-buffers | filecheck %s
// RUN: pyptoc %s --pipeline=desugar,decompose,check-bounds,legalize-casts,partition,infer-tiles,form-tasks,tile,assemble-buffers,lower-to-tile | filecheck %s --check-prefix=FLAT
// RUN: pyptoc %s --compile-to=kernels | filecheck %s --check-prefix=SKEWED
// RUN: pyptoc %s --machine=ascend910b --pipeline=desugar,decompose,check-bounds,legalize-casts,partition,infer-tiles,form-tasks,tile,assemble-buffers | filecheck %s --check-prefix=SMALL

// A tile is multiplied by a scale for each group of its columns in one instruction; what
// the loop sums up stays in L0C, where a product over nothing has made the zeros, and the
// store takes it from there with a cast.
// CHECK-LABEL: func.func @attend
// CHECK:           [[Z:%.*]] = pypto.full 0.0[32, 128] : tensor<32x128xf32
// CHECK:           scf.for %j {{.*}} iter_args([[A:%.*]] = [[Z]])
// CHECK:             pypto.mul_groups {{.*}} group 32 first 0
// CHECK:             [[X:%.*]] = pypto.mma [[A]], %p
// CHECK-NOT:         pypto.add
// CHECK:             scf.yield [[X]]
// CHECK:           [[B:%.*]] = pypto.cast {{.*}} to bf16
// CHECK:           npu.store [[B]]
// FLAT-LABEL: npu.kernel @nest_0
// FLAT:         [[Z:%[0-9]+]] = tile.alloc : !tile.buf<32x128xf32, l0c>
// FLAT:         tile.matmul {{.*}} into [[Z]] [32, 128, 0] :
// FLAT:         scf.for %j
// FLAT:           tile.mul [[X:%[0-9]+]], {{%[0-9]+}} group into [[X]] {{\[}}[[N:%[0-9]+]], 128] {group = 32, first = 0}
// FLAT:           tile.matmul {{.*}} into [[Z]] [32, 128, {{%[0-9]+}}] accumulate %
// FLAT-NOT:       tile.add
// FLAT:         }
// FLAT:         tile.store [[Z]] [32, 128] into %e
// The keys are sent twice, in one stage: the second time for the stage that has the
// weights, a trip later.
// SKEWED-LABEL: npu.kernel @nest_0
// SKEWED:         [[K:%d[_0-9]*]] = tile.channel {slots = 2, npu.spare} : !tile.chan<48x128xbf16, ub -> l1, rows>
// SKEWED:         [[L:%d[_0-9]*]] = tile.channel {slots = 2} : !tile.chan<48x128xbf16, ub -> l1, rows>
// SKEWED:         tile.section cube {
// SKEWED:           scf.if %stage0
// SKEWED:             tile.pop [[K]]
// SKEWED:             tile.free [[K]]
// SKEWED:           scf.if %stage1
// SKEWED:             tile.pop [[P:%[0-9]+]] : !tile.chan<32x48xbf16
// SKEWED:             tile.pop [[L]]
// SKEWED:             tile.free [[L]]
// SKEWED:         tile.section vector
// SKEWED:           tile.push [[T:%[0-9]+]] {{.*}} into [[K]]
// SKEWED-NEXT:      tile.push [[T]] {{.*}} into [[L]]
func.func @attend(%q: tensor<6x32x128xbf16>, %kv: tensor<?x128xi8>, %ks: tensor<?x4xf32>, %at: tensor<6x128xi32>) -> tensor<6x32x128xbf16> {
  %e = pypto.empty[6, 32, 128] : tensor<6x32x128xbf16>
  %r = pypto.forall (%t = 0 to 6) outs(%o = %e) {
    %v = pypto.view %q[%t, :, :]
    %z = pypto.full 0.0[32, 128] : tensor<32x128xf32>
    %sum = pypto.for (%j +: %n = 0 to 128 step 48) iter(%a = %z) {
      %i = pypto.view %at[%t, %j +: %n]
      %k8 = pypto.gather_rows %kv at %i
      %s = pypto.gather_rows %ks at %i
      %d = pypto.dequantize %k8 scales %s axis -1 group 32 to bf16
      %y = pypto.matmul %v, %d {b_trans}
      %p = pypto.cast %y to bf16
      %x = pypto.matmul %p, %d
      %b = pypto.add %x, %a
      pypto.yield %b
    }
    %c = pypto.cast %sum to bf16
    pypto.store %c into %o[%t, 0, 0]
  }
  func.return %r : tensor<6x32x128xbf16>
}

// A sum that starts at something else, or that is read in the loop, is the vector cores'.
// CHECK-LABEL: func.func @other_sums
// CHECK:         npu.tasks {{.*}} on mixed
// CHECK:           pypto.add
// CHECK:           pypto.add
// CHECK:           scf.yield
func.func @other_sums(%q: tensor<6x32x64xbf16>, %k: tensor<128x64xbf16>) -> (tensor<6x32x64xf32>, tensor<6x32x64xf32>) {
  %e = pypto.empty[6, 32, 64] : tensor<6x32x64xf32>
  %f = pypto.empty[6, 32, 64] : tensor<6x32x64xf32>
  %r, %s = pypto.forall (%t = 0 to 6) outs(%o = %e, %u = %f) {
    %v = pypto.view %q[%t, :, :]
    %z = pypto.full 1.0[32, 64] : tensor<32x64xf32>
    %z0 = pypto.full 0.0[32, 64] : tensor<32x64xf32>
    %one, %two = pypto.for (%j +: %n = 0 to 128 step 64) iter(%a = %z, %c = %z0) {
      %d = pypto.view %k[%j +: %n, :]
      %y = pypto.matmul %v, %d {b_trans}
      %p = pypto.cast %y to bf16
      %x = pypto.matmul %p, %d
      %b = pypto.add %a, %x
      %g = pypto.exp %c
      %h = pypto.cast %g to bf16
      %w = pypto.matmul %h, %d
      %i = pypto.add %c, %w
      pypto.yield %b, %i
    }
    pypto.store %one into %o[%t, 0, 0]
    pypto.store %two into %u[%t, 0, 0]
  }
  func.return %r, %s : tensor<6x32x64xf32>, tensor<6x32x64xf32>
}

// A sum of all of L0C leaves no room for the scores: there it is added up in UB.
// CHECK-LABEL: func.func @large
// CHECK:         npu.tasks {{.*}} on mixed
// CHECK-NOT:       pypto.add
// CHECK:           npu.store
// SMALL-LABEL: func.func @large
// SMALL:         npu.tasks {{.*}} on mixed
// SMALL:           pypto.add
// SMALL:           npu.store
func.func @large(%q: tensor<6x128x64xbf16>, %k: tensor<256x64xbf16>, %v: tensor<256x256xbf16>) -> tensor<6x128x256xf32> {
  %e = pypto.empty[6, 128, 256] : tensor<6x128x256xf32>
  %r = pypto.forall (%t = 0 to 6) outs(%o = %e) {
    %a = pypto.view %q[%t, :, :]
    %z = pypto.full 0.0[128, 256] : tensor<128x256xf32>
    %sum = pypto.for (%j +: %n = 0 to 256 step 32) iter(%c = %z) {
      %b = pypto.view %k[%j +: %n, :]
      %w = pypto.view %v[%j +: %n, :]
      %y = pypto.matmul %a, %b {b_trans}
      %p = pypto.cast %y to bf16
      %x = pypto.matmul %p, %w
      %d = pypto.add %c, %x
      pypto.yield %d
    }
    pypto.store %sum into %o[%t, 0, 0]
  }
  func.return %r : tensor<6x128x256xf32>
}
