// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// Floats accumulate in f32, i8 in i32; `to` rounds once.
// CHECK-LABEL: @types
func.func @types(%a: tensor<?x64xbf16>, %b: tensor<64x32xbf16>, %i: tensor<4x64xi8>,
                 %j: tensor<64x8xi8>, %e: tensor<4x64xf8E4M3FN>, %f: tensor<64x8xf8E5M2>) {
  // CHECK: pypto.matmul %a, %b : tensor<?x64xbf16>, tensor<64x32xbf16> -> tensor<?x32xf32>
  %0 = pypto.matmul %a, %b
  // CHECK: pypto.matmul %a, %b to bf16 : tensor<?x64xbf16>, tensor<64x32xbf16> -> tensor<?x32xbf16>
  %1 = pypto.matmul %a, %b to bf16
  // CHECK: pypto.matmul %i, %j : tensor<4x64xi8>, tensor<64x8xi8> -> tensor<4x8xi32>
  %2 = pypto.matmul %i, %j
  // CHECK: pypto.matmul %i, %j to f16 : tensor<4x64xi8>, tensor<64x8xi8> -> tensor<4x8xf16>
  %3 = pypto.matmul %i, %j to f16
  // CHECK: %[[S:.*]] = pypto.full 0.5[8]
  %s = pypto.full 0.5[8] : tensor<8xf32>
  // CHECK: pypto.matmul %i, %j scale %[[S]] to i8 {relu} : tensor<4x64xi8>, tensor<64x8xi8>, tensor<8xf32> -> tensor<4x8xi8>
  %s0 = pypto.matmul %i, %j scale %s to i8 {relu}
  // CHECK: pypto.matmul %i, %j scale %[[S]] : tensor<4x64xi8>, tensor<64x8xi8>, tensor<8xf32> -> tensor<4x8xf32>
  %s1 = pypto.matmul %i, %j scale %s
  // CHECK: %[[C:.*]] = pypto.full 1[8] : tensor<8xi32>
  %c = pypto.full 1[8] : tensor<8xi32>
  // CHECK: pypto.matmul %i, %j bias %[[C]] scale %[[S]] to f16 {relu} : tensor<4x64xi8>, tensor<64x8xi8>, tensor<8xi32>, tensor<8xf32> -> tensor<4x8xf16>
  %s2 = pypto.matmul %i, %j bias %c scale %s to f16 {relu}
  // CHECK: pypto.matmul %e, %f : tensor<4x64xf8E4M3FN>, tensor<64x8xf8E5M2> -> tensor<4x8xf32>
  %4 = pypto.matmul %e, %f
  func.return
}

// Leading dimensions broadcast; a B of rank 2 serves them all.
// CHECK-LABEL: @shapes
func.func @shapes(%a: tensor<?x64x128xbf16>, %b: tensor<?x128xbf16>, %c: tensor<5x1x3x128xbf16>,
                  %d: tensor<7x128x9xbf16>, %at: tensor<128x3xbf16>) {
  // CHECK: pypto.matmul %a, %b {b_trans} : tensor<?x64x128xbf16>, tensor<?x128xbf16> -> tensor<?x64x?xf32>
  %0 = pypto.matmul %a, %b {b_trans}
  // CHECK: pypto.matmul %c, %d : {{.*}} -> tensor<5x7x3x9xf32>
  %1 = pypto.matmul %c, %d
  // CHECK: pypto.matmul %at, %b {a_trans, b_trans} : {{.*}} -> tensor<3x?xf32>
  %2 = pypto.matmul %at, %b {a_trans, b_trans}
  // CHECK: pypto.matmul %at, %d {a_trans, tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], split_k>}
  %3 = pypto.matmul %at, %d {a_trans, tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [16, 16], split_k>}
  func.return
}

// One scale for 32 elements of K, two side by side: ceil(K/64) pairs.
// CHECK-LABEL: @scaled
func.func @scaled(%a: tensor<?x96xf8E4M3FN>, %at: tensor<96x?xf8E4M3FN>, %b: tensor<96x32xf8E5M2>,
                  %bt: tensor<32x96xf8E5M2>, %sa: tensor<?x2x2xf8E8M0FNU>, %sat: tensor<2x?x2xf8E8M0FNU>,
                  %sb: tensor<2x32x2xf8E8M0FNU>, %sbt: tensor<32x2x2xf8E8M0FNU>) {
  // CHECK: pypto.scaled_mm %a, %b scales %sa, %sb : tensor<?x96xf8E4M3FN>, tensor<96x32xf8E5M2>, tensor<?x2x2xf8E8M0FNU>, tensor<2x32x2xf8E8M0FNU> -> tensor<?x32xf32>
  %0 = pypto.scaled_mm %a, %b scales %sa, %sb
  // CHECK: pypto.scaled_mm %at, %bt scales %sa, %sb to bf16 {a_trans, b_trans} : {{.*}} -> tensor<?x32xbf16>
  %1 = pypto.scaled_mm %at, %bt scales %sa, %sb to bf16 {a_trans, b_trans}
  // CHECK: pypto.scaled_mm %a, %bt scales %sat, %sbt {b_trans, scales_a_trans, scales_b_trans} : {{.*}} -> tensor<?x32xf32>
  %2 = pypto.scaled_mm %a, %bt scales %sat, %sbt {b_trans, scales_a_trans, scales_b_trans}
  func.return
}

