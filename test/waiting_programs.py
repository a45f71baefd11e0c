"""Programs whose launches wait for each other, with inputs, for tests of the waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A program and its inputs: arrays, or shapes of random ones."""

    text: str
    inputs: Arrays
    unneeded: int = 0
    """Waits that these inputs can do without, at most; a comment says why."""
    needless: int = 0
    """Pairs of tasks that are ordered without a reason, at most."""
    needed: int = 1
    """Waits that are missed when they are left out, at least."""

    def arrays(self) -> Arrays:
        draw = np.random.default_rng(1)
        return {
            name: given
            if isinstance(given, np.ndarray)
            else draw.normal(size=given[0]).astype(given[1])
            for name, given in self.inputs.items()
        }


CUBE_TILES = """
#c32_64_128 = #pypto.cube<m = [32, 32], k = [64, 64], n = [128, 128]>
#c48_64_32 = #pypto.cube<m = [16, 48], k = [64, 64], n = [16, 32]>
#c32_64_128_split = #pypto.cube<m = [32, 32], k = [64, 64], n = [128, 128], split_k = 3>
#c32_64_128_atomic =
  #pypto.cube<m = [32, 32], k = [64, 64], n = [128, 128], split_k = 3 atomic>
#c32_128_64_split = #pypto.cube<m = [32, 32], k = [64, 128], n = [64, 64], split_k = 3>
#c16_32_64 = #pypto.cube<m = [16, 16], k = [32, 32], n = [64, 64]>
#c32_64_32 = #pypto.cube<m = [32, 32], k = [64, 64], n = [32, 32]>
#c16_16_32_split = #pypto.cube<m = [16, 16], k = [16, 16], n = [32, 32], split_k = 3>
"""
"""Named by their L1 sizes: m, k, n."""


def function(arguments: str, result: str, body: str) -> str:
    """`M` stands for a dynamic size with that name."""
    dims = ' {pypto.dims = ["M"]}'
    parts = [
        part.replace("tensor<M", "tensor<?") + (dims if "tensor<M" in part else "")
        for part in arguments.split(", ")
    ]
    result = result.replace("tensor<M", "tensor<?")
    body = body.replace("tensor<M", "tensor<?")
    return f"{CUBE_TILES}func.func @f({', '.join(parts)}) -> {result} {{\n{body}\n}}\n"


