"""`--sweep` and `pyptoc.sweep`: points, errors as rows, files, caches and executors."""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import re
import shlex
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import processes
import pytest
from inprocess import ROOT, call

import pyptoc
from pyptoc import SweepRow
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.sweep_point import Job, OtherToolError, measure, tool_digest
from pyptoc.sweeping import best_of

SOURCE = """\
func.func @mm(%a: tensor<?x512xf16> {pypto.dims = ["M"]}, %b: tensor<512x512xf16>,
    %c: tensor<512x512xf16>) -> tensor<?x512xf32> {
  %y = pypto.matmul %a, %b {tag = "one", tile = #pypto.cube<m = [128, 128], \
k = [64, 128], n = [128, 128]>}
  %h = pypto.cast %y to f16 {tag = "round"}
  %z = pypto.matmul %h, %c {tag = "two"}
  func.return %z : tensor<?x512xf32>
}
"""
PRODUCT = """\
func.func @f(%a: tensor<?x256xf16> {pypto.dims = ["M"]}, %b: tensor<256x256xf16>)
    -> tensor<?x256xf32> {
  %y = pypto.matmul %a, %b
  func.return %y : tensor<?x256xf32>
}
"""

CHOOSING = "decompose,partition,infer-tiles"


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "op.mlir"
    path.write_text(PRODUCT)
    return str(path)


def rows_of(axes: dict[str, Any], text: str = PRODUCT) -> list[SweepRow]:
    """A sweep in this process, of 256 rows unless they are swept."""
    return pyptoc.sweep(text, axes, bind={"M": 256}, jobs=1)


def seconds(text: str, tile: str = "", **options: Any) -> float:
    """Of one operator, compiled and simulated as a user would."""
    text = text.replace("%a, %b", f"%a, %b {{tile = #pypto.cube<{tile}>}}", bool(tile))
    return pyptoc.compile(text, **options).simulate(M=256).seconds


