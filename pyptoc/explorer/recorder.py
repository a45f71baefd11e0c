"""
Watches the passes: the IR after each, its operations, its time, its remarks.

A line of text is kept once, however many dumps it stands in, and a dump once, however
many passes leave it as it is. What a page holds is bounded: of a dump with more than
`MOST_ROWS` lines the first are kept, of a line its first `LONGEST_LINE` characters, and
when `MOST_CHARACTERS` are used up nothing more; the page says what is left out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Generic, TypeVar

from pyptoc.dialects.record import record
from pyptoc.explorer.located import LocatedText, Place, located_text
from pyptoc.manager import Watcher

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.command import Unit
    from pyptoc.dialects.context import PyptocContext
    from pyptoc.dialects.diagnostics import Diagnostic
    from pyptoc.options import Options
    from pyptoc.passes.base import PyptocPass

MOST_ROWS = 50_000
LONGEST_LINE = 4_000
MOST_CHARACTERS = 24_000_000
_ROW = 12
"""What a row of a dump takes in the page, in characters, beside the text itself."""

T = TypeVar("T", bound=Hashable)


class Table(Generic[T]):
    """Distinct values with a number each, in the order in which they came."""

    def __init__(self) -> None:
        self.numbers: dict[T, int] = {}

    def number(self, value: T) -> int:
        """The number of a value, from 0."""
        return self.numbers.setdefault(value, len(self.numbers))

    @property
    def values(self) -> list[T]:
        return list(self.numbers)


@record
class Dump:
    """A distinct text: numbers of its lines, and of the sets of their places."""

    lines: tuple[int, ...]
    places: tuple[int, ...]
    left_out: int
    """How many more lines there are."""


@record(frozen=False)
class Step:
    """One entry of the pipeline: the source, parsing it, or a pass."""

    name: str
    kind: str
    """source, parse, pass or failed."""
    dump: int
    """The number of the text after it; of a failed one, that before it."""
    changed: bool = False
    options: str = ""
    summary: str = ""
    seconds: float = 0.0
    """With verification."""
    ops: Counter[str] = field(default_factory=Counter[str])
    remarks: tuple[Diagnostic, ...] = ()


class Recorder(Watcher):
    """What the page shows of the passes; `start` is called with the parsed module."""

    def __init__(self, unit: Unit, context: PyptocContext, options: Options) -> None:
        self.unit, self.context, self.options = unit, context, options
        self.lines: Table[str] = Table()
        self.places: Table[Place] = Table()
        self.sets: Table[tuple[int, ...]] = Table()
        self.dumps: Table[Dump] = Table()
        self.steps: list[Step] = []
        self.last: LocatedText | None = None
        """The module after the last pass."""
        self.doing = "parse"
        """What runs now: where an error belongs."""
        self._characters = 0
        self._seen = 0
        self._seconds = 0.0
        self._started = 0.0

    def parsed(self, seconds: float) -> None:
        """Told how long it took to read and verify the source."""
        self._seconds = seconds

    def start(self, module: ModuleOp) -> None:
        """The source and the parsed module."""
        parsed = self._dump(self._text(module))
        written = self._dump(self._source())
        self.steps.append(Step("source", "source", written, True))
        step = Step(
            "parse", "parse", parsed, True, summary="the text as IR, with types"
        )
        self._finish(step, module)

    def before(self, each: PyptocPass, module: ModuleOp) -> None:
        """Remembers what the clock says."""
        self.doing = each.name
        self._started = time.perf_counter()

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        """Takes the text after a pass, which is verified by now."""
        self._seconds = time.perf_counter() - self._started
        dump = self._dump(self._text(module))
        changed = self._lines_of(dump) != self._lines_of(self.steps[-1].dump)
        options = str(each)[len(each.name) :]
        step = Step(each.name, "pass", dump, changed, options, each.summary)
        self._finish(step, module)
        self.doing = ""

    def ends_here(self) -> None:
        """What runs now has failed: the last entry, with the text before it."""
        if not self.steps:
            self.steps.append(
                Step("source", "source", self._dump(self._source()), True)
            )
        step = Step(self.doing, "failed", self.steps[-1].dump)
        step.remarks = self._new_remarks()
        self.steps.append(step)

    def _finish(self, step: Step, module: ModuleOp) -> None:
        step.seconds = self._seconds
        step.ops = Counter(op.name for op in module.walk())
        step.remarks = self._new_remarks()
        self.steps.append(step)

    def _new_remarks(self) -> tuple[Diagnostic, ...]:
        new = tuple(self.context.remarks[self._seen :])
        self._seen += len(new)
        return new

    def _lines_of(self, dump: int) -> Sequence[int]:
        return self.dumps.values[dump].lines

    def _text(self, module: ModuleOp) -> LocatedText:
        self.last = located_text(module, self.unit.name, self.options)
        return self.last

    def _source(self) -> LocatedText:
        """The source; a line has the places that are on it, or else those above."""
        by_line: dict[int, list[Place]] = {}
        for place in self.places.values:
            by_line.setdefault(place[0], []).append(place)
        lines = self.unit.text.split("\n")
        places: list[tuple[Place, ...]] = []
        above: list[Place] = []
        for number, line in enumerate(lines, 1):
            code = line.partition("//")[0].strip("{}() \t")
            above = by_line.get(number, above if code else [])
            places.append(tuple(sorted(above)))
        return LocatedText(lines, places, {})

    def _dump(self, text: LocatedText) -> int:
        lines, places = text.lines, text.places
        while lines and not lines[-1].strip():
            lines, places = lines[:-1], places[:-1]
        kept: list[int] = []
        for line in lines[:MOST_ROWS]:
            known = len(self.lines.numbers)
            if self._characters > MOST_CHARACTERS:
                break
            kept.append(self.lines.number(_short(line)))
            new = len(self.lines.numbers) > known
            self._characters += _ROW + new * min(len(line), LONGEST_LINE)
        sets = tuple(self._set(each) for each in places[: len(kept)])
        return self.dumps.number(Dump(tuple(kept), sets, len(lines) - len(kept)))

    def _set(self, places: Iterable[Place]) -> int:
        return self.sets.number(tuple(self.places.number(place) for place in places))


def _short(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} ... {len(line) - LONGEST_LINE:,} characters more"
