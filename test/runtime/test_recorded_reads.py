"""Sizes that kernels compute: recorded in a run, then the launches of a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from timing_machine import START, tiny_machine

import pyptoc
from pyptoc.dialects.diagnostics import CompileError, RunError
from pyptoc.dialects.walk import ROW
from pyptoc.operators import load
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.timing_result import Timeline
from pyptoc.runtime.translate import KernelTranslator

Arrays = dict[str, Any]

COUNTER = """
func.func @f(%x: tensor<64x64xf32>, %n: tensor<1x8xi32>)
    -> (tensor<64x64xf32> {pypto.name = "y"}) attributes {
    pypto.tiles = #pypto.tiles<vec = [2, 64]>} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %z = pypto.mul %x, 0.0
  %a = pypto.add %n, 0
  %y, %e = pypto.for (%i = 0 to %c3) iter(%o = %z, %m = %a) {
    %b = pypto.add %m, %n
    %k = pypto.read %b[0, 0]
    %v = pypto.view %x[0 +: %k, :]
    %u = pypto.exp %v
    %w = pypto.assemble %u into %o[0, 0]
    pypto.yield %w, %b
  }
  func.return %y : tensor<64x64xf32>
}
"""
"""In each trip one more %n at the same place."""

BRANCH = """
func.func @f(%x: tensor<64x64xf32>, %n: tensor<1x8xi32>)
    -> (tensor<64x64xf32> {pypto.name = "y"}) attributes {
    pypto.tiles = #pypto.tiles<vec = [2, 64]>} {
  %m = pypto.mul %n, 2
  %k = pypto.read %m[0, 1]
  %many = pypto.index %k > 4
  %y = scf.if %many -> (tensor<64x64xf32>) {
    %l = pypto.read %m[0, 2]
    %v = pypto.view %x[0 +: %l, :]
    %u = pypto.exp %v
    %w = pypto.assemble %u into %x[0, 0]
    scf.yield %w : tensor<64x64xf32>
  } else {
    %u = pypto.neg %x
    scf.yield %u : tensor<64x64xf32>
  }
  func.return %y : tensor<64x64xf32>
}
"""
"""What is read next depends on what was read."""

X = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)


def row(*counts: int) -> Arrays:
    return {"x": X, "n": np.array([[*counts, *[0] * (8 - len(counts))]], np.int32)}


def launched(
    program: pyptoc.Program, given: Arrays, patch: pytest.MonkeyPatch
) -> list[Any]:
    """What a run launches: kernel, grid, scalars and shapes."""
    found: list[Any] = []
    launch = KernelTranslator.launch

    def noted(
        self: KernelTranslator, grid: Any, memories: Any, scalars: Any, walk: Any = ROW
    ) -> None:
        shapes = tuple(memory.array.shape for memory in memories)
        found.append((self.kernel.sym_name.data, grid, scalars, shapes))
        launch(self, grid, memories, scalars, walk)

    with patch.context() as patched:
        patched.setattr(KernelTranslator, "launch", noted)
        Executable(program.module, program.machine).run(given)
    return found


def simulated(timeline: Timeline) -> list[Any]:
    launches = [run.launch for run in timeline.runs]
    return [(each.kernel, each.grid, each.scalars, each.shapes) for each in launches]


@pytest.mark.parametrize(
    ("text", "given", "names"),
    [
        (COUNTER, row(3), ("%b",)),
        (COUNTER, row(0), ("%b",)),
        (BRANCH, row(0, 3, 9), ("%m",)),
        (BRANCH, row(0, 2, 9), ("%m",)),
    ],
)
def test_the_launches_are_those_of_the_run(
    text: str, given: Arrays, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    for machine in ("ascend910b", "ascend950"):
        program = pyptoc.compile(text, machine=machine)
        timeline = program.simulate(**given)
        assert simulated(timeline) == launched(program, given, monkeypatch)
        assert (timeline.recorded, timeline.assumed) == (names, ())
        assert timeline.to_json()["recorded"] == [*names]


def test_each_trip_has_the_size_that_it_read():
    timeline = pyptoc.compile(COUNTER).simulate(**row(6))
    tasks = [each.tasks for each in timeline.launches if each.kernel.startswith("exp")]
    assert tasks == [6, 9, 12]


@pytest.mark.parametrize("case", load("grouped_matmul_swiglu_quant_loop").CASES[:4])
def test_the_loop_over_experts(case: Any, monkeypatch: pytest.MonkeyPatch):
    operator = load("grouped_matmul_swiglu_quant_loop")
    program = pyptoc.compile(operator.source(case))
    given = operator.inputs(case)
    timeline = program.simulate(**given)
    assert simulated(timeline) == launched(program, given, monkeypatch)
    assert timeline.recorded == ("%end",)


def test_without_all_inputs_it_is_an_error():
    with pytest.raises(CompileError, match="%b, which a kernel computes") as error:
        pyptoc.compile(COUNTER).simulate(n=row(3)["n"])
    (found,) = error.value.diagnostics
    assert (found.code, found.here) == ("PTO503", "not given: 'x'")
    assert found.help == "give them as arguments: simulate(name=array, ..)"


def test_for_sizes_alone_a_check_says_what_can():
    with pytest.raises(CompileError, match="%b, which a kernel computes") as error:
        pyptoc.compile(COUNTER).check(**row(3))
    assert error.value.diagnostics[0].help == "run(check=True) checks a run"


def test_a_run_that_breaks_a_rule():
    with pytest.raises(RunError, match="view of %x rows 0") as error:
        pyptoc.compile(COUNTER).simulate(**row(25))
    # Of the run: the simulation was at the first read.
    notes = [note.message for note in error.value.diagnostics[0].notes]
    assert notes == ["in loop (%i = 1)"]


# By hand: kernels that store to arguments and to what later ones read.

X_TYPE, N_TYPE = 'memref<64x64xf32, "gm">', 'memref<1x64xi32, "gm">'

KERNELS = f"""
npu.kernel @more () (%n: {N_TYPE}) on vector
    accesses(read %n[0, 0] [1, 64], write %n[0, 0] [1, 64]) {{
  %a = tile.alloc {{addr = 0}} : !tile.buf<1x64xi32, ub>
  tile.load %n[0, 0] [1, 64] into %a
  tile.set_flag [mte2 -> v, 0]
  tile.wait_flag [mte2 -> v, 0]
  tile.add %a, 2 into %a [1, 64]
  tile.set_flag [v -> mte3, 0]
  tile.wait_flag [v -> mte3, 0]
  tile.store %a [1, 64] into %n[0, 0]
}}
npu.kernel @rows () (%x: {X_TYPE}, %n: {N_TYPE}, %y: {X_TYPE}) on vector
    accesses(read %x[0, 0] [64, 64], read %n[0, 0] [1, 64],
             write %y[0, 0] [64, 64]) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = tile.alloc {{addr = 0}} : !tile.buf<1x64xf32, ub>
  scf.for %q = %zero to %one step %one {{
  %count = tile.read %n[0, %q] : {N_TYPE} -> index
  scf.for %p = %zero to %count step %one {{
    tile.load %x[%p, 0] [1, 64] into %a
    tile.set_flag [mte2 -> mte3, 0]
    tile.wait_flag [mte2 -> mte3, 0]
    tile.store %a [1, 64] into %y[%p, 0]
    tile.set_flag [mte3 -> mte2, 0]
    tile.wait_flag [mte3 -> mte2, 0]
  }}
  }}
}}
npu.kernel @tasks (%i) (%x: {X_TYPE}, %y: {X_TYPE}) on vector
    accesses(read %x[0, 0] [1, 64], write %y[%i, 0] [1, 64]) {{
  %a = tile.alloc {{addr = 0}} : !tile.buf<1x64xf32, ub>
  tile.load %x[0, 0] [1, 64] into %a
  tile.set_flag [mte2 -> mte3, 0]
  tile.wait_flag [mte2 -> mte3, 0]
  tile.store %a [1, 64] into %y[%i, 0]
}}
"""

MORE = """
  %a{n} = npu.launch @more[] (%n) after(%e{b}) {{order = "row", assign = "static"}}
