"""Programs in time: what is conserved, what is a bound, waits, results, errors."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks import programs
from benchmarks.hand_attention import attention
from benchmarks.hand_tuned import matmul
from timing_machine import slower, tiny_machine

import pyptoc
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.operators import text_of
from pyptoc.runtime.timing_record import Records
from pyptoc.runtime.timing_result import BOUNDS, Timeline

OPERATORS = {
    "grouped_matmul_swiglu_quant": {"M": 16, "group_list": [7, 9]},
    "flash_attention": {"B": 1, "Sq": 256, "Skv": 1024},
    "mla_prolog_quant": {"t": 16, "blocks": 16},
}


@pytest.fixture(scope="module")
def compiled() -> dict[str, pyptoc.Program]:
    return {name: pyptoc.compile(text_of(name)) for name in OPERATORS}


@pytest.fixture(scope="module")
def timelines(compiled: dict[str, pyptoc.Program]) -> dict[str, Timeline]:
    found = {
        name: program.simulate(**OPERATORS[name]) for name, program in compiled.items()
    }
    found["matmul"] = matmul(3072).simulate()
    found["attention"] = attention(1024).simulate()
    return found


# What is conserved ------------------------------------------------------------------


def test_a_matmul_moves_and_multiplies_what_it_must(timelines: dict[str, Timeline]):
    timeline, size = timelines["matmul"], 3072
    assert timeline.macs == size**3
    panels = size // 128 * size // 256 * (128 + 256) * size * 2
    assert timeline.loaded == timeline.bytes["gm -> l1"] == panels
    assert timeline.stored == timeline.bytes["l0c -> gm"] == size * size * 4
    # Its operands fit in L2: each byte comes from HBM once.
    assert timeline.hbm_read == 2 * size * size * 2
    assert timeline.hbm_written + timeline.left_in_l2 == size * size * 4
    assert timeline.compulsory_bytes == 2 * size * size * 2 + size * size * 4
    assert len(timeline.tasks) == size // 128 * size // 256


def test_attention_moves_and_multiplies_what_it_must(timelines: dict[str, Timeline]):
    timeline, length = timelines["attention"], 1024
    assert timeline.macs == 2 * length * length * 128
    # Scores and parts go to the vector cores in f32, weights to the cube core in f16.
    assert timeline.bytes["l0c -> gm -> ub"] == (length + 128 * 8) * length * 4
    assert timeline.bytes["ub -> gm -> l1"] == length * length * 2
    assert timeline.hbm_read == 3 * length * 128 * 2


def test_inputs_come_and_results_go_once_where_all_fits_in_l2(
    timelines: dict[str, Timeline],
):
    for timeline in timelines.values():
        moved = timeline.hbm_moved
        workspace = timeline.workspace_bytes
        assert moved >= 0.999 * timeline.compulsory_bytes
        assert moved <= timeline.compulsory_bytes + workspace + 0.06 * moved


def test_nothing_is_faster_than_it_can_be(timelines: dict[str, Timeline]):
    for timeline in timelines.values():
        for roof in timeline.roofs:
            assert timeline.near(roof) <= 1.0, roof
        assert all(0 <= share <= 1 for share in timeline.busy.values())
        for launch in timeline.launches:
            assert all(0 <= share <= 1 for share in launch.busy.values())
            assert 0 <= launch.hbm_read <= launch.loaded
            assert launch.bound in BOUNDS
        for core in timeline.cores:
            assert all(cycles <= timeline.cycles for cycles in core.busy.values())


def test_launches_that_overlap_move_no_more_than_the_chip_can():
    """The products of each part of K are many launches that start together."""
    text = """
    func.func @f(%x: tensor<?x512xbf16> {pypto.dims = ["M"]}, %w: tensor<512x1024xbf16>,
                 %b: tensor<1024xf32>) -> tensor<?x1024xbf16> {
      %h = pypto.matmul %x, %w {tile = #pypto.cube<m = [128, 128], k = [64, 128],
                                                   n = [128, 128], split_k = 4>}
      %c = pypto.add %h, %b
      %g = pypto.gelu %c
      %o = pypto.cast %g to bf16
      func.return %o : tensor<?x1024xbf16>
    }
    """
    timeline = pyptoc.compile(text).simulate(M=4096)
    assert max(timeline.near(roof) for roof in timeline.roofs) <= 1.0


def test_what_vector_cores_load_is_shared_where_cube_cores_load_nothing():
    """The cube core takes the next task at once; the vector cores set the pace."""
    text = """
    func.func @f(%x: tensor<1024x?xbf16> {pypto.dims = ["K"]},
                 %w: tensor<?x2048xbf16> {pypto.dims = ["K"]},
                 %y: tensor<1024x2048xf32>)
        -> (tensor<1024x2048xf32> {pypto.name = "y"}) {
      %p = pypto.matmul %x, %w
      %e = pypto.exp %p
      %s = pypto.add %y, %e
      %z = pypto.assemble %s into %y[0, 0]
      func.return %z : tensor<1024x2048xf32>
    }
    """
    program = pyptoc.compile(text)
    none, some = (program.simulate(K=k).seconds for k in (0, 256))
    assert none < some < 2 * none


def test_a_core_has_one_task_at_a_time(timelines: dict[str, Timeline]):
    """The next starts when the pipe that loads is free; pipes keep their order."""
    for timeline in timelines.values():
        for launch in timeline.launches:
            lanes: dict[int, int] = {}
            own = [task for task in timeline.tasks if task.launch == launch.number]
            assert len(own) == math.prod(launch.grid) == launch.tasks
            for task in own:
                assert task.start >= lanes.get(task.lane, 0)
                lanes[task.lane] = task.start + task.step.front


def test_two_simulations_are_equal(compiled, timelines: dict[str, Timeline]):
    name = "mla_prolog_quant"
    again = compiled[name].simulate(**OPERATORS[name])
    assert again.to_json() == timelines[name].to_json()


# What must not be faster ------------------------------------------------------------


@pytest.mark.parametrize("make", [matmul, attention])
def test_a_slower_machine_is_not_faster(make):
    program = make(1024 if make is attention else 1536)
    machine = replace(program.machine, task_seconds=0)
    usual = replace(program, machine=machine).simulate().cycles
    changed = {
        name: replace(program, machine=other).simulate().cycles
        for name, other in slower(machine).items()
    }
    assert {name for name, cycles in changed.items() if cycles < usual} == set()
    # Most of what was changed shows.
    assert sum(cycles > usual for cycles in changed.values()) > len(changed) / 2


# What it costs ----------------------------------------------------------------------


def test_classes_of_tasks_do_not_grow_with_the_grid():
    counts = []
    for size in (2048, 8192):
        timeline = programs.tiled_matmul(size, "blocked<6, 4>").simulate()
        counts.append(len({task.step.number for task in timeline.tasks}))
    assert max(counts) < 40


# Waits ------------------------------------------------------------------------------

TWO = """
npu.kernel @k (%i) (%x: memref<4x64xf32, "gm">, %y: memref<4x64xf32, "gm">) on vector
    accesses(read %x[%i, 0] [1, 64], write %y[%i, 0] [1, 64]) {
  %a = tile.alloc {addr = 0} : !tile.buf<1x64xf32, ub>
  tile.load %x[%i, 0] [1, 64] into %a
  tile.set_flag [mte2 -> mte3, 0]
  tile.wait_flag [mte2 -> mte3, 0]
  tile.store %a [1, 64] into %y[%i, 0]
}
func.func @op(%x: memref<4x64xf32, "gm"> {pypto.name = "x"})
    -> (memref<4x64xf32, "gm"> {pypto.name = "z"}) {
  %y = npu.alloc[4, 64] : memref<4x64xf32, "gm">
  %z = npu.alloc[4, 64] : memref<4x64xf32, "gm">
  %t = npu.launch @k[4] (%x, %y) {assign = "static"}
  %u = npu.launch @k[i = 4] (%y, %z) AFTER {assign = "static"}
  func.return %z : memref<4x64xf32, "gm">
}
"""
LOAD, STORE, HIT, WAIT = 42, 13, 14, 25


@pytest.mark.parametrize(
    ("after", "cores", "expected"),
    [
        # Two cores have two tasks each; then the rows that they wrote are in L2.
        ("after(%t)", 2, 100 + 2 * (LOAD + STORE) + WAIT + 2 * (HIT + STORE)),
        # Each of four cores only waits for the task that wrote its row.
        ("after(%t[i])", 4, 100 + LOAD + STORE + WAIT + HIT + STORE),
        ("after(%t overlaps)", 4, 100 + LOAD + STORE + WAIT + HIT + STORE),
        ("", 2, 100 + 2 * (LOAD + STORE) + 2 * (HIT + STORE)),
    ],
)
def test_tasks_wait_for_those_before(after: str, cores: int, expected: int):
    machine = tiny_machine(vector_cores=cores, wait_seconds=WAIT * 1e-9)
    program = pyptoc.compile(TWO.replace("AFTER", after), machine=machine, pipeline="")
    timeline = program.simulate()
    assert timeline.cycles == expected
    last = timeline.launches[1]
    assert [step.launch for step in timeline.chain] == [0, 1]
    assert timeline.chain[1].cause == ("launch 0" if after else "core")
    assert last.l2_hit == 1


def test_a_task_waits_only_for_the_tasks_that_its_box_names():
    """One core of two is late by a task: whoever waits for the first is not."""
    text = TWO.replace("AFTER", "after(%t[0])").replace("@k[4] (%x", "@k[3] (%x")
    machine = tiny_machine(vector_cores=2, wait_seconds=0)
    program = pyptoc.compile(text, machine=machine, pipeline="")
    starts = {
        task.place: task.start
        for task in program.simulate().tasks
        if task.launch == 1 and task.place < (2,)
    }
    # The first launch's tasks: two at once, then one on the first core.
    assert starts == {(0,): 100 + 2 * (LOAD + STORE), (1,): 100 + LOAD + STORE}


# Results and errors -----------------------------------------------------------------


def test_the_path_names_instructions_and_their_lines(timelines: dict[str, Timeline]):
    path = timelines["grouped_matmul_swiglu_quant"].path
    names = [step.instruction for step in path]
    assert names.index("load") < names.index("matmul_mx") < names.index("store")
    assert {step.tag for step in path} == {"gmm", "quant"}
    product = next(step for step in path if step.instruction == "matmul_mx")
    assert product.place.split(":")[1:] == ["14", "8"]
    total = sum(step.cycles for step in path)
    assert total <= timelines["grouped_matmul_swiglu_quant"].cycles


def test_instructions_of_a_task_keep_to_their_pipes(timelines: dict[str, Timeline]):
    for timeline in timelines.values():
        task = timeline.tasks[-1]
        record = Records().of(timeline.runs[task.launch], task)
        assert record is not None
        executed = record.executed
        assert max(one.done for one in executed) == task.end - task.start
        busy: dict[tuple[int, str], int] = {}
        for one in executed:
            queue = one.core, one.pipe
            assert one.start >= busy.get(queue, 0)
            busy[queue] = one.end
        macs = timeline.launches[task.launch].macs
        assert macs == 0 or any("matmul" in one.op.name for one in executed)


def test_json_is_plain_and_complete(timelines: dict[str, Timeline]):
    for timeline in timelines.values():
        found = json.loads(json.dumps(timeline.to_json()))
        assert found["seconds"] == timeline.seconds
        assert found["bound"] in BOUNDS
        assert len(found["launches"]) == len(timeline.launches)
        assert set(found["roof_seconds"]) < set(BOUNDS)


COUNTED = """
func.func @f(%x: tensor<?x64xf32> {pypto.dims = ["n"]}, %n: index) -> tensor<?x64xf32> {
  %d = pypto.dim %x, 0
  %e = pypto.empty[%d, 64] : tensor<?x64xf32>
  %r = pypto.forall (%i +: %s = 0 to %n step 32) outs(%o = %e) {
    %v = pypto.view %x[%i +: %s, :]
    %y = pypto.exp %v
    pypto.store %y into %o[%i, 0]
  }
  func.return %r : tensor<?x64xf32>
}
"""


def test_a_number_is_a_size_and_the_scalar_of_its_name():
    timeline = pyptoc.compile(COUNTED).simulate(n=64)
    assert timeline.assumed == ()
    assert [launch.tasks for launch in timeline.launches] == [2]


@pytest.mark.parametrize("size", [-3, 3.7, "3", True])
def test_a_size_is_a_whole_number(size: Any):
    with pytest.raises(pyptoc.CompileError, match="whole number of at least 0"):
        pyptoc.compile(COUNTED).simulate(n=size)


def test_what_is_launched_follows_from_values(compiled):
    program = compiled["grouped_matmul_swiglu_quant"]
    given = program.simulate(M=64, group_list=[64, 0])
    assert [launch.tasks for launch in given.launches] == [4 * 14, 0, 4]
    assert given.assumed == ()
    # A launch without tasks has a start and no work: its kernel's time is without it.
    for group_list in ([64, 0], [0, 64]):
        kernel = program.simulate(M=64, group_list=group_list).kernels[0]
        (ran,) = kernel.ran
        assert (kernel.tasks, kernel.cycles) == (4 * 14, ran.cycles)
        assert kernel.busy["m"] == pytest.approx(ran.busy["m"])
    made_up = program.simulate(M=64)
    assert made_up.assumed == ("group_list",)
    # A shape says the size as well.
    shaped = program.simulate(
        a=np.broadcast_to(np.uint8(0), (64, 512)), group_list=np.array([64, 0])
    )
    assert shaped.to_json() == given.to_json()


def test_sizes_that_are_not_known(compiled):
    program = compiled["flash_attention"]
    with pytest.raises(CompileError, match="sizes to choose: Skv"):
        program.simulate(B=1, Sq=4)
    with pytest.raises(TypeError, match="has no argument 'Sqv'"):
        program.simulate(B=1, Sq=4, Sqv=4)


def test_a_module_that_is_no_program():
    text = programs.matmul(256)
    for pipeline in ("", "partition,infer-tiles,tile,assemble-buffers"):
        program = pyptoc.compile(text, pipeline=pipeline)
        with pytest.raises(CompileError, match="no kernels to simulate"):
            program.simulate()
        with pytest.raises(CompileError, match="no kernels to check") as failure:
            program.check()
        assert failure.value.diagnostics[0].help.startswith("check what the whole")
    kernels = "partition,infer-tiles,tile,assemble-buffers,lower-to-tile"
    with pytest.raises(CompileError, match="a buffer has no address"):
        pyptoc.compile(text, pipeline=kernels).simulate()


def test_a_program_of_no_launches():
    memory = 'memref<4xf32, "gm"> {pypto.name = "x"}'
    text = f"func.func @same(%x: {memory}) -> ({memory}) {{\n"
    text += '  func.return %x : memref<4xf32, "gm">\n}\n'
    timeline = pyptoc.compile(text, pipeline="").simulate()
    assert (timeline.tasks, timeline.chain, timeline.path) == ((), (), ())
    assert timeline.bound == "dispatch"


def test_a_grid_of_no_tasks(compiled):
    timeline = compiled["flash_attention"].simulate(B=0, Sq=4, Skv=4)
    assert timeline.tasks == ()
    assert timeline.bound == "dispatch"
    assert timeline.seconds == pytest.approx(timeline.machine.launch_seconds, rel=1e-3)


def test_a_tensor_of_index_elements():
    """They are kept as i64; what loads such an argument is another matter."""
    text = """func.func @f(%i: tensor<4xindex>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = pypto.exp %x
  func.return %y : tensor<4xf32>
}
"""
    assert pyptoc.compile(text).simulate().seconds > 0
