"""Traces: that their slices, arrows and counters say what the timeline says."""

from __future__ import annotations

import io
import json
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.hand_attention import attention
from benchmarks.programs import matmul

from pyptoc.api import Program, compile
from pyptoc.runtime.bandwidth import bandwidth
from pyptoc.runtime.machine_keys import PIPES
from pyptoc.runtime.occupancy import residences
from pyptoc.runtime.timing_detail import Detail, detail
from pyptoc.runtime.timing_record import Records
from pyptoc.runtime.timing_result import Timeline
from pyptoc.runtime.trace import CHIP, PIPE_THREADS, write_trace

OPERATOR = Path(__file__).parent.parent / "operators/grouped_matmul_swiglu_quant.mlir"

ADD = """
npu.kernel @add (%i) (%x: memref<64x64xf32, "gm">, %y: memref<64x64xf32, "gm">)
    on vector accesses(read %x[32 * %i, 0] [32, 64], write %y[32 * %i, 0] [32, 64])
    {tag = "sum"} {
  %r = pypto.index 32 * %i
  %in = tile.alloc {addr = 1024} : !tile.buf<32x64xf32, ub>
  %out = tile.alloc {addr = 16384, slots = 2} : !tile.buf<32x64xf32, ub>
  %one = tile.slot %out[1] : !tile.buf<32x64xf32, ub>
  tile.load %x[%r, 0] [32, 64] into %in
  tile.set_flag [mte2 -> v, 3]
  tile.wait_flag [mte2 -> v, 3]
  tile.add %in, %in into %one [32, 64]
  tile.mul %one, 2.0 into %one [32, 64]
  tile.set_flag [v -> mte3, 0]
  tile.wait_flag [v -> mte3, 0]
  tile.store %one [32, 64] into %y[%r, 0]
}
func.func @sum(%x: memref<64x64xf32, "gm"> {pypto.name = "x"})
    -> (memref<64x64xf32, "gm"> {pypto.name = "y"}) {
  %y = npu.alloc[64, 64] : memref<64x64xf32, "gm">
  %z = npu.alloc[64, 64] : memref<64x64xf32, "gm">
  %t = npu.launch @add[2] (%x, %z) {order = "row", assign = "static"}
  %u = npu.launch @add[2] (%z, %y) after(%t) {order = "row", assign = "static"}
  func.return %y : memref<64x64xf32, "gm">
}
"""


@dataclass(frozen=True)
class Case:
    """A timeline with everything in detail, and its trace."""

    detail: Detail
    events: list[dict[str, Any]]

    @property
    def timeline(self) -> Timeline:
        return self.detail.timeline

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["ph"] == kind]


def traced(timeline: Timeline, tasks: int | None = None) -> Case:
    found = detail(timeline, tasks)
    stream = io.BytesIO()
    write_trace(stream, found)
    return Case(found, json.loads(stream.getvalue())["traceEvents"])


def small() -> Program:
    return compile(ADD, machine="ascend950", pipeline="")


@pytest.fixture(
    scope="module", params=["launches", "mixed through memory", "mixed", "waves"]
)
def case(request: pytest.FixtureRequest) -> Case:
    if request.param == "launches":
        return traced(small().simulate())
    if request.param == "mixed through memory":
        return traced(attention(512).simulate())
    if request.param == "mixed":
        groups = {"M": 16, "group_list": [7, 9]}
        return traced(compile(OPERATOR).simulate(**groups))
    return traced(compile(matmul(2048)).simulate())


def slices_by_thread(case: Case) -> dict[tuple[int, int], list[dict[str, Any]]]:
    threads = defaultdict(list)
    for event in case.of("X"):
        threads[event["pid"], event["tid"]].append(event)
    return {key: sorted(found, key=lambda e: e["ts"]) for key, found in threads.items()}


def nanoseconds(microseconds: float) -> int:
    """As Perfetto reads a time: cut off."""
    return int(microseconds * 1000)


