// RUN: pyptoc %s --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-op-generic | pyptoc - --pipeline= | filecheck %s
// RUN: pyptoc %s --pipeline= --print-short | pyptoc - --pipeline= | filecheck %s

// CHECK-LABEL: npu.kernel @inputs
npu.kernel @inputs (%i) (%m: index, %s: f32) on vector {
  %a = tile.alloc : !tile.buf<16x256xf32, ub>
  %d = tile.alloc : !tile.buf<16x256xf32, ub>
  %r = tile.alloc : !tile.buf<16x1xf32, ub>
  %c = tile.alloc : !tile.buf<1x256xf32, ub>
  %o = tile.alloc : !tile.buf<1x1xf32, ub>
  %g = tile.alloc : !tile.buf<16x8xf32, ub>
  %n = tile.alloc : !tile.buf<16x256xi32, ub>
  %left = tile.alloc : !tile.buf<16x256xi32, ub>
  // CHECK: tile.add %a, %r row into %d [%m, 256] : !tile.buf<16x256xf32, ub>, !tile.buf<16x1xf32, ub>, !tile.buf<16x256xf32, ub>
  tile.add %a, %r row into %d [%m, 256]
  // CHECK-NEXT: tile.sub %c col, %a into %d [16, %m] {tag = "x"} :
  tile.sub %c col, %a full into %d [16, %m] {tag = "x"}
  // CHECK-NEXT: tile.mul %a, %o one into %a [0, 0] :
  tile.mul %a, %o one into %a [0, 0]
  // CHECK-NEXT: tile.mul %a, %g group into %a [%m, 200] {group = 64, first = 4} : !tile.buf<16x256xf32, ub>, !tile.buf<16x8xf32, ub>, !tile.buf<16x256xf32, ub>
  tile.mul %a, %g group into %a [%m, 200] {group = 64, first = 4}
  // CHECK-NEXT: tile.mul %a, 2.0 into %a [16, 256] :
  tile.mul %a, 2.0 into %a [16, 256]
  // CHECK-NEXT: tile.maximum -inf, %a into %a [16, 256] :
  tile.maximum -inf, %a into %a [16, 256]
  // CHECK-NEXT: tile.mul %a, %s into %d [16, 256] : !tile.buf<16x256xf32, ub>, f32, !tile.buf<16x256xf32, ub>
  tile.mul %a, %s into %d [16, 256]
  // CHECK-NEXT: tile.add %n, -3 into %n [16, 256] :
  tile.add %n, -3 into %n [16, 256]
  // CHECK-NEXT: tile.add %n, %m into %n [16, 256] : !tile.buf<16x256xi32, ub>, index, !tile.buf<16x256xi32, ub>
  tile.add %n, %m into %n [16, 256]
  // CHECK-NEXT: tile.div %a, %d into %a [16, 256] {zero_if_zero} :
  tile.div %a, %d into %a [16, 256] {zero_if_zero}
  // The literal is rounded to the element type of the buffers.
  // CHECK-NEXT: tile.add %a, 0.1 into %a
  tile.add %a, 0.1 into %a [16, 256]
}

// CHECK-LABEL: npu.kernel @other_shapes
npu.kernel @other_shapes (%i) (%m: index, %s: f32) on vector {
  %a = tile.alloc : !tile.buf<16x256xf32, ub>
  %d = tile.alloc : !tile.buf<16x256xf32, ub>
  %h = tile.alloc : !tile.buf<16x256xbf16, ub>
  %r = tile.alloc : !tile.buf<16x1xf32, ub>
  %b = tile.alloc : !tile.buf<16x256xi1, ub>
  // CHECK: tile.lt %a, 0.5 into %b [16, 256] : !tile.buf<16x256xf32, ub>, !tile.buf<16x256xi1, ub>
  tile.lt %a, 0.5 into %b [16, 256]
  // CHECK-NEXT: tile.where %b, %a, -inf into %d [16, 256] : !tile.buf<16x256xi1, ub>, !tile.buf<16x256xf32, ub>, !tile.buf<16x256xf32, ub>
  tile.where %b, %a, -inf into %d [16, 256]
  // CHECK-NEXT: tile.where %b, 1.0, 0.0 into %d [16, 256] : !tile.buf<16x256xi1, ub>, !tile.buf<16x256xf32, ub>
  tile.where %b, 1.0, 0.0 into %d [16, 256]
  // CHECK-NEXT: tile.clip %a, -1.0, %r row into %d [16, 256] :
  tile.clip %a, -1.0, %r row into %d [16, 256]
  // CHECK-NEXT: tile.cvt %a into %h [16, 256] : !tile.buf<16x256xf32, ub>, !tile.buf<16x256xbf16, ub>
  tile.cvt %a into %h [16, 256]
  // CHECK-NEXT: tile.cvt %a into %h [16, 256] {mode = "rint", saturate = false} :
  tile.cvt %a into %h [16, 256] {saturate = false, mode = "rint"}
  // CHECK-NEXT: tile.fill 0.100098 into %h [%m, 256] : !tile.buf<16x256xbf16, ub>
  tile.fill 0.1 into %h [%m, 256]
  // CHECK-NEXT: tile.fill %s into %a [%m, 256] : f32, !tile.buf<16x256xf32, ub>
  tile.fill %s into %a [%m, 256]
  // CHECK-NEXT: tile.copy %a into %d [16, 256]
  tile.copy %a into %d [16, 256]
  // CHECK-NEXT: tile.copy %r row into %d [16, 256]
  tile.copy %r row into %d [16, 256]
  // CHECK-NEXT: tile.row_sum %a into %r [%m, 256] : !tile.buf<16x256xf32, ub>, !tile.buf<16x1xf32, ub>
  tile.row_sum %a into %r [%m, 256]
  // CHECK-NEXT: tile.row_max %a into %r [16, 0]
  tile.row_max %a into %r [16, 0]
  // CHECK-NEXT: tile.row_min %a into %r [16, 256]
  tile.row_min %a into %r [16, 256]
  // CHECK-NEXT: tile.row_prod %a into %r [16, 256]
  tile.row_prod %a into %r [16, 256]
  // CHECK-NEXT: tile.row_cumsum %a into %d [16, 256]
  tile.row_cumsum %a into %d [16, 256]
}

