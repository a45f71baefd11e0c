"""Mixed kernels: an attention written by hand and planned by the passes, channels,
faults."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from happens_before import problems_of
from kernel_harness import run_kernel
from kernel_runs import without_flag
from numpy.typing import NDArray

from pyptoc.api import compile
from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError, RunError
from pyptoc.dialects.npu import kernels_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import ChannelOp
from pyptoc.dialects.verify import verify_module
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import load_machine

FOLDER = Path(__file__).parent / "handwritten"
MACHINE = load_machine("ascend950")
SIZES = [(1, 1, 1), (2, 128, 256), (1, 100, 300), (2, 65, 129), (1, 300, 700)]
"""Heads, queries, keys."""
LEVELS = ("flat", "kernel", "program", "planned", "lowered")
LOWER = "assemble-buffers,lower-to-tile,split-mixed,skew"
PLAN = "plan-memory,insert-sync,schedule"
ORDERS = range(6)


@cache
def source(level: str) -> str:
    """As it was written, or `planned`: the kernel after the passes that plan it."""
    if level == "planned":
        return compile(source("kernel"), pipeline=PLAN).text
    if level == "lowered":
        return compile(source("tasks"), pipeline=f"{LOWER},{PLAN}").text
    return (FOLDER / f"attention_{level}.mlir").read_text()


def build(text: str) -> Executable:
    module = parse_module(text, "test.mlir", make_context())
    verify_module(module)
    return Executable(module, MACHINE)


@cache
def executable(level: str) -> Executable:
    return build(source(level))


def operands(heads: int, queries: int, keys: int) -> dict[str, Any]:
    generator = np.random.default_rng(heads + queries + keys)
    return {
        name: generator.standard_normal((heads, size, 128)).astype(ml_dtypes.bfloat16)
        for name, size in (("q", queries), ("k", keys), ("v", keys))
    }


def golden(q: NDArray[Any], k: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    """softmax(q k^T / sqrt(128)) v in f64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(128))
    return scores / scores.sum(axis=-1, keepdims=True) @ v


def is_right(results: dict[str, Any], inputs: dict[str, Any]) -> bool:
    want = golden(**inputs)
    got = results["out"].astype(np.float64)
    return got.shape == want.shape and np.allclose(got, want, rtol=2**-7, atol=4e-3)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("level", LEVELS)
def test_attention(level: str, sizes: tuple[int, int, int]) -> None:
    inputs = operands(*sizes)
    assert is_right(executable(level).run(inputs), inputs)


@pytest.mark.parametrize("level", LEVELS[2:])
@pytest.mark.parametrize("order", ORDERS)
def test_any_order_of_the_pipes(order: int, level: str) -> None:
    for sizes in (1, 100, 300), (1, 1, 129), (2, 65, 1):
        inputs = operands(*sizes)
        assert is_right(executable(level).run(inputs, order=order), inputs)


@pytest.mark.parametrize("order", [None, *ORDERS])
def test_no_keys(order: int | None) -> None:
    """No trip at all: what is left is a sum of nothing, divided by 0."""
    inputs = operands(1, 70, 0)
    assert np.isnan(executable("planned").run(inputs, order=order)["out"]).all()


def test_each_planned_flag_is_needed() -> None:
    """Without it, two accesses of a core are not ordered, or a flag is misused."""
    _, flags = without_flag(source("kernel"), MACHINE, None)
    assert flags
    for gone in range(len(flags)):
        module, _ = without_flag(source("kernel"), MACHINE, gone)
        (kernel,) = kernels_of(module).values()
        assert problems_of(kernel, {"queries": 100, "keys": 900}), flags[gone]


@pytest.mark.parametrize("keys", [0, 1, 700])
def test_nothing_is_unordered_within_a_core(keys: int) -> None:
    module = parse_module(source("planned"), "test.mlir", make_context())
    (kernel,) = kernels_of(module).values()
    assert not problems_of(kernel, {"queries": 100, "keys": keys})


PAIRS = sorted(set(re.findall(r"set_flag \[(\w+ -> \w+),", source("program"))))


@pytest.mark.parametrize("pair", PAIRS)
def test_each_flag_is_needed(pair: str) -> None:
    """Without the flags of a pair of pipes some order is wrong, or stands still."""
    text = re.sub(
        rf"(?m)^ *tile\.(set|wait)_flag \[{pair}, .*\n", "", source("program")
    )
    program, inputs = build(text), operands(1, 100, 700)
    assert is_right(program.run(inputs), inputs)

    def is_wrong(order: int) -> bool:
        try:
            return not is_right(program.run(inputs, order=order), inputs)
        except RunError:
            return True

    assert any(map(is_wrong, range(20)))


