"""
Nests whose bodies read scalars: pages of a table, lengths, factors; checks go first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nest_programs import BF16, F16, Nest, check, wide

import pyptoc
from pyptoc.dialects.diagnostics import CompileError

PAGED = """
func.func @f(%q: tensor<?x32x32xbf16> {pypto.dims = ["B"]},
    %k: tensor<?x16x32xbf16> {pypto.dims = ["P"]},
    %v: tensor<?x16x32xbf16> {pypto.dims = ["P"]},
    %table: tensor<?x4xi32> {pypto.dims = ["B"]},
    %lengths: tensor<?xi32> {pypto.dims = ["B"]},
    %scale: tensor<1xf32>) -> tensor<?x32x32xf32> {
  %b = pypto.dim %q, 0
  %e = pypto.empty[%b, 32, 32] : tensor<?x32x32xf32>
  %r = pypto.forall (%i = 0 to %b) outs(%o = %e) {
    %x = pypto.view %q[%i, :, :]
    %row = pypto.view %table[%i, :]
    %length = pypto.read %lengths[%i]
    pypto.assert %length <= 64, "sequence {0} does not fit in 4 pages"
    %f = pypto.read %scale[0]
    %g = pypto.scalar %f * 2.0 : f32
    %m0 = pypto.full -inf[32, 1] : tensor<32x1xf32>
    %l0 = pypto.full 0.0[32, 1] : tensor<32x1xf32>
    %a0 = pypto.full 0.0[32, 32] : tensor<32x32xf32>
    %m1, %l1, %a1 = pypto.for (%j +: %n = 0 to %length step 16)
        iter(%mi = %m0, %li = %l0, %ai = %a0) {
      %at = pypto.index %j floordiv 16
      %page = pypto.read %row[%at]
      %kt = pypto.view %k[%page, 0 +: %n, :]
      %vt = pypto.view %v[%page, 0 +: %n, :]
      %y = pypto.matmul %x, %kt {b_trans}
      %s = pypto.mul %y, %g
      %m2, %l2, %p, %alpha = pypto.online_softmax %s state %mi, %li
      %c = pypto.cast %p to bf16
      %z = pypto.matmul %c, %vt
      %d = pypto.mul %ai, %alpha
      %a2 = pypto.add %d, %z
      pypto.yield %m2, %l2, %a2
    }
    %w = pypto.div %a1, %l1 {zero_if_zero}
    pypto.store %w into %o[%i, 0, 0]
  }
  func.return %r : tensor<?x32x32xf32>
}
"""


def paged(q: Any, k: Any, v: Any, table: Any, lengths: Any, scale: Any) -> Any:
    q, k, v = wide(q, k, v)
    out = np.zeros((len(q), 32, 32))
    for i, length in enumerate(lengths):
        keys, values = (t[table[i]].reshape(64, 32)[:length] for t in (k, v))
        s = q[i] @ keys.T * scale * 2
        p = np.exp(s - s.max(axis=-1, keepdims=True, initial=-1e30))
        if length:
            out[i] = p / p.sum(axis=-1, keepdims=True) @ values
    return (out,)


def steps(x: Any, w: Any, starts: Any) -> Any:
    x, w = wide(x, w)
    rows = [x[s : s + 16] @ w for s in starts]
    return (np.stack([np.maximum(r, 0).astype(F16).astype(float) @ w for r in rows]),)


TABLE = np.array([[6, 1, 3, 0], [2, 5, 4, 7], [0, 0, 0, 0]], np.int32)

NESTS = {
    "pages of a table, lengths and a factor": Nest(
        PAGED,
        {"q": ((3, 32, 32), BF16)} | dict.fromkeys("kv", ((8, 16, 32), BF16)),
        paged,
        within=2e-2,
        given={
            "table": TABLE,
            "lengths": np.array([39, 64, 0], np.int32),
            "scale": np.array([0.125], np.float32),
        },
    ),
    "where a task's rows start is made by another task": Nest(
        """
        func.func @f(%x: tensor<64x32xf16>, %w: tensor<32x32xf16>,
            %starts: tensor<3xi32>) -> tensor<3x16x32xf32> {
          %twice = pypto.mul %starts, 2
          %e = pypto.empty[3, 16, 32] : tensor<3x16x32xf32>
          %r = pypto.forall (%i = 0 to 3) outs(%o = %e) {
            %s = pypto.read %twice[%i]
            %v = pypto.view %x[%s +: 16, :]
            %y = pypto.matmul %v, %w
            %p = pypto.relu %y
            %c = pypto.cast %p to f16
            %z = pypto.matmul %c, %w
            pypto.store %z into %o[%i, 0, 0]
          }
          func.return %r : tensor<3x16x32xf32>
        }
        """,
        {"x": ((64, 32), F16), "w": ((32, 32), F16)},
        lambda x, w, starts: steps(x, w, starts * 2),
        launches=2,
        given={"starts": np.array([5, 0, 24], np.int32)},
    ),
}


@pytest.mark.parametrize("name", NESTS)
def test_nests_that_read(name: str) -> None:
    check(NESTS[name])


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        ({"table": TABLE + 1}, "PTO402", "view of %k dimension 0: 8, %k has 8"),
        (
            {"lengths": np.array([39, 64, 65], np.int32)},
            "PTO401",
            "sequence 65 does not fit in 4 pages",
        ),
    ],
)
def test_what_was_read_is_checked(change: Any, code: str, text: str) -> None:
    nest = NESTS["pages of a table, lengths and a factor"]
    with pytest.raises(CompileError) as caught:
        pyptoc.compile(nest.text).run(**(nest.inputs() | change))
    assert code in str(caught.value)
    assert text in str(caught.value)


PLACED = """
func.func @f(%x: tensor<3x16x32xf16>, %w: tensor<32x32xf16>, %starts: tensor<3xi32>)
    -> tensor<64x32xf32> {
  %e = pypto.full 0.0[64, 32] : tensor<64x32xf32>
  %r = pypto.forall (%i = 0 to 3) outs(%o = %e) {
    %s = pypto.read %starts[%i]
    %v = pypto.view %x[%i, :, :]
    %y = pypto.matmul %v, %w
    %p = pypto.relu %y
    %c = pypto.cast %p to f16
    %z = pypto.matmul %c, %w
    pypto.store %z into %o[%s, 0]
  }
  func.return %r : tensor<64x32xf32>
}
"""


def test_iterations_whose_place_was_read_are_kept_apart() -> None:
    """One launch behind the fill; that none stores to rows of another is checked."""
    program = pyptoc.compile(PLACED)
    assert program.text.count("npu.launch") == 2
    shapes = {"x": ((3, 16, 32), F16), "w": ((32, 32), F16)}
    inputs = Nest(PLACED, shapes, steps).inputs()
    starts = np.array([40, 0, 16], np.int32)
    found = program.run(**inputs, starts=starts)["result0"]
    x, w = wide(inputs["x"], inputs["w"])
    for rows, start in zip(x, starts, strict=True):
        hidden = np.maximum(rows @ w, 0).astype(F16).astype(float)
        assert np.allclose(found[start : start + 16], hidden @ w, rtol=1e-3)
    with pytest.raises(CompileError) as caught:
        program.run(**inputs, starts=np.array([40, 0, 15], np.int32))
    assert "PTO406" in str(caught.value)
