"""What a vector group keeps in UB at once, against sums by hand."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from pyptoc.command import Unit, parse
from pyptoc.dialects.context import make_context
from pyptoc.passes.group_bytes import Crossing, GroupBytes
from pyptoc.passes.groups import Group
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import unit_of
from pyptoc.runtime.machine import load_machine

ROWS, COLUMNS = 8, 64
F32, F16 = ROWS * COLUMNS * 4, ROWS * COLUMNS * 2
ROW_VALUE = ROWS * 32
"""One f32 a row, each row padded to 32 bytes."""


def group_bytes(body: str, crossing: Attribute | None = None) -> GroupBytes:
    """The ops of a function of two 512 x 64 inputs.

    crossing: the type in L0C of the first input, if it is a product.
    """
    text = f"""func.func @f(%x: tensor<512x64xf32>, %y: tensor<512x64xf32>) {{
{body}
  func.return
}}"""
    context = make_context(load_machine("ascend950"))
    module = parse(Unit("f.mlir", text), context)
    ops = [op for op in module.walk() if unit_of(op) == "vector"]
    argument = next(iter(ops[0].operands))
    read = (Crossing([argument], crossing),) if crossing else ()
    return GroupBytes(Group(0, "vector", ops), Shapes(), read)


CASES = {
    "one after the other": ("  %a = pypto.exp %x\n  %b = pypto.abs %a", F32),
    "two inputs, the first is taken": ("  %a = pypto.add %x, %y", 2 * F32),
    "read again later": (
        "  %a = pypto.exp %x\n  %b = pypto.mul %a, %x\n  %c = pypto.add %b, %y",
        2 * F32,
    ),
    "a narrowing cast": ("  %a = pypto.cast %x to f16\n  %b = pypto.abs %a", F32),
    "a widening cast": (
        "  %a = pypto.cast %x to f16\n  %b = pypto.cast %a to f32",
        F16 + F32,
    ),
    "a reduction has a place of its own": (
        "  %a = pypto.exp %x\n  %m = pypto.amax %a axis -1 {keepdim}\n"
        "  %d = pypto.div %a, %m",
        F32 + ROW_VALUE,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_peak(name: str) -> None:
    body, most = CASES[name]
    assert group_bytes(body).peak(ROWS, COLUMNS) == most


def test_an_accumulator_has_a_slot_all_the_time() -> None:
    """Its first reader takes the slot; what else is loaded comes beside it."""
    body = "  %a = pypto.exp %x\n  %b = pypto.add %a, %y"
    assert group_bytes(body, crossing=f32).peak(ROWS, COLUMNS) == 2 * F32


def test_a_slot_has_one_type() -> None:
    """A cast of what lies there has a tile of its own, also where it is narrower."""
    body = "  %a = pypto.cast %x to f16\n  %b = pypto.abs %a"
    assert group_bytes(body, crossing=f32).peak(ROWS, COLUMNS) == F32 + F16


def test_an_accumulator_in_another_type_has_a_tile_beside_it() -> None:
    """f32 from i32; what reads it takes that tile, not the slot."""
    body = "  %a = pypto.exp %x\n  %b = pypto.abs %a"
    assert group_bytes(body, crossing=i32).peak(ROWS, COLUMNS) == 2 * F32


def test_phases_have_two_slots_for_what_a_loop_moves() -> None:
    body = "  %a = pypto.exp %x\n  %b = pypto.abs %a"
    assert group_bytes(body).peak(ROWS, COLUMNS, phased=True) == 2 * F32 + F32
