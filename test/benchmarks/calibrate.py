"""
Fits the free parameters of the timing model to measured kernels: `make calibrate`.

    python test/benchmarks/calibrate.py            predicted against measured
    python test/benchmarks/calibrate.py --fit      search, then the same
    python test/benchmarks/calibrate.py --write    search, and write the machine's file

One set of parameters for all cases, each of which means something in the machine:
`PARAMETERS` says what. The search goes along one parameter after the other, with steps
that are halved, and is the same each time. What is minimised is the sum of squares of
errors, each as a share of what is allowed (`BARS`).

Measured by others on a part of the Ascend 910B class with 24 cube cores: hand-tuned
matmuls and flash attention, and matmuls that PyPTO compiled.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.hand_attention import attention
from benchmarks.hand_tuned import matmul
from benchmarks.programs import tiled_matmul
from pyptoc.api import Program
from pyptoc.runtime.machine import MACHINES, Machine, load_machine
from pyptoc.runtime.timing_result import Timeline

FILE = MACHINES / "ascend910b.toml"


@dataclass(frozen=True)
class Case:
    """One measured kernel."""

    name: str
    microseconds: float
    program: Callable[[], Program]
    allowed: float
    """The share of the time that a prediction may be off."""
    shares: Mapping[str, float]
    """Of the time, that each pipe of the cube cores worked."""


@dataclass(frozen=True)
class Parameter:
    """A number of the machine's file that is fitted."""

    key: str
    pattern: str
    """Finds it in the file: what stands before and after it."""
    low: float
    high: float
    step: float
    """The finest step of the search."""
    meaning: str


def case(
    name: str,
    time: float,
    program: Callable[[], Program],
    allowed: float = 0.08,
    **shares: float,
) -> Case:
    return Case(name, time, program, allowed, shares)


CASES = (
    case(
        "matmul 3072^3, hand-tuned",
        206.7,
        lambda: matmul(3072),
        m=0.79,
        mte1=0.62,
        mte2=0.909,
        fix=0.058,
    ),
    case(
        "matmul 6144^3, hand-tuned",
        1506.0,
        lambda: matmul(6144),
        m=0.867,
        mte1=0.681,
        mte2=0.952,
        fix=0.031,
    ),
    case("matmul 6144^3, by columns", 2100.0, lambda: tiled_matmul(6144, "column")),
    case(
        "matmul 6144^3, in blocks", 1600.0, lambda: tiled_matmul(6144, "blocked<6, 4>")
    ),
    case("attention 1024", 20.96, lambda: attention(1024), 0.25),
    case("attention 8192", 292.6, lambda: attention(8192), 0.25),
)
SHARE_ALLOWED = 0.10
"""How far a pipe's share of the time may be off."""
PLAIN, BLOCKED = 2, 3
RATIO = (0.70, 0.82)
"""What the blocked walk may take of the one by columns."""

PARAMETERS = (
    Parameter(
        "launch.start_microseconds",
        r"(start_microseconds = )([\d.]+)()",
        8,
        10,
        0.25,
        "from the call to the first task; 8 to 10 found",
    ),
    Parameter(
        "memory.row_overhead_bytes",
        r"(row_overhead_bytes = )([\d.]+)()",
        0,
        96,
        1,
        "what each row of a box adds to a transfer",
    ),
    Parameter(
        "routes.gm.l1.bytes_per_cycle",
        r"(\nl1 = \{ pipe = \"mte2\", bytes_per_cycle = )([\d.]+)(,)",
        24,
        64,
        0.5,
        "what one core gets from HBM",
    ),
    Parameter(
        "memory.l2_kept_bytes",
        r"(l2_kept_bytes = )([\d.]+)()",
        16 * 2**20,
        176 * 2**20,
        2**20,
        "what is found again in L2",
    ),
    Parameter(
        "routes.l1.l0a and l0b startup_cycles",
        r"(l0[ab] = \{ pipe = \"mte1\", bytes_per_cycle = \d+, startup_cycles = )"
        r"([\d.]+)( )",
        0,
        100,
        1,
        "before each move from L1 to L0",
    ),
    Parameter(
        "memory.l2_to_hbm_ratio",
        r"(l2_to_hbm_ratio = )([\d.]+)()",
        3,
        6,
        0.1,
        "what L2 gives all cores together, in rates of HBM; more than 3 found",
    ),
)

PLACES = 12
"""How many parts of a parameter's range are tried first."""
SLACK = 0.1
"""What the sum of squares may grow by while L2's size counts as fitting as well."""

Values = tuple[float, ...]


def machine_with(values: Sequence[float], text: str | None = None) -> Machine:
    """The machine with these parameters."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / FILE.name
        file.write_text(edited(values, text))
        return load_machine(file)


def edited(values: Sequence[float], text: str | None = None) -> str:
    """The machine's file with these parameters."""
    text = FILE.read_text() if text is None else text
    for parameter, value in zip(PARAMETERS, values, strict=True):
        shown = f"{value:.2f}".rstrip("0").rstrip(".")
        text, count = re.subn(parameter.pattern, rf"\g<1>{shown}\g<3>", text)
        assert count, parameter.key
    return text


