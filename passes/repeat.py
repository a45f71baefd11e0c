"""
How an op is repeated on the tile of a task.

Most ops are the same on tiles: their operands are tiles, the axis they fold or scan is
the last one. `REPEATS` has those that need to know where the tile lies, how large it
is, or what came before it:

    %m = pypto.mask_causal %s offset %r      ->   offset %r + (first row - first column)
    %n = pypto.arange[%n] : tensor<?xi32>    ->   arange of the tile, + first column
    %e = pypto.expand %x[-1, 64]             ->   as wide as the tile
    %c = pypto.cumsum %x axis -1             ->   + the sum of the tiles before
    %r = pypto.assemble %t into %d[%i, 0]    ->   a store at [%i + first row, ..]
    %m = pypto.amax %p {npu.fold}            ->   of the row's columns, all of them
    %y = pypto.mul_groups %x, %s group 128   ->   from the group of the first column on
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.expr import ZERO, Expr
from pyptoc.dialects.pypto.composite import MaskCausalOp
from pyptoc.dialects.pypto.elementwise import AddOp
from pyptoc.dialects.pypto.quantising import MulGroupsOp
from pyptoc.dialects.pypto.reduce import CumsumOp, ReductionOp, SumOp
from pyptoc.dialects.pypto.shape import ArangeOp, AssembleOp, ExpandOp, FullOp
from pyptoc.passes.groups import MARKS, PARTIAL
from pyptoc.passes.structured import is_one
from pyptoc.passes.task_builder import Extent, offsets_at
from pyptoc.passes.tile_settings import TILE

if TYPE_CHECKING:
    from pyptoc.passes.tile_vector import Scope

LAST = IntegerAttr(-1, i64)


def repeat(scope: Scope, op: Operation) -> None:
    """The same op on tiles."""
    operands = [
        scope.tile_of(value)
        if isinstance(value.type, TensorType)
        else scope.scalar(value)
        for value in op.operands
    ]
    _emit(scope, op, operands, last_axis(op))


def _emit(
    scope: Scope,
    op: Operation,
    operands: list[SSAValue],
    properties: dict[str, Attribute],
) -> None:
    copy = type(op).create(
        operands=operands,
        result_types=[scope.tile_type(result) for result in op.results],
        properties=properties,
        attributes=without_marks(op),
    )
    scope.body.build.emit(copy)
    copy.location = op.location
    for old, new in zip(op.results, copy.results, strict=True):
        new.name_hint = old.name_hint
        scope.define(old, new)


def leaf(scope: Scope, op: FullOp | ArangeOp) -> None:
    """What needs no operand is made where it is read."""
    scope.define(op.result, scope.tile_of(op.result))


def numbers(scope: Scope, type_: TensorType[Attribute], start: Expr) -> SSAValue:
    """The numbers from `start` on, along the last dimension; i32 by now."""
    build = scope.body.build
    tile = build.value(ArangeOp.make(scope.sizes(type_), result_type=type_))
    if start == ZERO:
        return tile
    return build.value(AddOp.make(tile, _scalar(scope, start)))


def mask(scope: Scope, op: MaskCausalOp) -> None:
    """The diagonal as this tile sees it."""
    rows, columns = scope.extents(op.source)[-2:]
    offset = scope.task.shapes.mixed(op.mixed_offset) + rows.lo - columns.lo
    properties = last_axis(op)
    properties.pop("static_offset", None)
    _emit(scope, op, [scope.tile_of(op.source), _scalar(scope, offset)], properties)


def expand(scope: Scope, op: ExpandOp) -> None:
    """Repeat the dimensions of size 1 as far as the tile goes."""
    type_ = scope.tile_type(op.result)
    source = scope.task.shapes.dims(op.source)
    sizes = scope.sizes(type_)
    for back in range(1, min(len(sizes), len(source)) + 1):
        if not is_one(source, -back):
            sizes[-back] = -1
    tile = ExpandOp.make(scope.tile_of(op.source), sizes, result_type=type_)
    scope.define(op.result, scope.body.build.value(tile))


def scan(scope: Scope, op: CumsumOp) -> None:
    """Running sums of a tile; in one of several of a row, on top of those before."""
    before = scope.sums.get(op)
    if before is None:
        repeat(scope, op)
        return
    tile, build = scope.tile_of(op.source), scope.body.build
    sums, whole = (
        build.value(
            kind.create(operands=[tile], result_types=[type_], properties=flags)
        )
        for kind, type_, flags in (
            (CumsumOp, tile.type, last_axis(op)),
            (SumOp, before.type, {"axis": LAST, "keepdim": UnitAttr()}),
        )
    )
    scope.define(op.result, build.value(AddOp.make(sums, before)))
    scope.sums[op] = build.value(AddOp.make(before, whole))


def fold_parts(scope: Scope, op: ReductionOp) -> None:
    """A row value from those of the column tiles, read where it is first needed."""
    count = scope.task.shapes.dims(op.source)[-1]
    places = [*scope.extents(op.source)[:-1], Extent(ZERO, count, count.value)]
    tile = scope.body.tile(op.source, places)
    if count.value > 1:
        type_ = scope.tile_type(op.result)
        fold = type(op).create(
            operands=[tile], result_types=[type_], properties=last_axis(op)
        )
        tile = scope.body.build.value(fold, op.result.name_hint)
    scope.define(op.result, tile)


def groups(scope: Scope, op: MulGroupsOp) -> None:
    """The groups that the columns of the tile are of."""
    start = scope.extents(op.source)[-1].lo
    assert start.is_const
    first = op.first.value.data + start.value // op.group.value.data
    operands = [scope.tile_of(op.source), scope.tile_of(op.scale)]
    properties = {**op.properties, "first": IntegerAttr(first, i64)}
    _emit(scope, op, operands, properties)


def store(scope: Scope, op: AssembleOp) -> None:
    """Into the destination of the task, at the offsets of the op and of the tile."""
    index = list(scope.task.outputs).index(op.result)
    base = tuple(scope.task.shapes.mixed(offset) for offset in op.mixed_offsets)
    offsets = offsets_at(scope.extents(op.source), base)
    if PARTIAL in op.attributes:
        offsets[-1] = scope.task.frame.grid[-1]
    tile, dest = scope.tile_of(op.source), scope.task.frame.outs[index]
    scope.body.assemble(tile, dest, offsets)


REPEATS: dict[type[Operation], Callable[[Scope, Any], None]] = {
    ArangeOp: leaf,
    AssembleOp: store,
    CumsumOp: scan,
    ExpandOp: expand,
    FullOp: leaf,
    MaskCausalOp: mask,
    MulGroupsOp: groups,
}
"""Ops that are not simply repeated."""


def _scalar(scope: Scope, expr: Expr) -> SSAValue:
    """An integer as an SSA value."""
    value = scope.body.index(expr)
    return value if isinstance(value, SSAValue) else scope.body.build.constant(value)


def without_marks(op: Operation) -> dict[str, Attribute]:
    """The attributes of `op` that still say something inside a task."""
    gone = (*MARKS, TILE, "tile")
    return {key: value for key, value in op.attributes.items() if key not in gone}


def last_axis(op: Operation) -> dict[str, Attribute]:
    """The properties of `op`; an axis, which is the last one, counted from the end."""
    properties = dict(op.properties)
    if "axis" in properties:
        properties["axis"] = LAST
    return properties
