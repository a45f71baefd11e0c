"""Time within a core, by hand: pipes, flags, heads and tails, task after task."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks import programs
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_kernels import cube_modules, vector_modules
from random_mixed import mixed_modules
from timing_machine import START, tiny_machine, vector_program
from xdsl.dialects.builtin import ModuleOp

import pyptoc
from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError, RunError
from pyptoc.dialects.npu_kernel import kernels_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.verify import verify_module
from pyptoc.operators import text_of
from pyptoc.passes.insert_sync import InsertSyncPass
from pyptoc.passes.plan_memory import PlanMemoryPass
from pyptoc.runtime import timing_kernel
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.timing_costs import ALONE
from pyptoc.runtime.timing_steps import KernelSteps

LOAD, STORE = 10 + 256 // 8, 5 + 256 // 32
"""Cycles of a row of 256 bytes from HBM, and to memory."""

COPY = """
  %a = tile.alloc {addr = 0} : !tile.buf<1x64xf32, ub>
  tile.load %x[%i, 0] [1, 64] into %a
  tile.set_flag [mte2 -> mte3, 0]
  tile.wait_flag [mte2 -> mte3, 0]
  tile.store %a [1, 64] into %y[%i, 0]
"""


def test_three_tasks_on_two_pipes_with_one_buffer():
    """
    mte2  |load 0|          |load 1|          |load 2|            load 42, store 13
    mte3         |store 0|         |store 1|         |store 2|    one after the other:
                                                                  the buffer is one
    """
    timeline = vector_program(COPY).simulate()
    assert (LOAD, STORE) == (42, 13)
    assert [(task.start, task.end) for task in timeline.tasks] == [
        (100, 155),
        # mte2 takes the task at 142, and waits for the store of the buffer.
        (142, 210),
        (197, 265),
    ]
    assert timeline.cycles == START + 3 * (LOAD + STORE) == 265
    assert timeline.launches[0].busy == {
        "mte2": pytest.approx(3 * 42 / 165),
        "mte3": pytest.approx(3 * 13 / 165),
    }


def test_three_tasks_on_two_pipes_with_two_buffers():
    """
    mte2  |load 0|load 1  |load 2  |           slots take turns: mte2 never waits
    mte3         |store 0||store 1||store 2|
    """
    body = """
      %one = arith.constant 1 : index
      %zero = arith.constant 0 : index
      %three = arith.constant 3 : index
      %a = tile.alloc {addr = 0, slots = 2} : !tile.buf<1x64xf32, ub>
      tile.set_flag [mte3 -> mte2, 0]
      tile.set_flag [mte3 -> mte2, 1]
      scf.for %t = %zero to %three step %one {
        %s = pypto.index %t mod 2
        %b = tile.slot %a[%s]
        tile.wait_flag [mte3 -> mte2, %s]
        tile.load %x[%t, 0] [1, 64] into %b
        tile.set_flag [mte2 -> mte3, %s]
        tile.wait_flag [mte2 -> mte3, %s]
        tile.store %b [1, 64] into %y[%t, 0]
        tile.set_flag [mte3 -> mte2, %s]
      }
      tile.wait_flag [mte3 -> mte2, 0]
      tile.wait_flag [mte3 -> mte2, 1]
    """
    whole = "read %x[0, 0] [3, 64], write %y[0, 0] [3, 64]"
    timeline = vector_program(body, grid=1, accesses=whole).simulate()
    assert timeline.cycles == START + 3 * LOAD + STORE == 239


def test_a_row_that_is_in_l2_takes_its_rate():
    body = COPY.replace("%x[%i, 0]", "%x[0, 0]")
    same = "read %x[0, 0] [1, 64], write %y[%i, 0] [1, 64]"
    timeline = vector_program(body, accesses=same).simulate()
    hit = 10 + 256 // 64
    assert timeline.cycles == START + LOAD + 2 * hit + 3 * STORE
    assert timeline.hbm_read == 256
    assert timeline.l2_hit == pytest.approx(2 / 3)


def test_taking_whichever_task_is_next_costs_a_dispatch():
    machine = tiny_machine(task_seconds=40e-9)
    dynamic = vector_program(COPY, machine, launch='assign = "dynamic"').simulate()
    # The first is taken while the launch starts, and later ones while the store runs.
    waits = 40 - STORE
    assert dynamic.cycles == START + 3 * (LOAD + STORE) + 2 * waits


def test_a_vector_instruction_waits_for_the_tail_of_what_it_needs():
    """3 a repeat of 256 bytes, 7 before and 11 after where an instruction waits."""
    chain = """
      %a = tile.alloc {addr = 0} : !tile.buf<1x64xf32, ub>
      %b = tile.alloc {addr = 256} : !tile.buf<1x64xf32, ub>
      tile.fill 0.0 into %a [1, 64]
      tile.fill 0.0 into %b [1, 64]
      tile.add %a, 1.0 into %a [1, 64]
      tile.set_flag [v -> mte3, 0]
      tile.wait_flag [v -> mte3, 0]
      tile.store %a [1, 64] into %y[%i, 0]
    """
    program = vector_program(chain, grid=1, accesses="write %y[%i, 0] [1, 64]")
    # The second fill needs nothing of the first; the sum waits for both.
    filled = 7 + 3 + 3 + 11
    added = 7 + 3 + 11
    assert program.simulate().cycles == START + filled + added + STORE


def test_a_barrier_holds_all_pipes():
    other = COPY.replace("%a", "%b").replace("addr = 0", "addr = 256")
    for between, expected in (
        # The second load runs beside the first store.
        ("", LOAD + LOAD + STORE),
        ("tile.barrier", LOAD + STORE + LOAD + STORE),
    ):
        body = f"{COPY}{between}{other.replace('%i', '%j')}"
        body = "%j = pypto.index %i + 1" + body
        boxes = "read %x[0, 0] [2, 64], write %y[0, 0] [2, 64]"
        timeline = vector_program(body, grid=1, accesses=boxes).simulate()
        assert timeline.cycles == START + expected


def test_a_wait_for_what_is_never_set():
    program = vector_program(COPY)
    for op in list(program.module.walk()):
        if op.name == "tile.set_flag":
            op.detach()
    with pytest.raises(RunError, match="not set before this wait"):
        program.simulate()


# Loops that are skipped -------------------------------------------------------------


def steps_of(
    module: ModuleOp,
    few: int,
    monkeypatch: pytest.MonkeyPatch,
    numbers: tuple[int, ...] = (41, 37, 5, 3),
):
    """The second of two tasks of each kernel; loops of `few` trips run in full."""
    monkeypatch.setattr(timing_kernel, "FEW", few)
    found = []
    for kernel in kernels_of(module).values():
        steps = KernelSteps(kernel, MACHINE)
        shapes = ((64, 64, 64, 64),) * len(kernel.buffer_args)
        scalars = numbers[: len(kernel.scalar_args)]
        work = steps.work(shapes, (0,) * kernel.grid_rank, scalars)
        miss = (0.25,) * len(kernel.buffer_args)
        step = steps.step(work, miss, ALONE, None)
        step = steps.step(work, miss, ALONE, step.carried)
        found.append((step.front, step.finish, step.carried, step.counts))
    return found


MACHINE = load_machine("ascend950")
NEVER = 10**9


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(text=st.one_of(vector_modules(), cube_modules(), mixed_modules()))
def test_skipping_iterations_changes_nothing(text: str, monkeypatch):
    context = make_context(MACHINE)
    module = parse_module(text, "kernel.mlir", context)
    verify_module(module)
    try:
        PlanMemoryPass().run(context, module)
        InsertSyncPass().run(context, module)
    except CompileError:
        assume(False)
    assert steps_of(module, 2, monkeypatch) == steps_of(module, NEVER, monkeypatch)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (programs.matmul(1000), ()),
        (programs.SOFTMAX.replace("4096x4096", "4x5000"), ()),
        (text_of("flash_attention"), (100, 9000)),
    ],
    ids=["matmul", "softmax", "flash_attention"],
)
def test_the_tail_of_a_loop_is_not_skipped(text: str, numbers, monkeypatch):
    """Its last trips are smaller; which slot and flag a trip has takes turns."""
    module = pyptoc.compile(text).module
    skipped, full = (steps_of(module, few, monkeypatch, numbers) for few in (2, NEVER))
    assert skipped == full


def test_a_loop_takes_as_long_to_simulate_however_often_it_runs(monkeypatch):
    from benchmarks.hand_attention import attention

    calls = []
    for length in (4096, 32768):
        program = attention(length)
        (kernel,) = kernels_of(program.module).values()
        count = 0

        def counted(*args, real=timing_kernel.Costs.push):
            cost = real(*args)

            def push(*box):
                nonlocal count
                count += 1
                return cost(*box)

            return push

        monkeypatch.setattr(timing_kernel.Costs, "push", counted)
        steps = KernelSteps(kernel, program.machine)
        work = steps.work(((length, 128),) * 4, (0,), ())
        steps.step(work, (0.0,) * 4, ALONE, None)
        calls.append(count)
        monkeypatch.undo()
    assert calls[0] == calls[1] < 4 * 32


def test_a_core_that_cannot_hold_a_flag_id_is_an_error():
    program = vector_program(COPY.replace("mte3, 0]", "mte3, 7]"))
    program = replace(program, machine=replace(program.machine, event_ids=4))
    with pytest.raises(CompileError, match="flag ids are 0 to 3"):
        program.simulate()