COPY = """
npu.kernel @k () (%y: memref<{m}x{n}xf32, "gm">) on mixed {{
  %down = tile.channel {{slots = {slots}}} : !tile.chan<{m}x{n}xf32, ub -> l1, {split}>
  %up = tile.channel {{slots = {slots}}} : !tile.chan<{m}x{n}xf32, l0c -> ub, {split}>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %trips = arith.constant 5 : index
  tile.section cube {{
    %a = tile.alloc : !tile.buf<{m}x{n}xf32, l0a>
    %eye = tile.alloc : !tile.buf<{n}x{n}xf32, l0b>
    %c = tile.alloc : !tile.buf<{m}x{n}xf32, l0c>
    %e = tile.alloc : !tile.buf<{n}x{n}xf32, l1>
    scf.for %t = %zero to %trips step %one {{
      %p = tile.pop %down
      tile.move %p[0, 0] [{m}, {n}] into %a
      tile.matmul %a, %eye into %c [{m}, {n}, 0]
      tile.free %down
      {push}
    }}
  }}
  tile.section vector (%half) {{
    %z = tile.alloc : !tile.buf<{hm}x{hn}xf32, ub>
    tile.fill 1.0 into %z [{hm}, {hn}]
    scf.for %t = %zero to %trips step %one {{
      tile.push %z [{hm}, {hn}] into %down
    }}
    scf.for %t = %zero to %trips step %one {{
      %b = tile.pop %up
      {use}
      {free}
    }}
  }}
}}
"""


def exchange(split: str, slots: int = 5, **changed: str) -> NDArray[Any]:
    """Five tiles of zeros from the cube core; each half is stored with its number."""
    m, n = (6, 8) if split == "rows" else (4, 16)
    hm, hn = (3, 8) if split == "rows" else (4, 8)
    row, column = ("%at", "0") if split == "rows" else ("0", "%at")
    use = f"""tile.add %b, 1.0 into %b [{hm}, {hn}]
      %at = pypto.index {hm if split == "rows" else hn} * %half
      tile.store %b [{hm}, {hn}] into %y[{row}, {column}] {{combine = "add"}}"""
    lines = {
        "push": f"tile.push %c [{m}, {n}] into %up",
        "free": "tile.free %up",
        "use": use,
        **changed,
    }
    text = COPY.format(m=m, n=n, hm=hm, hn=hn, slots=slots, split=split, **lines)
    out = np.zeros((m, n), np.float32)
    run_kernel(text, (), [out])
    return out


@pytest.mark.parametrize("split", ["rows", "columns"])
def test_halves(split: str) -> None:
    assert (exchange(split) == 5).all()


@pytest.mark.parametrize(
    ("slots", "changed", "message"),
    [
        (1, {}, r"deadlock: a section waits for a free slot of %up"),
        (5, {"push": ""}, r"deadlock: a section waits for a full slot of %up"),
        (5, {"free": ""}, r"%up has 5 pushes, 5 and 5 pops, 0 and 0 frees"),
        (
            3,
            {"free": "tile.free %up tile.free %up"},
            r"%up is freed before it is popped",
        ),
    ],
)
def test_channel_faults(slots: int, changed: dict[str, str], message: str) -> None:
    with pytest.raises(RunError, match=message):
        exchange("rows", slots, **changed)


@pytest.mark.parametrize("pipeline", ["plan-memory", "insert-sync", PLAN])
def test_what_has_addresses_and_flags_is_left_alone(pipeline: str) -> None:
    """They belong together: other addresses would need other flags."""
    want = compile(source("program"), pipeline="schedule").text
    assert compile(source("program"), pipeline=f"{pipeline},schedule").text == want


def test_an_instruction_outside_of_the_sections() -> None:
    text = source("kernel").replace(
        "  tile.section vector (%half) {", STRAY + "  tile.section vector (%half) {"
    )
    with pytest.raises(CompileError) as failure:
        compile(text, pipeline="insert-sync")
    (found,) = failure.value.diagnostics
    assert found.code == "PTO504"
    assert "tile.fill stands in no section of the mixed kernel @attend" in found.message


STRAY = """
  %stray = tile.alloc : !tile.buf<4x16xf32, ub>
  tile.fill 0.0 into %stray [4, 16]
"""


def test_channels_lie_beside_all_other_buffers() -> None:
    """A slot may be filled at any time, so nothing shares its bytes."""
    module = parse_module(source("planned"), "test.mlir", make_context())
    taken: dict[str, list[range]] = {}
    channels: dict[str, list[range]] = {}
    for op in module.walk():
        if isinstance(op, Allocation):
            assert op.address is not None
            kind = channels if isinstance(op, ChannelOp) else taken
            place = range(op.address, op.address + op.total_bytes)
            kind.setdefault(op.type.space.value, []).append(place)
    assert {name: len(found) for name, found in channels.items()} == {"ub": 2, "l1": 1}
    for name, found in channels.items():
        for number, one in enumerate(found):
            for other in (*taken[name], *found[:number]):
                assert one.stop <= other.start or other.stop <= one.start


def test_a_channel_that_does_not_fit() -> None:
    """Its slots are its author's: they are not given up."""
    text = source("kernel").replace(
        "{slots = 2} : !tile.chan", "{slots = 4} : !tile.chan"
    )
    with pytest.raises(CompileError) as failure:
        compile(text, pipeline="plan-memory")
    (found,) = failure.value.diagnostics
    assert found.code == "PTO211"
    assert "ub of ascend950 is over capacity in kernel @attend" in found.message
    assert "%scores: 64x128xf32, 4 slots, 131072 bytes" in found.notes[0].message
