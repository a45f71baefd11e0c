"""Hazards within a core: each kind by hand, and the kernels that have none."""

from __future__ import annotations

import numpy as np
import pytest

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.dialects.npu import kernels_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.runtime.hazards_core import HazardKernel
from pyptoc.runtime.machine import load_machine

MACHINE = load_machine("ascend950")
MEMORY = 'memref<64x16xf32, "gm">'
BUFFERS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.alloc {addr = 0} : !tile.buf<4x16xf32, ub>
  %b = tile.alloc {addr = 256} : !tile.buf<4x16xf32, ub>
  %p = tile.alloc {addr = 512, slots = 2} : !tile.buf<4x16xf32, ub>
"""
LOAD = "tile.load %x[0, 0] [4, 16] into %a\n"
NEG = "tile.neg %a into %b [4, 16]\n"
STORE = "tile.store %b [4, 16] into %y[0, 0]\n"


def vector(body: str, buffers: str = BUFFERS) -> str:
    """A kernel of a vector core."""
    return (
        f"npu.kernel @k (%i) (%x: {MEMORY}, %y: {MEMORY}, %n: index) on vector {{"
        f"{buffers}\n{body}\n}}"
    )


def walk(text: str, n: int = 5) -> HazardKernel:
    """Check one task; `n` is the kernel's scalar."""
    module = parse_module(text, "test.mlir", make_context(MACHINE))
    (kernel,) = kernels_of(module).values()
    check = HazardKernel(kernel, MACHINE)
    shapes = [(64, 16)] * len(kernel.buffer_args)
    scalars = [n] * len(kernel.scalar_args)
    check.check((0,) * kernel.grid_rank, scalars, shapes, range(len(shapes)))
    return check


def problem(text: str, n: int = 5) -> Diagnostic:
    """What is wrong with a task."""
    with pytest.raises(RunError) as found:
        walk(text, n)
    (one,) = found.value.diagnostics
    return one


def set_(pipes: str, flag: int | str = 0) -> str:
    return f"tile.set_flag [{pipes}, {flag}]\n"


def wait(pipes: str, flag: int | str = 0) -> str:
    return f"tile.wait_flag [{pipes}, {flag}]\n"


IN, OUT = "mte2 -> v", "v -> mte3"
GOOD = LOAD + set_(IN) + wait(IN) + NEG + set_(OUT) + wait(OUT) + STORE


def test_what_is_ordered_is_fine() -> None:
    walk(vector(GOOD))


@pytest.mark.parametrize("pipes", [IN, OUT])
def test_without_a_flag_accesses_are_not_ordered(pipes: str) -> None:
    found = problem(vector(GOOD.replace(set_(pipes) + wait(pipes), "")))
    assert found.code == "PTO420"
    first, second = pipes.split(" -> ")
    assert f"on pipe {first}" in found.message
    assert f"on pipe {second}" in found.message
    shown = "bytes 0 to 255 of ub" if pipes == IN else "bytes 256 to 511 of ub"
    assert shown in found.here
    assert f"tile.set_flag [{pipes}, id]" in found.help
    assert any("stands here" in note.message and note.location for note in found.notes)
    assert "task (%i = 0) of @k" in found.notes[-1].message


def test_a_barrier_orders_everything() -> None:
    walk(vector(LOAD + "tile.barrier\n" + NEG + "tile.barrier\n" + STORE))


def test_a_wait_without_its_set_is_a_deadlock() -> None:
    found = problem(vector(LOAD + wait(IN) + NEG))
    assert (found.code, "never sets it" in found.notes[1].message) == ("PTO410", True)


def test_a_set_behind_its_wait_is_a_cycle() -> None:
    found = problem(vector(LOAD + wait(IN) + set_(IN) + NEG))
    assert found.code == "PTO410"
    assert "only after this" in found.notes[1].message


def test_a_flag_that_is_left_set() -> None:
    assert problem(vector(LOAD + set_(IN))).code == "PTO412"


def test_a_flag_that_is_set_twice() -> None:
    text = vector(LOAD + set_(IN) + set_(IN) + wait(IN) + wait(IN))
    assert problem(text).code == "PTO411"


def test_an_id_that_is_used_again_before_its_wait_is_over() -> None:
    text = vector(LOAD + set_(IN) + wait(IN) + set_(IN) + wait(IN))
    found = problem(text)
    assert found.code == "PTO411"
    assert "may be set again" in found.message


def test_an_id_beyond_the_last() -> None:
    assert problem(vector(LOAD + set_(IN, 8) + wait(IN, 8))).code == "PTO424"


# Loops -------------------------------------------------------------------------------

PIPELINED = f"""
  {set_("v -> mte2", 0)} {set_("v -> mte2", 1)}
  scf.for %k = %c0 to %n step %c1 {{
    %s = pypto.index %k mod 2
    %ps = tile.slot %p[%s]
    {wait("v -> mte2", "%s")}
    tile.load %x[0, 0] [4, 16] into %ps
    {set_(IN, "%s")} {wait(IN, "%s")}
    tile.neg %ps into %b [4, 16]
    {set_("v -> mte2", "%s")}
  }}
  {wait("v -> mte2", 0)} {wait("v -> mte2", 1)}
"""


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 10**4])
def test_a_loop_with_two_slots(n: int) -> None:
    walk(vector(PIPELINED), n)


