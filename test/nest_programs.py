"""
Programs with a nest of independent loops, and the check that they are what numpy says.

The pipes of each task run far apart, after every pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from random_stages import stages
from random_writer import Program

Values = dict[str, Any]
F16, BF16 = np.float16, ml_dtypes.bfloat16


@dataclass(frozen=True)
class Nest:
    """A program, what it computes, and how its tasks run."""

    text: str
    shapes: dict[str, tuple[tuple[int, ...], Any]]
    golden: Callable[..., Any]
    unit: str = "mixed"
    launches: int = 1
    within: float = 1e-3
    given: Values = field(default_factory=dict[str, Any])
    """Inputs that no random ones stand in for."""

    def inputs(self) -> Values:
        rng = np.random.default_rng(7)
        drawn = {
            name: (rng.integers(-8, 9, shape) / 8).astype(dtype)
            if np.dtype(dtype).kind not in "iu"
            else rng.integers(-5, 6, shape).astype(dtype)
            for name, (shape, dtype) in self.shapes.items()
        }
        return drawn | self.given


def wide(*arrays: Any) -> list[Any]:
    return [np.asarray(a).astype(np.float64) for a in arrays]


def check(nest: Nest, machine: str = "ascend950") -> None:
    """That it is as many launches as it should be, and gives what numpy gives."""
    inputs = nest.inputs()
    want = nest.golden(**inputs)
    within = {f"result{i}": nest.within for i in range(len(want))}
    program, _ = stages(Program(nest.text, inputs, within), machine, 1)
    assert f"on {nest.unit} " in program.text
    assert program.text.count("npu.launch") == nest.launches
    got = program.run(**inputs)
    for index, value in enumerate(want):
        found = np.asarray(got[f"result{index}"]).astype(np.float64)
        assert np.allclose(found, value, rtol=nest.within, atol=nest.within)
