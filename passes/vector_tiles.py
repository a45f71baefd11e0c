"""
Vector tiles: what of a group is live in UB at once, and which tile is fast.

The tile pass emits a group's ops in their order, so the peak of live bytes along that
order is what plan-memory has to place. A group that folds rows is taken with whole
rows if they fit; else it runs in phases over column tiles, which loads rows again.

The largest tile within what the author gave is taken. Where nothing is given, another
one is taken if `vector_cost.py` says that it is at least 5 % faster: large tiles leave
cores without a task.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult, SSAValue

from pyptoc.dialects.expr import ONE
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.reduce import CumsumOp
from pyptoc.dialects.pypto.shape import ArangeOp, AssembleOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_types import BufType, bytes_of, element_bits, round_up
from pyptoc.passes.groups import FOLD, Domain, Group, column_bound
from pyptoc.passes.partials import part_count
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import (
    costed_as,
    is_one,
    is_reduction,
    is_row_value,
    tensor_operands,
)
from pyptoc.passes.tile_search import representative
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.typed import element_type
from pyptoc.passes.vector_cost import Moved, VectorCost, VectorWork, vector_cost
from pyptoc.passes.windows import window_of
from pyptoc.runtime.machine import Machine

MAX_ROWS = 64
MAX_COLUMNS = 8192
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

    @cached_property
    def _parts(self) -> dict[SSAValue, int]:
        """The parts of row values that the group folds: how many a row."""
        return {
            op.operands[0]: part_count(op.operands[0], self.shapes)
            for op in self.group.ops
            if FOLD in op.attributes
        }

    @property
    def column_unit(self) -> int:
        """Columns that fill 32 bytes of the group's narrowest element type."""
        values = [v for op in self.group.ops for v in (*op.results, *op.operands)]
        bits = [
            element_bits(element_type(v))
            for v in values
            if isinstance(v.type, TensorType)
        ]
        return 256 // min(bits)

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
        others = [] if given else self._others(largest, work)
        others = [self._costed(tile, work) for tile in others]
        others.sort(key=lambda c: (c.cost.seconds, c.cost.tasks))
        if others and others[0].cost.seconds < FASTER * first.cost.seconds:
            return [others[0], *sorted([first, *others[1:]], key=_seconds)]
        return [first, *others]

    def _costed(self, tile: VectorTile, work: VectorWork) -> Candidate:
        sizes = (tile.rows, tile.columns)
        return Candidate(tile, vector_cost(work, sizes, tile.phased, self.machine))

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
        domain, ops = self.domain, self.group.ops
        stored = self._moved() - self._loaded()
        return VectorWork(
            prod(map(representative, domain.leading)) * self.trips,
            representative(domain.rows or ONE),
            representative(domain.columns),
            tuple(map(self._shape, self._loaded())),
            tuple(map(self._shape, stored)),
            tuple((costed_as(op), self._through(op)) for op in ops if op.results),
            sum(is_reduction(op) or isinstance(op, CumsumOp) for op in ops),
            domain.whole_rows,
        )

    def _through(self, op: Operation) -> Moved:
        """The largest tensor that an op reads or makes."""
        values = [*tensor_operands(op), *_results(op)]
        shapes = [self._shape(value) for value in values]
        return max(shapes, key=lambda s: (s.rows + s.columns, s.bytes))

    def _shape(self, value: SSAValue) -> Moved:
        dims = self.shapes.dims(value)
        tall = len(dims) >= 2 and not is_one(dims, -2)
        wide = not is_row_value(dims)
        return Moved(tall, wide, element_bits(element_type(value)) / 8)

    def largest(self, given: tuple[int, ...] | None) -> VectorTile | None:
        """The largest tile within `given` that fits UB; None if none does."""
        size = self.domain.columns
        total = size.value if size.is_const else None
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
        """
        Bytes live at once in the worst place.

        In phases, what a loop loads or stores has two slots that live as long as the
        loop, and row values stay for later phases; all of them are taken together.
        A product that is split over K is loaded in parts, which are added.
        """
        ops = self.group.ops
        last = {v: i for i, op in enumerate(ops) for v in tensor_operands(op)}
        moved = self._moved() if phased else set[SSAValue]()
        split = {value for value in self._loaded() if self._is_split(value)}
        kept = sum(
            (4 if value in split else 2) * self.tile_bytes(value, rows, columns)
            for value in moved
        )
        kept += sum(self._accumulator(op, rows) for op in ops if phased)
        live: dict[SSAValue, int] = {}
        worst = kept
        for index, op in enumerate(ops):
            for value in (*tensor_operands(op), *_results(op)):
                if value not in live and (value not in moved or value in split):
                    size = live[value] = self.tile_bytes(value, rows, columns)
                    if value in split and not phased:
                        worst = max(worst, sum(live.values()) + 2 * size)
                    if isinstance(value.owner, ArangeOp):
                        # Counted from 0, then moved to where the tile starts.
                        worst = max(worst, kept + sum(live.values()) + size)
            spare = self._scanned(op, rows, columns) if phased else 0
            worst = max(worst, kept + spare + sum(live.values()))
            for value in list(live):
                if last.get(value, index) <= index:
                    size = live.pop(value)
                    if phased and is_row_value(self.shapes.dims(value)):
                        kept += size
        return worst

    def _made(self) -> set[SSAValue]:
        return {value for op in self.group.ops for value in _results(op)}

    def _loaded(self) -> set[SSAValue]:
        """The values that tasks load."""
        used = {value for op in self.group.ops for value in tensor_operands(op)}
        return used - self._made()

    def _moved(self) -> set[SSAValue]:
        """The values that tasks load or store."""
        ops = self.group.ops
        stored = {op.source for op in ops if isinstance(op, AssembleOp)}
        return self._loaded() | stored | (self._made() & set(self.group.outputs))

    def _is_split(self, value: SSAValue) -> bool:
        """Whether `value` is a window of a product that split-k will cut."""
        base = window_of(value, self.shapes).base
        tile = base.op.attributes.get(TILE) if isinstance(base, OpResult) else None
        return isinstance(tile, CubeTileAttr) and tile.split_k > 1

    def _accumulator(self, op: Operation, rows: int) -> int:
        """What a loop carries for `op`, with room for the next partial result."""
        if is_reduction(op) or isinstance(op, CumsumOp):
            return 3 * self.tile_bytes(op.results[0], rows, 1)
        return 0

    def _scanned(self, op: Operation, rows: int, columns: int) -> int:
        """A column tile of a scan before the sum so far is added."""
        if not isinstance(op, CumsumOp):
            return 0
        return self.tile_bytes(op.result, rows, columns)

    def tile_bytes(self, value: SSAValue, rows: int, columns: int) -> int:
        """What a tile of `value` takes in a task of so many rows and columns."""
        dims = self.shapes.dims(value)
        height = 1 if len(dims) < 2 or is_one(dims, -2) else rows
        width = 1 if is_row_value(dims) else columns
        if value in self._parts:
            width = self._parts[value]
        return bytes_of(BufType((height, width), element_type(value), "ub"))


def _seconds(candidate: Candidate) -> float:
    return candidate.cost.seconds


def _results(op: Operation) -> list[SSAValue]:
    return [] if isinstance(op, AssembleOp) else list(op.results)
