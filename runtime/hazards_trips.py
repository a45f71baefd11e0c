"""
Hazards for all numbers of trips: `--check=trips`.

A loop's state comes back after a few trips, so what follows t trips follows a smaller
number t' of them as well: it is enough to check every number of trips up to where the
state came back (`Checked.loops`). Numbers of trips are what sizes make them, and sizes
of one operator depend on each other, so they are tried through its named sizes: for
each of them the values at which a loop has 0, 1, .. trips, one less and one more (for
tails), the others as they were given. What data steers is checked on runs only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.diagnostics import CompileError, Note, RunError
from pyptoc.runtime.hazards import Checked, check_program
from pyptoc.runtime.inputs import Inputs
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.signature import Signature

MOST_TRIPS = 24
"""Loops that were walked further repeat nothing: each trip is another one."""


@dataclass(frozen=True)
class AllTrips:
    """What was checked."""

    first: Checked
    sizes: tuple[str, ...]
    """The sizes that were tried besides the given ones."""

    @property
    def text(self) -> str:
        """One line."""
        return f"{self.first.text}   and at {len(self.sizes)} other sizes"


def check_trips(
    module: ModuleOp, machine: Machine, signature: Signature, inputs: Inputs
) -> AllTrips:
    """Check at the given sizes and where loops have few trips. Raises RunError."""
    given = dict(inputs.sizes)

    def check(sizes: dict[str, int]) -> Checked:
        values = dict(inputs.values)
        tried = replace(inputs, sizes=dict(sizes), values=values)
        return check_program(module, machine, signature, tried)

    first = check(given)
    tried: list[str] = []
    for name in given:
        for value in _values(given[name], first):
            text = f"{name}={value}"
            try:
                check({**given, name: value})
            except RunError as failure:
                if any(one.code in _HAZARDS for one in failure.diagnostics):
                    _fail_at(failure, text)
                continue  # An operator that refuses a size has no hazard there.
            except CompileError:
                continue
            tried.append(text)
    return AllTrips(first, tuple(tried))


_HAZARDS = {*(f"PTO41{n}" for n in range(4)), *(f"PTO42{n}" for n in range(7))}


def _fail_at(failure: RunError, sizes: str) -> None:
    note = Note(f"at --bind={sizes}")
    raise RunError(
        replace(one, notes=(*one.notes, note)) for one in failure.diagnostics
    )


def _values(size: int, checked: Checked) -> Iterator[int]:
    """The values of a size at which some loop may have few trips."""
    found = {1}
    for trips, walked in checked.loops:
        if not trips or walked > MOST_TRIPS:
            continue
        step = max(size // trips, 1)
        for count in range(walked + 2):
            found |= {step * count - 1, step * count, step * count + 1}
    return (value for value in sorted(found) if 0 < value != size)
