"""Iterations of a forall that store to one element: found at every level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyptoc
from pyptoc.dialects.diagnostics import RunError

STAGES = ("", "inline,desugar,decompose,check-bounds", None)
"""The source, the program whose claims are interpreted, the compiled program."""

TEXT = """
func.func @f(%x: tensor<?x4xf32>, %l: tensor<?xi32>, %n: tensor<?xi32>)
    -> tensor<8x4xf32> {
  %m = pypto.dim %l, 0
  %y = pypto.full 0.0[8, 4] : tensor<8x4xf32>
  %r = pypto.forall (%i = 0 to %m) outs(%o = %y) {
    %to = pypto.read %l[%i]
    %k = pypto.read %n[%i]
    %v = pypto.view %x[%i, :]
    %w = pypto.expand %v[%k, -1]
    pypto.for (%j = 0 to 2) {
      %h = pypto.index %j * 2
      %u = pypto.view %w[:, %h +: 2]
      pypto.store %u into %o[%to, %h]
    }
    %z = pypto.neg %w
    pypto.store %z into %o[%to, 0]
  }
  func.return %r : tensor<8x4xf32>
}
"""


def inputs(places: list[int], sizes: list[int]) -> dict[str, Any]:
    rows = len(places)
    x = np.arange(1, 4 * rows + 1, dtype=np.float32).reshape(rows, 4)
    arrays = [np.array(each, np.int32) for each in (places, sizes)]
    return {"x": x, "l": arrays[0], "n": arrays[1]}


@pytest.fixture(scope="module", params=STAGES)
def program(request: pytest.FixtureRequest) -> pyptoc.Program:
    return pyptoc.compile(TEXT, pipeline=request.param)


@pytest.mark.parametrize(
    ("places", "sizes"),
    [([4, 0, 2], [3, 2, 2]), ([3, 3, 3, 0], [0, 1, 0, 3]), ([], [])],
)
def test_apart(program: pyptoc.Program, places: list[int], sizes: list[int]) -> None:
    given = inputs(places, sizes)
    wanted = np.zeros((8, 4), np.float32)
    for row, (place, size) in enumerate(zip(places, sizes, strict=True)):
        wanted[place : place + size] = -given["x"][row]
    assert np.array_equal(program.run(**given)["result0"], wanted)


@pytest.mark.parametrize(
    ("places", "sizes", "pair"),
    [
        ([0, 1, 0], [1, 1, 1], (0, 2)),
        ([5, 0, 2], [2, 3, 1], (1, 2)),
        ([5, 7, 0, 4], [1, 1, 1, 4], (0, 3)),
    ],
)
def test_overlap(
    program: pyptoc.Program, places: list[int], sizes: list[int], pair: tuple[int, int]
) -> None:
    with pytest.raises(RunError) as failure:
        program.run(**inputs(places, sizes))
    (found,) = failure.value.diagnostics
    assert found.code == "PTO406"
    one, other = pair
    assert found.message == (
        "two iterations of forall store to the same element of %o: "
        f"(%i = {one}) and (%i = {other})"
    )
    rows = f"rows {places[other]} +: {sizes[other]}, columns 0 +: 2"
    assert found.notes[0].message == f"(%i = {other}) stores {rows}"
    assert found.location is not None
    assert '"<string>":14:7' in str(found.location)
