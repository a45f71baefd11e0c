"""Short rows of many matrices: one matrix, in fewer and larger tasks, same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyptoc
from pyptoc.dialects.npu_kernel import LaunchOp

NORM = """
func.func @f(%x: tensor<?x?x4x128xf32> {{pypto.dims = ["b", "n"]}}, %g: tensor<128xf32>)
    -> (tensor<?x?x4x128xf32> {{pypto.name = "y"}},
        tensor<?x?x4x1xf32> {{pypto.name = "m"}}) {{
  %m = pypto.amax %x axis -1 {{keepdim}}
  %d = pypto.sub %x, %m
  %y = pypto.mul %d, %g {0}
  func.return %y, %m : tensor<?x?x4x128xf32>, tensor<?x?x4x1xf32>
}}
"""
TILED = "{tile = #pypto.vec<4, 128>}"


def tasks(program: pyptoc.Program, **given: Any) -> int:
    return sum(launch.tasks for launch in program.simulate(**given).launches)


@pytest.mark.parametrize("machine", ["ascend950", "ascend910b"])
def test_a_task_has_rows_of_several_matrices(machine: str) -> None:
    program = pyptoc.compile(NORM.format(""), machine=machine)
    apart = pyptoc.compile(NORM.format(TILED), machine=machine)
    rng = np.random.default_rng(0)
    g = rng.normal(0, 1, 128).astype(np.float32)
    for b, n in ((3, 50), (1, 1), (5, 13), (0, 4), (2, 0), (1, 1000)):
        x = rng.normal(0, 1, (b, n, 4, 128)).astype(np.float32)
        found = program.run(x=x, g=g, check=True)
        m = x.max(axis=-1, keepdims=True)
        np.testing.assert_array_equal(found["m"], m)
        np.testing.assert_array_equal(found["y"], (x - m) * g)
        if b * n >= 1000:
            assert tasks(program, x=x, g=g) <= tasks(apart, x=x, g=g) / 4


def test_what_reads_the_result_in_parts_waits_for_its_tasks() -> None:
    """The boxes of 4 n rows and those of n matrices are over the same bytes."""
    text = """
    func.func @f(%x: tensor<?x4x128xf16> {pypto.dims = ["n"]}, %w: tensor<512x64xf16>)
        -> tensor<?x64xf32> {
      %e = pypto.mul %x, 2.0
      %r = pypto.reshape %e[-1, 512]
      %y = pypto.matmul %r, %w
      func.return %y : tensor<?x64xf32>
    }
    """
    program = pyptoc.compile(text)
    launches = [op for op in program.module.walk() if isinstance(op, LaunchOp)]
    assert len(launches) == 2
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (200, 4, 128)).astype(np.float16)
    w = rng.integers(-3, 4, (512, 64)).astype(np.float16)
    want = 2 * x.reshape(200, 512).astype(np.float32) @ w.astype(np.float32)
    found = program.run(x=x, w=w, check=True)["result0"]
    np.testing.assert_array_equal(found, want)
