"""
Nests whose products have MX scales, or are read in parts: a hand-written loop over the
experts of a grouped product with SwiGLU, which is one task an expert.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from nest_programs import F16, Nest, check, wide

import pyptoc

F8, E8 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu


def scaled(x: Any, scales: Any) -> Any:
    """Rows of K elements times scales [.., ceil(K / 64), 2], one for each 32."""
    flat = np.asarray(scales).astype(np.float64).reshape(*scales.shape[:-2], -1)
    factors = np.repeat(flat, 32, axis=-1)[..., : x.shape[-1]]
    return np.asarray(x).astype(np.float64) * factors


def swiglu(y: Any) -> Any:
    v, g = np.split(y, 2, axis=-1)
    return v / (1 + np.exp(-v)) * g


GROUPED = """
func.func @f(%a: tensor<?x96xf8E4M3FN> {{pypto.dims = ["M"]}},
    %b: tensor<3x64x96xf8E4M3FN>, %sa: tensor<?x2x2xf8E8M0FNU> {{pypto.dims = ["M"]}},
    %sb: tensor<{sb}xf8E8M0FNU>, %groups: tensor<3xi64>)
    -> (tensor<?x32xi8>, tensor<?x1xf32>) {{
  %m = pypto.dim %a, 0
  %ends = pypto.cumsum %groups axis 0
  %e = pypto.empty[%m, 32] : tensor<?x32xi8>
  %d = pypto.empty[%m, 1] : tensor<?x1xf32>
  %r, %t = pypto.forall (%x = 0 to 3) outs(%o = %e, %p = %d) {{
    %rows = pypto.read %groups[%x]
    %end = pypto.read %ends[%x]
    %begin = pypto.index %end - %rows
    %w = pypto.view %b[%x, :, :]
    %sw = pypto.view %sb[%x, :, :, :]
    pypto.for (%i +: %n = 0 to %rows step 16) {{
      %at = pypto.index %begin + %i
      %v = pypto.view %a[%at +: %n, :]
      %sv = pypto.view %sa[%at +: %n, :, :]
      %y = pypto.scaled_mm %v, %w scales %sv, %sw {{b_trans{flag},
          tile = #pypto.cube<m = [16, 16], k = [64, 64], n = [32, 32]>}}
      %u = pypto.view %y[:, 0 +: 32]
      %g = pypto.view %y[:, 32 +: 32]
      %s = pypto.swiglu %u, %g
      %q, %c = pypto.quantize %s axis -1 to i8
      pypto.store %q into %o[%at, 0]
      pypto.store %c into %p[%at, 0]
    }}
  }}
  func.return %r, %t : tensor<?x32xi8>, tensor<?x1xf32>
}}
"""
ROWS = np.array([17, 0, 5], np.int64)


def grouped(a: Any, b: Any, sa: Any, sb: Any, groups: Any) -> Any:
    experts = np.repeat(np.arange(3), groups)
    left, right = scaled(a, sa), scaled(b, sb)
    s = swiglu(np.stack([x @ right[e].T for x, e in zip(left, experts, strict=True)]))
    scale = np.abs(s).max(axis=-1, keepdims=True) / 127
    return np.rint(s / np.where(scale, scale, 1)), scale


def given(swapped: bool) -> dict[str, Any]:
    rng = np.random.default_rng(5)

    def powers(*shape: int) -> Any:
        return (2.0 ** rng.integers(-4, 0, shape)).astype(E8)

    sb = powers(3, 64, 2, 2)
    return {
        "a": (rng.integers(-8, 9, (22, 96)) / 8).astype(F8),
        "b": (rng.integers(-8, 9, (3, 64, 96)) / 8).astype(F8),
        "sa": powers(22, 2, 2),
        "sb": np.swapaxes(sb, 1, 2).copy() if swapped else sb,
        "groups": ROWS,
    }


PARTS = """
func.func @f(%x: tensor<?x48xf16> {pypto.dims = ["M"]}, %w: tensor<48x96xf16>,
    %u: tensor<48x40xf16>) -> tensor<?x40xf32> {
  %m = pypto.dim %x, 0
  %e = pypto.empty[%m, 40] : tensor<?x40xf32>
  %r = pypto.forall (%i +: %n = 0 to %m step 24) outs(%o = %e) {
    %v = pypto.view %x[%i +: %n, :]
    %y = pypto.matmul %v, %w
    %a = pypto.view %y[:, 0 +: 48]
    %b = pypto.view %y[:, 48 +: 48]
    %c = pypto.view %y[:, 0 +: 48]
    %s = pypto.swiglu %a, %b
    %t = pypto.add %s, %c
    %h = pypto.cast %t to f16
    %z = pypto.matmul %h, %u
    pypto.store %z into %o[%i, 0]
  }
  func.return %r : tensor<?x40xf32>
}
"""


def parts(x: Any, w: Any, u: Any) -> Any:
    x, w, u = wide(x, w, u)
    y = x @ w
    return ((swiglu(y) + y[:, :48]) @ u,)


NESTS = {
    "a grouped product with MX scales": Nest(
        GROUPED.format(sb="3x64x2x2", flag=", scales_b_trans"),
        {},
        grouped,
        launches=2,
        given=given(swapped=False),
    ),
    "its scales the other way round": Nest(
        GROUPED.format(sb="3x2x64x2", flag=""),
        {},
        lambda a, b, sa, sb, groups: grouped(a, b, sa, np.swapaxes(sb, 1, 2), groups),
        launches=2,
        given=given(swapped=True),
    ),
    "halves of a product, one of them read twice": Nest(
        PARTS,
        {"x": ((53, 48), F16), "w": ((48, 96), F16), "u": ((48, 40), F16)},
        parts,
        within=3e-2,
    ),
}


@pytest.mark.parametrize("name", NESTS)
def test_nests_of_products(name: str) -> None:
    check(NESTS[name])


def test_a_body_that_is_no_single_task_keeps_its_products_whole() -> None:
    """The parts are put together again when L1 cannot hold the second matrix."""
    text = PARTS.replace("step 24", "step 256").replace("96xf16", "8192xf16")
    text = text.replace("48 +: 48", "4096 +: 4096").replace("0 +: 48", "0 +: 4096")
    text = text.replace("%u: tensor<48x40", "%u: tensor<4096x40")
    program = pyptoc.compile(text, pipeline="desugar,decompose,partition")
    assert program.text.count("pypto.matmul") == 2
    assert program.text.count("pypto.view %y") == 2