// CHECK-LABEL: npu.kernel @families
npu.kernel @families (%i) () on vector {
  %a = tile.alloc : !tile.buf<16x256xf32, ub>
  %n = tile.alloc : !tile.buf<16x256xi32, ub>
  %left = tile.alloc : !tile.buf<16x256xi32, ub>
  %b = tile.alloc : !tile.buf<16x256xi1, ub>
  // CHECK: tile.exp %a into %a
  tile.exp %a into %a [16, 256]
  // CHECK-NEXT: tile.log %a into %a
  tile.log %a into %a [16, 256]
  // CHECK-NEXT: tile.sqrt %a into %a
  tile.sqrt %a into %a [16, 256]
  // CHECK-NEXT: tile.rsqrt %a into %a
  tile.rsqrt %a into %a [16, 256]
  // CHECK-NEXT: tile.sigmoid %a into %a
  tile.sigmoid %a into %a [16, 256]
  // CHECK-NEXT: tile.silu %a into %a
  tile.silu %a into %a [16, 256]
  // CHECK-NEXT: tile.gelu %a into %a
  tile.gelu %a into %a [16, 256]
  // CHECK-NEXT: tile.tanh %a into %a
  tile.tanh %a into %a [16, 256]
  // CHECK-NEXT: tile.reciprocal %a into %a
  tile.reciprocal %a into %a [16, 256]
  // CHECK-NEXT: tile.sin %a into %a
  tile.sin %a into %a [16, 256]
  // CHECK-NEXT: tile.cos %a into %a
  tile.cos %a into %a [16, 256]
  // CHECK-NEXT: tile.erf %a into %a
  tile.erf %a into %a [16, 256]
  // CHECK-NEXT: tile.floor %a into %a
  tile.floor %a into %a [16, 256]
  // CHECK-NEXT: tile.ceil %a into %a
  tile.ceil %a into %a [16, 256]
  // CHECK-NEXT: tile.trunc %a into %a
  tile.trunc %a into %a [16, 256]
  // CHECK-NEXT: tile.round %a into %a
  tile.round %a into %a [16, 256]
  // CHECK-NEXT: tile.neg %n into %n
  tile.neg %n into %n [16, 256]
  // CHECK-NEXT: tile.abs %n into %n
  tile.abs %n into %n [16, 256]
  // CHECK-NEXT: tile.relu %n into %n
  tile.relu %n into %n [16, 256]
  // CHECK-NEXT: tile.logical_not %b into %b
  tile.logical_not %b into %b [16, 256]
  // CHECK-NEXT: tile.minimum %n, %n into %n
  tile.minimum %n, %n into %n [16, 256]
  // CHECK-NEXT: tile.rem %n, 7 into %left
  tile.rem %n, 7 into %left [16, 256]
  // CHECK-NEXT: tile.floordiv %n, 7 into %n
  tile.floordiv %n, 7 into %n [16, 256]
  // CHECK-NEXT: tile.pow %a, 2.0 into %a
  tile.pow %a, 2.0 into %a [16, 256]
  // CHECK-NEXT: tile.and %b, %b into %b
  tile.and %b, %b into %b [16, 256]
  // CHECK-NEXT: tile.or %n, %n into %n
  tile.or %n, %n into %n [16, 256]
  // CHECK-NEXT: tile.xor %n, %n into %n
  tile.xor %n, %n into %n [16, 256]
  // CHECK-NEXT: tile.eq %b, true into %b
  tile.eq %b, true into %b [16, 256]
  // CHECK-NEXT: tile.ne %n, 1 into %b
  tile.ne %n, 1 into %b [16, 256]
  // CHECK-NEXT: tile.le %n, 1 into %b
  tile.le %n, 1 into %b [16, 256]
  // CHECK-NEXT: tile.gt %n, 1 into %b
  tile.gt %n, 1 into %b [16, 256]
  // CHECK-NEXT: tile.ge %n, 1 into %b
  tile.ge %n, 1 into %b [16, 256]
}
