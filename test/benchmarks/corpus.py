"""
The corpus, measured: `make corpus`.

    python test/benchmarks/corpus.py [--operators=NAME,..] [--quick]
        [--json=F.json] [--markdown=docs/corpus.md]

For each operator and each machine that has its types one row:

    cases     how many are right and free of hazards (`--check`), of all
    worst     the greatest distance from a golden, in % of what the tolerance allows
    compile   CPU seconds, warm, the best of three, of the public case
    run       the time of the largest case over that of its golden in plain numpy: CPU,
              the best of several, in turns
    time      modelled, of the public case; its bound; the nearest roof and how much of
              it is reached; launches
    moved     HBM bytes over those that any program must move; workspace

A case with an error counts as wrong. `--quick` leaves out long cases.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pyptoc
from pyptoc.dialects.diagnostics import CompileError, RunError
from pyptoc.operators import load, names
from pyptoc.operators.checking import excess, misses, problems, rows, tolerances
from pyptoc.runtime.machine import machine_names
from pyptoc.runtime.units import size_text, time_text
from pyptoc.simulate_command import nearest_roof
from pyptoc.tables import table

NO_INSTRUCTION = "PTO22"
"""The family of errors of types that a machine does not have."""
TOO_LARGE = "PTO507"
ONE_THREAD = {f"{each}_NUM_THREADS": "1" for each in ("OPENBLAS", "MKL", "OMP")}
SECONDS = 1.0
"""So long each side of a ratio is measured, and at least twice."""


@dataclass(frozen=True)
class Modelled:
    """What the simulation of the public case says."""

    seconds: float
    bound: str
    roof: str
    reached: float
    launches: int
    moved: float
    """HBM bytes over the compulsory ones."""
    workspace: int
    """Bytes."""


@dataclass(frozen=True)
class Row:
    """What was found for an operator on a machine."""

    operator: str
    machine: str
    passed: int
    cases: int
    worst: float
    """In shares of what the tolerance allows."""
    compile_seconds: float
    run_ratio: float
    modelled: Modelled
    failures: tuple[str, ...]


def main() -> int:
    """Prints the table; 1 where a case is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--operators", type=lambda text: text.split(","), default=None)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    found: list[Row] = []
    for name in options.operators or names():
        for machine in machine_names():
            row = measure(name, machine, options.quick)
            if row is not None:
                found.append(row)
                sys.stderr.write(f"{name} {machine} {row.passed}/{row.cases}\n")
    print("\n".join(table([HEADER, *map(cells, found)])))
    wrong = [failure for row in found for failure in row.failures]
    print("\n".join(wrong), file=sys.stderr)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in found], indent=1))
    if options.markdown is not None:
        options.markdown.write_text(page(found))
    return int(bool(wrong))


def page(found: Sequence[Row]) -> str:
    """The table as a page of the documentation."""
    lines = ["| " + " | ".join(row) + " |" for row in (HEADER, *map(cells, found))]
    lines.insert(1, "|---" * len(HEADER) + "|")
    return PAGE.format(table="\n".join(lines))


PAGE = """# The corpus, measured

`make corpus` prints this table and writes this page. Each operator of
[test/operators](../test/operators), on each machine that has its types:

- **cases**: right and free of hazards (`--check`, but for cases of more tasks than it
  looks at), of all. **worst**: the greatest distance from a golden in plain numpy, of
  what the tolerance allows.
- **compile**: CPU time, warm, of the public case, which is the first of the operator's
  `CASES`. **run**: the time of the largest case over that of its golden, on one thread.
- **modelled**, **bound**, **roof**, **launches**: of the public case, too.
  Often it is a decode step of a few tokens: dispatch, not the work, takes the time.
- **moved**: HBM bytes over those that every program must move; **workspace**.

{table}
"""


