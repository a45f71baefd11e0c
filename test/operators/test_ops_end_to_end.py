"""
Every operator through the whole pipeline, against a definition of its own.

The table is `operators/table`: operator x element type x shape (ranks 1 to 5, sizes of
0 and 1, tails, more than a tile) x form (axis, broadcast, flags), with static and with
dynamic sizes, for both machines. The interpreter of the source and the compiled program
are held against the golden, bit by bit where the operator is exact.

An ordinary run checks a fixed choice of cells in which each operator meets each element
type, each shape, each form and each machine. `pytest --hypothesis-profile=long` checks
the full product.
"""

from __future__ import annotations

import pytest
from operators.table import FAMILIES
from operators.table.core import Cell, Family, Sample, difference

import pyptoc
from pyptoc.dialects.diagnostics import CompileError

REFUSALS = ("PTO220", "PTO221")
"""The machine has no such product, or no such cast."""


def wrong(cell: Cell, sample: Sample) -> list[str]:
    """What a cell gets wrong, in the source and compiled."""
    text = sample.program(cell.dynamic)
    try:
        source = pyptoc.compile(text, machine=cell.machine, pipeline="")
        runs = {"interpreted": source.run(**sample.inputs)}
        if cell.machine not in sample.machines:
            with pytest.raises(CompileError) as refusal:
                pyptoc.compile(text, machine=cell.machine)
            code = refusal.value.diagnostics[0].code
            return [] if code in REFUSALS else [f"{cell}: {code}\n{text}"]
        compiled = pyptoc.compile(text, machine=cell.machine)
        runs["compiled"] = compiled.run(**sample.inputs)
    except Exception as failure:
        return [f"{cell}: {type(failure).__name__}: {failure}\n{text}"]
    found: list[str] = []
    for how, results in runs.items():
        arrays = iter(results.values())
        for row, call in sample.calls.items():
            for place, want in enumerate(call.wants):
                problem = difference(next(arrays), want)
                if problem:
                    found.append(f"{cell}: {row} {how}, result {place} {problem}")
    return found


def cells_of(family: Family, is_long: bool):
    """The cells of a run with their samples."""
    if not is_long:
        yield from family.few_cells()
        return
    for cell in family.every_cell():
        sample = family.sample(*cell[:3])
        if sample is not None:
            yield cell, sample


@pytest.mark.parametrize("name", FAMILIES)
def test_family(name: str, is_long: bool) -> None:
    problems: list[str] = []
    count = 0
    for cell, sample in cells_of(FAMILIES[name], is_long):
        problems += wrong(cell, sample)
        count += 1
        if len(problems) > 20:
            break
    assert count
    assert not problems, "\n".join(problems)