class TestPoints:
    """A point's time is that of the operator which says the same in its own text."""

    def test_tiles(self) -> None:
        rows = rows_of(
            {"tile.m": [32, [64, 128]], "tile.k": [64], "tile.n": [128], "split_k": [2]}
        )
        for row, m in zip(rows, ("[32, 32]", "[64, 128]"), strict=True):
            tile = f"m = {m}, k = [64, 64], n = [128, 128], split_k = 2"
            assert row.seconds == seconds(PRODUCT, tile)

    def test_what_is_not_given_is_as_chosen(self) -> None:
        """The chosen tile has m = 128, so giving that changes nothing."""
        module = pyptoc.compile(PRODUCT, pipeline=CHOOSING).module
        tiles = [op.attributes.get("npu.tile") for op in module.walk()]
        (tile,) = [tile for tile in tiles if isinstance(tile, CubeTileAttr)]
        chosen = [list(tile.m), [32, 32]]
        rows = rows_of({"tile.m": chosen})
        assert rows[0].seconds == seconds(PRODUCT)
        assert rows[1].seconds != rows[0].seconds

    def test_by_tag(self) -> None:
        rows = rows_of({"tile.one.m": [64, 128], "tile.two.m": [128]}, SOURCE)
        edited = SOURCE.replace("m = [128, 128]", "m = [64, 64]")
        same = rows_of({"tile.two.m": [128]}, edited)
        assert rows[0].seconds == same[0].seconds != rows[1].seconds

    def test_vector_tiles(self) -> None:
        text = (
            PRODUCT.replace("pypto.matmul %a, %b", "pypto.exp %a")
            .replace("-> tensor<?x256xf32>", "-> tensor<?x256xf16>")
            .replace("%y : tensor<?x256xf32>", "%y : tensor<?x256xf16>")
        )
        rows = rows_of({"vec": [[2, 256], [64, 256]]}, text)
        for row, tile in zip(rows, ("2, 256", "64, 256"), strict=True):
            given = text.replace("exp %a", f"exp %a {{tile = #pypto.vec<{tile}>}}")
            assert row.seconds == seconds(given)
        assert rows[0].seconds != rows[1].seconds
        # It holds against the tile of the source, too.
        given = text.replace("exp %a", "exp %a {tile = #pypto.vec<16, 256>}")
        assert rows_of({"vec": [[2, 256], [64, 256]]}, given) == rows
        tagged = text.replace("exp %a", 'exp %a {tag = "e"}')
        assert rows_of({"vec.e": [[2, 256]]}, tagged)[0].seconds == rows[0].seconds

    def test_options_of_passes(self) -> None:
        rows = rows_of({"split-k.factor": [1, 2], "split-k.strategy": ["workspace"]})
        pipeline = _pipeline("split-k{factor=2}")
        assert rows[0].seconds == seconds(PRODUCT)
        assert rows[1].seconds == seconds(PRODUCT, pipeline=pipeline)
        assert rows[0].launches != rows[1].launches

    def test_options_sizes_and_machines(self) -> None:
        rows = rows_of(
            {
                "plan-memory.slots": "1..2",
                "bind.M": [64, 256],
                "machine.clock_ghz": [1.0, 1.65],
                "machine": ["ascend950", "ascend910b"],
            }
        )
        assert len(rows) == 16
        found = {tuple(row.point.values()): row.seconds for row in rows}
        assert list(found)[:3] == [
            (1, 64, 1.0, "ascend950"),
            (1, 64, 1.0, "ascend910b"),
            (1, 64, 1.65, "ascend950"),
        ]
        assert found[2, 256, 1.65, "ascend950"] == seconds(PRODUCT)
        text = pyptoc.compile(PRODUCT, pipeline=_pipeline("plan-memory{slots=1}"))
        assert found[1, 64, 1.65, "ascend950"] == text.simulate(M=64).seconds
        assert found[2, 256, 1.0, "ascend950"] > seconds(PRODUCT)
        # Changes hold for each machine.
        own = found[2, 256, 1.65, "ascend910b"], found[2, 256, 1.0, "ascend910b"]
        assert own[0] < own[1] != found[2, 256, 1.0, "ascend950"]

    def test_a_point_that_does_not_compile_is_a_row(self) -> None:
        bad, good = rows_of({"tile.m": [1024, 64]})
        assert (bad.error, bad.seconds) == ("PTO210", None)
        assert "does not fit" in bad.message
        assert "<string>:3:8: error[PTO210]" in bad.details
        assert good.error == ""
        assert good.seconds

    def test_values_that_do_not_go_together(self) -> None:
        """Each is right by itself, which is all that is checked before."""
        bad, good = rows_of({"machine.ub.size_bytes": [253953, 131072]})
        assert (bad.error, good.error) == ("PTO511", "")

    def test_a_program_can_be_swept_over_what_it_leaves_open(self) -> None:
        text = pyptoc.compile(PRODUCT).text
        rows = rows_of({"bind.M": [64, 256]}, text)
        assert rows[1].seconds == seconds(PRODUCT)
        with pytest.raises(CompileError, match="needs the pass infer-tiles"):
            rows_of({"tile.m": [64]}, text)

    def test_a_fault_of_the_compiler_is_a_row(self, monkeypatch) -> None:
        monkeypatch.setattr("pyptoc.runtime.timing.simulate", lambda *_: 1 / 0)
        (row,) = rows_of({"bind.M": [64]})
        assert (row.error, row.seconds) == ("PTO900", None)
        assert "ZeroDivisionError" in row.message


def _pipeline(changed: str) -> str:
    from pyptoc.pipeline_text import default_pipeline

    name = changed.partition("{")[0]
    return ",".join(changed if n == name else n for n in default_pipeline().split(","))