// Batches: A is read batch-wise, its scales with it.
// CHECK-LABEL: @scaled_batch
func.func @scaled_batch(%a: tensor<5x?x64xf8E4M3FN>, %b: tensor<5x64x32xf8E4M3FN>,
                        %sa: tensor<5x?x1x2xf8E8M0FNU>, %sb: tensor<5x1x32x2xf8E8M0FNU>) {
  // CHECK: pypto.scaled_mm %a, %b scales %sa, %sb : {{.*}} -> tensor<5x?x32xf32>
  %0 = pypto.scaled_mm %a, %b scales %sa, %sb
  func.return
}

// CHECK-LABEL: @grouped
func.func @grouped(%a: tensor<?x512xf8E4M3FN>, %b: tensor<2x512x32xf8E4M3FN>, %bt: tensor<2x32x512xf8E4M3FN>,
                   %g: tensor<2xi64>, %sa: tensor<?x8x2xf8E8M0FNU>, %sb: tensor<2x8x32x2xf8E8M0FNU>,
                   %sbt: tensor<2x32x8x2xf8E8M0FNU>, %h: tensor<?x16xi8>, %w: tensor<2x16x8xi8>) {
  // CHECK: pypto.grouped_matmul %a, %b groups %g scales %sa, %sb : tensor<?x512xf8E4M3FN>, tensor<2x512x32xf8E4M3FN>, tensor<2xi64>, tensor<?x8x2xf8E8M0FNU>, tensor<2x8x32x2xf8E8M0FNU> -> tensor<?x32xf32>
  %0 = pypto.grouped_matmul %a, %b groups %g scales %sa, %sb
  // CHECK: pypto.grouped_matmul %a, %bt groups %g scales %sa, %sbt {b_trans, scales_b_trans} : {{.*}} -> tensor<?x32xf32>
  %1 = pypto.grouped_matmul %a, %bt groups %g scales %sa, %sbt {b_trans, scales_b_trans}
  // CHECK: pypto.grouped_matmul %h, %w groups %g {group_kind = "ends"} : tensor<?x16xi8>, tensor<2x16x8xi8>, tensor<2xi64> -> tensor<?x8xi32>
  %2 = pypto.grouped_matmul %h, %w groups %g {group_kind = "ends"}
  func.return
}

// CHECK-LABEL: @einsum
func.func @einsum(%q: tensor<?x128x192xbf16>, %w: tensor<128x192x512xbf16>) {
  // CHECK: pypto.einsum "thd,hdc->thc" %q, %w to bf16 : tensor<?x128x192xbf16>, tensor<128x192x512xbf16> -> tensor<?x128x512xbf16>
  %0 = pypto.einsum "thd,hdc->thc" %q, %w to bf16
  // CHECK: pypto.einsum "thd,hdc->hct" %q, %w : {{.*}} -> tensor<128x512x?xf32>
  %1 = pypto.einsum "thd,hdc->hct" %q, %w
  func.return
}

// One step of a sum over K, on tiles of rank 2; scales are flattened to rank 2.
// CHECK-LABEL: @mma
func.func @mma(%c: tensor<?x32xf32, #npu.max<16, 32>>, %a: tensor<?x96xf8E4M3FN, #npu.max<16, 96>>,
               %b: tensor<96x32xf8E4M3FN>, %sa: tensor<?x4xf8E8M0FNU, #npu.max<16, 4>>,
               %sb: tensor<2x64xf8E8M0FNU>, %sbt: tensor<32x4xf8E8M0FNU>,
               %sat: tensor<2x?xf8E8M0FNU, #npu.max<2, 32>>) {
  // CHECK: pypto.mma %c, %a, %b : {{.*}} -> tensor<?x32xf32, #npu.max<16, 32>>
  %0 = pypto.mma %c, %a, %b
  // CHECK: pypto.mma %c, %a, %b scales %sa, %sb : {{.*}} -> tensor<?x32xf32, #npu.max<16, 32>>
  %1 = pypto.mma %c, %a, %b scales %sa, %sb
  // CHECK: pypto.mma %c, %a, %b scales %sat, %sbt {scales_a_trans, scales_b_trans} : {{.*}} -> tensor<?x32xf32, #npu.max<16, 32>>
  %2 = pypto.mma %c, %a, %b scales %sat, %sbt {scales_a_trans, scales_b_trans}
  func.return
}
