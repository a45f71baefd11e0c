// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

// CHECK: :[[# @LINE + 1]]:1: error[PTO170]: npu.kernel: the buffers stand before the scalars
npu.kernel @order (%i) (%n: index, %a: memref<?x512xf32, "gm">) on cube {
}

// CHECK: :[[# @LINE + 1]]:1: error[PTO170]: npu.kernel: a grid of rank 1 has as many index arguments
"npu.kernel"() <{sym_name = "rank", rank = 1 : i64, unit = #npu<unit cube>}> ({
^bb0(%i: i32):
}) : () -> ()

// CHECK: :[[# @LINE + 1]]:1: error[PTO170]: npu.kernel: an access of rank 1 x 1 to memref<?x512xf32, "gm">
npu.kernel @access (%i) (%a: memref<?x512xf32, "gm">) on cube accesses(read %a[%i] [1]) {
}

// -----

npu.kernel @k (%i) (%a: memref<?x512xf32, "gm">, %n: index) on cube {
}

func.func private @f(%a: memref<?x512xf32, "gm">, %b: memref<4x512xf32, "gm">, %n: index, %e: !npu.events) {
  // CHECK: :[[# @LINE + 2]]:8: error[PTO170]: npu.launch: the buffers stand before the scalars
  // CHECK-NOT: PTO173
  %0 = npu.launch @k[4] (%n, %a)
  // CHECK: error[PTO170]: npu.launch: grid size -4 is negative
  %1 = npu.launch @k[-4] (%a, %n)
  // CHECK: error[PTO170]: npu.launch: d1 is no grid index below d1 or scalar below s1
  %2 = "npu.launch"(%a, %n, %e) <{callee = @k, static_grid = array<i64: 4>, selectors = [#npu.select<[d1]>], operandSegmentSizes = array<i32: 0, 2, 1>}> : (memref<?x512xf32, "gm">, index, !npu.events) -> !npu.events
  func.return
}

// -----

npu.kernel @k (%i) (%a: memref<?x512xf32, "gm">, %n: index) on cube {
}

func.func private @g() {
  func.return
}

func.func private @f(%a: memref<?x512xf32, "gm">, %b: memref<4x512xf32, "gm">, %n: index) {
  // CHECK: :[[# @LINE + 2]]:8: error[PTO173]: @k has a grid of rank 1, the launch of rank 2
  // CHECK: note: the kernel ({{.*}}kernels_errors.mlir:34:1)
  %0 = npu.launch @k[4, 4] (%a, %n)
  // CHECK: :[[# @LINE + 1]]:8: error[PTO173]: @k takes 2 arguments, got 1
  %1 = npu.launch @k[4] (%a)
  // CHECK: :[[# @LINE + 1]]:8: error[PTO173]: argument 0 of @k is memref<?x512xf32, "gm">, got memref<4x512xf32, "gm">
  %2 = npu.launch @k[4] (%b, %n)
  // CHECK: :[[# @LINE + 1]]:8: error[PTO172]: there is no @kk
  %3 = npu.launch @kk[4] (%b, %n)
  // CHECK: :[[# @LINE + 1]]:8: error[PTO172]: npu.launch needs a npu.kernel, @g is a func.func
  %4 = npu.launch @g[4] (%b, %n)
  func.return
}


// -----

npu.kernel @isolated () () on cube {
}

// CHECK: :[[# @LINE + 2]]:{{[0-9]+}}: error[PTO100]: the launch is of type () -> !npu.events
func.func private @type() {
  %0 = npu.launch @isolated[] () : () -> index
}

// -----

npu.kernel @k () () on cube {
}

func.func private @call() {
  // CHECK: :[[# @LINE + 1]]:3: error[PTO170]: func.call: '@k' does not reference a valid function
  func.call @k() : () -> ()
  func.return
}

// -----

npu.kernel @k () () on cube {
}

// CHECK: :[[# @LINE + 1]]:1: error[PTO172]: @k is defined twice
npu.kernel @k () () on cube {
}

// -----

// How the tasks of a launch start.
npu.kernel @k (%i, %j) () on cube {
}

func.func private @walks() {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO170]: npu.launch: order is one of "row", "column", "snake", "blocked", got "rows"
  %0 = npu.launch @k[4, 4] () {order = "rows"}
  // CHECK: error[PTO170]: npu.launch: assign is one of "static", "dynamic", got 3
  %1 = npu.launch @k[4, 4] () {assign = 3}
  // CHECK: error[PTO170]: npu.launch: order = "blocked" has blocks = [rows, columns]
  %2 = npu.launch @k[4, 4] () {order = "blocked"}
  // CHECK: error[PTO170]: npu.launch: order = "blocked" has blocks = [rows, columns]
  %3 = npu.launch @k[4, 4] () {order = "row", blocks = [2, 2]}
  // CHECK: error[PTO170]: npu.launch: blocks is a list of two integers
  %4 = npu.launch @k[4, 4] () {order = "blocked", blocks = [2]}
  // CHECK: error[PTO170]: npu.launch: blocks = [0, 2] must be at least 1
  %5 = npu.launch @k[4, 4] () {order = "blocked", blocks = [0, 2]}
  // CHECK: error[PTO170]: npu.launch: axes = [1, 2] are two neighbouring axes of a grid of rank 2
  %6 = npu.launch @k[4, 4] () {order = "snake", axes = [1, 2]}
  func.return
}
