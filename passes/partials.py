"""
Row values that each column tile computes a part of.

    %r = pypto.amax %x axis -1 {keepdim}                         [M, 1]
    %p = pypto.assemble %r into %p0[0, 0]    {npu.partial}       %p0 [M, 1]
    %m = pypto.amax %p axis -1 {keepdim, npu.fold}               another group

is what partition leaves: three ops that give the row's maximum. Once tiles are chosen,
`%p0` gets a column for each column tile (`widen`), the task of column tile %j stores
what it has at [%i, %j], and `%m` folds them, from the first to the last.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

from pyptoc.dialects.pypto.attrs import VecTileAttr
from pyptoc.dialects.pypto.reduce import ReductionOp
from pyptoc.dialects.pypto.shape import AssembleOp, EmptyOp
from pyptoc.passes.groups import PARTIAL
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.typed import element_type, tensor_type

LIKELY = 128
"""Columns of a tile that is not chosen yet."""


def partial_stores(function: func.FuncOp) -> Iterator[AssembleOp]:
    """The assembles that store a part of a row value."""
    for op in function.walk():
        if isinstance(op, AssembleOp) and PARTIAL in op.attributes:
            yield op


def part_count(parts: SSAValue, shapes: Shapes) -> int:
    """How many parts of a row `parts` will hold."""
    return column_tiles(store_behind(parts), shapes)


def store_behind(parts: SSAValue) -> AssembleOp:
    """The assemble that stores `parts`, perhaps in a loop."""
    while isinstance(parts, OpResult) and isinstance(parts.op, scf.ForOp):
        end = parts.op.body.block.last_op
        assert end is not None
        parts = end.operands[parts.index]
    assert isinstance(parts.owner, AssembleOp)
    return parts.owner


def column_tiles(store: AssembleOp, shapes: Shapes) -> int:
    """The column tiles of the group that stores parts of row values; before there are
    tiles, an estimate."""
    tile = store.attributes.get(TILE)
    fold = store.source.owner
    assert isinstance(fold, ReductionOp)
    columns = shapes.dims(fold.source)[-1].value
    width = tile.sizes[-1] if isinstance(tile, VecTileAttr) else LIKELY
    return -(-columns // width)


def widen(function: func.FuncOp) -> None:
    """Give each tensor of parts a column for each column tile."""
    for store in list(partial_stores(function)):
        count = column_tiles(store, Shapes()) if TILE in store.attributes else 1
        if count > 1:
            _widen(store, count)


def _widen(store: AssembleOp, count: int) -> None:
    """Retype the destination of `store`, through the loops that carry it."""
    dest: SSAValue = store.dest
    _retype(store.result, count)
    while isinstance(dest, BlockArgument):
        loop = dest.block.parent_op()
        assert isinstance(loop, scf.ForOp)
        _retype(dest, count)
        _retype(loop.results[dest.index - 1], count)
        dest = loop.iter_args[dest.index - 1]
    empty = dest.owner
    assert isinstance(empty, EmptyOp)
    sizes = [*empty.mixed_sizes[:-1], count]
    new = EmptyOp.make(sizes, result_type=element_type(dest))
    new.location = empty.location
    block = empty.parent
    assert block is not None
    block.insert_op_before(new, empty)
    dest.replace_all_uses_with(new.results[0])
    empty.detach()
    empty.erase()


def _retype(value: SSAValue, count: int) -> None:
    old = tensor_type(value)
    type_: TensorType[Attribute] = TensorType(
        old.element_type, [*old.get_shape()[:-1], count]
    )
    value._type = type_  # pyright: ignore[reportPrivateUsage]
