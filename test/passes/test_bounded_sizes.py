"""
Sizes that are known only at run time, but not to exceed a number: tails of loops around
a product become grid axes, rows of bounded length are whole in UB.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_stages import stages
from random_writer import Program

TAILS = """
func.func @f(%x: tensor<2x?x48xf16> {pypto.dims = ["M"]}, %w: tensor<48x96xf16>,
    %c: tensor<96xf32>) -> (tensor<2x?x96xf32>, tensor<2x?x96xf32>) {
  %m = pypto.dim %x, 1
  %e = pypto.empty[2, %m, 96] : tensor<2x?x96xf32>
  %r = pypto.forall (%h = 0 to 2, %i +: %n = 0 to %m step 40) outs(%o = %e) {
    %v = pypto.view %x[%h, %i +: %n, :]
    %y = pypto.matmul %v, %w
        {tile = #pypto.cube<m = [16, 32], k = [16, 16], n = [32, 32]>}
    pypto.store %y into %o[%h, %i, 0]
  }
  %d = pypto.empty[2, %m, 96] : tensor<2x?x96xf32>
  %s = pypto.forall (%h = 0 to 2, %i +: %n = 0 to %m step 40) outs(%o = %d) {
    %v = pypto.view %x[%h, %i +: %n, :]
    %y = pypto.matmul %v, %w
        {tile = #pypto.cube<m = [16, 32], k = [16, 16], n = [32, 32]>}
    %z = pypto.mul %y, %c
    %a = pypto.abs %z
    pypto.store %a into %o[%h, %i, 0]
  }
  func.return %r, %s : tensor<2x?x96xf32>, tensor<2x?x96xf32>
}
"""

ROWS = """
func.func @f(%x: tensor<20x?xf32> {pypto.dims = ["M"]})
    -> (tensor<20x?xf32>, tensor<20x?xf32>) {
  %m = pypto.dim %x, 1
  %n = pypto.index min(%m, 500)
  %v = pypto.view %x[:, 0 +: %n]
  %y = pypto.softmax %v axis -1
  %k = pypto.index min(%m, 64)
  %w = pypto.view %x[:, 0 +: %k]
  %z = pypto.cumsum %w axis -1
  %u = pypto.abs %z
  func.return %y, %u : tensor<20x?xf32>, tensor<20x?xf32>
}
"""


def eighths(*shape: int) -> Any:
    return np.random.default_rng(3).integers(-8, 9, shape) / 8


@pytest.mark.parametrize(
    ("rows", "machine"), [(0, "ascend950"), (1, "ascend910b"), (97, "ascend950")]
)
def test_tails_of_loops_around_a_product(rows: int, machine: str) -> None:
    """
    Each loop is launched once; the last trip has 17 rows of 40.

    The second one is a group only where vector cores can read a product on chip; else
    it is one task, whose cores meet in memory.
    """
    x, w, c = eighths(2, rows, 48), eighths(48, 96), eighths(96)
    inputs = {"x": x.astype(np.float16), "w": w.astype(np.float16)}
    inputs["c"] = c.astype(np.float32)
    program, _ = stages(Program(TAILS, inputs), machine, 1)
    lines = program.text.splitlines()
    launches = [line for line in lines if "= npu.launch" in line]
    outer = [line for line in launches if line.startswith("    %")]
    assert len(outer) == len(launches) == 2
    found = program.run(**inputs)
    assert np.array_equal(found["result0"], x @ w)
    assert np.array_equal(found["result1"], np.abs((x @ w) * c))


@pytest.mark.parametrize("columns", [0, 33, 700])
def test_rows_of_bounded_length(columns: int) -> None:
    """Tasks have whole rows and no loop over their columns."""
    x = eighths(20, columns)
    inputs = {"x": x.astype(np.float32)}
    program, _ = stages(Program(ROWS, inputs, {"result0": 1e-5}), "ascend950", 1)
    assert "scf.for" not in program.text
    found = program.run(**inputs)
    e = np.exp(x[:, :500])
    assert np.allclose(found["result0"], e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    assert np.array_equal(found["result1"], np.abs(np.cumsum(x[:, :64], axis=1)))
