// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

func.func private @places(%g: memref<4xi64, "gm">, %arena: memref<64xi8, "gm">) {
  // CHECK: npu.place: an arena is a memref<?xi8>, not memref<4xi64, "gm">
  %p1 = npu.place %g at 0[4] : memref<4xi64, "gm">
  // CHECK: npu.place: offset -4 is negative
  %p2 = "npu.place"(%arena) <{static_offset = -4 : i64, operandSegmentSizes = array<i32: 1, 0, 0>}> : (memref<64xi8, "gm">) -> memref<4xf32, "gm">
  // CHECK: npu.place: ends at byte 68 of an arena of 64 bytes
  %p3 = npu.place %arena at 4[16] : memref<16xf32, "gm">
  // CHECK: npu.place: memref<?xf32, "gm"> takes 1 size
  %p4 = "npu.place"(%arena) <{static_offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 0>}> : (memref<64xi8, "gm">) -> memref<?xf32, "gm">
  func.return
}

// -----

func.func private @types(%arena: memref<64xi8, "gm">, %n: index) {
  // CHECK: a memref is expected here
  %p = npu.place %arena at 0[4] : tensor<4xf32>
  func.return
}

// -----

func.func private @sizes(%arena: memref<64xi8, "gm">, %n: index) {
  // CHECK: the sizes are not those of memref<4xf32, "gm">
  %p = npu.place %arena at 0[%n] : memref<4xf32, "gm">
  func.return
}
