"""What must hold on any machine, however busy: a program's size, and the benchmarks.

Times are for `make bench`; here nothing depends on them.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import bench, programs


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (programs.operator(2), programs.operator(256)),
        (programs.operator(2), programs.operator(1024)),
        (programs.matmul(512), programs.matmul(1024)),
        (programs.matmul(1024), programs.matmul(65536)),
    ],
    ids=["experts-256", "experts-1024", "matmul-1024", "matmul-65536"],
)
def test_a_larger_problem_has_as_many_operations(small: str, large: str):
    assert bench.op_count(small) == bench.op_count(large)


def test_kernels_of_a_matmul_are_small():
    assert bench.op_count(programs.matmul(1024)) <= 150


def test_goldens_compute_the_same_as_the_programs():
    import pyptoc

    for run in programs.runs():
        if "4096" in run.name:
            continue  # 64 MB and more
        got = pyptoc.compile(run.text).run(**run.inputs)
        want = run.golden()
        if isinstance(want, dict):
            got, want = got["out"].astype(int), want["out"].astype(int)
            assert abs(got - want).max() <= 1
        else:
            (only,) = got.values()
            assert np.allclose(only, want, rtol=1e-4, atol=1e-3), run.name


def test_a_bar_is_missed():
    assert bench.Row("x", [3.0, 9.0], bar=2.0).missed
    assert not bench.Row("x", [1.0, 3.0, 9.0], bar=2.0).missed
    assert not bench.Row("x", [1.0, 3.0, 9.0], ratio=0.9, bar=1.0).missed
    assert "missed" in bench.Row("x", [1.0], ratio=1.1, bar=1.0).text()
    assert bench.Row("x", [1.0, 2.0, 4.0], note="so").text().split() == [
        "x", "2.0", "1.0", "4.0", "ms", "so",
    ]  # fmt: skip


def test_processes_are_measured():
    import sys

    script = "import sys; print(len(sys.argv[1]))"
    assert bench.printed(script, "four") == 4
    spent = bench.cpu_milliseconds([sys.executable, "-c", "sum(range(3_000_000))"])
    assert 1 < spent < 60_000


def test_kernels_are_translated_once(monkeypatch: pytest.MonkeyPatch):
    import pyptoc
    from pyptoc.runtime import executor

    made: list[object] = []

    class Counted(executor.KernelTranslator):
        def __init__(self, *given) -> None:
            made.append(self)
            super().__init__(*given)

    monkeypatch.setattr(executor, "KernelTranslator", Counted)
    program = pyptoc.compile(programs.matmul(64))
    a = np.eye(64, dtype=np.float16)
    first, second = (program.run(a=a, b=factor * a) for factor in (2, 3))
    assert len(made) == 1
    assert (first["result0"].trace(), second["result0"].trace()) == (128, 192)
