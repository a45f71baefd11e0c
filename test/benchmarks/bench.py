"""
Measures what the README quotes, and prints one table: `make bench`.

Each figure is CPU time, the median of several with the best and the worst beside it: on
a busy machine they lie apart. Ratios are of the best of each, measured in turns.
Compiling is warm (the second time in a process) unless it says cold; a run is the
second of its program. numpy uses one thread: with more the ratios move with the
machine's load.

A bar is what must hold of the best; `missed` and exit code 1 say that it does not.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

TEST = Path(__file__).parents[1]
CPU = time.process_time
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Row:
    """One line of the table: samples, and how they compare."""

    name: str
    samples: Sequence[float]
    unit: str = "ms"
    ratio: float | None = None
    """To what it is compared with."""
    bar: float | None = None
    """The most that the best, or the ratio if there is one, may be."""
    note: str = ""

    @property
    def missed(self) -> bool:
        value = min(self.samples) if self.ratio is None else self.ratio
        return self.bar is not None and value > self.bar

    def text(self) -> str:
        middle, best, worst = (
            f"{value:10.1f}"
            for value in (
                statistics.median(self.samples),
                min(self.samples),
                max(self.samples),
            )
        )
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}x"
        bar = "" if self.bar is None else f"{self.bar:g}" + ("x" if ratio else "")
        state = "missed" if self.missed else self.note
        return (
            f"{self.name:<42}{middle}{best}{worst} {self.unit:<4}{ratio:>7}{bar:>8}"
            f"  {state}"
        ).rstrip()


HEADER = f"{'':<42}{'median':>10}{'best':>10}{'worst':>10}     {'ratio':>7}{'bar':>8}\n"


def milliseconds(function: Callable[[], object]) -> float:
    started = CPU()
    function()
    return 1000 * (CPU() - started)


def in_turns(
    one: Callable[[], object], other: Callable[[], object], count: int
) -> tuple[list[float], list[float]]:
    """Both measured `count` times, one after the other, after one call each."""
    one()
    other()
    pairs = [(milliseconds(one), milliseconds(other)) for _ in range(count)]
    first, second = zip(*pairs, strict=True)
    return list(first), list(second)


def ratio_of(one: Sequence[float], other: Sequence[float]) -> float:
    return min(one) / min(other)


# Compiling ---------------------------------------------------------------------------


def op_count(text: str) -> int:
    """How many operations the scheduled program of `text` has."""
    import pyptoc

    return sum(1 for _ in pyptoc.compile(text).module.walk())


def compile_rows(count: int = 9) -> list[Row]:
    """Warm compiles, which use one thread; a larger problem must not take longer."""
    import pyptoc
    from benchmarks import programs

    def compiling(text: str) -> Callable[[], object]:
        return lambda: pyptoc.compile(text)

    rows: list[Row] = []
    text = programs.operator()
    base = compiling(text)
    times, _ = in_turns(base, lambda: None, count)
    note = f"{op_count(text)} ops"
    rows.append(Row("compile operator", times, bar=350, note=note))
    for experts, bar in ((256, 1.2), (1024, None)):
        larger = programs.operator(experts)
        times, others = in_turns(compiling(larger), base, count)
        note = f"{op_count(larger)} ops"
        name = f"compile operator, {experts} experts"
        rows.append(Row(name, times, "ms", ratio_of(times, others), bar, note))
    base = compiling(programs.matmul(1024))
    times, _ = in_turns(base, lambda: None, count)
    rows.append(Row("compile matmul 1024", times, bar=150))
    for size in (512, 4096, 65536):
        text = programs.matmul(size)
        times, others = in_turns(compiling(text), base, count)
        note = f"{op_count(text)} ops"
        ratio = ratio_of(times, others)
        rows.append(Row(f"compile matmul {size}", times, "ms", ratio, 1.2, note))
    return rows


# Running -----------------------------------------------------------------------------


RUN_BARS = {
    "grouped_matmul_swiglu_quant": 0.6,
    "matmul 1024 f16": 1.7,
    "matmul 1024 bf16": 1.6,
    "matmul 1024 i8": 1.6,
    "softmax 4096": 1.0,
    "flash attention 4096": 1.4,
}
"""The most that a run may take, as a share of its golden."""


def run_rows(count: int = 11) -> list[Row]:
    """Compiled programs against plain numpy, in turns."""
    import pyptoc
    from benchmarks import programs

    rows: list[Row] = []
    for run in programs.runs():
        program = pyptoc.compile(run.text)
        times, golden = in_turns(
            lambda p=program, r=run: p.run(**r.inputs), run.golden, count
        )
        middle = statistics.median(times) / statistics.median(golden)
        note = f"numpy {min(golden):.1f} ms; median {middle:.2f}x"
        bar, ratio = RUN_BARS.get(run.name), ratio_of(times, golden)
        rows.append(Row(f"run {run.name}", times, "ms", ratio, bar, note))
    return rows


# Simulating --------------------------------------------------------------------------


def simulate_rows(count: int = 7) -> list[Row]:
    """The timing model on compiled programs, from the second simulation on."""
    import pyptoc
    from benchmarks import programs

    rows: list[Row] = []
    sizes = {"M": 16, "group_list": [7, 9]}
    for name, text, given, bar in (
        ("grouped_matmul_swiglu_quant", programs.operator(), sizes, 100),
        ("matmul 4096", programs.matmul(4096), {}, 100),
        ("matmul 32768", programs.matmul(32768), {}, 1000),
    ):
        program = pyptoc.compile(text)
        times, _ = in_turns(
            lambda p=program, g=given: p.simulate(**g), lambda: None, count
        )
        note = f"{len(program.simulate(**given).tasks)} tasks"
        rows.append(Row(f"simulate {name}", times, bar=bar, note=note))
    return rows


def check_rows(count: int = 5) -> list[Row]:
    """Checking compiled programs: for sizes, and a checked run against a plain one."""
    import pyptoc
    from benchmarks import programs

    rows: list[Row] = []
    sizes = {"M": 16, "group_list": [7, 9]}
    for name, text, given in (
        ("grouped_matmul_swiglu_quant", programs.operator(), sizes),
        ("matmul 4096", programs.matmul(4096), {}),
    ):
        program = pyptoc.compile(text)
        times, _ = in_turns(
            lambda p=program, g=given: p.check(**g), lambda: None, count
        )
        rows.append(Row(f"check {name}", times))
    for run in programs.runs()[:2]:
        program = pyptoc.compile(run.text)
        ours, plain = in_turns(
            lambda p=program, r=run: p.run(check=True, **r.inputs),
            lambda p=program, r=run: p.run(**r.inputs),
            count,
        )
        rows.append(Row(f"run {run.name}, checked", ours, ratio=ratio_of(ours, plain)))
    return rows


# Processes ---------------------------------------------------------------------------

PEAK = """
import re, sys
import pyptoc
if sys.argv[1]:
    program = pyptoc.compile(sys.argv[1])
    if "32768" in sys.argv[1]:
        program.simulate()
