"""
Seconds of the steps of a compilation, and the report of `--timing`.

Steps nest: a pass is in `passes`, its verification in the pass. What lies between
them (dumps, loading what is first used) is `rest`: the total is the time that passed.
"""

from __future__ import annotations

import time
from dataclasses import field

from pyptoc.dialects.record import record

REST = "rest"


@record(frozen=False)
class Timing:
    """Seconds of every step, in the order in which they first happened."""

    rows: dict[tuple[str, ...], float] = field(
        default_factory=dict[tuple[str, ...], float]
    )
    """By the names of a step and those around it. A step that has steps inside has no
    row of its own, or one for what it does besides."""
    started: float = field(default_factory=time.perf_counter)

    def add(self, *names: str, seconds: float) -> None:
        """Adds to the row of the last of `names`, which is inside the others."""
        self.rows[names] = self.rows.get(names, 0.0) + seconds

    @property
    def seconds(self) -> float:
        """All of the steps together."""
        return sum(self.rows.values())

    def report(self, display: str = "tree") -> str:
        """The table of `--timing`; `display` is `tree` or `list`, longest first."""
        total = max(time.perf_counter() - self.started, self.seconds)
        rest = {(REST,): total - self.seconds}
        rows = {**self.rows, **rest}
        if display == "list":
            shown = _by_name(rows)
        else:
            shown = [
                ("  " * (len(names) - 1) + names[-1], s) for names, s in _sums(rows)
            ]
        shown.append(("total", total))
        width = max(len(name) for name, _ in shown)
        lines = [f"{'step':<{width}}  seconds    share"]
        for name, seconds in shown:
            share = 100 * seconds / total if total else 0.0
            lines.append(f"{name:<{width}}  {seconds:7.4f}  {share:5.1f} %")
        return "\n".join(lines) + "\n"


def _sums(rows: dict[tuple[str, ...], float]) -> list[tuple[tuple[str, ...], float]]:
    """Each step with what is inside it, in order; inner steps behind it."""
    found: dict[tuple[str, ...], float] = {}
    for names, seconds in rows.items():
        for depth in range(1, len(names) + 1):
            outer = names[:depth]
            found[outer] = found.get(outer, 0.0) + seconds
    order = {names: number for number, names in enumerate(found)}

    def place(names: tuple[str, ...]) -> list[int]:
        return [order[names[:depth]] for depth in range(1, len(names) + 1)]

    return [(names, found[names]) for names in sorted(found, key=place)]


def _by_name(rows: dict[tuple[str, ...], float]) -> list[tuple[str, float]]:
    """The steps themselves, those of one name together, the longest first."""
    found: dict[str, float] = {}
    for names, seconds in rows.items():
        found[names[-1]] = found.get(names[-1], 0.0) + seconds
    return sorted(found.items(), key=lambda row: -row[1])
