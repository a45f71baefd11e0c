"""
The waits of launches order all tasks that touch the same elements, and no others.

Each program is compiled, run and checked by `task_order.py`: nothing conflicting is
unordered, tasks touch only what they declare, results are those of the source. And each
wait is needed: without any one of them the check fails.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from task_order import TaskOrder, record
from task_shuffle import run_shuffled
from waiting_programs import CASES, Arrays, function

import pyptoc
from pyptoc.operators import grouped_matmul_swiglu_quant as grouped
from pyptoc.pipeline_text import default_pipeline

GROUPED = [
    replace(grouped.GIVEN, n=1024),
    *(case for case in grouped.CASES if case.name in ("skewed", "signed", "k_96")),
]


@cache
def compiled(text: str) -> pyptoc.Program:
    return pyptoc.compile(text)


APART = default_pipeline().replace(",partition,", ",partition{fuse=false nests=false},")


def checked(
    text: str, arrays: Arrays, *, apart: bool = False
) -> tuple[TaskOrder, Arrays]:
    """The order of the tasks, which must be right, and the results.

    `apart`: no product shares tasks with those that read it.
    """
    program = pyptoc.compile(text, pipeline=APART) if apart else compiled(text)
    order, results = record(program.module, program.machine, arrays)
    assert order.launches
    assert order.problems() == []
    assert order.undeclared() == []
    return order, results


def assert_as_source(text: str, arrays: Arrays, results: Arrays) -> None:
    """The results are those of the source, up to the order of sums."""
    want = pyptoc.compile(text, pipeline="").run(**arrays)
    assert want.keys() == results.keys()
    for name, array in want.items():
        assert np.allclose(results[name], array.astype(np.float64), 2e-3, 2e-3)


@pytest.mark.parametrize("name", CASES)
def test_waits(name: str):
    case = CASES[name]
    arrays = case.arrays()
    order, results = checked(case.text, arrays, apart=True)
    assert_as_source(case.text, arrays, results)
    unneeded = order.unneeded()
    assert len(unneeded) <= case.unneeded, unneeded
    assert len(order.waits()) - len(unneeded) >= case.needed
    assert len(order.needless()) <= case.needless


READ = ("branch", "places_from_data", "scalar")
"""What the orchestration reads decides there which tasks are launched."""


@pytest.mark.parametrize("name", [n for n in CASES if not n.startswith(READ)])
def test_any_order_that_the_waits_allow(name: str):
    case = CASES[name]
    arrays, program = case.arrays(), compiled(case.text)
    for seed in range(2):
        results = run_shuffled(program.module, program.machine, arrays, seed)
        assert_as_source(case.text, arrays, results)


@pytest.mark.parametrize("loop", [False, True], ids=["composite", "loop"])
@pytest.mark.parametrize("case", GROUPED, ids=str)
def test_grouped_operator(case: grouped.Case, loop: bool):
    order, results = checked(grouped.source(case, loop), grouped.inputs(case))
    assert order.needless() == []
    # In the loop form the first read of the running sum waits for all of it; those of
    # the loops that check first, and of the loop itself, find it there.
    assert len(order.unneeded()) <= (3 if loop else 0)
    difference = results["out"].astype(int) - grouped.expected(case)["out"]
    assert abs(difference).max() <= 1


def test_box_waits_select_single_tasks():
    """Behind a matmul of 32 x 128 a task of 16 x 64 waits for one task, not for all."""
    matmuls = CASES["matmuls"]
    order, _ = checked(matmuls.text, matmuls.arrays(), apart=True)
    _, cast, *_ = order.launches
    assert cast.op.wait_list[0][1].ranges
    selected = order.selected[order.steps.index(cast), 0]
    assert {bits.bit_count() for bits in selected} == {1}


def test_a_launch_that_conflicts_with_itself_is_found():
    order, _ = checked(CASES["split_k"].text, CASES["split_k"].arrays())
    launch = order.launches[-1]
    launch.declared[1] = launch.declared[0]
    found = TaskOrder(order.steps).problems()
    assert any("in one launch" in text for text in found)


def test_an_access_that_is_not_declared_is_found():
    order, _ = checked(CASES["split_k"].text, CASES["split_k"].arrays())
    boxes = order.launches[0].declared[1]
    written = boxes[-1]
    part, rows, columns = written.ranges
    assert written.exact
    assert part == (1, 2)
    boxes[-1] = replace(written, ranges=(part, rows, (0, columns[1] - 1)))
    assert any("does not declare" in text for text in order.undeclared())
    boxes[-1] = replace(written, ranges=((0, 2), rows, columns))
    assert any("leaves part" in text for text in order.undeclared())


# Chains of random operations ---------------------------------------------------------

WIDTH = 64


@st.composite
def chains(draw: st.DrawFn) -> str:
    """Elementwise operations, reductions and matmuls with random tiles, in a row."""
    kinds = draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=5))
    lines: list[str] = []
    for number, kind in enumerate(kinds):
        tile = draw(TILES["cube" if kind.startswith("matmul") else "vec"])
        text = STEPS[kind].format(tile=f"tile = {tile}")
        lines += (
            text.replace("%in", f"%x{number}")
            .replace("%out", f"%x{number + 1}")
            .splitlines()
        )
    lines.append(f"func.return %x{len(kinds)} : tensor<Mx{WIDTH}xf32>")
    arguments = f"%x0: tensor<Mx{WIDTH}xf32>, %w: tensor<{WIDTH}x{WIDTH}xf16>"
    return function(arguments, f"tensor<Mx{WIDTH}xf32>", "\n".join(lines))


STEPS = {
    "tanh": "%out = pypto.tanh %in {{{tile}}}",
    "softmax": "%out = pypto.softmax %in axis -1 {{{tile}}}",
    "halves": """%out_m = pypto.dim %in, 0
%out_l = pypto.view %in[:, 0 +: 32]
%out_r = pypto.view %in[:, 32 +: 32]
%out_a = pypto.neg %out_l {{{tile}}}
%out_b = pypto.abs %out_r
%out_e = pypto.empty[%out_m, 64] : tensor<Mx64xf32>
%out_h = pypto.assemble %out_a into %out_e[0, 32]
%out = pypto.assemble %out_b into %out_h[0, 0]""",
    "matmul": """%out_h = pypto.cast %in to f16
%out = pypto.matmul %out_h, %w {{{tile}}}""",
    "matmul_split": """%out_h = pypto.cast %in to f16
%out_y = pypto.matmul %out_h, %w {{tile = #c16_16_32_split}}
%out = pypto.mul %out_y, 0.125""",
}
TILES = {
    "vec": st.builds(
        "#pypto.vec<{}, {}>".format, st.sampled_from((4, 8, 24, 32)), st.just(WIDTH)
    ),
    "cube": st.builds(
        "#pypto.cube<m = [16, {0}], k = [32, 64], n = [{1}, {1}]>".format,
        st.sampled_from((16, 32, 48)),
        st.sampled_from((16, 32, 64)),
    ),
}


@given(text=chains(), rows=st.integers(1, 70))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_chains(text: str, rows: int):
    draw = np.random.default_rng(rows)
    arrays = {
        "x0": draw.normal(size=(rows, WIDTH)).astype(np.float32),
        "w": (draw.normal(size=(WIDTH, WIDTH)) / 8).astype(np.float16),
    }
    order, results = checked(text, arrays)
    assert_as_source(text, arrays, results)
    assert order.needless() == []