print(int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024)
"""
"""From /proc: after an exec, getrusage still counts what the parent had."""


def printed(script: str, text: str) -> float:
    """The number that a fresh process prints."""
    command = [sys.executable, "-c", script, text]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def cpu_milliseconds(command: Sequence[str]) -> float:
    """User and system time of a process and its children, all in."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * spent


def process_rows() -> list[Row]:
    """What needs a process of its own; times are CPU time."""
    from benchmarks import programs

    text = programs.operator()
    version = [sys.executable, "-m", "pyptoc", "--version"]
    times = [cpu_milliseconds(version) for _ in range(9)]
    rows = [Row("pyptoc --version", times, bar=100)]
    with TemporaryDirectory() as folder:
        for name, source, bar in (
            ("operator", text, 1200),
            ("matmul 1024", programs.matmul(1024), 350),
        ):
            file = Path(folder, "op.mlir")
            file.write_text(source)
            command = [sys.executable, "-m", "pyptoc", str(file)]
            # The first one writes bytecode.
            times = [cpu_milliseconds(command) for _ in range(8)][1:]
            rows.append(Row(f"pyptoc {name}, a new process", times, bar=bar))
    if Path("/proc/self/status").exists():
        rows += memory_rows()
    return rows


def memory_rows() -> list[Row]:
    """Peaks of processes that compile; a larger problem must not take more."""
    from benchmarks import programs

    nothing = printed(PEAK, "")
    rows: list[Row] = []
    for name, make, sizes in (
        ("operator, {} experts", programs.operator, (2, 1024)),
        ("matmul {}", programs.matmul, (1024, 65536)),
    ):
        first: list[float] | None = None
        for size in sizes:
            peak = [printed(PEAK, make(size)) for _ in range(3)]
            ratio = None if first is None else ratio_of(peak, first)
            bar = None if first is None else 1.2
            first = first or peak
            note = f"{nothing:.0f} MB without compiling"
            called = f"peak memory, {name.format(size)}"
            rows.append(Row(called, peak, "MB", ratio, bar, note))
    peak = [printed(PEAK, programs.matmul(32768)) for _ in range(3)]
    rows.append(Row("peak memory, simulate matmul 32768", peak, "MB", bar=200))
    return rows


def main() -> int:
    """Measures and prints; 1 if a bar is missed."""
    import numpy as np

    # Cold processes read bytecode, as those of an installed package do.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    loads = " ".join(f"{load:.1f}" for load in os.getloadavg())
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, "
        f"{os.cpu_count()} CPUs, load {loads}\n"
    )
    print(HEADER, end="", flush=True)
    missed = False
    for measure in (compile_rows, run_rows, simulate_rows, check_rows, process_rows):
        for row in measure():
            print(row.text(), flush=True)
            missed |= row.missed
    return int(missed)


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        # numpy reads these when it is imported.
        paths = [str(TEST), os.environ.get("PYTHONPATH", "")]
        path = os.pathsep.join(filter(None, paths))
        environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": path}
        os.execve(sys.executable, [sys.executable, __file__], environment)
    sys.exit(main())
