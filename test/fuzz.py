"""
A long run of random operators, each checked after every pass, on all cores.

    python test/fuzz.py [--programs=2000] [--jobs=N] [--seed=0]

Programs are drawn by hypothesis under its profile `long`, others for each seed. Each
that fails is made small and printed; the end says how many programs, ops and passes
were checked.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import conftest  # noqa: F401 (registers the profile)
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from random_writer import Program

OPTIONS = settings(
    settings.get_profile("long"),
    phases=[Phase.generate],
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
"""Nothing is shrunk by hypothesis: a small seed is no small program."""


MERGED = 10
"""One of so many programs is of tasks that are merged."""


@dataclass(frozen=True)
class Outcome:
    """What became of one program."""

    ops: int
    passes: int
    failure: str = ""


def seeds() -> Any:
    """Seed of the program, whether the machine is the second, and of the pipes."""
    return st.tuples(st.integers(0, 2**64 - 1), st.booleans(), st.integers(1, 99))


def one(number: int, other: bool, order: int) -> Outcome:
    """Makes one program and checks it."""
    from random_merged import merged
    from random_ops import MACHINES
    from random_pipelines import machine_like, pipeline
    from random_programs import count_ops, operators
    from random_reduce import reduced
    from random_stages import stages

    from pyptoc.runtime.machine import load_machine

    random = Random(number)
    program = (operators if number % MERGED else merged)(random)
    name = MACHINES[other and not program.needs_mx]
    options = pipeline(random)
    machine = machine_like(load_machine(name), random)

    def check(each: Program) -> int:
        return stages(each, machine, order, pipeline=options).count

    ops = count_ops(program)
    try:
        return Outcome(ops, check(program))
    except Exception:
        text = traceback.format_exc(limit=-3)
        small = reduced(program, check)
        head = f"// seed {number}, {name}, order {order}\n// {options}\n"
        return Outcome(ops, 0, f"{head}{small.text}{text}")


def worker(start: int, count: int, report: Callable[[Outcome], None]) -> None:
    """Draws and checks `count` programs."""

    @seed(start)
    @settings(OPTIONS, max_examples=count)
    @given(seeds())
    def check(drawn: tuple[int, bool, int]) -> None:
        report(one(*drawn))

    check()


@dataclass(frozen=True)
class Total:
    """Everything so far."""

    programs: int = 0
    ops: int = 0
    passes: int = 0
    failures: int = 0

    def plus(self, outcome: Outcome) -> Total:
        return Total(
            self.programs + 1,
            self.ops + outcome.ops,
            self.passes + outcome.passes,
            self.failures + bool(outcome.failure),
        )

    def line(self, seconds: float) -> str:
        return (
            f"{self.programs} programs, {self.ops} ops, {self.passes} passes checked, "
            f"{self.failures} failures, {seconds:.0f} s"
        )


def main() -> int:
    """Runs the workers and shows what they find; 1 if a program failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0].strip())
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    share = -(-options.programs // options.jobs)
    workers = [
        context.Process(
            target=worker, args=(options.seed * 1000 + job, share, queue.put)
        )
        for job in range(options.jobs)
    ]
    for process in workers:
        process.start()
    total, started = Total(), time.monotonic()
    while any(process.is_alive() for process in workers) or not queue.empty():
        if queue.empty():
            time.sleep(0.1)
            continue
        outcome = queue.get()
        total = total.plus(outcome)
        if outcome.failure:
            print(outcome.failure, flush=True)
        if total.programs % 50 == 0 or outcome.failure:
            print(total.line(time.monotonic() - started), flush=True)
    broken = [process for process in workers if process.exitcode]
    print(f"done: {total.line(time.monotonic() - started)}")
    for process in broken:
        print(f"a worker ended with exit code {process.exitcode}")
    return int(bool(total.failures or broken))


if __name__ == "__main__":
    sys.exit(main())
