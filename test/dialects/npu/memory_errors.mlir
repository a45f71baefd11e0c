// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

func.func private @memory(%a: memref<?x512xf32, "gm">, %b: memref<4x512xf32, "gm">, %g: memref<4xi64, "gm">, %h: memref<4xi64>, %n: index, %e: !npu.events) {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO170]: npu.alloc: expected a memref in "gm", got memref<4xf32>
  %0 = npu.alloc[4] : memref<4xf32>
  // CHECK: npu.alloc: memref<?x4xf32, "gm"> takes 1 size
  %1 = "npu.alloc"() : () -> memref<?x4xf32, "gm">
  // CHECK: npu.alloc: no policy "lazy": it is one of single, carried, slots
  %2 = npu.alloc[4] {policy = "lazy"} : memref<4xf32, "gm">
  // CHECK: npu.alloc: slots = d goes with policy = "slots"
  %3 = npu.alloc[4] {slots = 2} : memref<4xf32, "gm">
  // CHECK: npu.alloc: slots = d goes with policy = "slots"
  %4 = npu.alloc[4] {policy = "slots"} : memref<4xf32, "gm">
  // CHECK: npu.reshape: reshapes 2048 elements to 2047
  %5 = npu.reshape %b[2047]
  // CHECK: npu.reshape: expected a memref in "gm", got memref<4xi64>
  %6 = npu.reshape %h[2, 2]
  // CHECK: npu.reshape: a reshape keeps the element type
  %7 = "npu.reshape"(%g) : (memref<4xi64, "gm">) -> memref<4xi32, "gm">
  // CHECK: npu.reshape: memref<?xi64, "gm"> takes 1 size
  %8 = "npu.reshape"(%g) : (memref<4xi64, "gm">) -> memref<?xi64, "gm">
  // CHECK: npu.reinterpret: the result is memref<4x256xi64, "gm">, not memref<4x512xi64, "gm">
  %r1 = "npu.reinterpret"(%b) : (memref<4x512xf32, "gm">) -> memref<4x512xi64, "gm">
  // CHECK: npu.reinterpret: memref<4x512xf32, "gm"> cannot be read as i1
  %r2 = npu.reinterpret %b to i1
  // CHECK: npu.read: ends at 5 in dimension 0, which has 4 elements
  %9 = npu.read %g[4]
  // CHECK: npu.read: takes 1 offsets, got 2
  %10 = npu.read %g[0, 0]
  // CHECK: npu.read: expected a memref in "gm", got memref<4xi64>
  %11 = npu.read %h[0]
  // CHECK: npu.read: reads f32 as an index
  %12 = npu.read %a[0, 0] : index
  // CHECK: npu.read: d0 is no grid index below d0 or scalar below s0
  %14 = "npu.read"(%g, %e) <{static_offsets = array<i64: 0>, selectors = [#npu.select<[d0]>], operandSegmentSizes = array<i32: 1, 0, 1>}> : (memref<4xi64, "gm">, !npu.events) -> index
  // CHECK: npu.read: operand 'waits' at position 1 does not verify: Expected attribute !npu.events but got index
  %15 = "npu.read"(%g, %n) <{static_offsets = array<i64: 0>, selectors = [#npu.select<all>], operandSegmentSizes = array<i32: 1, 0, 1>}> : (memref<4xi64, "gm">, index) -> index
  // CHECK: npu.join: joins nothing: npu.no_events is the empty set
  %13 = "npu.join"() : () -> !npu.events
  func.return
}

// -----

// CHECK: :[[# @LINE + 2]]:17: error[PTO100]: the sizes are not those of memref<?x4xf32, "gm">
func.func private @sizes(%n: index) {
  %0 = npu.alloc[4, 4] : memref<?x4xf32, "gm">
}

// -----

// CHECK: :[[# @LINE + 2]]:{{[0-9]+}}: error[PTO100]: the result is memref<2x2xf32, "gm">
func.func private @reshape(%a: memref<4xf32, "gm">) {
  %0 = npu.reshape %a[2, 2] : memref<4x1xf32, "gm">
}

// -----

// CHECK: :[[# @LINE + 2]]:{{[0-9]+}}: error[PTO100]: d0 is no grid index or scalar of this operation
func.func private @wait(%a: memref<4xf32, "gm">, %e: !npu.events) {
  %0 = npu.read %a[0] after(%e[d0])
}

// -----

// CHECK: :[[# @LINE + 2]]:{{[0-9]+}}: error[PTO100]: operand 0 has type memref<4xf32, "gm">, not memref<5xf32, "gm">
func.func private @operand(%a: memref<4xf32, "gm">) {
  %0 = npu.reshape %a[2, 2] : memref<5xf32, "gm"> -> memref<2x2xf32, "gm">
}

// -----

// What comes from a rejected operation gives no further errors.
func.func private @rejected(%a: memref<4xf32, "gm">, %n: index) {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO105]: there is no operation npu.unknown
  %0 = npu.unknown %a
  // CHECK-NOT: error
  %1 = npu.read %0[0]
  %2 = npu.alloc[%0] : memref<?xf32, "gm">
  %3 = npu.join %2, %1
}
