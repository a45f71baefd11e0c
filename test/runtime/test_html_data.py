"""What a report is drawn from, against the timeline; the page is in test/driver."""

from __future__ import annotations

import io
import json

import pytest
from benchmarks.programs import matmul

from pyptoc.api import compile
from pyptoc.runtime import html_data
from pyptoc.runtime.html_data import bounds, page_data
from pyptoc.runtime.html_report import render
from pyptoc.runtime.timing_detail import detail
from pyptoc.runtime.timing_result import Timeline
from pyptoc.runtime.trace import write_trace
from pyptoc.runtime.units import percent_text, size_text, time_text

SOFTMAX = """func.func @softmax(%x: tensor<?x512xf32> {pypto.dims = ["n"]})
    -> tensor<?x512xf32> {
  %y = pypto.softmax %x axis -1
  func.return %y : tensor<?x512xf32>
}
"""


@pytest.fixture(scope="module")
def product() -> Timeline:
    return compile(matmul(1024)).simulate()


@pytest.fixture(scope="module")
def softmax() -> Timeline:
    return compile(SOFTMAX).simulate(n=4096)


class TestData:
    def test_is_json(self, softmax: Timeline) -> None:
        data = page_data(softmax)
        assert json.loads(json.dumps(data))["cycles"] == softmax.cycles

    def test_tasks_and_their_instructions(self, softmax: Timeline) -> None:
        data = page_data(softmax)
        tasks = data["tasks"]
        busy = [dict.fromkeys(data["pipes"], 0) for _ in data["cores"]]
        for n, launch in enumerate(tasks["launch"]):
            task = softmax.tasks[n]
            assert (tasks["start"][n], tasks["cycles"][n]) == (
                task.start,
                task.end - task.start,
            )
            cores = data["lanes"][launch][tasks["lane"][n]]
            record = data["records"][tasks["record"][n]]
            for op, core, _, cycles, _ in record["instructions"]:
                busy[cores[core]][data["ops"][op]["pipe"]] += cycles
        for core, found in zip(softmax.cores, busy, strict=True):
            assert {pipe: n for pipe, n in found.items() if n} == dict(core.busy)
        # Few steps stand for many tasks.
        assert len(data["records"]) < len(tasks["launch"]) / 8

    def test_what_is_left_out_is_said(
        self, softmax: Timeline, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert bounds(softmax, page_data(softmax)) == []
        every = len(softmax.tasks)
        monkeypatch.setattr(html_data, "MOST_TASKS", 100)
        monkeypatch.setattr(html_data, "MOST_RECORDS", 1)
        monkeypatch.setattr(html_data, "MOST_ROWS", 2)
        data = page_data(softmax)
        path, tasks, details = bounds(softmax, data)
        assert path == "instructions of the critical path are the last 2"
        assert tasks == f"tasks are the first 100 of {every}"
        shown = sum(record == 0 for record in data["tasks"]["record"])
        assert 0 < shown < 100
        assert details == f"instructions are of {shown} of 100 tasks"

    def test_nothing_to_do(self) -> None:
        timeline = compile(SOFTMAX).simulate(n=0)
        assert not timeline.tasks
        stream = io.BytesIO()
        write_trace(stream, detail(timeline))
        assert json.loads(stream.getvalue())["otherData"]["operator"] == "softmax"
        assert "<h2" in render(timeline, {})


class TestRoofline:
    def test_of_a_product(self, product: Timeline) -> None:
        """1024^3 multiply-adds; what is above HBM's roof at its place came from L2."""
        found = page_data(product)["roofline"]["cube"]
        (point,) = found["points"]
        machine = product.machine
        assert point["work"] == 2 * 1024**3
        seconds = product.seconds - machine.launch_seconds
        assert point["rate"] == pytest.approx(point["work"] / seconds, rel=0.01)
        peak = 2 * 4096 * machine.cube_cores * machine.clock_hz
        assert found["peaks"] == {"cube, f16": peak}
        for path, size in (("hbm", point["hbm"]), ("l2", point["l2"])):
            assert point["rate"] <= 1.01 * found[path] * point["work"] / size
        assert point["rate"] <= peak

    def test_of_vector_work(self, softmax: Timeline) -> None:
        found = page_data(softmax)["roofline"]
        assert found["cube"]["points"] == []
        (point,) = found["vector"]["points"]
        assert point["work"] == sum(core.busy.get("v", 0) for core in softmax.cores)
        (launch,) = softmax.launches
        assert point["rate"] == pytest.approx(point["work"] / launch.cycles)
        assert point["l2"] == 2 * 4096 * 512 * 4


def test_units() -> None:
    assert [time_text(each) for each in (0, 9.96e-6, 0.00125, 2)] == [
        *("0.0 us", "10.0 us", "1.25 ms", "2.00 s")
    ]
    assert [size_text(each) for each in (0, 999, 1000, 7.34e6, 2e12)] == [
        *("0 B", "999 B", "1.00 KB", "7.34 MB", "2.00 TB")
    ]
    assert [percent_text(each) for each in (0, 1e-5, 0.123, 0.9996, 1)] == [
        *("0.0 %", "< 0.1 %", "12.3 %", "100 %", "100 %")
    ]