def test_a_loop_is_walked_until_its_state_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The number of instructions does not depend on the trips."""
    from pyptoc.runtime import hazards_core

    runs: list[int] = []
    before = hazards_core.Walker.run

    def count(self: hazards_core.Walker, *args: object) -> None:
        runs[-1] += 1
        before(self, *args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(hazards_core.Walker, "run", count)
    for n in (20, 2000):
        runs.append(0)
        walk(vector(PIPELINED), n)
    assert runs[0] == runs[1] < 20


def test_slots_that_come_round_too_early() -> None:
    """The third trip loads into the slot of the first while it is read."""
    text = vector(
        PIPELINED.replace(wait("v -> mte2", "%s"), "")
        .replace(set_("v -> mte2", "%s"), "")
        .replace(set_("v -> mte2", 0), "")
        .replace(set_("v -> mte2", 1), "")
        .replace(wait("v -> mte2", 0), "")
        .replace(wait("v -> mte2", 1), "")
    )
    walk(text, 1)
    found = problem(text, 7)
    assert found.code in ("PTO411", "PTO420")
    assert "in loop (%k = 2)" in found.notes[-1].message


def test_what_only_a_late_trip_does_is_seen() -> None:
    """A trip that differs is walked, however late."""
    text = vector(
        f"""
  scf.for %k = %c0 to %n step %c1 {{
    %last = pypto.index %k == 900
    {LOAD} {set_(IN)} {wait(IN)} {NEG} {set_("v -> mte2")}
    {wait("v -> mte2")}
    scf.if %last {{
      {STORE}
    }}
  }}"""
    )
    walk(text, 900)
    found = problem(text, 901)
    assert found.code == "PTO420"
    assert "%k = 900" in found.notes[-1].message


# Memory ------------------------------------------------------------------------------


def test_what_nothing_wrote_is_not_read() -> None:
    found = problem(vector(NEG))
    assert found.code == "PTO422"
    assert "%a" in found.message


INDICES = """
  %at = tile.alloc {addr = 1024} : !tile.buf<4x16xi32, ub>
  %l = arith.constant 64 : index
