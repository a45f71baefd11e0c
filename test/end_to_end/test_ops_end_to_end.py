"""
Every operator through the whole pipeline, against a definition of its own.

The table is `operators/table`: operator x element type x shape (ranks 1 to 5, sizes of
0 and 1, tails, more than a tile) x form (axis, broadcast, flags), with static and with
dynamic sizes, for both machines. The interpreter of the source and the compiled program
are held against the golden, bit by bit where the operator is exact.

An ordinary run checks a fixed choice of cells in which each operator meets each element
type, each form, and each machine with static and dynamic sizes; each shape is met by
one operator of its family at least. `pytest --hypothesis-profile=long` checks the full
product.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from end_to_end.table import COVERED_ELSEWHERE, FAMILIES, MADE_BY_PASSES
from end_to_end.table.core import DTYPES, MACHINES, Cell, Family, Sample, difference

from pyptoc.api import compile
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.pypto import Pypto

REFUSALS = ("PTO220", "PTO221")
"""The machine has no such product, or no such cast."""


def wrong(cell: Cell, sample: Sample) -> list[str]:
    """What a cell gets wrong, in the source and compiled."""
    text = sample.program(cell.dynamic)
    try:
        source = compile(text, machine=cell.machine, pipeline="")
        runs = {"interpreted": source.run(**sample.inputs)}
        if cell.machine not in sample.machines:
            with pytest.raises(CompileError) as refusal:
                compile(source.module, machine=cell.machine)
            code = refusal.value.diagnostics[0].code
            return [] if code in REFUSALS else [f"{cell}: {code}\n{text}"]
        compiled = compile(source.module, machine=cell.machine)
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
    """Right in each cell; and each row has met its element types and both machines."""
    family = FAMILIES[name]
    problems: list[str] = []
    met: set[tuple[str, str]] = set()
    for cell, sample in cells_of(family, is_long):
        problems += wrong(cell, sample)
        met |= set(product(sample.calls, (cell.element, cell.machine)))
        if len(problems) > 20:
            break
    assert not problems, "\n".join(problems)
    for row, elements in family.rows.items():
        assert not set(product([row], [*elements, *MACHINES])) - met


# What the table lacks -----------------------------------------------------------------


def test_every_op_has_rows() -> None:
    """A new op needs a row in `operators/table`, or a test that is named there."""
    ops = {op.name.partition(".")[2] for op in Pypto.operations}
    rows = {
        word
        for family in FAMILIES.values()
        for row in family.rows
        for word in row.split()
    }
    assert not ops - rows - set(COVERED_ELSEWHERE) - MADE_BY_PASSES, "ops without rows"
    assert not set(COVERED_ELSEWHERE) - ops, "no such ops"
    assert all(
        row.split()[0] in ops for family in FAMILIES.values() for row in family.rows
    )
    for op, file in COVERED_ELSEWHERE.items():
        text = (Path(__file__).parents[1] / file).read_text()
        assert f"pypto.{op}" in text, f"{file} does not use {op}"


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_have_every_element_type(name: str) -> None:
    """What a row does not list, the language refuses."""
    family = FAMILIES[name]
    for row, elements in family.rows.items():
        samples = {each: first_sample(family, row, each) for each in elements}
        taken = elements[-1]
        sample = samples[taken]
        compile(sample.bare(row, taken, taken), pipeline="")
        for other in DTYPES:
            if other in elements:
                continue
            text = sample.bare(row, taken, other)
            code = refusal_of(text)
            assert code, f"the table lacks {row} of {other}\n{text}"
            assert code in NOT_OF_THIS_TYPE, text


def refusal_of(text: str) -> str:
    """The code of the error that the source has; empty if it has none."""
    try:
        compile(text, pipeline="")
    except CompileError as failure:
        return failure.diagnostics[0].code
    return ""


NOT_OF_THIS_TYPE = ("PTO111", "PTO112", "PTO114", "PTO115", "PTO117")


def first_sample(family: Family, row: str, element: str) -> Sample:
    """A sample with the row, of several elements."""
    for shape, form in product(family.shapes, family.forms):
        sample = family.sample_of([row], element, shape, form)
        if sample is not None and row in sample.calls:
            return sample
    raise AssertionError(f"{row} has no sample")
