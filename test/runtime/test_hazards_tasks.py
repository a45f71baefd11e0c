"""Hazards between tasks: launches by hand, with and without their waits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyptoc
from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.runtime.hazards_run import CheckedExecutable
from pyptoc.runtime.machine import load_machine

MACHINE = load_machine("ascend950")
MEMORY = 'memref<64x16xf32, "gm">'
X = np.arange(64 * 16, dtype=np.float32).reshape(64, 16)


def copy(name: str, row: str, declared: str = "", extra: str = "") -> str:
    """A kernel that negates 16 rows of %x into %y, from row 16 * %i to `row`."""
    accesses = declared or (
        f"accesses(read %x[16 * %i, 0] [16, 16], write %y[{row}, 0] [16, 16])"
    )
    return f"""
npu.kernel @{name} (%i) (%x: {MEMORY}, %y: {MEMORY}) on vector {accesses} {{
  %a = tile.alloc {{addr = 0}} : !tile.buf<16x16xf32, ub>
  %r = pypto.index 16 * %i
  %s = pypto.index {row}
  tile.load %x[%r, 0] [16, 16] into %a
  tile.set_flag [mte2 -> v, 0]
  tile.wait_flag [mte2 -> v, 0]
  tile.neg %a into %a [16, 16]
  tile.set_flag [v -> mte3, 0]
  tile.wait_flag [v -> mte3, 0]
  tile.store %a [16, 16] into %y[%s, 0]
  {extra}
}}
"""


def program(kernels: str, body: str) -> Any:
    """The function copies through %w, which it allocates."""
    text = f"""{kernels}
func.func @f(%x: {MEMORY}) -> ({MEMORY} {{pypto.name = "y"}}) {{
  %w = npu.alloc[64, 16] : {MEMORY}
  %y = npu.alloc[64, 16] : {MEMORY}
  {body}
  func.return %y : {MEMORY}
}}
"""
    return pyptoc.compile(text, machine=MACHINE, pipeline="")


FIRST = "%t = npu.launch @one[4] (%x, %w)"
KERNELS = copy("one", "16 * %i") + copy("two", "16 * %i")


def problems(program: Any) -> tuple[Diagnostic, ...]:
    """What is wrong on a run."""
    with pytest.raises(RunError) as found:
        program.run(check=True, x=X)
    return found.value.diagnostics


@pytest.mark.parametrize("wait", ["%t", "%t overlaps", "%t[d0]", "%t[0 : 4]"])
def test_tasks_that_wait_are_ordered(wait: str) -> None:
    body = f"{FIRST}\n  %u = npu.launch @two[4] (%w, %y) after({wait})"
    found = program(KERNELS, body)
    np.testing.assert_array_equal(found.run(check=True, x=X)["y"], X)
    for seed in range(3):
        got = found.run(check=True, seed=seed, x=X)
        np.testing.assert_array_equal(got["y"], X)


def unordered() -> Any:
    return program(KERNELS, f"{FIRST}\n  %u = npu.launch @two[4] (%w, %y)")


def test_a_run_in_a_test_is_checked() -> None:
    """Whatever a test runs a program for (`checked_runs.py`)."""
    with pytest.raises(RunError, match="nothing orders them"):
        unordered().run(x=X)


@pytest.mark.hazards
def test_a_program_may_have_hazards_on_purpose() -> None:
    np.testing.assert_array_equal(unordered().run(x=X)["y"], X)


@pytest.mark.parametrize("after", ["", " after(%t[d0 + 1])"])
def test_tasks_that_do_not_wait_are_named(after: str) -> None:
    body = f"{FIRST}\n  %u = npu.launch @two[4] (%w, %y){after}"
    (found,) = problems(program(KERNELS, body))
    assert found.code == "PTO421"
    assert "@one (%i = 0) and task @two (%i = 0)" in found.message
    assert "%w[0 +: 16, 0 +: 16]" in found.here or "%x[0 +: 16" in found.here
    assert sum(note.location is not None for note in found.notes) == 4
    with pytest.raises(RunError, match="PTO421"):
        program(KERNELS, body).check()


@pytest.mark.parametrize("after", ["%s", "%t overlaps", "%t, %s"])
def test_what_is_added_to_is_read_or_written_behind_all_sums(after: str) -> None:
    """Sums may run in any order among themselves."""
    sums = copy("sums", "16 * %i").replace("write %y", "accumulate %y")
    sums = sums.replace("into %y[%s, 0]", 'into %y[%s, 0] {combine = "add"}')
    body = f"""{FIRST}
  %s = npu.launch @sums[4] (%x, %w) after(%t)
  %v = npu.launch @sums[4] (%x, %w) after(%t)
  %u = npu.launch @two[4] (USE) after({after}, %v)"""
    for use in ("%w, %y", "%x, %w"):
        found = program(KERNELS + sums, body.replace("USE", use))
        if "%s" in after:
            assert found.check().tasks == 16
            continue
        (problem,) = problems(found)
        assert problem.code == "PTO421"
        assert "@sums (%i = 0) and task @two (%i = 0)" in problem.message


def test_two_tasks_of_a_launch_write_one_element() -> None:
    kernels = copy("one", "8 * %i")
    (found,) = problems(program(kernels, "%t = npu.launch @one[4] (%x, %y)"))
    assert found.code == "PTO421"
    assert "tasks of one launch" in found.help
    assert "[8 +: 8, 0 +: 16]" in found.here


def test_what_is_not_declared() -> None:
    hidden = "accesses(read %x[16 * %i, 0] [16, 16], write %y[16 * %i, 0] [8, 16])"
    kernels = copy("one", "16 * %i", hidden)
    (found,) = problems(program(kernels, "%t = npu.launch @one[4] (%x, %y)"))
    assert found.code == "PTO426"
    assert "[0 +: 16, 0 +: 16]" in found.message


def test_memory_that_nothing_wrote() -> None:
    found = problems(program(KERNELS, "%u = npu.launch @two[4] (%w, %y)"))
    assert found[0].code == "PTO425"


def test_a_place_that_was_given_on() -> None:
    """The second place takes the bytes of the first, which is then read."""
    body = f"""
  %arena = npu.alloc[6144] : memref<6144xi8, "gm">
  %p = npu.place %arena at 0[64, 16] : memref<6144xi8, "gm"> -> {MEMORY}
  %q = npu.place %arena at 2048[64, 16] : memref<6144xi8, "gm"> -> {MEMORY}
  %t = npu.launch @one[4] (%x, %p)
  %u = npu.launch @one[4] (%x, %q) after(%t)
  %v = npu.launch @two[4] (%p, %y) after(%u)