class TestSlices:
    def test_those_of_a_thread_do_not_overlap(self, case: Case) -> None:
        for slices in slices_by_thread(case).values():
            for one, other in pairwise(slices):
                assert nanoseconds(one["ts"]) + nanoseconds(one["dur"]) <= nanoseconds(
                    other["ts"]
                )
                first, second = one["args"], other["args"]
                end = first["start_cycle"] + first["cycles"]
                assert end <= second["start_cycle"]

    def test_pipes_are_as_busy_as_in_the_timeline(self, case: Case) -> None:
        assert len(case.detail.records) == len(case.timeline.tasks)
        busy: Counter[tuple[int, str]] = Counter()
        for event in case.of("X"):
            if event["pid"] != CHIP and event["tid"] >= PIPE_THREADS:
                pipe = PIPES[event["tid"] - PIPE_THREADS]
                busy[event["pid"] - CHIP - 1, pipe] += event["args"]["cycles"]
        expected = {
            (number, pipe): cycles
            for number, core in enumerate(case.timeline.cores)
            for pipe, cycles in core.busy.items()
            if cycles
        }
        assert +busy == expected

    def test_tasks_and_launches_are_where_the_timeline_has_them(
        self, case: Case
    ) -> None:
        found: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        for event in case.of("X"):
            if event["tid"] < PIPE_THREADS:
                args = event["args"]
                span = (args["start_cycle"], args["cycles"])
                found[event["pid"] == CHIP].append(span)
        timeline = case.timeline
        launches = [(each.start, each.cycles) for each in timeline.launches]
        tasks = [
            (task.start, task.end - task.start)
            for task in timeline.tasks
            for _ in case.detail.cores(task)
        ]
        assert sorted(found[True]) == sorted(launches)
        assert sorted(found[False]) == sorted(tasks)

    def test_times_are_the_cycles(self, case: Case) -> None:
        clock = case.timeline.machine.clock_hz
        for event in case.of("X"):
            start, cycles = event["args"]["start_cycle"], event["args"]["cycles"]
            assert abs(event["ts"] - start / clock * 1e6) < 0.001
            assert abs(event["dur"] - cycles / clock * 1e6) < 0.0015
        end = max(event["ts"] + event["dur"] for event in case.of("X"))
        assert end <= case.timeline.seconds * 1e6 + 0.001


class TestArrows:
    def test_have_two_ends_on_slices(self, case: Case) -> None:
        threads = slices_by_thread(case)
        order = {id(event): number for number, event in enumerate(case.events)}
        ends = defaultdict(list)
        for event in case.events:
            if event["ph"] in "sf":
                ends[event["id"]].append(event)
        assert ends
        for source, target in ends.values():
            assert (source["ph"], target["ph"], target["bp"]) == ("s", "f", "e")
            assert source["name"] == target["name"]
            assert source["ts"] <= target["ts"]
            for event in (source, target):
                at, slices = event["ts"], threads[event["pid"], event["tid"]]
                number = bisect_right(slices, at, key=lambda one: one["ts"]) - 1
                one = slices[number]
                start, wide = nanoseconds(one["ts"]), nanoseconds(one["dur"])
                assert number >= 0
                assert nanoseconds(at) < start + max(wide, 1)
                # Of events of one time a reader takes the first in the file first.
                assert order[id(one)] < order[id(event)]

    def test_tasks_that_waited_for_tasks(self, case: Case) -> None:
        waiting = sum(task.cause >= 0 for task in case.timeline.tasks)
        assert waiting == sum(event["name"] == "wait" for event in case.of("s"))
        assert waiting or len(case.timeline.launches) < 3

    def test_what_was_waited_for_was_done(self, case: Case) -> None:
        for record in case.detail.records.values():
            for arrow in record.arrows:
                before, after = (record.executed[n] for n in arrow[:2])
                assert before.done <= after.start
                assert (before.core, before.pipe) != (after.core, after.pipe)


class TestCounters:
    def test_are_never_negative_and_end_at_nothing(self, case: Case) -> None:
        levels = defaultdict(list)
        for event in case.of("C"):
            (value,) = event["args"].values()
            levels[event["pid"], event["name"]].append((event["ts"], value))
        for found in levels.values():
            assert [ts for ts, _ in found] == sorted(ts for ts, _ in found)
            assert min(value for _, value in found) >= 0
            assert found[-1][1] == 0

    def test_no_memory_holds_more_than_its_size(self, case: Case) -> None:
        spaces = case.timeline.machine.spaces
        seen = set[str]()
        for event in case.of("C"):
            if event["pid"] != CHIP:
                space = event["name"].split()[0]
                seen.add(space)
                assert event["args"]["KiB"] * 1024 <= spaces[space].bytes
        assert "ub" in seen or "l0c" in seen

    @pytest.mark.parametrize("points", [3, 2000])
    def test_the_area_below_a_curve_is_the_bytes(self, case: Case, points: int) -> None:
        timeline = case.timeline
        moved = {
            "HBM": timeline.hbm_read + timeline.hbm_written,
            "L2": timeline.loaded + timeline.stored,
        }
        curves = bandwidth(timeline, points)
        for name, expected in moved.items():
            curve = curves[name]
            assert len(curve.levels) <= points
            area = float(np.sum(curve.levels * np.diff(curve.times)))
            assert area == pytest.approx(expected, rel=1e-9)

    def test_the_area_below_the_counters_is_the_bytes(self, case: Case) -> None:
        points = defaultdict(list)
        for event in case.of("C"):
            if event["pid"] == CHIP:
                points[event["name"]].append((event["ts"], event["args"]["GB/s"]))
        timeline = case.timeline
        moved = {
            "HBM bandwidth": timeline.hbm_read + timeline.hbm_written,
            "L2 bandwidth": timeline.loaded + timeline.stored,
        }
        for name, expected in moved.items():
            found = points[name]
            area = sum(
                (after[0] - at[0]) * at[1] * 1e3 for at, after in pairwise(found)
            )
            assert area == pytest.approx(expected, rel=5e-3)