"""
ROWS = """
  %e{n} = npu.launch @rows[] (%x, %n, %y) after(%a{n})
    {{order = "row", assign = "static"}}
"""
READ = f"""
  %k{{n}} = npu.read %n[0, 5] after(%a{{n}}) : {N_TYPE} -> index
  %e{{n}} = npu.launch @tasks[%k{{n}}] (%x, %y) {{{{order = "row", assign = "static"}}}}
"""


def by_hand(*steps: str, **changes: Any) -> pyptoc.Program:
    lines = "".join(step.format(n=n, b=n - 1) for n, step in enumerate(steps, 1))
    text = f"""{KERNELS}
func.func @op(%x: {X_TYPE} {{pypto.name = "x"}}, %n: {N_TYPE} {{pypto.name = "n"}})
    -> ({N_TYPE} {{pypto.name = "n"}}) {{
  %y = npu.alloc[64, 64] : {X_TYPE}
  %e0 = npu.no_events
  %k0 = npu.read %n[0, 5] : {N_TYPE} -> index
  %first = npu.launch @tasks[%k0] (%x, %y) {{order = "row", assign = "static"}}
{lines}
  func.return %n : {N_TYPE}
}}
"""
    return pyptoc.compile(text, machine=tiny_machine(**changes), pipeline="")


COUNT = np.full((1, 64), 1, np.int32)


def tasks(timeline: Timeline, kernel: str) -> list[int]:
    return [each.tasks for each in timeline.launches if each.kernel == kernel]


def test_reads_of_an_argument_follow_its_update():
    program = by_hand(MORE + READ, MORE + READ)
    timeline = program.simulate(x=X, n=COUNT)
    assert tasks(timeline, "tasks") == [1, 3, 5]
    assert timeline.recorded == ("%n",)


def test_what_is_read_before_an_update_needs_no_run():
    timeline = by_hand().simulate(n=COUNT)
    assert (tasks(timeline, "tasks"), timeline.recorded) == ([1], ())
    with pytest.raises(CompileError, match="%n, which a kernel computes"):
        by_hand(MORE + READ).simulate(n=COUNT)


def test_a_kernel_reads_what_was_there_when_it_was_launched():
    timeline = by_hand(MORE + ROWS, MORE + ROWS).simulate(x=X, n=COUNT)
    first, second = (
        task.end - task.start
        for task in timeline.tasks
        if timeline.launches[task.launch].kernel == "rows"
    )
    store = 5 + 256 // 32
    assert first == 3 * (10 + 256 // 8 + store)
    assert second == 5 * (10 + 256 // 64 + store)
    assert timeline.recorded == ("%n",)


def test_launches_after_a_read_are_issued_after_what_it_waits_for():
    timeline = by_hand(MORE + READ, READ.replace("after(%a{n})", "")).simulate(
        x=X, n=COUNT
    )
    first, more, after, last = timeline.launches
    assert (first.issued, more.issued) == (START, START)
    assert after.issued == more.end > START
    assert last.issued == after.issued
    late = by_hand(MORE + READ, wait_seconds=7e-9, next_launch_seconds=1e-9)
    _, more, after = late.simulate(x=X, n=COUNT).launches
    assert after.issued == more.end + 7
