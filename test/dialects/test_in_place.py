"""Working in place: each instruction of the table over each input it may write over
gives what it gives elsewhere; every other overlap of bytes is an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from element_types import DTYPES
from kernel_harness import COLUMNS, INTEGERS, ROWS, M, N, random, run_kernel
from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i16,
    i32,
)

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.tile_in_place import IN_PLACE, InPlace, check_entries, may_take
from pyptoc.dialects.tile_types import BufType
from pyptoc.dialects.vector_families import VECTOR_FAMILIES, Elements, Family, Result
from pyptoc.dialects.verify import verify_module

TYPES = {
    "f32": f32, "f16": f16, "bf16": bf16, "f8E4M3FN": Float8E4M3FNType(),
    "i1": i1, "i8": i8, "i16": i16, "i32": i32,
}  # fmt: skip
ELEMENTS = {
    Elements.FLOAT: ("f32", "bf16"),
    Elements.NUMBER: ("f32", "i32"),
    Elements.INTEGER: ("i32", "i8"),
    Elements.BITS: ("i1", "i16"),
    Elements.TRUTH: ("i1",),
    Elements.ANY: ("f32", "i8"),
}
CASTS = [("f32", "bf16"), ("f32", "f8E4M3FN"), ("f16", "f16"), ("i32", "i16")]
STEP = 4096
"""Between the addresses of the inputs."""


@dataclass(frozen=True)
class Case:
    """An instruction over one of its inputs."""

    name: str
    inputs: tuple[str, ...]
    result: str
    over: int
    columns: int = COLUMNS
    """Of the result's buffer."""

    def lines(self, address: int, row: int, allocs: dict[str, str]) -> list[str]:
        """Its result at `address`, and stored from `row` on; adds to `allocs`."""

        def buffer(address: int, columns: int, element: str) -> str:
            name = f"%b{address}_{columns}_{element}"
            kind = f"!tile.buf<{ROWS}x{columns}x{element}, ub>"
            allocs[name] = f"{name} = tile.alloc {{addr = {address}}} : {kind}"
            return name

        inputs = [buffer(i * STEP, COLUMNS, one) for i, one in enumerate(self.inputs)]
        dest = buffer(address, self.columns, self.result)
        if dest in inputs:
            dest = inputs[self.over]
        scalars = ["%m"] * VECTOR_FAMILIES[self.name].index_scalar
        return [
            *(
                f"tile.load %{element}_{i}[0, 0] [{ROWS}, {COLUMNS}] into {inputs[i]}"
                for i, element in enumerate(self.inputs)
            ),
            f"tile.{self.name} {', '.join(inputs + scalars)} into {dest} [%m, %n]",
            f"tile.store {dest} [%m, %n] into %{self.result}_out[{row}, 0]",
        ]


def shapes(family: Family) -> Iterator[tuple[tuple[str, ...], str]]:
    """Element types of the inputs and of the result."""
    if family.name == "cvt":
        yield from (((source,), result) for source, result in CASTS)
        return
    for element in ELEMENTS[family.elements]:
        inputs = [element] * (family.arity - family.index_scalar)
        if family.name == "where":
            inputs[0] = "i1"
        yield tuple(inputs), "i1" if family.result is Result.TRUTH else element


def cases() -> list[Case]:
    found = [
        Case("add", ("f32", "f32"), "f32", 1, 40),
        Case("cvt", ("f32",), "f16", 0, 40),
    ]
    for name, entry in IN_PLACE.items():
        if entry is InPlace.FULL:
            for inputs, result in shapes(VECTOR_FAMILIES[name]):
                for over, element in enumerate(inputs):
                    source, dest = (
                        BufType((ROWS, COLUMNS), TYPES[one], "ub")
                        for one in (element, result)
                    )
                    if may_take(name, True, source, dest):
                        found.append(Case(name, inputs, result, over))
    return found