"""
    (found,) = problems(program(KERNELS, body))
    assert found.code == "PTO423"
    assert "bytes from" in found.here


def test_a_read_of_the_orchestration_waits() -> None:
    """And what is launched behind it comes after what it waits for."""
    body = """
  %%t = npu.launch @one[4] (%%x, %%w)
  %%n = npu.read %%w[0, 0] %s : memref<64x16xf32, "gm"> -> f32
  %%u = npu.launch @two[4] (%%w, %%y)
"""
    program(KERNELS, body % "after(%t)").run(check=True, seed=1, x=X)
    found = problems(program(KERNELS, body % ""))
    assert {one.code for one in found} == {"PTO421"}
    assert "the orchestration" in found[0].message


def test_random_orders_are_those_that_waits_allow() -> None:
    """All four tasks of a launch are first for some seed; none before its wait."""
    body = f"{FIRST}\n  %u = npu.launch @two[4] (%w, %y) after(%t[d0])"
    module = program(KERNELS, body).module
    orders: set[tuple[int, ...]] = set()
    for seed in range(20):
        executable = CheckedExecutable(module, MACHINE)
        executable.run({"x": X}, order=seed)
        made = executable.prepare("f", ordered=False).orchestration
        order = made.ran  # pyright: ignore[reportAttributeAccessIssue]
        assert sorted(order) == list(range(8))
        assert all(order.index(n) < order.index(n + 4) for n in range(4))
        orders.add(tuple(order))
    assert len(orders) > 15
    assert {order[0] for order in orders} == {0, 1, 2, 3}


def test_a_write_comes_after_what_is_read() -> None:
    body = f"""{FIRST}
  %u = npu.launch @two[4] (%w, %y) after(%t)
  %v = npu.launch @one[4] (%x, %w) after(%t%more)
"""
    program(KERNELS, body.replace("%more", ", %u")).run(check=True, seed=1, x=X)
    (found,) = problems(program(KERNELS, body.replace("%more", "")))
    assert found.code == "PTO421"
    assert "reads it" in found.notes[0].message
    assert "writes it" in found.notes[1].message


def mixed(row: str, read: str = "16 * %i + 8 * %half") -> str:
    """A mixed kernel: a vector core negates 8 rows of %x, from `read`, into %y."""
    return f"""
npu.kernel @one (%i) (%x: {MEMORY}, %y: {MEMORY}) on mixed {{
  tile.section cube {{ }}
  tile.section vector (%half) {{
    %a = tile.alloc {{addr = 0}} : !tile.buf<8x16xf32, ub>
    %r = pypto.index {read}
    %s = pypto.index {row}
    tile.load %x[%r, 0] [8, 16] into %a
    tile.set_flag [mte2 -> v, 0]
    tile.wait_flag [mte2 -> v, 0]
    tile.neg %a into %a [8, 16]
    tile.set_flag [v -> mte3, 0]
    tile.wait_flag [v -> mte3, 0]
    tile.store %a [8, 16] into %y[%s, 0]
  }}
}}
"""


ONE_LAUNCH = "%t = npu.launch @one[4] (%x, %y)"


@pytest.mark.parametrize("seed", [None, 1, 2])
class TestCoresOfOneTask:
    def test_apart(self, seed: int | None) -> None:
        found = program(mixed("16 * %i + 8 * %half"), ONE_LAUNCH)
        results = found.run(check=True, seed=seed, x=X)
        np.testing.assert_array_equal(results["y"], -X)

    @pytest.mark.parametrize("row", ["16 * %i", "16 * %i + 7 * %half"])
    def test_both_vector_cores_write_the_same(self, seed: int | None, row: str) -> None:
        found = program(mixed(row), ONE_LAUNCH)
        with pytest.raises(RunError) as caught:
            found.run(check=True, seed=seed, x=X)
        problem = caught.value.diagnostics[0]
        assert problem.code == "PTO421"
        for core in (0, 1):
            assert f"core vector {core} of task @one (%i = " in problem.message
        assert "both touch %y[" in problem.here
        assert "the cores of a task run at once" in problem.help
        assert len(problem.notes) == 4

    def test_one_reads_what_the_other_writes(self, seed: int | None) -> None:
        text = mixed("16 * %i + 8 * %half", "16 * %i + 8 - 8 * %half")
        body = ONE_LAUNCH + "\n  %u = npu.launch @one[4] (%y, %y) after(%t)"
        found = program(text, body)
        with pytest.raises(RunError) as caught:
            found.run(check=True, seed=seed, x=X)
        assert {one.code for one in caught.value.diagnostics} == {"PTO421"}
        # Its own rows each core may read and write.
        text = mixed("16 * %i + 8 * %half")
        results = program(text, body).run(check=True, seed=seed, x=X)
        np.testing.assert_array_equal(results["y"], X)
