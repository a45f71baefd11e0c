"""
Vector tiles: which fit UB, and which of them is fast.

What is live is in `group_bytes.py`. A group that folds rows is taken with whole rows if
they fit; else it runs in phases over column tiles, which loads rows again.

The largest tile within what the author gave is taken. Where nothing is given, another
one is taken if `vector_cost.py` says that it is at least 5 % faster: large tiles leave
cores without a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from math import prod

from xdsl.ir import SSAValue

from pyptoc.dialects.expr import ONE
from pyptoc.dialects.pypto.reduce import CumsumOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_types import element_bits, round_up
from pyptoc.passes.group_bytes import Crossing, GroupBytes, Made
from pyptoc.passes.groups import Domain, Group, column_bound, is_row_fold
from pyptoc.passes.shapes import Shapes, static_bound
from pyptoc.passes.structured import costed_as
from pyptoc.passes.tile_search import representative
from pyptoc.passes.typed import element_type
from pyptoc.passes.vector_cost import Moved, VectorCost, VectorWork, vector_cost
from pyptoc.runtime.machine import Machine

MAX_ROWS = 64
MAX_COLUMNS = 8192
ORDER = "the largest tile, unless another takes 5 % less; the others by time"
"""How candidates are ordered, as tables say it."""
FASTER = 0.95
"""What another tile than the largest may take of its time to be taken."""
FILL = 0.85
"""Share of UB that a choice may fill: placing unequal buffers leaves holes."""


@record
class VectorTile:
    """Rows and columns of a tile; `phased`: rows are visited in column tiles."""

    rows: int
    columns: int
    phased: bool


@record
class Candidate:
    """A tile that fits, and what it costs."""

    tile: VectorTile
    cost: VectorCost


@record
class VectorChooser:
    """Chooses the tile of one vector group."""

    group: Group
    domain: Domain
    shapes: Shapes
    machine: Machine
    trips: int = 1
    """How often loops around the group, which become axes of its grid, run."""

    crossing: Sequence[Crossing] = field(default_factory=tuple)
    """The accumulators of a mixed group that vector ops read."""

    @cached_property
    def values(self) -> GroupBytes:
        """What the group loads, makes and stores."""
        return GroupBytes(self.group, self.shapes, self.crossing)

    @property
    def column_unit(self) -> int:
        """Columns that fill 32 bytes of the group's narrowest element type."""
        return 256 // min(self.values.bits)

    def choose(self, given: tuple[int, ...] | None) -> VectorTile | None:
        """The tile to use, within `given`; None if none fits UB."""
        found = self.candidates(given)
        return found[0].tile if found else None

    def candidates(self, given: tuple[int, ...] | None) -> list[Candidate]:
        """Tiles that fit UB, the one to use first, then the fastest."""
        largest = self.largest(given)
        if largest is None:
            return []
        work = self.work()
        first = self._costed(largest, work)
        others = self._fewer(largest) if given else self._others(largest, work)
        others = [self._costed(tile, work) for tile in others]
        others.sort(key=lambda c: (c.cost.seconds, c.cost.tasks))
        if others and others[0].cost.seconds < FASTER * first.cost.seconds:
            return [others[0], *sorted([first, *others[1:]], key=_seconds)]
        return [first, *others]

    def _costed(self, tile: VectorTile, work: VectorWork) -> Candidate:
        sizes = (tile.rows, tile.columns)
        return Candidate(tile, vector_cost(work, sizes, tile.phased, self.machine))

    def _fewer(self, given: VectorTile) -> list[VectorTile]:
        """A given tile is an upper bound in a fused group: the same with fewer rows."""
        if len(self.group.ops) == 1:
            return []
        return [
            replace(given, rows=given.rows >> n) for n in range(1, 7) if given.rows >> n
        ]

    def _others(self, largest: VectorTile, work: VectorWork) -> list[VectorTile]:
        """Tiles with fewer rows, and, where rows may be cut, with fewer columns."""
        columns = [largest.columns]
        if not self.domain.whole_rows:
            unit, cores = self.column_unit, self.machine.vector_cores
            even = work.leading * work.rows * work.columns // cores // unit * unit
            lengths = {largest.columns >> n for n in range(1, 8)} | {even}
            fit = {max(unit, n // unit * unit) for n in lengths}
            columns += sorted(n for n in fit if n < largest.columns)
        share = -(-work.leading * work.rows // self.machine.vector_cores)
        found: list[VectorTile] = []
        for width in columns:
            most = self._clamp_rows(MAX_ROWS if self.domain.rows is not None else 1)
            best = self._largest(most, width, phased=largest.phased)
            if best is not None:
                rows = {best.rows >> n for n in range(7)} | {min(share, best.rows)}
                found += [replace(best, rows=n) for n in sorted(rows) if n]
        return [tile for tile in found if tile != largest]

    def work(self) -> VectorWork:
        """What the cost of the group depends on."""
        domain, values = self.domain, self.values
        ops = [made for made in values.ops if made.results]
        return VectorWork(
            prod(map(representative, domain.leading)) * self.trips,
            representative(domain.rows or ONE),
            representative(domain.columns),
            tuple(map(self._moved, values.loaded)),
            tuple(map(self._moved, values.stored)),
            tuple((costed_as(made.op), self._through(made)) for made in ops),
            sum(is_row_fold(m.op) or isinstance(m.op, CumsumOp) for m in ops),
            domain.whole_rows,
        )

    def _through(self, made: Made) -> Moved:
        """The largest tensor that an op reads or makes."""
        shapes = map(self._moved, (*made.reads, *made.results))
        return max(shapes, key=lambda s: (s.rows + s.columns, s.bytes))

    def _moved(self, value: SSAValue) -> Moved:
        tall, wide = self.values.form(value)
        return Moved(tall, wide, element_bits(element_type(value)) / 8)

    def largest(self, given: tuple[int, ...] | None) -> VectorTile | None:
        """The largest tile within `given` that fits UB; None if none does."""
        size = self.domain.columns
        total = static_bound(size)
        rows = MAX_ROWS if self.domain.rows is not None else 1
        columns = MAX_COLUMNS
        if given:
            *outer, columns = given
            rows = min(rows, outer[-1] if outer else 1)
        bound = column_bound(self.group.ops)
        given_columns = bool(given) or bool(bound)
        columns = min(columns, bound) if bound else columns
        rows = self._clamp_rows(rows)
        if total is not None and (not given_columns or total <= columns):
            whole = self._largest(rows, max(total, 1), phased=False)
            if whole is not None and (self.domain.whole_rows or total <= columns):
                return whole
        return self._cut(rows, columns, total)

    def _clamp_rows(self, rows: int) -> int:
        size = self.domain.rows
        if size is not None and size.is_const:
            return max(1, min(rows, size.value))
        return rows

    def _largest(self, rows: int, columns: int, *, phased: bool) -> VectorTile | None:
        """Halve the rows until the tile fits."""
        while rows >= 1:
            if self.fits(rows, columns, phased=phased):
                return VectorTile(rows, columns, phased)
            rows //= 2
        return None

    def _cut(self, rows: int, columns: int, total: int | None) -> VectorTile | None:
        unit = self.column_unit
        if total is not None:
            columns = min(columns, round_up(max(total, 1), unit))
        columns = max(unit, columns // unit * unit)
        phased = self.domain.whole_rows
        while columns >= unit:
            for count in (rows, min(rows, 16), min(rows, 4), 1):
                if self.fits(count, columns, phased=phased):
                    return VectorTile(count, columns, phased)
            columns = columns // 2 // unit * unit
        return None

    def fits(self, rows: int, columns: int, *, phased: bool) -> bool:
        """Whether the group's live buffers fit UB with tiles of this size."""
        capacity = self.machine.space("ub").bytes
        return self.peak(rows, columns, phased=phased) <= capacity * FILL

    def peak(self, rows: int, columns: int, *, phased: bool) -> int:
        """Bytes of UB that are live at once with tiles of this size."""
        return self.values.peak(rows, columns, phased=phased)


def _seconds(candidate: Candidate) -> float:
    return candidate.cost.seconds
