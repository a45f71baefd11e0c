"""
What the ops of a vector group keep in UB at once, with tiles of some size.

The tile pass emits a group's ops in their order: a value is loaded where it is first
read. In phases, what a loop loads or stores has two slots that live as long as the
loop, and row values stay for later phases; all of them are taken together. Of a product
that is split over K the parts are loaded, and added. In a mixed group each accumulator
that vector ops read has a slot of its own all the time; where the product is of another
type, such as f32 from i32, they make a tile of that first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.reduce import CumsumOp
from pyptoc.dialects.pypto.shape import ArangeOp, AssembleOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_types import element_bits, tile_bytes
from pyptoc.passes.groups import FOLD, Group
from pyptoc.passes.live_bytes import LiveBytes
from pyptoc.passes.partials import part_count
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import is_one, is_reduction, is_row_value, tensor_operands
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.typed import element_type
from pyptoc.passes.windows import window_of

UB = "ub"


@record
class Made:
    """An op of a group: what it reads, and what it makes."""

    op: Operation
    reads: Sequence[SSAValue]
    results: Sequence[SSAValue]


@record
class Crossing:
    """An accumulator that vector cores take over."""

    values: Sequence[SSAValue]
    """The windows of the product that the group reads, all of them the same box."""
    element: Attribute
    """What L0C holds: i32 or f32."""

    @property
    def is_cast(self) -> bool:
        """Whether the product is of another type."""
        return element_type(self.values[0]) != self.element


@record
class GroupBytes:
    """The values of a group and their tiles."""

    group: Group
    shapes: Shapes
    crossing: Sequence[Crossing] = field(default_factory=tuple)
    """The accumulators that vector cores take over."""

    @cached_property
    def ops(self) -> list[Made]:
        """The ops in their order."""
        return [Made(op, tensor_operands(op), results_of(op)) for op in self.group.ops]

    @cached_property
    def on_chip(self) -> set[SSAValue]:
        """The values that come from accumulators."""
        return {value for crossing in self.crossing for value in crossing.values}

    @cached_property
    def in_slots(self) -> set[SSAValue]:
        """Those that are read where the channel has them."""
        plain = (crossing for crossing in self.crossing if not crossing.is_cast)
        return {value for crossing in plain for value in crossing.values}

    @cached_property
    def last(self) -> dict[SSAValue, int]:
        """The position of the last op of the group that reads a value."""
        return {v: i for i, made in enumerate(self.ops) for v in made.reads}

    @cached_property
    def made(self) -> set[SSAValue]:
        """The values that the group computes."""
        return {value for made in self.ops for value in made.results}

    @cached_property
    def loaded(self) -> list[SSAValue]:
        """The values that tasks load, in the order of their first use."""
        used = dict.fromkeys(value for made in self.ops for value in made.reads)
        return [v for v in used if v not in self.made and v not in self.on_chip]

    @cached_property
    def stored(self) -> list[SSAValue]:
        """The values that tasks store."""
        ends = (op.source for op in self.group.ops if isinstance(op, AssembleOp))
        outputs = [value for value in self.group.outputs if value in self.made]
        return list(dict.fromkeys((*ends, *outputs)))

    @cached_property
    def bits(self) -> list[int]:
        """The widths of the element types that the group works on."""
        values = [v for op in self.group.ops for v in (*op.results, *op.operands)]
        return [
            element_bits(element_type(v))
            for v in values
            if isinstance(v.type, TensorType)
        ]

    @cached_property
    def split(self) -> set[SSAValue]:
        """The windows of products that split-k will cut."""
        return {value for value in self.loaded if self._is_split(value)}

    @cached_property
    def _parts(self) -> dict[SSAValue, int]:
        """The parts of row values that the group folds: how many a row."""
        return {
            op.operands[0]: max(part_count(op.operands[0], self.shapes), 1)
            for op in self.group.ops
            if FOLD in op.attributes
        }

    @cached_property
    def _forms(self) -> dict[SSAValue, tuple[bool, bool]]:
        return {}

    def form(self, value: SSAValue) -> tuple[bool, bool]:
        """Whether a value has the rows, and the columns, of a tile."""
        found = self._forms.get(value)
        if found is None:
            dims = self.shapes.dims(value)
            tall = len(dims) >= 2 and not is_one(dims, -2)
            found = self._forms[value] = tall, not is_row_value(dims)
        return found

    def _is_split(self, value: SSAValue) -> bool:
        """Whether `value` is a window of a product that split-k will cut."""
        base = window_of(value, self.shapes).base
        tile = base.op.attributes.get(TILE) if isinstance(base, OpResult) else None
        return isinstance(tile, CubeTileAttr) and tile.split_k > 1

    def tile_bytes(
        self, value: SSAValue, rows: int, columns: int, element: Attribute | None = None
    ) -> int:
        """What a tile of `value` takes in a task of so many rows and columns.

        element: its type, if not that of the value.
        """
        tall, wide = self.form(value)
        width = self._parts.get(value, columns if wide else 1)
        shape = rows if tall else 1, width
        return tile_bytes(shape, element or element_type(value), UB)

    def peak(self, rows: int, columns: int, *, phased: bool = False) -> int:
        """Bytes of UB that are live at once in the worst place."""
        return _Tiles(self, rows, columns, phased).run()


@record(frozen=False)
class _Tiles:
    """The tiles of a group in one task."""

    values: GroupBytes
    rows: int
    columns: int
    phased: bool
    live: LiveBytes = field(default_factory=LiveBytes)

    def run(self) -> int:
        """Bytes live at once in the worst place."""
        values, end = self.values, len(self.values.ops)
        for crossing in values.crossing:
            self._cross(crossing, end)
        self.slots: set[SSAValue] = set()
        if self.phased:
            self.slots = {*values.loaded, *values.stored}
            for value in self.slots:
                count = 4 if value in values.split else 2
                self.live.keep(UB, count * self._bytes(value), 0, end)
        for here, made in enumerate(values.ops):
            for value in made.reads:
                self._load(value, here)
            for result in made.results:
                self._make(made, result, here)
        return self.live.peaks().get(UB, 0)

    def _cross(self, crossing: Crossing, end: int) -> None:
        first = crossing.values[0]
        size = self.values.tile_bytes(first, self.rows, self.columns, crossing.element)
        place = self.live.keep(UB, size, 0, end)
        if crossing.is_cast:
            last = max(self._last(value, 0) for value in crossing.values)
            place = self.live.keep(UB, self._bytes(first), 0, last)
        self.live.buffers |= dict.fromkeys(crossing.values, place)

    def _bytes(self, value: SSAValue) -> int:
        return self.values.tile_bytes(value, self.rows, self.columns)

    def _last(self, value: SSAValue, here: int) -> int:
        """Where a value ends; in phases a row value stays for the phases behind."""
        if self.phased and not self.values.form(value)[1]:
            return len(self.values.ops)
        return self.values.last.get(value, here)

    def _load(self, value: SSAValue, here: int) -> None:
        if value in self.live.buffers or value in self.values.made:
            return
        size, end = self._bytes(value), self._last(value, here)
        is_split = value in self.values.split
        if value not in self.slots or is_split:
            self.live.buffers[value] = self.live.keep(UB, size, here, end)
        if is_split and not self.phased:
            self.live.keep(UB, 2 * size, here, here)

    def _make(self, made: Made, result: SSAValue, here: int) -> None:
        op = made.op
        if self.phased and (is_reduction(op) or isinstance(op, CumsumOp)):
            # What a loop carries, with room for the next partial result.
            row = self.values.tile_bytes(op.results[0], self.rows, 1)
            self.live.keep(UB, 3 * row, 0, len(self.values.ops))
        if self.phased and isinstance(op, CumsumOp):
            # A column tile of a scan before the sum so far is added.
            self.live.keep(UB, self._bytes(result), here, here)
        if isinstance(op, ArangeOp):
            # Counted from 0, then moved to where the tile starts.
            self.live.keep(UB, self._bytes(result), here, here)
        if result in self.slots:
            return
        place = self.live.taken(
            op, made.reads, lambda v: self._ends(v, here) and self._fits(v, result)
        )
        last = self._last(result, here)
        if place is None:
            place = self.live.keep(UB, self._bytes(result), here, last)
        elif place.end <= here < last:
            # Of the operand's place only what the result takes is kept on.
            place = self.live.keep(UB, self._bytes(result), here + 1, last)
        self.live.buffers[result] = place

    def _ends(self, operand: SSAValue, here: int) -> bool:
        """Whether nothing behind reads an operand, or what lies in the same slot."""
        last, together = self.values.last, [operand]
        for crossing in self.values.crossing:
            together += crossing.values if operand in crossing.values else []
        return max(last[value] for value in together) <= here

    def _fits(self, operand: SSAValue, result: SSAValue) -> bool:
        """
        Whether a result may lie where an operand does, element by element.

        The slot of a channel has one element type.
        """
        values, types = self.values, (element_type(operand), element_type(result))
        if operand in values.in_slots and types[0] != types[1]:
            return False
        narrow = element_bits(types[1]) <= element_bits(types[0])
        return narrow and values.form(operand) == values.form(result)


def results_of(op: Operation) -> list[SSAValue]:
    """What an op makes a tile of; an assemble only stores one."""
    return [] if isinstance(op, AssembleOp) else list(op.results)