class TestCommand:
    def test_too_many_points(self, source: str) -> None:
        sweeps = ("--sweep=bind.M=1..9999", "--sweep=plan-memory.slots=1..99")
        code, _, err = call(source, *sweeps)
        assert code == 1
        assert err.startswith("--sweep:2:1: error[PTO512]: there are too many points")
        assert "9999 * 99 = 989901" in err

    @pytest.mark.parametrize(
        ("argv", "words"),
        [
            (["--jobs=2"], "--jobs needs --sweep"),
            (["--executor=processes"], "--executor needs --sweep"),
            (["--sweep-csv=a"], "--sweep-csv needs --sweep"),
            (["--sweep=bind.M=1", "--run"], "--sweep and --run exclude"),
            (["--sweep=bind.M=1", "-o", "x"], "--sweep and -o exclude"),
            (["--sweep=bind.M=1", "--inputs=x"], "a sweep takes no --inputs"),
            (["--sweep=bind.M=1", "--executor=ray"], "--executor=ray is no executor"),
            (["--sweep=bind.M=1", "--sweep-plot=a.gif"], "a plot is .png, .svg, .html"),
            (["--sweep=bind.M=1", "--jobs=0"], "'0' is not a number of processes"),
        ],
    )
    def test_usage(self, source: str, argv: list[str], words: str) -> None:
        code, out, err = call(source, *argv)
        assert (code, out) == (1, "")
        assert err.startswith("error[PTO500]: ")
        assert words in err

    def test_table_and_files(self, source: str, tmp_path: Path) -> None:
        files = {kind: tmp_path / f"rows.{kind}" for kind in ("csv", "json")}
        code, out, err = call(
            *(source, "--sweep=tile.m=64,1024", "--sweep=bind.M=64..256*4", "--jobs=1"),
            *(f"--sweep-{kind}={file}" for kind, file in files.items()),
        )
        assert (code, err) == (0, "")
        head, header, *lines = out.splitlines()
        assert head.startswith("f on ascend950: 4 points, 2 do not compile")
        words = [line.split() for line in lines]
        assert header.split()[:4] == ["tile.m", "bind.M", "time", "us"]
        assert [row[:2] for row in words] == [
            *(["64", "64"], ["64", "256"], ["1024", "64"], ["1024", "256"])
        ]
        # The best of each size.
        assert [line.endswith("<- best") for line in lines] == [1, 1, 0, 0]
        assert words[2][2:5] == ["-", "-", "PTO210"]
        rows = json.loads(files["json"].read_text())
        assert [row["point"] for row in rows][1] == {"tile.m": 64, "bind.M": 256}
        assert (
            rows[1]["seconds"]
            == pyptoc.sweep(PRODUCT, {"tile.m": [64]}, bind={"M": 256}, jobs=1)[
                0
            ].seconds
        )
        table = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
        assert [row["tile.m"] for row in table] == ["64", "64", "1024", "1024"]
        assert float(table[1]["seconds"]) == rows[1]["seconds"]
        assert (table[2]["seconds"], table[2]["error"]) == ("", "PTO210")

    def test_an_operator_that_is_wrong_is_one_error(self, source: str) -> None:
        code, out, err = call(source, "--sweep=tile.m=32,64", "--jobs=1")
        assert (code, out) == (1, "")
        assert err.startswith("error[PTO503]: sizes to choose: M\n")
        assert err.count("PTO503") == 1
        Path(source).write_text("func.func @f( {\n")
        code, out, err = call(source, "--sweep=bind.M=32,64")
        assert (code, out) == (1, "")
        assert f"{source}:1:" in err


def test_the_example_of_the_page(tmp_path: Path) -> None:
    """Its points, in its order; times are those of the model when it was written."""
    text = (ROOT / "docs/what-if.md").read_text()
    program = text.split("```mlir\n")[1].split("```")[0]
    command, *shown = (
        text.split("    $ pyptoc op.mlir ")[1].split("\n\n")[0].splitlines()
    )
    (tmp_path / "op.mlir").write_text(program)
    code, out, _ = call(str(tmp_path / "op.mlir"), *shlex.split(command), "--jobs=1")
    assert code == 0

    def points(lines: list[str]) -> list[list[str]]:
        return [[*line.split()[:2], *re.findall("PTO.*", line)] for line in lines]

    assert points(out.splitlines()) == points([line[4:] for line in shown])