CASES = {
    # Four tasks of 16 rows behind one of 64, and one behind four, tails everywhere.
    "matmuls": Case(
        function(
            "%a: tensor<Mx64xf16>, %b: tensor<64x200xf16>, %c: tensor<200x48xf16>",
            "tensor<Mx1xf32>",
            """
  %y = pypto.matmul %a, %b {tile = #c32_64_128}
  %n = pypto.neg %y {tile = #pypto.vec<16, 64>}
  %h = pypto.cast %n to f16
  %z = pypto.matmul %h, %c {tile = #c48_64_32}
  %s = pypto.sum %z axis -1 {keepdim, tile = #pypto.vec<64, 256>}
  func.return %s : tensor<Mx1xf32>""",
        ),
        {"a": ((150, 64), "f2"), "b": ((64, 200), "f2"), "c": ((200, 48), "f2")},
        needed=3,
    ),
    "split_k": Case(
        function(
            "%a: tensor<Mx512xf16>, %b: tensor<512x200xf16>",
            "tensor<Mx200xf32>",
            """
  %y = pypto.matmul %a, %b {tile = #c32_64_128_split}
  %e = pypto.exp %y {tile = #pypto.vec<16, 64>}
  func.return %e : tensor<Mx200xf32>""",
        ),
        {"a": ((70, 512), "f2"), "b": ((512, 200), "f2")},
    ),
    # The parts are added where the result is, behind the zeros; none waits for another.
    "split_k_atomic": Case(
        function(
            "%a: tensor<Mx200xf16>, %b: tensor<200x200xf16>",
            "(tensor<Mx200xf32>, tensor<Mx200xf32>)",
            """
  %y = pypto.matmul %a, %b {tile = #c32_64_128_atomic}
  %e = pypto.exp %y {tile = #pypto.vec<48, 64>}
  func.return %y, %e : tensor<Mx200xf32>, tensor<Mx200xf32>""",
        ),
        {"a": ((70, 200), "f2"), "b": ((200, 200), "f2")},
        needed=2,
    ),
    "split_k_atomic_integers": Case(
        function(
            "%a: tensor<Mx200xi8>, %b: tensor<200x48xi8>",
            "tensor<Mx48xi32>",
            """
  %y = pypto.matmul %a, %b {tile = #c32_64_128_atomic}
  func.return %y : tensor<Mx48xi32>""",
        ),
        {"a": ((70, 200), "i1"), "b": ((200, 48), "i1")},
    ),
    # 4 steps of 128 cannot fill 3 parts.
    "split_k_uneven": Case(
        function(
            "%a: tensor<Mx512xf16>, %b: tensor<512x64xf16>",
            "tensor<Mx64xf32>",
            """
  %y = pypto.matmul %a, %b {tile = #c32_128_64_split}
  func.return %y : tensor<Mx64xf32>""",
        ),
        {"a": ((70, 512), "f2"), "b": ((512, 64), "f2")},
    ),
    # The loop cannot know that it has a trip: behind it the fill is waited for as well.
    "carried": Case(
        function(
            "%x: tensor<Mx32xf32>",
            "tensor<8x32xf32>",
            """
  %m = pypto.dim %x, 0
  %a0 = pypto.full 0.0[8, 32] : tensor<8x32xf32>
  %r = pypto.for (%i = 0 to %m step 8) iter(%a = %a0) {
    %v = pypto.view %x[%i +: 8, :]
    %s = pypto.add %a, %v
    pypto.yield %s
  }
  %e = pypto.exp %r
  func.return %e : tensor<8x32xf32>""",
        ),
        {"x": ((64, 32), "f4")},
        unneeded=1,
        needed=3,
    ),
    # Each trip reads two blocks and writes one: a trip waits for the trip before, and
    # what ran before the loop is waited for in it and behind it, though a trip that
    # there is has waited for it already.
    "carried_in_place": Case(
        function(
            "%x: tensor<Mx32xf32>",
            "tensor<Mx32xf32>",
            """
  %m = pypto.dim %x, 0
  %y = pypto.exp %x {tile = #pypto.vec<8, 32>}
  %r = pypto.for (%i = 16 to %m step 16) iter(%a = %y) {
    %j = pypto.index %i - 16
    %n = pypto.index min(16, %m - %i)
    %v = pypto.view %a[%j +: %n, :] {max = [16, 32]}
    %w = pypto.view %a[%i +: %n, :] {max = [16, 32]}
    %s = pypto.add %v, %w {tile = #pypto.vec<4, 32>}
    %b = pypto.assemble %s into %a[%i, 0]
    pypto.yield %b
  }
  %e = pypto.neg %r {tile = #pypto.vec<16, 32>}
  func.return %e : tensor<Mx32xf32>""",
        ),
        {"x": ((50, 32), "f4")},
        unneeded=3,
        needed=3,
    ),
    "grids": Case(
        function(
            "%x: tensor<4x?x32xf32>",
            "tensor<4x?x32xf32>",
            """
  %m = pypto.dim %x, 1
  %o0 = pypto.empty[4, %m, 32] : tensor<4x?x32xf32>
  %r = pypto.forall (%b = 0 to 4, %i +: %n = 0 to %m step 16) outs(%o = %o0) {
    %v = pypto.view %x[%b, %i +: %n, :]
    %e = pypto.exp %v
    pypto.store %e into %o[%b, %i, 0]
  }
  %p0 = pypto.empty[4, %m, 32] : tensor<4x?x32xf32>
  %q = pypto.forall (%b = 0 to 4, %i +: %n = 0 to %m step 32) outs(%o = %p0) {
    %v = pypto.view %r[%b, %i +: %n, :]
    %e = pypto.softmax %v axis -1
    pypto.store %e into %o[%b, %i, 0]
  }
  func.return %q : tensor<4x?x32xf32>""",
        ),
        {"x": ((4, 50, 32), "f4")},
    ),
    # A loop of launches; behind it tasks wait for those of all trips that they meet.
    "launches_in_a_loop": Case(
        function(
            "%a: tensor<4x40x32xf16>, %b: tensor<32x64xf16>",
            "tensor<4x40x64xf32>",
            """
  %o0 = pypto.empty[4, 40, 64] : tensor<4x40x64xf32>
  %r = pypto.forall (%i = 0 to 4) outs(%o = %o0) {
    %v = pypto.view %a[%i, :, :]
    %y = pypto.matmul %v, %b {tile = #c16_32_64}
    %e = pypto.exp %y {tile = #pypto.vec<8, 64>}
    pypto.store %e into %o[%i, 0, 0]
  }
  %n = pypto.neg %r
  func.return %n : tensor<4x40x64xf32>""",
        ),
        {"a": ((4, 40, 32), "f2"), "b": ((32, 64), "f2")},
        needed=2,
    ),
    # Data says where each trip writes.
    "places_from_data": Case(
        function(
            "%x: tensor<Mx32xf32>, %n: tensor<4xi32>",
            "tensor<Mx32xf32>",
            """
  %m = pypto.dim %x, 0
  %o0 = pypto.empty[%m, 32] : tensor<Mx32xf32>
  %r = pypto.forall (%e = 0 to 4) outs(%o = %o0) {
    %p = pypto.read %n[%e]
    %v = pypto.view %x[%p +: 4, :]
    %w = pypto.exp %v
    pypto.store %w into %o[%p, 0]
  }
  %y = pypto.neg %r {tile = #pypto.vec<2, 32>}
  func.return %y : tensor<Mx32xf32>""",
        ),
        {"x": ((16, 32), "f4"), "n": np.array([4, 0, 12, 8], np.int32)},
    ),
    # An argument is read, and then updated in place.
    "read_before_write": Case(
        function(
            "%x: tensor<Mx64xf16>, %p: tensor<Mx64xf16>, %w: tensor<64x64xf16>",
            '(tensor<Mx64xf32>, tensor<Mx64xf16> {pypto.name = "p"})',
            """
  %y = pypto.matmul %p, %w {tile = #c32_64_32}
  %t = pypto.tanh %x {tile = #pypto.vec<16, 64>}
  %q = pypto.assemble %t into %p[0, 0]
  func.return %y, %q : tensor<Mx64xf32>, tensor<Mx64xf16>""",
        ),
        {"x": ((70, 64), "f2"), "p": ((70, 64), "f2"), "w": ((64, 64), "f2")},
    ),
    # The orchestration reads what a task computed.
    "scalar": Case(
        function(
            "%x: tensor<4xi32>, %y: tensor<64x8xf32>",
            "tensor<4x8xf32>",
            """
  %c = pypto.cumsum %x axis 0
  %i = pypto.read %c[3]
  %v = pypto.view %y[%i +: 4, :]
  %e = pypto.exp %v
  func.return %e : tensor<4x8xf32>""",
        ),
        {"x": np.array([1, 2, 3, 4], np.int32), "y": ((64, 8), "f4")},
    ),
    # The consumer sees the elements in another shape.
    "reshape": Case(
        function(
            "%x: tensor<Mx4x32xf32>",
            "tensor<Mx128xf32>",
            """
  %e = pypto.exp %x
  %r = pypto.reshape %e[-1, 128]
  %s = pypto.softmax %r axis -1
  func.return %s : tensor<Mx128xf32>""",
        ),
        {"x": ((50, 4, 32), "f4")},
    ),
    # Of three products the third takes the memory of the first, and readers of it wait.
    "shared_workspaces": Case(
        function(
            "%a: tensor<Mx64xf16>, %b: tensor<64x32xf16>, %c: tensor<32x64xf16>",
            "tensor<Mx1xf32>",
            """
  %y = pypto.matmul %a, %b {tile = #c16_32_64}
  %t = pypto.tanh %y {tile = #pypto.vec<48, 32>}
  %h = pypto.cast %t to f16
  %z = pypto.matmul %h, %c {tile = #c16_32_64}
  %s = pypto.sum %z axis -1 {keepdim, tile = #pypto.vec<32, 64>}
  func.return %s : tensor<Mx1xf32>""",
        ),
        {"a": ((150, 64), "f2"), "b": ((64, 32), "f2"), "c": ((32, 64), "f2")},
        needed=4,
    ),
    # 11 trips take turns in 8 slots: a trip waits for the one 8 trips before it.
    "slots": Case(
        function(
            "%a: tensor<Mx256x32xf16>, %b: tensor<32x64xf16>",
            "tensor<Mx256x64xf32>",
            """
  %m = pypto.dim %a, 0
  %o0 = pypto.empty[%m, 256, 64] : tensor<Mx256x64xf32>
  %r = pypto.forall (%i = 0 to %m) outs(%o = %o0) {
    %v = pypto.view %a[%i, :, :]
    %y = pypto.matmul %v, %b {tile = #c16_32_64}
    %e = pypto.exp %y {tile = #pypto.vec<64, 64>}
    pypto.store %e into %o[%i, 0, 0]
  }
  func.return %r : tensor<Mx256x64xf32>""",
        ),
        {"a": ((11, 256, 32), "f2"), "b": ((32, 64), "f2")},
        needed=2,
    ),
    # What a trip makes has two slots; so has the sum that it hands on.
    "sequential_slots": Case(
        function(
            "%a: tensor<Mx16x64xf16>, %b: tensor<64x64xf16>",
            "tensor<16x64xf32>",
            """
  %m = pypto.dim %a, 0
  %zero = pypto.full 0.0[16, 64] : tensor<16x64xf32>
  %r = pypto.for (%i = 0 to %m) iter(%acc = %zero) {
    %v = pypto.view %a[%i, :, :]
    %y = pypto.matmul %v, %b {tile = #c16_32_64}
    %s = pypto.add %acc, %y
    pypto.yield %s
  }
  %e = pypto.exp %r
  func.return %e : tensor<16x64xf32>""",
        ),
        {"a": ((5, 16, 64), "f2"), "b": ((64, 64), "f2")},
        unneeded=1,
        needed=4,
    ),
    # A sum goes through an inner loop, perhaps without a trip, into the next outer one.
    "nested_sums": Case(
        function(
            "%a: tensor<5x3x16x64xf32>",
            "(tensor<16x64xf32>, tensor<16x64xf32>)",
            """
  %zero = pypto.full 0.0[16, 64] : tensor<16x64xf32>
  %one = pypto.full 1.0[16, 64] : tensor<16x64xf32>
  %r, %p = pypto.for (%i = 0 to 5) iter(%acc = %zero, %last = %one) {
    %n = pypto.index 3 * (%i mod 2)
    %s = pypto.for (%j = 0 to %n) iter(%inner = %acc) {
      %v = pypto.view %a[%i, %j, :, :]
      %t = pypto.add %inner, %v
      pypto.yield %t
    }
    %w = pypto.view %a[%i, 0, :, :]
    %u = pypto.add %last, %w
    pypto.yield %s, %u
  }
  %e = pypto.exp %r
  func.return %e, %p : tensor<16x64xf32>, tensor<16x64xf32>""",
        ),
        {"a": ((5, 3, 16, 64), "f4")},
        unneeded=6,
        needed=2,
    ),
    # Two launches fill one destination side by side: neither waits for the other, and a
    # task of the third waits for those of its side only.
    "side_by_side": Case(
        function(
            "%x: tensor<256x64xf32>, %y: tensor<256x64xf32>",
            "tensor<256x128xf32>",
            """
  %e = pypto.exp %x {tile = #pypto.vec<16, 64>}
  %n = pypto.neg %y {tile = #pypto.vec<32, 64>}
  %o = pypto.empty[256, 128] : tensor<256x128xf32>
  %p = pypto.assemble %e into %o[0, 0]
  %q = pypto.assemble %n into %p[0, 64]
  %t = pypto.abs %q {tile = #pypto.vec<16, 64>}
  func.return %t : tensor<256x128xf32>""",
        ),
        {"x": ((256, 64), "f4"), "y": ((256, 64), "f4")},
        needed=2,
    ),
    # The reader does not wait for the fill: the writer of all of it has.
    "written_twice": Case(
        function(
            "%x: tensor<256x64xf32>",
            "tensor<256x64xf32>",
            """
  %e = pypto.exp %x {tile = #pypto.vec<16, 64>}
  %o = pypto.full 0.0[256, 64] : tensor<256x64xf32>
  %r = pypto.assemble %e into %o[0, 0]
  %n = pypto.neg %r {tile = #pypto.vec<16, 64>}
  func.return %n : tensor<256x64xf32>""",
        ),
        {"x": ((256, 64), "f4")},
        needed=2,
    ),
}

BRANCHES = function(
    "%x: tensor<Mx32xf32>, %n: tensor<2xi32>",
    "tensor<Mx1xf32>",
    """
  %p = pypto.read %n[0]
  %c = pypto.index %p > 3
  %e = pypto.matmul %x, %x {b_trans, tile = #c16_32_64}
  %r = scf.if %c -> (tensor<?x?xf32>) {
    %t = pypto.neg %e {tile = #pypto.vec<32, 64>}
    scf.yield %t : tensor<?x?xf32>
  } else {
    %t = pypto.abs %e {tile = #pypto.vec<8, 64>}
    scf.yield %t : tensor<?x?xf32>
  }
  %q = pypto.matmul %r, %x {tile = #c32_64_32}
  %s = pypto.sum %q axis -1 {keepdim}
  func.return %s : tensor<Mx1xf32>""",
)
for _taken in (0, 9):
    CASES[f"branch_{_taken}"] = Case(
        BRANCHES,
        {"x": ((50, 32), "f4"), "n": np.array([_taken, 1], np.int32)},
        needed=3,
    )