def measure(name: str, machine: str, quick: bool) -> Row | None:
    """An operator's row; None where the machine has not its types."""
    operator = load(name)
    public = operator.CASES[0]
    try:
        pyptoc.compile(operator.source(public), machine=machine)
    except CompileError as refused:
        if refused.diagnostics[0].code.startswith(NO_INSTRUCTION):
            return None
        raise
    cases = [case for case in operator.CASES if not (quick and case.long)]
    failures: list[str] = []
    worst = 0.0
    for case in cases:
        try:
            found, share = check(operator, case, machine)
        except (CompileError, RunError) as problem:
            found, share = [str(problem.diagnostics[0].message)], np.inf
        worst = max(worst, share)
        failures += [f"{name} {case} {machine}: {text}" for text in found[:1]]
    text = operator.source(public)
    compiling = min(cpu(lambda: pyptoc.compile(text, machine=machine)) for _ in "123")
    program = pyptoc.compile(text, machine=machine)
    given = operator.inputs(public)
    return Row(
        name,
        machine,
        len(cases) - len(failures),
        len(cases),
        worst,
        compiling,
        run_ratio(operator, cases, machine),
        modelled(program, given),
        tuple(failures),
    )


def modelled(program: pyptoc.Program, given: dict[str, Any]) -> Modelled:
    """A simulation."""
    timeline = program.simulate(**given)
    roof, reached = nearest_roof(timeline)
    return Modelled(
        timeline.seconds,
        timeline.bound,
        roof,
        reached,
        len(timeline.launches),
        timeline.hbm_moved / max(timeline.compulsory_bytes, 1),
        timeline.workspace_bytes,
    )


def check(operator: Any, case: Any, machine: str) -> tuple[list[str], float]:
    """What is wrong with a checked run, and the worst share of a tolerance."""
    text = operator.source(case)
    given = operator.inputs(case)
    program = pyptoc.compile(text, machine=machine)
    try:
        got = program.run(check=True, **given)
    except CompileError as refused:
        if refused.diagnostics[0].code != TOO_LARGE:
            raise
        got = program.run(**given)
    want = operator.golden(**given)
    found = problems(got, want, text)
    limits = tolerances(text)
    worst = 0.0
    for name, limit in limits.items():
        if want[name].size == 0:
            continue
        if limit.misses is not None:
            most = max(map(misses, rows(got[name]), rows(want[name])))
            worst = max(worst, most / max(limit.misses, 1))
            continue
        shares = np.sort(excess(got[name], want[name], limit), axis=None)
        worst = max(worst, float(shares[int((1 - limit.outliers) * (shares.size - 1))]))
    return found, worst


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    started = time.process_time()
    call()
    return time.process_time() - started


def run_ratio(operator: Any, cases: Sequence[Any], machine: str) -> float:
    """The time of the case with the most bytes over that of its golden."""
    sizes = [sum(a.nbytes for a in operator.inputs(case).values()) for case in cases]
    largest = cases[int(np.argmax(sizes))]
    program = pyptoc.compile(operator.source(largest), machine=machine)
    given = operator.inputs(largest)
    return ratio(lambda: program.run(**given), lambda: operator.golden(**given))


def ratio(run: Callable[[], object], golden: Callable[[], object]) -> float:
    """The best time of one over the best of the other, measured in turns."""
    run(), golden()
    best = [np.inf, np.inf]
    spent, turns = 0.0, 0
    while turns < 2 or (spent < 2 * SECONDS and turns < 20):
        for side, call in enumerate((run, golden)):
            seconds = cpu(call)
            spent += seconds
            best[side] = min(best[side], seconds)
        turns += 1
    return float(best[0] / best[1])


HEADER = (
    *("operator", "machine", "cases", "worst", "compile", "run", "modelled", "bound"),
    *("roof", "launches", "moved", "workspace"),
)


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    time = row.modelled
    return (
        row.operator,
        row.machine,
        f"{row.passed}/{row.cases}",
        f"{100 * row.worst:.0f} %",
        f"{row.compile_seconds:.2f} s",
        f"{row.run_ratio:.2f} x",
        time_text(time.seconds),
        time.bound,
        f"{time.roof} {100 * time.reached:.0f} %",
        str(time.launches),
        f"{time.moved:.2f} x",
        size_text(time.workspace),
    )


if __name__ == "__main__":
    if not ONE_THREAD.items() <= os.environ.items():
        # numpy reads them when it is imported.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    sys.exit(main())
