"""
Every cast that the language has, compiled for both machines, on every code.

One program has many casts of one source: of all codes of a type of one or two bytes, or
of the edges of a wide type. What should come out is `exact_cast`, in integers. An
ordinary run takes each pair of types with its default mode and with one other setting,
which differs between the machines; the long one takes each mode of each pair, with and
without saturation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from exact_cast import (
    DTYPES,
    INTEGERS,
    edges,
    exact_cast,
    exact_mx,
    modes_of,
    same,
)

import pyptoc
from pyptoc.dialects.diagnostics import CompileError

MACHINES = ("ascend950", "ascend910b")


class Setting(NamedTuple):
    """One cast of a source."""

    target: str
    mode: str
    wrap: bool

    @property
    def text(self) -> str:
        mode = "" if self.mode == "none" else f" mode {self.mode}"
        return f"to {self.target}{mode}{' {saturate = false}' * self.wrap}"


def settings_of(source: str, target: str) -> list[Setting]:
    """All settings of a pair, the default first."""
    saturates = (*INTEGERS, "f8E4M3FN", "f8E5M2")
    wraps = (False, True) if target in saturates else (False,)
    modes = modes_of(source, target)
    return [Setting(target, mode, wrap) for wrap in wraps for mode in modes]


def is_missing(source: str, target: str, machine: str) -> bool:
    """The pairs that a machine cannot reach: i64 to bf16, and f8 on the 910b."""
    if source == target:
        return False
    small = {"f8E4M3FN", "f8E5M2", "f8E8M0FNU"}
    if machine == "ascend910b" and small & {source, target}:
        return True
    return (source, target) == ("i64", "bf16")


def casts(source: str, machine: str, is_long: bool) -> Iterator[Setting]:
    """The settings that a run takes."""
    turn = MACHINES.index(machine)
    for number, target in enumerate(DTYPES):
        found = settings_of(source, target)
        if not found or is_missing(source, target, machine):
            continue
        if not is_long:
            first, *others = found
            place = 3 * number + list(DTYPES).index(source) + 5 * turn
            found = [first, *([others[place % len(others)]] if others else [])]
        yield from found


def program(source: str, size: int, settings: list[Setting]) -> str:
    kind = f"tensor<{size}x{source}>"
    types = ", ".join(f"tensor<{size}x{setting.target}>" for setting in settings)
    names = ", ".join(f"%r{number}" for number in range(len(settings)))
    lines = "\n".join(
        f"  %r{number} = pypto.cast %x {setting.text}"
        for number, setting in enumerate(settings)
    )
    return (
        f"func.func @f(%x: {kind}) -> ({types}) {{\n{lines}\n"
        f"  func.return {names} : {types}\n}}\n"
    )


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("source", DTYPES)
def test_compiled_casts(source: str, machine: str, is_long: bool) -> None:
    every = list(casts(source, machine, is_long))
    by_input: dict[int, list[Setting]] = {}
    arrays: dict[int, np.ndarray] = {}
    for setting in every:
        array = edges(source, setting.target)
        arrays[array.size] = array
        by_input.setdefault(array.size, []).append(setting)
    for size, settings in by_input.items():
        text = program(source, size, settings)
        results = pyptoc.compile(text, machine=machine).run(x=arrays[size])
        for setting, found in zip(settings, results.values(), strict=True):
            want = exact_cast(arrays[size], source, *setting)
            assert found.dtype == want.dtype
            wrong = np.flatnonzero(~same(found, want))[:5]
            values = arrays[size][wrong], found[wrong], want[wrong]
            assert not wrong.size, (setting.text, *values)


@pytest.mark.parametrize("machine", MACHINES)
def test_casts_that_a_machine_lacks(machine: str) -> None:
    count = 0
    for source in DTYPES:
        for target in DTYPES:
            if not modes_of(source, target) or not is_missing(source, target, machine):
                continue
            count += 1
            text = program(source, 4, [Setting(target, "none", False)])
            with pytest.raises(CompileError) as refusal:
                pyptoc.compile(text, machine=machine)
            assert refusal.value.diagnostics[0].code == "PTO221", text
    assert count == (1 if machine == "ascend950" else 31)


MX_ROWS = 64


def mx_blocks(element: str, is_long: bool) -> np.ndarray:
    """Blocks that each have one code, or edge, and 31 numbers of about its size."""
    lead = edges(element, "f8E4M3FN")
    if not is_long:
        lead = lead[:: 11 if element != "f32" else 3]
    lead = np.resize(lead, -(-lead.size // (2 * MX_ROWS)) * 2 * MX_ROWS)
    draw = np.random.default_rng(3)
    spread = draw.uniform(-1, 1, (lead.size, 32)) * 2.0 ** draw.integers(
        -20, 1, (lead.size, 32)
    )
    with np.errstate(all="ignore"):
        blocks = (lead[:, None].astype(np.float64) * spread).astype(DTYPES[element])
    blocks[np.arange(lead.size), draw.integers(0, 32, lead.size)] = lead
    return blocks


@pytest.mark.parametrize("target", ["f8E4M3FN", "f8E5M2"])
@pytest.mark.parametrize("source", ["f16", "bf16", "f32"])
def test_quant_mx_of_every_code(source: str, target: str, is_long: bool) -> None:
    """Each code, or each 11th, as the greatest of a block and among smaller ones."""
    blocks = mx_blocks(source, is_long)
    want, codes = exact_mx(blocks, source, target)
    x = blocks.reshape(MX_ROWS, -1)
    size = x.shape[1]
    text = (
        f"func.func @f(%x: tensor<{MX_ROWS}x{size}x{source}>) -> ("
        f"tensor<{MX_ROWS}x{size}x{target}>, "
        f"tensor<{MX_ROWS}x{size // 64}x2xf8E8M0FNU>) {{\n"
        f"  %q, %s = pypto.quant_mx %x axis -1 to {target}\n"
        f"  func.return %q, %s : tensor<{MX_ROWS}x{size}x{target}>, "
        f"tensor<{MX_ROWS}x{size // 64}x2xf8E8M0FNU>\n}}\n"
    )
    for pipeline in ("", None):
        q, scales = pyptoc.compile(text, pipeline=pipeline).run(x=x).values()
        assert (scales.reshape(-1).view(np.uint8) == codes.view(np.uint8)).all()
        wrong = np.flatnonzero(~same(q.reshape(want.shape), want))[:5]
        values = x.reshape(-1)[wrong], q.reshape(-1)[wrong], want.reshape(-1)[wrong]
        assert not wrong.size, (pipeline, *values)