def current() -> Values:
    """The parameters that the machine's file has."""
    text = FILE.read_text()
    found = (re.search(each.pattern, text) for each in PARAMETERS)
    return tuple(float(match.group(2)) for match in found if match is not None)


class Fit:
    """The cases, compiled once, and what a set of parameters predicts for them."""

    def __init__(self) -> None:
        self.programs = [each.program() for each in CASES]
        self._errors: dict[Values, float] = {}

    def predict(self, machine: Machine) -> list[Timeline]:
        """Every case on this machine."""
        return [replace(p, machine=machine).simulate() for p in self.programs]

    def error(self, values: Values) -> float:
        """The sum of squares of errors, each as a share of what is allowed."""
        if values not in self._errors:
            timelines = self.predict(machine_with(values))
            self._errors[values] = sum(error**2 for error in errors(timelines))
        return self._errors[values]

    def search(self, start: Values, rounds: int = 3) -> Values:
        """Better parameters, from `start` on."""
        best = start
        for number in (*range(len(PARAMETERS)),) * 2:
            best = self._anywhere(best, number)
        for fineness in range(rounds - 1, -1, -1):
            improved = True
            while improved:
                improved = False
                for number in range(len(PARAMETERS)):
                    found = self._along(best, number, 2**fineness)
                    improved = improved or found != best
                    best = found
        return self._centred(best)

    def _anywhere(self, values: Values, number: int) -> Values:
        """The best of some values over the parameter's whole range."""
        low, high = PARAMETERS[number].low, PARAMETERS[number].high
        step = PARAMETERS[number].step
        spread = (low + (high - low) * n / PLACES for n in range(PLACES + 1))
        tried = [
            (*values[:number], value // step * step, *values[number + 1 :])
            for value in spread
        ]
        return min((values, *tried), key=self.error)

    def _along(self, values: Values, number: int, steps: int) -> Values:
        parameter = PARAMETERS[number]
        candidates = [values]
        for sign in (-1, 1):
            moved = values[number] + sign * steps * parameter.step
            if parameter.low <= moved <= parameter.high:
                candidates.append((*values[:number], moved, *values[number + 1 :]))
        return min(candidates, key=self.error)

    def _centred(self, values: Values) -> Values:
        """What L2 keeps in the middle of what fits as well: it acts in steps."""
        number = next(n for n, p in enumerate(PARAMETERS) if "kept" in p.key)
        limit, step = SLACK + self.error(values), 4 * PARAMETERS[number].step
        ends: list[float] = []
        for sign in (-1, 1):
            at = values[number]
            while True:
                moved = (*values[:number], at + sign * step, *values[number + 1 :])
                if self.error(moved) > limit:
                    break
                at = moved[number]
            ends.append(at)
        middle = sum(ends) / 2 // PARAMETERS[number].step * PARAMETERS[number].step
        return (*values[:number], middle, *values[number + 1 :])


def shares(timeline: Timeline) -> dict[str, float]:
    """Of the whole time, that the pipes of the cube cores worked."""
    return {
        name.removeprefix("cube "): share
        for name, share in timeline.busy.items()
        if name.startswith("cube ")
    }


def errors(timelines: Sequence[Timeline]) -> list[float]:
    """Each error as a share of what is allowed: within 1 all bars hold."""
    found: list[float] = []
    for each, timeline in zip(CASES, timelines, strict=True):
        off = timeline.seconds * 1e6 / each.microseconds - 1
        found.append(off / each.allowed)
        busy = shares(timeline)
        found += [
            (busy[pipe] - share) / SHARE_ALLOWED for pipe, share in each.shares.items()
        ]
    middle, half = sum(RATIO) / 2, (RATIO[1] - RATIO[0]) / 2
    return [*found, (ratio(timelines) - middle) / half]


def ratio(timelines: Sequence[Timeline]) -> float:
    """What the blocked walk takes of the one by columns."""
    return timelines[BLOCKED].seconds / timelines[PLAIN].seconds


def table(timelines: Sequence[Timeline]) -> list[str]:
    """Predicted against measured."""
    lines = [f"{'case':28}{'measured':>10}{'model':>10}{'off':>8}  pipes"]
    for each, timeline in zip(CASES, timelines, strict=True):
        time = timeline.seconds * 1e6
        off = 100 * (time / each.microseconds - 1)
        busy = shares(timeline)
        pipes = ", ".join(
            f"{pipe} {100 * busy[pipe]:.1f} ({100 * share:.1f})"
            for pipe, share in each.shares.items()
        )
        lines.append(
            f"{each.name:28}{each.microseconds:10.1f}{time:10.1f}{off:+7.1f}%  {pipes}"
        )
    lines.append(f"blocked / by columns{ratio(timelines):28.3f}   (0.70 to 0.82)")
    return lines


def main(words: Sequence[str]) -> int:
    fit = Fit()
    values = current()
    if "--fit" in words or "--write" in words:
        values = fit.search(values)
    if "--write" in words:
        FILE.write_text(edited(values))
    for parameter, value in zip(PARAMETERS, values, strict=True):
        print(f"{parameter.key:40}{value:14g}   {parameter.meaning}")
    timelines = fit.predict(machine_with(values))
    print("\n".join(table(timelines)))
    worst = max(map(abs, errors(timelines)))
    print(f"worst error: {100 * worst:.0f} % of what is allowed")
    return int(worst > 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
