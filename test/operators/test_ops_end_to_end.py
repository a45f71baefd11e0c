"""
Every operator through the whole pipeline, against a definition of its own.

The table is `op_samples.OPS`: operator x element type x rank, tails and sizes of 0 and
1 x axis, with static and with dynamic sizes, on both machines (in turn, for the many
shapes of the first type). The interpreter of the source and the compiled program are
held against the golden, bit by bit where the operator is exact.
"""

from __future__ import annotations

import zlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from operators.op_samples import OPS, Sample, Shape

import pyptoc

MACHINES = ("ascend950", "ascend910b")
CELLS = [
    pytest.param(
        name, *cell, id=f"{name}-{cell[0]}-{'x'.join(map(str, cell[1]))}@{cell[2]}"
    )
    for name, op in OPS.items()
    for cell in op.cells()
]


def sample_of(name: str, element: str, shape: Shape, axis: int) -> Sample:
    """The sample of a cell, the same in every run."""
    seed = zlib.crc32(f"{name} {element} {shape} {axis}".encode())
    with np.errstate(all="ignore"):
        found = OPS[name].make(np.random.default_rng(seed), element, shape, axis)
    if found is None:
        pytest.skip("not defined for this shape")
    return found


def wide(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def check(what: str, found: NDArray[Any], want: NDArray[Any], within: float) -> None:
    """Equal elements, or near enough; NaN where NaN is wanted."""
    assert found.shape == want.shape, what
    got, expected = wide(found), wide(want)
    same = (got == expected) | ((got != got) & (expected != expected))
    if within and expected.dtype.kind == "f":
        finite = np.abs(expected[np.isfinite(expected)])
        allowed = within * (np.abs(expected) + finite.max(initial=0.0))
        with np.errstate(invalid="ignore"):
            same |= np.abs(got - expected) <= allowed
    if not same.all():
        at = tuple(map(int, np.argwhere(~same)[0]))
        count = int((~same).sum())
        pytest.fail(
            f"{what}{list(at)}: {found[at]}, not {want[at]}; {count} of {want.size}"
        )


@pytest.mark.parametrize(("name", "element", "shape", "axis"), CELLS)
def test_op(name: str, element: str, shape: Shape, axis: int) -> None:
    sample = sample_of(name, element, shape, axis)
    turn = axis + len(shape)
    machines = list(MACHINES)
    if any(is_f8(array) for array in sample.results.values()):
        machines = machines[:1]
    elif element == OPS[name].elements[0] and len(OPS[name].shapes) > 4:
        machines = machines[turn // 2 % 2 :][:1]
    for number, machine in enumerate(machines):
        dynamic = (turn + number) % 2 == 0
        text = sample.program(dynamic=dynamic)
        source = pyptoc.compile(text, machine=machine, pipeline="")
        compiled = pyptoc.compile(text, machine=machine)
        runs = {
            "interpreted": source.run(**sample.operands),
            "compiled": compiled.run(**sample.operands),
        }
        for how, results in runs.items():
            pairs = zip(results.values(), sample.results.items(), strict=True)
            for found, (result, want) in pairs:
                if result not in sample.elements:
                    assert found.dtype == want.dtype, text
                check(f"{how} for {machine}: {result}", found, want, sample.within)


def is_f8(array: NDArray[Any]) -> bool:
    f8 = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
    return array.dtype in [np.dtype(dtype) for dtype in f8]
