"""
Tiles of indexing ops: what their tasks keep in UB, and the largest tile that fits.

A gather or scatter moves boxes of rows and columns; what holds indices lies beside the
box. A selection (top-k, argsort) visits its rows in tiles of columns, with lists of the
first, and a place to merge in, beside them. Lists hold `MAX_KEPT` elements at most: of
more, one part after the other is selected, each by a visit of the row. A given vector
tile is an upper bound.

A scatter keeps the order of its rows, so that its columns are what cores can share.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.indexing import OneHotOp
from pyptoc.dialects.tile_indexing import scratch_columns
from pyptoc.dialects.tile_types import element_bits, tile_bytes
from pyptoc.passes.index_shapes import (
    SCATTERS,
    SELECTIONS,
    Selection,
    indexed,
    per_of,
    selected,
)
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.typed import element_type
from pyptoc.passes.vector_tiles import FILL, MAX_COLUMNS, MAX_ROWS, VectorTile
from pyptoc.runtime.machine import Machine

MAX_MERGED = 2048
"""Columns that a selection merges at once, if nothing else is asked for."""

MAX_KEPT = 2048
"""Elements that a selection keeps at once."""

LEAST_ROW = 512
"""Bytes of a row that a task of a scatter moves: of shorter pieces each is too slow."""


def tiled_value(op: Operation) -> SSAValue:
    """The tensor that the tasks of an indexing op divide."""
    if isinstance(op, (*SELECTIONS, *SCATTERS)):
        return op.operands[0]
    return op.results[0]


def choose(
    op: Operation, shapes: Shapes, machine: Machine, given: tuple[int, ...] | None
) -> VectorTile | None:
    """The largest tile within `given` that fits UB; None if none does."""
    dims = shapes.dims(tiled_value(op))
    unit = 256 // element_bits(element_type(tiled_value(op)))
    *outer, most = given or (MAX_ROWS, MAX_COLUMNS)
    if isinstance(op, SELECTIONS) and not given:
        most = MAX_MERGED
    if isinstance(op, SCATTERS) and not given and per_of(indexed(op)) == "row":
        most = min(most, _share(dims, unit, machine))
    rows = _within(dims, -2, outer[-1] if outer else 1)
    columns = _within(dims, -1, most)
    need = _need(op, shapes)
    capacity = machine.space("ub").bytes * FILL
    while columns >= 1:
        for count in _halves(rows):
            if need(count, columns) <= capacity:
                return VectorTile(count, columns, False)
        if columns <= unit:
            return None
        columns = max(unit, columns // 2 // unit * unit)
    return None


def _share(dims: Dims, unit: int, machine: Machine) -> int:
    """Columns of each vector core, in units of 32 bytes, if all have some of a row."""
    if len(dims) != 2 or not dims[-1].is_const:
        return MAX_COLUMNS
    each = -(-dims[-1].value // machine.vector_cores)
    return max(-(-each // unit), LEAST_ROW // 32) * unit


def _within(dims: Dims, axis: int, most: int) -> int:
    """`most`, or the size of an axis if it is known to be less."""
    if len(dims) < -axis:
        return 1
    size = dims[axis]
    return max(1, min(most, size.value)) if size.is_const else most


def _halves(rows: int) -> list[int]:
    """rows, rows / 2, ... 1"""
    found = [rows]
    while found[-1] > 1:
        found.append(found[-1] // 2)
    return found


def _need(op: Operation, shapes: Shapes) -> Callable[[int, int], int]:
    """Bytes that a task keeps in UB for a tile of rows and columns."""
    if isinstance(op, SELECTIONS):
        return lambda rows, columns: _selection_bytes(op, shapes, rows, columns)
    if isinstance(op, OneHotOp):
        return lambda rows, columns: _hot_bytes(op, shapes, rows, columns)

    access = indexed(op)
    per = per_of(access)
    indices = list(map(element_type, access.indices))

    def moved(rows: int, columns: int) -> int:
        # A scatter moves tile after tile through two slots each.
        box = _bytes(rows, columns, element_type(tiled_value(op)))
        if per == "element":
            return 2 * (box + sum(_bytes(rows, columns, each) for each in indices))
        count = {"row": rows, "column": columns}.get(per, 1)
        return 2 * (box + sum(_bytes(1, count, each) for each in indices))

    return moved


def kept_at_once(op: Selection, shapes: Shapes) -> int:
    """How many elements of a row the lists of a selection hold."""
    count: Expr = selected(shapes, op)[-1]
    return max(1, min(count.value, MAX_KEPT)) if count.is_const else MAX_KEPT


def _selection_bytes(op: Selection, shapes: Shapes, rows: int, columns: int) -> int:
    element, k = element_type(op.source), kept_at_once(op, shapes)
    loaded = 2 * _bytes(rows, columns, element) + _bytes(1, rows, i64)
    # The lists, those with pads, and those of the part before.
    lists = _bytes(rows, k, element) + _bytes(rows, k, i32)
    most = selected(shapes, op)[-1]
    copies = 2 if most.is_const and most.value <= k else 3
    scratch = _bytes(1, scratch_columns(k, columns), i32)
    return loaded + copies * lists + _bytes(rows, k, i1) + scratch


def indices_at_once(op: OneHotOp, shapes: Shapes) -> int:
    """How many of the indices of a row a one-hot looks at in one step."""
    size: Expr = shapes.dims(op.source)[-1]
    return max(1, min(size.value, 512)) if size.is_const else 512


def _hot_bytes(op: OneHotOp, shapes: Shapes, rows: int, columns: int) -> int:
    count = indices_at_once(op, shapes)
    indices = 2 * _bytes(rows, count, element_type(op.source))
    return indices + 3 * _bytes(rows, columns, i1)


def _bytes(rows: int, columns: int, element: Attribute) -> int:
    return tile_bytes((rows, columns), element, "ub")