def test_best_is_among_the_same_sizes() -> None:
    def row(m: int, tile: int, time: float | None) -> SweepRow:
        return SweepRow({"bind.M": m, "tile.m": tile}, seconds=time)

    rows = [row(1, 8, 2.0), row(1, 16, 1.0), row(2, 8, None), row(2, 16, 5.0)]
    assert best_of(rows) == [rows[1], rows[1], rows[3], rows[3]]
    sizes = [SweepRow({"bind.M": m}, seconds=3.0 - m) for m in (1, 2)]
    assert best_of(sizes) == [sizes[1], sizes[1]]
    assert best_of([row(1, 1, None)]) == [None]


INTERRUPTED = """
import contextlib, os, signal
import pyptoc.sweep_command
from pyptoc.cli import console_main

@contextlib.contextmanager
def progress():
    # As a terminal does: to all processes of the command, which wait for work.
    yield lambda done, most: os.killpg(0, signal.SIGINT) if done == most else None

pyptoc.sweep_command._progress = progress
console_main()
"""
"""The command, interrupted when all points are done."""


class TestCache:
    def rows(self, folder: Path, text: str = PRODUCT, **more: Any) -> tuple[Any, int]:
        """The rows, and how many of them had to be computed."""
        counts: list[tuple[int, int]] = []
        rows = pyptoc.sweep(
            text,
            {"tile.m": [32, 1024], "bind.M": [64, 128]},
            cache=folder,
            jobs=1,
            progress=lambda *count: counts.append(count),
            **more,
        )
        return rows, len(counts) - 1

    def test_rows_are_the_same_and_computed_once(self, tmp_path: Path) -> None:
        first, computed = self.rows(tmp_path)
        assert computed == 4
        assert self.rows(tmp_path) == (first, 0)
        names = sorted(path.name for path in tmp_path.iterdir())
        assert len(names) == 4
        assert all(name.endswith(".json") for name in names)
        # Torn, empty and foreign files count as nothing.
        torn, empty, foreign = (tmp_path / name for name in names[:3])
        torn.write_text(torn.read_text()[:-9])
        empty.write_text("")
        foreign.write_text((tmp_path / names[3]).read_text())
        assert self.rows(tmp_path) == (first, 3)
        assert self.rows(tmp_path) == (first, 0)

    def test_what_decides_a_result_is_in_its_name(self, tmp_path: Path) -> None:
        _, computed = self.rows(tmp_path)
        for text, more in (
            (PRODUCT.replace("%y", "%z"), {}),
            (PRODUCT, {"machine": "ascend910b"}),
            (PRODUCT, {"pipeline": _pipeline("plan-memory{slots=1}")}),
            (PRODUCT, {"seed": 1}),
        ):
            assert self.rows(tmp_path, text, **more)[1] == computed
        common = Job(tool_digest(), "s", "{}", "p", None, (), 0, ())
        others = [
            replace(common, **change)
            for change in ({"tool": "x"}, {"bind": ("M=1",)}, {"entry": "f"})
        ]
        assert len({job.key for job in (common, *others)}) == 4

    def test_a_result_of_another_version_is_refused(self) -> None:
        job = Job("old", PRODUCT, "{}", "", None, (), 0, ())
        with pytest.raises(OtherToolError):
            measure(job)

    def test_faults_of_the_compiler_are_not_kept(self, tmp_path, monkeypatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr("pyptoc.runtime.timing.simulate", lambda *_: 1 / 0)
            assert self.rows(tmp_path)[1] == 4
        rows, computed = self.rows(tmp_path)
        assert computed == 2  # the others do not come so far
        assert [row.error for row in rows] == ["", "", "PTO210", "PTO210"]

    def test_where_the_file_lies_decides_nothing(self, tmp_path: Path) -> None:
        for name in ("a.mlir", "b.mlir"):
            (tmp_path / name).write_text(PRODUCT)
        first = self.rows(tmp_path / "cache", str(tmp_path / "a.mlir"))
        again = self.rows(tmp_path / "cache", str(tmp_path / "b.mlir"))
        assert (first[1], again[1]) == (4, 0)
        assert again[0][2].details.startswith(f"{tmp_path}/b.mlir:3:8: error[PTO210]")

    def test_a_folder_that_cannot_be(self, source: str, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        argv = ("--sweep=bind.M=1", f"--sweep-cache={tmp_path / 'file'}")
        code, _, err = call(source, *argv)
        assert code == 1
        assert err.startswith("error[PTO502]: cannot use ")

    def test_an_interrupt_keeps_what_is_done(self, source: str, tmp_path: Path) -> None:
        """What two processes have done is what this one would have."""
        folder = tmp_path / "cache"
        sweeps = ("--sweep=bind.M=1,2", f"--sweep-cache={folder}", "--jobs=2")
        code, out, err = processes.run(
            source, *sweeps, script=INTERRUPTED, start_new_session=True
        )
        assert (code, out) == (130, "")
        assert "2 of 2 points done, kept in" in err
        assert "Traceback" not in err
        kept = list(folder.iterdir())
        assert len(kept) == 2
        assert all(json.loads(each.read_text())["key"] == each.stem for each in kept)
        # A sweep of the same points goes on from there, to the same rows.
        axes, counts = {"bind.M": "1..4"}, list[int]()
        rows = pyptoc.sweep(
            PRODUCT,
            axes,
            cache=folder,
            jobs=1,
            progress=lambda done, _: counts.append(done),
        )
        assert counts[0] == 2
        assert rows == pyptoc.sweep(PRODUCT, axes, jobs=1)


AXES = {"tile.m": [32, 64, 1024], "bind.M": "64..256*2"}


class TestExecutors:
    def test_a_script_without_a_guard(self, source: str, monkeypatch) -> None:
        """Each process imports it, would sweep in its turn, and ends."""
        process = multiprocessing.current_process()
        monkeypatch.setattr(process, "_inheriting", True, raising=False)
        with pytest.raises(RuntimeError, match="a script that sweeps needs"):
            pyptoc.sweep(PRODUCT, AXES, jobs=2)
        monkeypatch.undo()

        def end(*_: Any) -> None:
            raise BrokenProcessPool

        monkeypatch.setattr("pyptoc.sweep_workers.as_completed", end)
        monkeypatch.setattr(ProcessPoolExecutor, "submit", lambda *_: object())
        with pytest.raises(RuntimeError, match=r"ended: .* or sweep with jobs=1"):
            pyptoc.sweep(PRODUCT, AXES, jobs=2)
        code, _, err = call(source, "--sweep=bind.M=1,2", "--jobs=2")
        assert code == 1
        assert "error[PTO509]: a process of the sweep was killed" in err

    def test_dask(self) -> None:
        distributed = pytest.importorskip(
            "distributed",
            reason="dask is an optional extra: pip install 'pyptoc[dask]'",
        )
        with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster:
            address = cluster.scheduler_address
            rows = pyptoc.sweep(PRODUCT, AXES, executor=f"dask:{address}")
            who = distributed.Client(address, set_as_default=False)
            with who:
                done = who.run(lambda dask_worker: dask_worker.state.executed_count)
        assert rows == pyptoc.sweep(PRODUCT, AXES, jobs=1)
        assert list(done.values()) == [len(rows)]

    def test_no_scheduler(self, source: str) -> None:
        pytest.importorskip(
            "distributed",
            reason="dask is an optional extra: pip install 'pyptoc[dask]'",
        )
        argv = ("--sweep=bind.M=1", "--executor=dask:nowhere")
        code, _, err = call(source, *argv)
        assert code == 1
        assert err.startswith("error[PTO509]: no dask scheduler at nowhere: ")

    @pytest.mark.parametrize(
        ("module", "argv", "extra"),
        [
            ("distributed", "--executor=dask:tcp://a:1", "pyptoc[dask]"),
            ("matplotlib", "--sweep-plot=a.png", "pyptoc[plot]"),
            ("plotly", "--sweep-plot=a.html", "pyptoc[plot]"),
        ],
    )
    def test_a_missing_extra(
        self, source: str, monkeypatch, module: str, argv: str, extra: str
    ) -> None:
        monkeypatch.setitem(sys.modules, module, None)
        code, out, err = call(source, "--sweep=bind.M=1", argv)
        assert (code, out) == (1, "")
        assert err.startswith("error[PTO508]: ")
        assert f"help: pip install '{extra}'" in err
