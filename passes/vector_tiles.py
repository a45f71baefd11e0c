"""
Vector tiles: what of a group is live in UB at once, and a simple legal choice.

The tile pass emits a group's ops in their order, so the peak of live bytes along that
order is what plan-memory has to place. A group that folds rows is taken with whole
rows if they fit; else it runs in phases over column tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult, SSAValue

from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.reduce import CumsumOp
from pyptoc.dialects.pypto.shape import ArangeOp, AssembleOp
from pyptoc.dialects.tile_types import BufType, bytes_of, element_bits
from pyptoc.passes.cube_tiles import round_up
from pyptoc.passes.groups import FOLD, Domain, Group, column_bound
from pyptoc.passes.partials import part_count
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import is_one, is_reduction, tensor_operands
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.typed import element_type
from pyptoc.passes.windows import window_of
from pyptoc.runtime.machine import Machine

MAX_ROWS = 64
MAX_COLUMNS = 8192
FILL = 0.85
"""Share of UB that a choice may fill: placing unequal buffers leaves holes."""


@dataclass(frozen=True)
class VectorTile:
    """Rows and columns of a tile; `phased`: rows are visited in column tiles."""

    rows: int
    columns: int
    phased: bool


@dataclass(frozen=True)
class VectorChooser:
    """Chooses the tile of one vector group."""

    group: Group
    domain: Domain
    shapes: Shapes
    machine: Machine

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
                    kept += size if phased and self._is_row(value) else 0
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

    def _is_row(self, value: SSAValue) -> bool:
        dims = self.shapes.dims(value)
        return not dims or is_one(dims, -1)

    def tile_bytes(self, value: SSAValue, rows: int, columns: int) -> int:
        """What a tile of `value` takes in a task of so many rows and columns."""
        dims = self.shapes.dims(value)
        height = 1 if len(dims) < 2 or is_one(dims, -2) else rows
        width = 1 if not dims or is_one(dims, -1) else columns
        if value in self._parts:
            width = self._parts[value]
        return bytes_of(BufType((height, width), element_type(value), "ub"))


def _results(op: Operation) -> list[SSAValue]:
    return [] if isinstance(op, AssembleOp) else list(op.results)
