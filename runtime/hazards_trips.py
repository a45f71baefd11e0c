"""
Hazards for all numbers of trips: `--check=trips`.

A loop's state comes back after a few trips, so what follows t trips follows a smaller
number t' of them as well: it is enough to check every number of trips up to where the
state came back (`Checked.loops`). Numbers of trips are what sizes make them, and sizes
of one operator depend on each other, so they are tried through its named sizes: for
each of them the values at which a loop has 0, 1, .. trips, one less and one more (for
tails), the others as they were given; then those values of several sizes together, of
two before those of three. What data steers is checked on runs only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from math import prod

from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.diagnostics import CompileError, Note, RunError
from pyptoc.dialects.words import counted
from pyptoc.runtime.hazards import Checked, check_program
from pyptoc.runtime.hazards_core import HazardKernel
from pyptoc.runtime.inputs import Inputs
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.signature import Signature

MOST_TRIPS = 24
"""Loops that were walked further repeat nothing: each trip is another one."""

MOST_TOGETHER = 200
"""Choices of several sizes that are tried."""

MOST_TASKS = 2**17
"""After so many tasks at choices of several sizes no more are tried: each task takes a
fraction of a millisecond."""

Sizes = dict[str, int]


@dataclass(frozen=True)
class AllTrips:
    """What was checked."""

    first: Checked
    sizes: tuple[str, ...]
    """The sizes that were tried besides the given ones."""
    left_out: int = 0
    """Choices of several sizes that were too many to try."""

    @property
    def text(self) -> str:
        """One line."""
        more = f", {self.left_out} left out" if self.left_out else ""
        others = counted(len(self.sizes), "other size")
        return f"{self.first.text}   and at {others}{more}"


def check_trips(
    module: ModuleOp, machine: Machine, signature: Signature, inputs: Inputs
) -> AllTrips:
    """Check at the given sizes and where loops have few trips. Raises RunError."""
    given = dict(inputs.sizes)

    def check(sizes: Sizes) -> Checked:
        values = dict(inputs.values)
        tried = replace(inputs, sizes={**given, **sizes}, values=values)
        return check_program(module, machine, signature, tried, known)

    # A kind of task that one of the sizes has shown is walked no more.
    known: dict[str, HazardKernel] = {}
    first = check({})
    tried: list[str] = []
    alone = [{name: n} for name in given for n in _values(given[name], first)]
    few = {name: _values(size, first, tails=False) for name, size in given.items()}
    together = list(islice(_together(few), MOST_TOGETHER))
    tasks = skipped = 0
    for sizes in (*alone, *together):
        if tasks >= MOST_TASKS:
            skipped += 1
            continue
        text = ",".join(f"{name}={value}" for name, value in sizes.items())
        try:
            found = check(sizes)
        except RunError as failure:
            if any(one.code in _HAZARDS for one in failure.diagnostics):
                _fail_at(failure, text)
            continue  # An operator that refuses a size has no hazard there.
        except CompileError:
            continue
        tried.append(text)
        tasks += found.tasks if len(sizes) > 1 else 0
    choices = prod(len(values) + 1 for values in few.values())
    several = choices - 1 - sum(map(len, few.values()))
    return AllTrips(first, tuple(tried), several - len(together) + skipped)


def _together(few: Mapping[str, Sequence[int]]) -> Iterator[Sizes]:
    """Choices for two sizes and more."""
    for count in range(2, len(few) + 1):
        for names in combinations(few, count):
            for values in product(*(few[name] for name in names)):
                yield dict(zip(names, values, strict=True))


_HAZARDS = {*(f"PTO41{n}" for n in range(4)), *(f"PTO42{n}" for n in range(7))}


def _fail_at(failure: RunError, sizes: str) -> None:
    note = Note(f"at --bind={sizes}")
    raise RunError(
        replace(one, notes=(*one.notes, note)) for one in failure.diagnostics
    )


def _values(size: int, checked: Checked, tails: bool = True) -> list[int]:
    """The values of a size at which some loop may have few trips; tails: and near."""
    found = {1}
    near = (-1, 0, 1) if tails else (0,)
    for trips, walked in checked.loops:
        if not trips or walked > MOST_TRIPS:
            continue
        step = max(size // trips, 1)
        for count in range(walked + 2):
            found.update(step * count + more for more in near)
    return [value for value in sorted(found) if 0 < value != size]