def test_in_place_is_as_elsewhere() -> None:
    """One kernel runs all: each case over its input, then elsewhere."""
    found = cases()
    in_full = {name for name, entry in IN_PLACE.items() if entry is InPlace.FULL}
    assert {one.name for one in found} == in_full
    arrays: dict[str, np.ndarray] = {}
    for seed in range(3):
        for element in TYPES:
            values = random(element, (ROWS, COLUMNS), seed)
            if element in INTEGERS:
                values[values == 0] = 3
            if seed:
                values[:, 0] = arrays[f"{element}_0"][:, 0]
            arrays[f"{element}_{seed}"] = values
    for element in TYPES:
        shape = (2 * len(found) * M, N)
        arrays[f"{element}_out"] = np.zeros(shape, DTYPES[element])
    memories = ", ".join(
        f'%{name}: memref<?x?x{name.partition("_")[0]}, "gm">' for name in arrays
    )
    allocs: dict[str, str] = {}
    lines = [
        line
        for i, one in enumerate(found)
        for k, address in enumerate((one.over * STEP, 7 * STEP))
        for line in one.lines(address, (2 * i + k) * M, allocs)
    ]
    body = "\n".join([*allocs.values(), *lines])
    text = (
        f"npu.kernel @k () ({memories}, %m: index, %n: index) on vector {{\n{body}\n}}"
    )
    verify_module(parse_module(text, "test.mlir", make_context()))
    run_kernel(text, (), list(arrays.values()), (M, N))
    for i, one in enumerate(found):
        out = arrays[f"{one.result}_out"][2 * i * M : 2 * (i + 1) * M]
        assert out[:M].tobytes() == out[M:].tobytes(), one
        assert out.any(), one


def problem(body: str) -> str | None:
    text = f"npu.kernel @k () (%n: index) on vector {{\n{body}\n}}"
    try:
        verify_module(parse_module(text, "test.mlir", make_context()))
    except CompileError as failure:
        (found,) = failure.diagnostics
        assert found.code == "PTO175"
        return found.message
    return None


def buffer(name: str, address: int, shape: str = "8x48xf32", slots: int = 1) -> str:
    many = f", slots = {slots}" if slots > 1 else ""
    return f"%{name} = tile.alloc {{addr = {address}{many}}} : !tile.buf<{shape}, ub>\n"


A = buffer("a", 0)
WRONG = {
    "one row off": A + buffer("d", 192) + "tile.exp %a into %d [8, 48]",
    "one row before": buffer("a", 192) + buffer("d", 0) + "tile.exp %a into %d [8, 48]",
    "a reduction": A + buffer("d", 0, "8x1xf32") + "tile.row_max %a into %d [8, 48]",
    "a scan": A + buffer("d", 0) + "tile.row_cumsum %a into %d [8, 48]",
    "the remainder": A + buffer("d", 0) + "tile.rem %a, 2.0 into %d [8, 48]",
    "a column": A + buffer("d", 0) + "tile.add 1.0, %a row into %d [8, 48]",
    "a row": A + buffer("d", 0) + "tile.add 1.0, %a col into %d [8, 48]",
    "read twice": A + buffer("d", 0) + "tile.add %a, %a row into %d [8, 48]",
    "a wider type": buffer("a", 0, "8x48xbf16")
    + buffer("d", 0)
    + "tile.cvt %a into %d [8, 48]",
    "a mask": buffer("a", 0, "8x48xi1")
    + buffer("b", 4096)
    + buffer("d", 0)
    + "tile.where %a, %b, 0.0 into %d [8, 48]",
    "longer rows": A + buffer("d", 0, "8x56xf32") + "tile.exp %a into %d [8, 48]",
    "one slot of two": buffer("a", 0, slots=2)
    + "%s = tile.slot %a[%n]\n"
    + buffer("d", 0)
    + "tile.exp %s into %d [8, 48]",
    "indices": buffer("a", 0, "8x4xi32")
    + buffer("d", 0, "8x48xi1")
    + "tile.one_hot %a from 0 into %d [8, 48, 4]",
}
RIGHT = {
    "the same address": A + buffer("d", 0) + "tile.exp %a into %d [8, 48]",
    "next to each other": A + buffer("d", 1536) + "tile.row_cumsum %a into %d [8, 48]",
    "a narrower type": A + buffer("d", 0, "8x48xf16") + "tile.cvt %a into %d [8, 48]",
    "no addresses": "%a = tile.alloc : !tile.buf<8x48xf32, ub>\n"
    "%d = tile.alloc : !tile.buf<8x48xf32, ub>\ntile.row_cumsum %a into %d [8, 48]",
}


@pytest.mark.parametrize("name", WRONG)
def test_other_overlaps_are_errors(name: str) -> None:
    message = problem(WRONG[name])
    assert message is not None
    assert "writes bytes" in message


@pytest.mark.parametrize("name", RIGHT)
def test_no_more_than_that(name: str) -> None:
    assert problem(RIGHT[name]) is None


def test_each_instruction_has_an_entry() -> None:
    names = [f"tile.{name}" for name in IN_PLACE]
    check_entries(names)
    with pytest.raises(TypeError, match="fma"):
        check_entries([*names, "tile.fma"])
    with pytest.raises(TypeError, match="exp"):
        check_entries([name for name in names if name != "tile.exp"])
