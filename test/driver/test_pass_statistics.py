"""`--timing` and `--pass-statistics`: the figures are those of the steps and the IR."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from inprocess import ROOT, call

from pyptoc.dialects.context import make_context
from pyptoc.dialects.parsing import parse_module
from pyptoc.manager import run_passes
from pyptoc.pass_statistics import Statistics
from pyptoc.passes import DEFAULT_PIPELINE, PASSES, pass_class
from pyptoc.pipeline_text import default_pipeline, make_pass, parse_pipeline
from pyptoc.runtime.machine import load_machine
from pyptoc.step_times import Timing

TWO = """\
func.func @f(%a: tensor<64x8192xf16>, %b: tensor<8192x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b
  %s = pypto.softmax %y axis -1
  func.return %s : tensor<64x64xf32>
}
"""


class TestTiming:
    def test_shares(self) -> None:
        timing = Timing()
        timing.started -= 10
        timing.add("parse", seconds=1.0)
        timing.add("passes", "tile", seconds=2.0)
        timing.add("passes", "tile", "verify", seconds=1.0)
        timing.add("print", seconds=0.5)
        timing.add("passes", "skew", seconds=1.5)
        rows = [line.rsplit(maxsplit=3) for line in timing.report().splitlines()[1:]]
        assert [(row[0], row[1]) for row in rows] == [
            ("parse", "1.0000"),
            ("passes", "4.5000"),
            ("  tile", "3.0000"),
            ("    verify", "1.0000"),
            ("  skew", "1.5000"),
            ("print", "0.5000"),
            ("rest", "4.0000"),
            ("total", "10.0000"),
        ]
        shares = (10.0, 45.0, 30.0, 10.0, 15.0, 5.0, 40.0, 100.0)
        assert [float(row[2]) for row in rows] == list(shares)
        listed = timing.report("list").splitlines()[1:]
        assert [line.split()[0] for line in listed] == [
            *("rest", "tile", "skew", "parse", "verify", "print", "total")
        ]

    def test_parts_make_the_total(self) -> None:
        err = call("-", "--timing", stdin=TWO)[2]
        rows = re.findall(r"^( *)(\S.*?) +([0-9.]+) +([0-9.]+) %$", err, re.M)
        outer = [float(seconds) for indent, _, seconds, _ in rows if not indent]
        assert sum(outer[:-1]) == pytest.approx(outer[-1], abs=0.001)
        names = [name for indent, name, *_ in rows if len(indent) == 2]
        assert tuple(names) == DEFAULT_PIPELINE


class TestStatistics:
    def test_counts_are_those_of_the_printed_ir(self, tmp_path: Path) -> None:
        """Independently: by counting in the dumps of each pass."""
        err = call(
            "-", "--pass-statistics", f"--print-ir-tree-dir={tmp_path}", stdin=TWO
        )[2]
        rows = [line.split() for line in err.splitlines()[1:]]
        assert [row[0] for row in rows] == list(DEFAULT_PIPELINE)
        files = sorted(tmp_path.iterdir())
        context = make_context(load_machine("ascend950"))
        sizes = [
            len(list(parse_module(file.read_text(), "f", context).walk()))
            for file in files
        ]
        for row, before, after in zip(rows, sizes, sizes[1:], strict=False):
            counted = list(map(int, row[1:5]))
            assert counted[:2] == [before, after]
            assert counted[1] - counted[0] == counted[2] - counted[3]

    def test_what_passes_count_is_declared(self) -> None:
        calls: dict[str, set[str]] = {}
        for name in PASSES:
            text = (ROOT / "passes" / f"{name.replace('-', '_')}.py").read_text()
            calls[name] = set(re.findall(r'\.count\("(\w+)"', text))
            assert calls[name] == set(pass_class(name).counters), name
        assert sum(map(bool, calls.values())) >= 6

    def test_nothing_is_counted_unasked(self) -> None:
        context = make_context(load_machine("ascend950"))
        module = parse_module(TWO, "f", context)
        run_passes(parse_pipeline(default_pipeline()), context, module)
        assert context.statistics is None

    def test_slots_and_splits(self) -> None:
        argv = ["-", "--pass-statistics", "--machine=ascend910b"]
        pipeline = default_pipeline().replace("plan-memory", "plan-memory{slots=3}")
        rows = call(*argv, f"--pipeline={pipeline}", stdin=TWO)[2]
        raised = re.search(r"plan-memory.* 0 lowered, (\d+) raised", rows)
        assert raised is not None
        assert int(raised[1]) > 0
        pipeline = default_pipeline().replace("split-k", "split-k{factor=1}")
        rows = call(*argv, f"--pipeline={pipeline}", stdin=TWO)[2]
        assert re.search(r"^split-k .* 0 split$", rows, re.M)

    def test_a_table_of_its_own(self) -> None:
        context = make_context(load_machine("ascend950"))
        module = parse_module(TWO, "f", context)
        watcher = Statistics(context)
        run_passes([make_pass("decompose", {})], context, module, [watcher])
        header, row = watcher.report().splitlines()
        assert header.split() == [
            "pass",
            "before",
            "after",
            "created",
            "erased",
            "counted",
        ]
        assert row.split() == ["decompose", "5", "11", "7", "1", "1", "decomposed"]
