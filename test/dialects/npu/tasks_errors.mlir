// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

func.func private @tasks(%z0: tensor<4x512xf32>, %a: memref<?x512xf32, "gm">, %n: index, %e: !npu.events) {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO170]: npu.tasks: buffers, waits and accesses belong to the memory form, which has no destinations
  %r = npu.tasks (%i) in (4) outs(%o = %z0) buffers(%a) on vector {
  }
  // CHECK: npu.tasks: seq axis 1 of a grid of rank 1
  %s = "npu.tasks"() <{static_grid = array<i64: 4>, unit = #npu<unit cube>, seq = array<i64: 1>, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0>}> ({
  ^bb0(%i: index):
  }) : () -> !npu.events
  // CHECK: npu.tasks: grid size -1 is negative
  %t = npu.tasks (%i) in (-1) on vector {
  }
  // CHECK: npu.tasks: a grid of rank 1 has as many index arguments
  %u = "npu.tasks"() <{static_grid = array<i64: 4>, unit = #npu<unit cube>, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0>}> ({
  ^bb0(%i: i32):
  }) : () -> !npu.events
  // CHECK: npu.tasks: the body has one argument for each destination
  %v = "npu.tasks"() <{static_grid = array<i64: 4>, unit = #npu<unit cube>, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0>}> ({
  ^bb0(%i: index, %o: index):
  }) : () -> !npu.events
  // CHECK: npu.tasks: without destinations the result is !npu.events
  "npu.tasks"() <{static_grid = array<i64: 4>, unit = #npu<unit cube>, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0>}> ({
  ^bb0(%i: index):
  }) : () -> ()
  // CHECK: npu.tasks: the results are those of the destinations
  "npu.tasks"(%z0) <{static_grid = array<i64: 4>, unit = #npu<unit cube>, operandSegmentSizes = array<i32: 0, 1, 0, 0, 0>}> ({
  ^bb0(%i: index, %o: tensor<4x512xf32>):
  }) : (tensor<4x512xf32>) -> ()
  // CHECK: npu.tasks: 1 waits need as many selectors
  %w = "npu.tasks"(%e) <{static_grid = array<i64>, unit = #npu<unit cube>, operandSegmentSizes = array<i32: 0, 0, 0, 0, 1>}> ({
  ^bb0:
  }) : (!npu.events) -> !npu.events
  // CHECK: npu.tasks: d1 is no grid index below d1 or scalar below s0
  %x = "npu.tasks"(%e) <{static_grid = array<i64: 4>, unit = #npu<unit cube>, selectors = [#npu.select<[d1]>], operandSegmentSizes = array<i32: 0, 0, 0, 0, 1>}> ({
  ^bb0(%i: index):
  }) : (!npu.events) -> !npu.events
  // CHECK: npu.tasks: an access of buffer 1 of 1
  %y = "npu.tasks"(%a) <{static_grid = array<i64>, unit = #npu<unit cube>, accesses = [#npu.access<read, buffer = 1, [0, 0] [1, 1], exact>], operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>}> ({
  ^bb0:
  }) : (memref<?x512xf32, "gm">) -> !npu.events
  // CHECK: npu.tasks: an access of rank 1 x 2 to memref<?x512xf32, "gm">
  %z = npu.tasks (%i) in (4) buffers(%a) accesses(read %a[0] [1, 1]) on vector {
  }
  // CHECK: npu.tasks: s0 is no grid index below d1 or scalar below s0
  %q = "npu.tasks"(%a) <{static_grid = array<i64: 4>, unit = #npu<unit cube>, accesses = [#npu.access<read, buffer = 0, [s0, 0] [1, 1], exact>], operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>}> ({
  ^bb0(%i: index):
  }) : (memref<?x512xf32, "gm">) -> !npu.events
  func.return
}

// -----

// CHECK: :[[# @LINE + 2]]:{{[0-9]+}}: error[PTO100]: %k is no grid index or scalar of this operation
func.func private @symbol(%a: memref<?x512xf32, "gm">, %k: index) {
  %z = npu.tasks (%i) in (4) buffers(%a) accesses(read %a[%k, 0] [1, 1]) on vector {
  }
}

// -----

// CHECK: :[[# @LINE + 2]]:{{[0-9]+}}: error[PTO100]: %b is no buffer of this operation
func.func private @buffer(%a: memref<?x512xf32, "gm">, %b: memref<?x512xf32, "gm">) {
  %z = npu.tasks (%i) in (4) buffers(%a) accesses(read %b[%i, 0] [1, 1]) on vector {
  }
}

// -----

func.func private @boxes(%z0: tensor<4x512xf32>, %t: tensor<4x256xf32>, %h: tensor<4x256xbf16>, %b: tensor<1x1x1xf32>, %a: memref<?x512xf32, "gm">, %g: memref<?x512xf32>, %n: index) {
  %r = npu.tasks (%i) in (4) outs(%o = %z0) on vector {
    // CHECK: :[[# @LINE + 1]]:5: error[PTO170]: npu.assemble: assembles into what is no destination of npu.tasks
    npu.assemble %t into %z0[0, 0]
    // CHECK: npu.assemble: stores bf16 into elements of f32
    npu.assemble %h into %o[0, 0]
    // CHECK: npu.assemble: no combine "mean": it is one of add, max, min
    npu.assemble %t into %o[0, 0] {combine = "mean"}
    // CHECK: npu.assemble: a box of rank 3 in rank 2
    npu.assemble %b into %o[0, 0]
    // CHECK: npu.assemble: takes 2 offsets, got 1
    npu.assemble %t into %o[0]
    // CHECK: npu.assemble: offset -1 is negative
    npu.assemble %t into %o[0, -1]
    // CHECK: npu.assemble: ends at 513 in dimension 1, which has 512 elements
    npu.assemble %t into %o[0, 257]
    // CHECK: npu.assemble: ends at 5 in dimension 0, which has 4 elements
    npu.assemble %t into %o[1, 0]
    // CHECK: npu.store: expected a memref in "gm", got memref<?x512xf32>
    npu.store %t into %g[0, 0]
    // CHECK: npu.store: ends at 513 in dimension 1, which has 512 elements
    npu.store %t into %a[%n, 257]
    // CHECK: npu.load: expected a memref in "gm", got memref<?x512xf32>
    %l0 = npu.load %g[0, 0 +: 4]
    // CHECK: npu.load: ends at 513 in dimension 1, which has 512 elements
    %l1 = npu.load %a[%n, 512]
    // CHECK: npu.load: ends at 514 in dimension 1, which has 512 elements
    %l2 = npu.load %a[%n, 512 +: 2]
    // CHECK: npu.load: the result is tensor<512xf32>, not tensor<511xf32>
    %l3 = npu.load %a[%n, :] : tensor<511xf32>
    // CHECK: npu.load: the result is tensor<512xf32>, not tensor<512xbf16>
    %l4 = npu.load %a[%n, :] : tensor<512xbf16>
    // CHECK: npu.load: has not as many sizes as offsets
    %l6 = "npu.load"(%a) <{static_offsets = array<i64: 0, 0>, static_sizes = array<i64: 4>, dropped = array<i64>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (memref<?x512xf32, "gm">) -> tensor<4xf32>
    // CHECK: npu.load: takes 2 offsets, got 1
    %l5 = npu.load %a[0] : tensor<f32>
  }
  func.return
}

// -----

// CHECK: :[[# @LINE + 2]]:19: error[PTO131]: 1 subscript for a memref of rank 2
func.func private @rank(%a: memref<?x512xf32, "gm">) {
  %l = npu.load %a[0]
  func.return
}