class TestByHand:
    def test_arrows(self) -> None:
        timeline = small().simulate()
        record = Records().of(timeline.runs[0], timeline.tasks[0])
        assert record is not None
        names = [one.op.name for one in record.executed]
        assert names == ["tile.load", "tile.add", "tile.mul", "tile.store"]
        assert [tuple(arrow) for arrow in record.arrows] == [
            (0, 1, "flag mte2 -> v, 3"),
            (2, 3, "flag v -> mte3, 0"),
        ]
        assert [one.sizes for one in record.executed] == [(32, 64)] * 4

    def test_memory(self) -> None:
        """A slot is held from what fills it to its last reader; 8 KiB a slot."""
        timeline = small().simulate()
        record = Records().of(timeline.runs[0], timeline.tasks[0])
        assert record is not None
        load, add, _, store = record.executed
        found = [
            (held.name, held.space, held.address, held.bytes, held.start, held.end)
            for held in residences(record)
        ]
        assert found == [
            ("%in", "ub", 1024, 8192, load.start, add.done),
            ("%out[1]", "ub", 16384 + 8192, 8192, add.start, store.done),
        ]

    def test_a_slot_that_is_filled_again_holds_something_new(self) -> None:
        timeline = attention(512).simulate()
        record = Records().of(timeline.runs[0], timeline.tasks[0])
        assert record is not None
        loads = sum(one.op.name == "tile.load" for one in record.executed)
        assert loads == 1 + 2 * 512 // 128
        held = residences(record)
        assert sum(each.writer == "load" for each in held) == loads
        pushes = sum(one.op.name == "tile.push" for one in record.executed)
        taken = sum(each.writer == "push" for each in held)
        # Scores and results go to two vector cores, each of which sends back its half.
        assert (pushes, taken) == (4 + 4 + 2 * 4, 2 * 4 + 2 * 4 + 4)

    def test_names_and_places(self) -> None:
        case = traced(small().simulate())
        names = {
            (event["pid"], event["tid"]): event["args"]["name"]
            for event in case.of("M")
            if event["name"] == "thread_name"
        }
        processes = {
            event["args"]["name"]
            for event in case.of("M")
            if event["name"] == "process_name"
        }
        assert processes == {"chip", "vector 0", "vector 1"}
        assert {"launches", "tasks", "mte2", "v", "mte3"} == set(names.values())
        loads = [e for e in case.of("X") if e["name"] == "load [sum]"]
        assert len(loads) == 4
        assert names[loads[0]["pid"], loads[0]["tid"]] == "mte2"
        args = loads[0]["args"]
        assert args["line"].endswith(":9:3")
        assert (args["size"], args["tag"]) == ("32 x 64", "sum")

    def test_launches_that_wait(self) -> None:
        case = traced(small().simulate())
        kinds = Counter(event["name"].partition(" ")[0] for event in case.of("s"))
        assert kinds == {"flag": 8, "launch": 1}


class TestBound:
    def test_tasks_beyond_the_number_are_slices(self) -> None:
        timeline = small().simulate()
        case = traced(timeline, 1)
        assert case.detail.note == "instructions of 1 of 4 tasks"
        shown = Counter(
            event["args"]["instructions"]
            for event in case.of("X")
            if "instructions" in event["args"]
        )
        assert shown == {"shown": 1, "not shown": 3}
        assert sum(event["name"] == "load [sum]" for event in case.of("X")) == 1

    def test_the_way_to_the_end_comes_first(self) -> None:
        timeline = small().simulate()
        (number,) = detail(timeline, 1).records
        assert timeline.tasks[number].end == max(task.end for task in timeline.tasks)

    def test_a_task_of_too_many_instructions_has_none(self) -> None:
        timeline = small().simulate()
        assert Records(most=3).of(timeline.runs[0], timeline.tasks[0]) is None
        assert Records(most=4).of(timeline.runs[0], timeline.tasks[0]) is not None
