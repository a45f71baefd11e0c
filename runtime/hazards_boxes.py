"""
What of its buffers an instruction touches: the box of each operand.

A box is (row, column, rows, columns), the numbers of one execution; what is written is
always the top left corner. None: memory outside the core, or what is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from xdsl.ir import SSAValue

from pyptoc.dialects.assembly import Mixed
from pyptoc.dialects.tile_indexing import (
    GatherOp,
    IndexedTransfer,
    OneHotOp,
    ScatterOp,
    TopkOp,
)
from pyptoc.dialects.tile_matmul import MatmulMxOp, MatmulOp
from pyptoc.dialects.tile_mixed import PushOp
from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_transfer import LoadOp, StoreOp
from pyptoc.dialects.tile_types import BufType, Instruction, buffer_type
from pyptoc.dialects.tile_vector import Form, Shape, VectorOp

Box: TypeAlias = tuple[int, int, int, int]
Boxes: TypeAlias = tuple[Sequence[Box | None], Sequence[Box | None]]
"""Of what is read, and of what is written, as `reads()` and `writes()` list them."""
BoxFunction: TypeAlias = Callable[[Sequence[int]], Boxes]
"""From the values of `numbers_of`."""


def numbers_of(op: Instruction) -> list[Mixed]:
    """The numbers that say which boxes an instruction touches."""
    if isinstance(op, MoveOp):
        return [*op.extents, *op.mixed_offsets]
    if isinstance(op, MatmulOp | MatmulMxOp):
        given = op.accumulate
        return [*op.extents, int(given) if isinstance(given, bool) else given]
    return list(cast("Sequence[Mixed]", getattr(op, "extents", ())))


def corner(rows: int, columns: int) -> Box:
    return 0, 0, rows, columns


def boxes_of(op: Instruction) -> BoxFunction:
    """The function that gives the boxes of one execution of `op`."""
    for kind, function in _KINDS.items():
        if isinstance(op, kind):
            return lambda numbers: function(op, numbers)  # pyright: ignore[reportArgumentType]
    return lambda numbers: ([None] * len(op.reads()), [None] * len(op.writes()))


def _load(op: LoadOp, n: Sequence[int]) -> Boxes:
    return [None], [corner(*n)]


def _store(op: StoreOp, n: Sequence[int]) -> Boxes:
    scale = [] if op.scale is None else [corner(1, n[1])]
    return [corner(*n), *scale], [None]


def _move(op: MoveOp, n: Sequence[int]) -> Boxes:
    rows, columns, row, column = n
    if op.regroups_pairs:
        return [(row, column, rows, columns)], [corner(columns // 2, 2 * rows)]
    written = corner(columns, rows) if op.is_transposed else corner(rows, columns)
    return [(row, column, rows, columns)], [written]


def _matmul(op: MatmulOp | MatmulMxOp, n: Sequence[int]) -> Boxes:
    rows, columns, depth, accumulates = n
    reads = [corner(rows, depth), corner(depth, columns)]
    if isinstance(op, MatmulMxOp):
        scales = 2 * -(-depth // 64)
        reads += [corner(rows, scales), corner(columns, scales)]
    elif op.bias is not None:
        reads.append(corner(1, 0 if accumulates else columns))
    if op.accumulate is not False:
        reads.append(corner(rows if accumulates else 0, columns))
    return reads, [corner(rows, columns)]


def _vector(op: VectorOp, n: Sequence[int]) -> Boxes:
    rows, columns = n
    sizes = {
        Form.FULL: corner(rows, columns),
        Form.ROW: corner(rows, min(columns, 1)),
        Form.COL: corner(min(rows, 1), columns),
        Form.ONE: corner(min(rows, 1), min(columns, 1)),
    }
    if "group" in op.properties:
        first, count = op.groups
        sizes[Form.GROUP] = 0, first, rows, count
    inputs = [arg for arg in op.args if isinstance(arg, tuple)]
    reads = [sizes[form] for value, form in inputs if isinstance(value.type, BufType)]
    reduces = op.family.shape is Shape.ROW_REDUCTION
    return reads, [corner(rows, 1 if reduces else columns)]


def _topk(op: TopkOp, n: Sequence[int]) -> Boxes:
    rows, columns, kept = n
    lists = [corner(rows, kept)] * len(op.lists)
    lengths = [] if op.lengths is None else [corner(1, rows)]
    full = corner(rows, buffer_type(op.values).columns)
    scratch: list[Box | None] = [] if op.scratch is None else [None]
    reads = [corner(rows, columns), *lists, *lengths, *([full] * len(op.after))]
    return reads, [*lists, *scratch]


def _one_hot(op: OneHotOp, n: Sequence[int]) -> Boxes:
    rows, columns, count = n
    return [corner(rows, count)], [corner(rows, columns)]


def _lookups(op: IndexedTransfer, n: Sequence[int]) -> list[Box | None]:
    """Of the indices, and of the page table."""
    rows, columns = n
    some = min(rows, columns, 1)
    indices = {
        "element": corner(rows, columns),
        "row": corner(1, some * rows),
        "column": corner(1, some * columns),
        "box": corner(1, some),
    }[op.per.data]
    table: list[Box | None] = [] if op.table is None else [None]
    return [*([indices] * len(op.all_indices)), *table]


def _gather(op: GatherOp, n: Sequence[int]) -> Boxes:
    return [None, *_lookups(op, n)], [corner(*n)]


def _scatter(op: ScatterOp, n: Sequence[int]) -> Boxes:
    return [corner(*n), *_lookups(op, n)], [None]


def _push(op: PushOp, n: Sequence[int]) -> Boxes:
    return [corner(*n)], []


_KINDS = {
    LoadOp: _load,
    StoreOp: _store,
    MoveOp: _move,
    MatmulOp: _matmul,
    MatmulMxOp: _matmul,
    VectorOp: _vector,
    TopkOp: _topk,
    OneHotOp: _one_hot,
    GatherOp: _gather,
    ScatterOp: _scatter,
    PushOp: _push,
}


def values_of(op: Instruction) -> list[SSAValue]:
    """Of the numbers those that are not constant."""
    return [number for number in numbers_of(op) if isinstance(number, SSAValue)]
