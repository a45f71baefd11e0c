"""
Indexing in a task's body becomes instructions that read their places from UB.

    %it = npu.load %i[%r +: %m]                          indices, as one row of a buffer
    %b = npu.gather %x[0, 0] of %n at %it[%r] [%m, 512] {per = "row", ..}
    npu.store %b into %y[%r, 0]
    ->
    tile.load %i[%r] [1, %m] into %ib
    tile.gather %x[0, 0] of %n at %ib[%r] [%m, 512] into %db {per = "row", ..}
    tile.store %db [%m, 512] into %y[%r, 0]

The lists of a top-k are updated in place, wherever they are carried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from pyptoc.dialects import tile
from pyptoc.dialects.npu_indexing import GatherOp, OneHotOp, ScatterOp, TopkOp
from pyptoc.dialects.tile_indexing import scratch_columns
from pyptoc.dialects.tile_types import BufType, buffer_type
from pyptoc.passes.builder import Builder
from pyptoc.passes.kernel_body import Tile, buffer_type_of

if TYPE_CHECKING:
    from pyptoc.passes.lower_vector import VectorBody


def lower_index(body: VectorBody, op: Operation) -> bool:
    """Emit the instruction of an indexing op; False if `op` is none."""
    match op:
        case GatherOp():
            _gather(body, op)
        case ScatterOp():
            _scatter(body, op)
        case TopkOp():
            _topk(body, op)
        case OneHotOp():
            _one_hot(body, op)
        case _:
            return False
    return True


def _gather(body: VectorBody, op: GatherOp) -> None:
    result = op.results[0]
    buffer = body.slotted(op, buffer_type_of(result.type, "ub"))
    new = tile.GatherOp.of(
        op.memory,
        op.mixed_offsets,
        op.limits,
        [body.tiles[indices].buffer for indices in op.all_indices],
        op.mixed_positions,
        op.extents,
        op.copied_properties(),
        table=op.lookup,
        data=buffer,
    )
    Builder.before(op).emit(new)
    rows, columns = op.extents
    body.tiles[result] = Tile(buffer, rows, columns)


def _scatter(body: VectorBody, op: ScatterOp) -> None:
    assert op.data is not None
    new = tile.ScatterOp.of(
        op.memory,
        op.mixed_offsets,
        op.limits,
        [body.tiles[indices].buffer for indices in op.all_indices],
        op.mixed_positions,
        op.extents,
        op.copied_properties(),
        data=body.tiles[op.data].buffer,
    )
    Builder.before(op).emit(new)


def _topk(body: VectorBody, op: TopkOp) -> None:
    lists = [body.tiles[value] for value in op.lists]
    source = body.tiles[op.source]
    columns = buffer_type(source.buffer).columns
    words = scratch_columns(buffer_type(lists[0].buffer).columns, columns)
    scratch = body.allocate(op, BufType((1, words), i32, "ub"))
    new = tile.TopkOp.of(
        source.buffer,
        op.mixed_bounds,
        [held.buffer for held in lists],
        op.copied_properties(),
        lengths=None if op.lengths is None else body.tiles[op.lengths].buffer,
        after=[body.tiles[value].buffer for value in op.after],
        scratch=scratch,
        extents=[*source.extents, lists[0].columns],
    )
    Builder.before(op).emit(new)
    for result, held in zip(op.results, lists, strict=True):
        body.tiles[result] = held


def _one_hot(body: VectorBody, op: OneHotOp) -> None:
    source = body.tiles[op.source]
    rows, columns = op.extents
    dest = body.result_tile(op, (rows, columns))
    new = tile.OneHotOp.make(
        source.buffer, op.first, dest.buffer, [rows, columns, source.columns]
    )
    Builder.before(op).emit(new)
