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


GATHERED = """
func.func @f(%q: tensor<?x24x160xbf16> {pypto.dims = ["T"]},
    %kn: tensor<?x64xi8> {pypto.dims = ["R"]},
    %ks: tensor<?x1xf32> {pypto.dims = ["R"]},
    %kr: tensor<?x32xbf16> {pypto.dims = ["R"]},
    %at: tensor<?x70xi32> {pypto.dims = ["T"]},
    %table: tensor<?x5xi32> {pypto.dims = ["T"]})
    -> tensor<?x24x96xf32> {
  %t = pypto.dim %q, 0
  %e = pypto.empty[%t, 24, 96] : tensor<?x24x96xf32>
  %r = pypto.forall (%i = 0 to %t) outs(%o = %e) {
    %x = pypto.view %q[%i, :, :]
    %pages = pypto.view %table[%i, :]
    %z = pypto.full 0.0[24, 96] : tensor<24x96xf32>
    %sum = pypto.for (%j +: %n = 0 to 70 step 32) iter(%a = %z) {
      %rows = pypto.view %at[%i, %j +: %n]
      %k8 = pypto.gather_rows %kn at %rows through %pages page 8
      %s = pypto.gather_rows %ks at %rows through %pages page 8
      %d = pypto.dequantize %k8 scales %s to bf16
      %b = pypto.mul %d, 2.0
      %h = pypto.gather_rows %kr at %rows through %pages page 8
      %k = pypto.concat %d, %b, %h axis -1
      %w = pypto.view %k[:, 64 +: 96]
      %y = pypto.matmul %x, %k {b_trans}
      %f = pypto.floor %y
      %l = pypto.minimum %f, 8.0
      %g = pypto.maximum %l, -8.0
      %p = pypto.cast %g to bf16
      %v = pypto.matmul %p, %w
      %c = pypto.add %a, %v
      pypto.yield %c
    }
    pypto.store %sum into %o[%i, 0, 0]
  }
  func.return %r : tensor<?x24x96xf32>
}
"""

BESIDE = """
func.func @f(%x: tensor<48x64xf16>, %u: tensor<64x32xf16>, %v: tensor<64x64xf16>,
    %w: tensor<96x32xf16>) -> (tensor<48x32xf32>, tensor<48x96xf32>) {
  %e = pypto.empty[48, 32] : tensor<48x32xf32>
  %f = pypto.empty[48, 96] : tensor<48x96xf32>
  %r, %s = pypto.forall (%i = 0 to 48 step 16) outs(%o = %e, %p = %f) {
    %a = pypto.view %x[%i +: 16, :]
    %b = pypto.matmul %a, %u
    %c = pypto.matmul %a, %v
    %d = pypto.concat %b, %c axis -1
    %g = pypto.relu %d
    %h = pypto.cast %g to f16
    %y = pypto.matmul %h, %w
    pypto.store %y into %o[%i, 0]
    pypto.store %d into %p[%i, 0]
  }
  func.return %r, %s : tensor<48x32xf32>, tensor<48x96xf32>
}
"""


def beside(x: Any, u: Any, v: Any, w: Any) -> Any:
    x, u, v, w = wide(x, u, v, w)
    d = np.concatenate([x @ u, x @ v], axis=1)
    return np.maximum(d, 0).astype(F16).astype(float) @ w, d


def test_products_side_by_side() -> None:
    """Each is read on chip, and what is stored of both is two stores."""
    shapes = {
        "x": ((48, 64), F16),
        "u": ((64, 32), F16),
        "v": ((64, 64), F16),
        "w": ((96, 32), F16),
    }
    check(Nest(BESIDE, shapes, beside))


TOKENS = 3


def gathered(q: Any, kn: Any, ks: Any, kr: Any, at: Any, table: Any) -> Any:
    q, kn, ks, kr = wide(q, kn, ks, kr)
    out = np.zeros((len(q), 24, 96))
    for token, rows in enumerate(at):
        place = table[token, rows // 8] * 8 + rows % 8
        d = kn[place] * ks[place]
        k = np.concatenate([d, 2 * d, kr[place]], axis=1)
        p = np.clip(np.floor(q[token] @ k.T), -8, 8)
        out[token] = p @ k[:, 64:]
    return (out,)


def gathering() -> Nest:
    rng = np.random.default_rng(5)
    shapes = {
        "q": ((TOKENS, 24, 160), BF16),
        "kn": ((56, 64), np.int8),
        "kr": ((56, 32), BF16),
    }
    given = {
        "ks": (2.0 ** rng.integers(-4, 1, (56, 1))).astype(np.float32),
        "at": rng.integers(0, 40, (TOKENS, 70)).astype(np.int32),
        "table": np.stack([rng.permutation(7)[:5] for _ in range(TOKENS)]).astype(
            np.int32
        ),
    }
    return Nest(GATHERED, shapes, gathered, given=given)


@pytest.mark.parametrize("machine", ["ascend950", "ascend910b"])
def test_rows_from_anywhere_are_read_on_chip(machine: str) -> None:
    """One launch: what is gathered is in no memory but that of the cores."""
    check(gathering(), machine)


@pytest.mark.parametrize(
    ("name", "row", "where"), [("at", 40, 5), ("at", -1, 5), ("table", 7, 5)]
)
def test_indices_that_name_no_row(name: str, row: int, where: int) -> None:
    """The second vector core sees the last one of six, and says which it is."""
    inputs = gathering().inputs()
    inputs |= {key: inputs[key].copy() for key in ("at", "table")}
    inputs[name][1, -1] = row
    if name == "table":
        inputs["at"][1] %= 32
        inputs["at"][1, 69] = 39
    with pytest.raises(CompileError) as caught:
        pyptoc.compile(GATHERED).run(**inputs)
    assert "PTO408" in str(caught.value)
    assert f"position {where} of %rows" in str(caught.value)