"""
FILL = "tile.fill 1 into %at [1, 16]\ntile.barrier\n"
BY_ROW = '{axis = 0, dims = [-1, 1], per = "row"}'
BY_ELEMENT = '{axis = 1, dims = [0, -1], per = "element"}'
GATHER = "tile.gather %x[0, 0] of %l at %at[0{more}] [{rows}, 16] into %a {how}\n"
SCATTER = "tile.scatter %a into %y[0, 0] of %l at %at[0{more}] [{rows}, 16] {how}\n"


@pytest.mark.parametrize("text", [GATHER, SCATTER])
@pytest.mark.parametrize("element", [False, True])
def test_indices_that_nothing_wrote(text: str, element: bool) -> None:
    how, more = (BY_ELEMENT, ", 0") if element else (BY_ROW, "")
    good, bad = (
        text.format(rows=rows, how=how, more=more) for rows in (1, 2 if element else 4)
    )
    first = LOAD + "tile.barrier\n"
    walk(vector(first + FILL + good, BUFFERS + INDICES))
    if element:  # One row of them was written.
        assert problem(vector(first + FILL + bad, BUFFERS + INDICES)).code == "PTO422"
    else:
        walk(vector(first + FILL + bad, BUFFERS + INDICES))
    found = problem(vector(first + good, BUFFERS + INDICES))
    assert found.code == "PTO422"
    assert "%at" in found.message + found.here


READ = '%v = tile.read %z[0] : memref<8xi64, "gm"> -> index\n'


@pytest.mark.parametrize("decides", [False, True])
def test_scalars_that_a_task_reads(decides: bool) -> None:
    """Where they say only where to load from, no data is needed."""
    row, rows = ("0", "%w") if decides else ("%w", "4")
    place = READ + "%w = pypto.index %v mod 8\n"
    load = f"tile.load %x[{row}, 0] [{rows}, 16] into %a\n"
    text = vector(place + load + NEG + STORE)
    text = text.replace("%n: index", '%z: memref<8xi64, "gm">, %n: index')
    module = parse_module(text, "test.mlir", make_context(MACHINE))
    (kernel,) = kernels_of(module).values()
    check = HazardKernel(kernel, MACHINE)
    assert check.reads_data == decides
    data = [None, None, np.full(8, 4)] if decides else None
    with pytest.raises(RunError) as found:
        check.check((0,), [5], [(64, 16), (64, 16), (8,)], range(3), data)
    assert found.value.diagnostics[0].code == "PTO420"


def test_what_was_not_written_of_a_buffer_is_not_read() -> None:
    text = GOOD.replace("[0, 0] [4, 16] into %a", "[0, 0] [3, 16] into %a")
    found = problem(vector(text))
    assert found.code == "PTO422"
    assert "rows 0 to 3" in found.message
    assert "[3, 16] is valid" in found.message


def test_a_slot_that_was_filled_again_holds_only_the_new_rows() -> None:
    again = LOAD.replace("[4, 16]", "[2, 16]")
    order = set_("v -> mte2") + wait("v -> mte2")
    body = LOAD + set_(IN) + wait(IN) + NEG + order + again + set_(IN, 1) + wait(IN, 1)
    walk(vector(body + NEG.replace("[4, 16]", "[2, 16]")))
    assert problem(vector(body + NEG)).code == "PTO422"


def test_buffers_that_share_bytes_while_both_are_live() -> None:
    buffers = BUFFERS.replace("addr = 256", "addr = 224")
    fill = "tile.fill 1.0 into %b [4, 16]\n"
    found = problem(vector("tile.fill 0.0 into %a [4, 16]\n" + fill + NEG, buffers))
    assert found.code == "PTO423"
    walk(vector("tile.fill 0.0 into %a [4, 16]\n" + fill, buffers))


def test_a_result_in_place_of_an_input_that_is_still_read() -> None:
    buffers = BUFFERS.replace("addr = 256", "addr = 0")
    walk(vector("tile.fill 0.0 into %a [4, 16]\n" + NEG, buffers))
    reduce = "tile.row_sum %a into %b [4, 16]\n"
    text = vector("tile.fill 0.0 into %a [4, 16]\n" + reduce, buffers)
    assert problem(text).code == "PTO423"


@pytest.mark.parametrize(
    ("address", "rule"), [(272, "multiples of 32"), (253952, "253952 bytes")]
)
def test_addresses_that_the_machine_lacks(address: int, rule: str) -> None:
    buffers = BUFFERS.replace("addr = 256", f"addr = {address}")
    found = problem(vector("", buffers))
    assert found.code == "PTO424"
    assert rule in found.rule


# Mixed kernels -----------------------------------------------------------------------

MIXED = """
npu.kernel @k (%i) (%y: memref<64x16xf32, "gm">, %n: index) on mixed {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tile.channel {{addr = 0, slots = 2}} : !tile.chan<16x16xf32, l0c -> ub, rows>
  tile.section cube {{
    %l = tile.alloc {{addr = 0}} : !tile.buf<16x16xf32, l0a>
    %r = tile.alloc {{addr = 0}} : !tile.buf<16x16xf32, l0b>
    %c = tile.alloc {{addr = 0}} : !tile.buf<16x16xf32, l0c>
    scf.for %k = %c0 to %n step %c1 {{
      tile.matmul %l, %r into %c [16, 16, 0]
      tile.set_flag [m -> fix, 0]
      tile.wait_flag [m -> fix, 0]
      {push}
      tile.set_flag [fix -> m, 0]
      tile.wait_flag [fix -> m, 0]
    }}
  }}
  tile.section vector (%half) {{
    %b = tile.alloc {{addr = {address}}} : !tile.buf<8x16xf32, ub>
    scf.for %k = %c0 to %n step %c1 {{
      %t = tile.pop %s : !tile.chan<16x16xf32, l0c -> ub, rows>
      {use}
      {free}
      {after}
    }}
  }}
}}
"""
FREE = "tile.free %s : !tile.chan<16x16xf32, l0c -> ub, rows>"


def mixed(
    push: str = "tile.push %c [16, 16] into %s",
    use: str = "tile.neg %t into %b [8, 16]",
    free: str = FREE,
    after: str = "",
    address: int = 4096,
) -> str:
    return MIXED.format(push=push, use=use, free=free, after=after, address=address)


@pytest.mark.parametrize("n", [0, 1, 5, 300])
def test_a_channel_orders_its_slots(n: int) -> None:
    walk(mixed(), n)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (mixed(free=""), "PTO410"),
        (mixed(push=""), "PTO410"),
        (mixed(free=FREE + "\n" + FREE), "PTO413"),
        (mixed(use="", after="tile.neg %t into %b [8, 16]"), "PTO422"),
        (mixed(address=512), "PTO423"),
        (mixed(push="tile.push %c [12, 16] into %s"), "PTO422"),
    ],
    ids=["never freed", "never pushed", "freed twice", "late", "overlap", "short"],
)
def test_a_channel_that_is_misused(text: str, code: str) -> None:
    assert problem(text).code == code


def test_a_slot_is_freed_only_when_all_that_reads_it_is_over() -> None:
    """A store on another pipe reads the slot while it is given back."""
    use = (
        "tile.set_flag [v -> mte3, 0]\n tile.wait_flag [v -> mte3, 0]\n"
        "tile.store %t [8, 16] into %y[0, 0]"
    )
    order = "tile.set_flag [mte3 -> v, 0]\n tile.wait_flag [mte3 -> v, 0]\n"
    walk(mixed(use=use, free=order + FREE))
    assert problem(mixed(use=use)).code == "PTO420"
