"""
How much of a tile is valid: never more, never less, whatever the op, against numpy.

Rows and columns are counted at run time, tiles are larger than what is there, and what
pads them would show: maxima of negative numbers, minima of positive ones, sums, argmax.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pyptoc
from pyptoc.dialects.diagnostics import CompileError

Array = NDArray[Any]
F32 = np.float32
MACHINES = ("ascend950", "ascend910b")


@pytest.mark.parametrize("machine", MACHINES)
def test_rows_of_the_left_operand(machine: str) -> None:
    """How many rows are multiplied is known at run time: accumulators in L0C agree."""
    text = """
    #tile = #pypto.cube<m = [32, 64], k = [32, 64], n = [32, 96]>
    #small = #pypto.cube<m = [16, 16], k = [32, 64], n = [32, 32]>
    func.func @f(%x: tensor<80x200xf16>, %w: tensor<200x100xf16>, %q: tensor<80x200xi8>,
                 %v: tensor<200x100xi8>, %n: index, %o: index)
        -> (tensor<?x100xf32>, tensor<?x100xi32>, tensor<?x100xf16>) {
      %a = pypto.view %x[%o +: %n, :]
      %y = pypto.matmul %a, %w {tile = #tile}
      %b = pypto.view %q[%o +: %n, :]
      %z = pypto.matmul %b, %v {tile = #small}
      %h = pypto.matmul %a, %w to f16
      func.return %y, %z, %h : tensor<?x100xf32>, tensor<?x100xi32>, tensor<?x100xf16>
    }
    """
    program = pyptoc.compile(text, machine=machine)
    draw = np.random.default_rng(0)
    x, w = (draw.integers(-3, 4, s).astype(np.float16) for s in ((80, 200), (200, 100)))
    q, v = (draw.integers(-128, 128, s, np.int8) for s in ((80, 200), (200, 100)))
    for n, o in ((0, 7), (1, 79), (5, 0), (16, 3), (33, 47), (64, 16), (80, 0)):
        y, z, h = program.run(x=x, w=w, q=q, v=v, n=n, o=o).values()
        want = x[o : o + n].astype(F32) @ w.astype(F32)
        assert np.array_equal(y, want)
        assert np.array_equal(h, want.astype(np.float16))
        assert np.array_equal(z, q[o : o + n].astype(np.int32) @ v.astype(np.int32))


@pytest.mark.parametrize("machine", MACHINES)
def test_padding_is_no_data(machine: str) -> None:
    """Folds, broadcasts, casts and moves of tiles that are never full."""
    text = """
    func.func @f(%x: tensor<?x?xf32> {pypto.dims = ["N", "W"]})
        -> (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xi32>,
            tensor<1x?xf32>, tensor<?x?xf16>, tensor<?x?xf32>, tensor<1x?xf32>)
        attributes {pypto.tiles = #pypto.tiles<vec = [8, 32]>} {
      %top = pypto.amax %x axis -1 {keepdim}
      %p = pypto.abs %x
      %low = pypto.amin %p axis -1 {keepdim}
      %sum = pypto.sum %x axis -1 {keepdim}
      %at = pypto.argmax %x axis -1 {keepdim}
      %column = pypto.amax %x axis 0 {keepdim}
      %h = pypto.cast %x to f16
      %d = pypto.sub %x, %top
      %flat = pypto.reshape %top[1, -1]
      %big = pypto.mul %flat, 2.0
      func.return %top, %low, %sum, %at, %column, %h, %d, %big
          : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xi32>,
            tensor<1x?xf32>, tensor<?x?xf16>, tensor<?x?xf32>, tensor<1x?xf32>
    }
    """
    program = pyptoc.compile(text, machine=machine)
    draw = np.random.default_rng(1)
    for shape in ((1, 1), (3, 5), (8, 32), (9, 33), (17, 100), (0, 4)):
        x = draw.integers(-500, -3, shape).astype(F32)
        found = list(program.run(x=x).values())
        top = x.max(1, keepdims=True)
        want = [
            top,
            np.abs(x).min(1, keepdims=True),
            x.sum(1, keepdims=True),
            x.argmax(1)[:, None].astype(np.int32),
            x.max(0, keepdims=True, initial=-np.inf),
            x.astype(np.float16),
            x - top,
            2 * top.reshape(1, -1),
        ]
        for got, expected in zip(found, want, strict=True):
            assert got.dtype == expected.dtype
            assert np.array_equal(got, expected), shape


@pytest.mark.parametrize("machine", MACHINES)
def test_vectors_and_slices_turned(machine: str) -> None:
    """One row, one column, columns of a wider tensor: with each transpose flag."""
    types = ", ".join(["tensor<?x?xf32>"] * 4)
    text = f"""
    func.func @f(%p: tensor<?x90xf16>, %pt: tensor<90x?xf16>, %w: tensor<90x200xf16>,
                 %wt: tensor<200x90xf16>, %m: index, %n: index, %c: index)
        -> ({types}) {{
      %x = pypto.view %p[1 +: %m, 7 +: 70]
      %xt = pypto.view %pt[7 +: 70, 1 +: %m]
      %u = pypto.view %w[11 +: 70, %c +: %n]
      %ut = pypto.view %wt[%c +: %n, 11 +: 70]
      %0 = pypto.matmul %x, %u
      %1 = pypto.matmul %xt, %u {{a_trans}}
      %2 = pypto.matmul %x, %ut {{b_trans}}
      %3 = pypto.matmul %xt, %ut {{a_trans, b_trans}}
      func.return %0, %1, %2, %3 : {types}
    }}
    """
    program = pyptoc.compile(text, machine=machine)
    draw = np.random.default_rng(2)
    w = draw.integers(-3, 4, (90, 200)).astype(np.float16)
    for m, n, c in ((1, 1, 0), (1, 130, 70), (33, 1, 199), (20, 17, 5)):
        p = draw.integers(-3, 4, (m + 2, 90)).astype(np.float16)
        want = p[1 : m + 1, 7:77].astype(F32) @ w[11:81, c : c + n].astype(F32)
        turned = {"pt": np.ascontiguousarray(p.T), "wt": np.ascontiguousarray(w.T)}
        for got in program.run(p=p, w=w, m=m, n=n, c=c, **turned).values():
            assert np.array_equal(got, want), (m, n, c)


@pytest.mark.parametrize("machine", MACHINES)
def test_trips_of_loops(machine: str) -> None:
    """No trip, one, a step that does not divide, rows backwards, a product inside."""
    text = """
    func.func @f(%x: tensor<40x32xf32>, %w: tensor<32x32xf32>, %a: index, %b: index)
        -> (tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>) {
      %z = pypto.full 0.0[1, 32] : tensor<1x32xf32>
      %up = pypto.for (%i = %a to %b step 3) iter(%s = %z) {
        %r = pypto.view %x[%i +: 1, :]
        %y = pypto.matmul %r, %w
        %t = pypto.add %s, %y
        pypto.yield %t
      }
      %down = pypto.for (%i = %a to %b step 3) iter(%s = %z) {
        %k = pypto.index %b + %a - %i - 1
        %r = pypto.view %x[%k +: 1, :]
        %h = pypto.mul %s, 0.5
        %t = pypto.add %h, %r
        pypto.yield %t
      }
      %end = pypto.index min(%a + 1, %b)
      %once = pypto.for (%i = %a to %end) iter(%s = %z) {
        %r = pypto.view %x[%i +: 1, :]
        %t = pypto.add %s, %r
        pypto.yield %t
      }
      func.return %up, %down, %once
          : tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>
    }
    """
    program = pyptoc.compile(text, machine=machine)
    draw = np.random.default_rng(3)
    x, w = (draw.integers(-3, 4, s).astype(F32) for s in ((40, 32), (32, 32)))
    for a, b in ((0, 0), (5, 5), (7, 3), (4, 5), (0, 40), (1, 39), (3, 6)):
        up, down, once = program.run(x=x, w=w, a=a, b=b).values()
        want = np.zeros((1, 32), F32)
        for i in range(b, a, -3):
            want = want * F32(0.5) + x[i - 1 : i]
        assert np.array_equal(up, (x[a:b:3] @ w).sum(0, keepdims=True))
        assert np.array_equal(down, want)
        assert np.array_equal(once, x[a : min(a + 1, b)].sum(0, keepdims=True))


@pytest.mark.parametrize(
    ("offset", "rows", "message"),
    [
        (-1, 2, "rows -1"),
        (9, 2, "ends at 11"),
        (11, 0, "ends at 11"),
        (3, -1, "rows 3 .* -1"),
    ],
)
def test_boxes_outside(offset: int, rows: int, message: str) -> None:
    """A view must lie inside, and so must what is written."""
    text = """
    func.func @f(%x: tensor<10x64xf32>, %o: index, %n: index) -> tensor<?x64xf32> {
      %v = pypto.view %x[%o +: %n, :]
      %y = pypto.exp %v
      func.return %y : tensor<?x64xf32>
    }
    """
    x = np.ones((10, 64), F32)
    with pytest.raises(CompileError, match=message):
        pyptoc.compile(text).run(x=x, o=offset, n=rows)
