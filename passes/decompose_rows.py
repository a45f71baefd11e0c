"""
Rows and elements by number in one form: few dimensions, f32 sums.

    %c = pypto.scatter_rows %r into %cache at %slot {rows = [0, 1, 2]}
        : tensor<?x512xi8>, tensor<?x128x1x512xi8>, tensor<?xi64>
    ->
    %0 = pypto.reshape %cache[-1, 512]
    %1 = pypto.scatter_rows %r into %0 at %slot
    %c = pypto.reshape %1[-1, 128, 1, 512]

Reshapes make no copy where the tensor is contiguous: those of a view stay away as far
as possible. What adds up f16 or bf16 converts to f32 and back, so that it rounds once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.attrs import VecTileAttr
from pyptoc.dialects.pypto.indexing import GatherRowsOp
from pyptoc.dialects.pypto.scatters import (
    IndexAddOp,
    IndexPutOp,
    ScatterOp,
    ScatterRowsOp,
)
from pyptoc.passes import index_obligations
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps
from pyptoc.passes.typed import element_type, tensor_rank
from pyptoc.passes.windows import is_view

Putting = TypeVar("Putting", bound=IndexAddOp | IndexPutOp | ScatterOp)


def gather_rows(op: GatherRowsOp, shapes: Shapes) -> None:
    """Rows of one dimension for a vector of indices, where that is free."""
    step = Steps.replacing(op, shapes, op.source)
    rows, at = shapes.dims(op.source), shapes.dims(op.indices)
    source, indices = op.source, op.indices
    if tensor_rank(source) != 2 and not is_view(source):
        source = step.reshape(source, [rows[0], product(rows[1:])])
    if tensor_rank(indices) == 0 or (tensor_rank(indices) > 1 and not is_view(indices)):
        indices = step.reshape(indices, [product(at)])
    if source is op.source and indices is op.indices:
        return
    fields = kept(op, "page", "pad")
    if op.table is not None:
        fields["table"] = op.table
    if indices is not op.indices:
        indices.name_hint = op.indices.name_hint
    taken = emit_tiled(step, GatherRowsOp.make(source, indices, **fields))
    step.finish([step.reshape(taken, [*at, *rows[1:]])])


def scatter_rows(op: ScatterRowsOp, shapes: Shapes) -> None:
    """Rows of one dimension into a matrix."""
    leading = 1 if op.rows is None else len(op.rows.data)
    shape, at = shapes.dims(op.dest), shapes.dims(op.indices)
    size, width = product(shape[:leading]), product(shape[leading:])
    count = product(at)
    rows = shapes.dims(op.source)
    fits = len(rows) == 2 and len(at) == 1 and rows[1] == width
    if fits and len(shape) == 2 and leading == 1:
        return
    step = Steps.replacing(op, shapes, op.dest)
    step.owe(index_obligations.scatter_rows(op))
    indices = op.indices
    if tensor_rank(indices) != 1:
        indices = step.reshape(indices, [count])
        indices.name_hint = op.indices.name_hint
    source = op.source if fits else step.reshape(op.source, [count, width])
    dest = step.reshape(op.dest, [size, width])
    dest.name_hint = op.dest.name_hint
    fields = kept(op, "skip", "unique")
    written = emit_tiled(step, ScatterRowsOp.make(source, dest, indices, **fields))
    step.finish([step.reshape(written, shape)])


def index_put(op: IndexPutOp, shapes: Shapes) -> None:
    """The dimensions without indices become one, where that is free; f32 sums."""
    count = len(op.indices)
    shape, rows = shapes.dims(op.dest), shapes.dims(op.source)
    if len(rows) <= 2 or is_view(op.dest) or is_view(op.source):
        index_add(op, shapes)
        return
    step = Steps.replacing(op, shapes, op.dest)
    step.owe(index_obligations.index_put(op))
    width = product(shape[count:])
    source = step.reshape(op.source, [rows[0], width])
    dest = step.reshape(op.dest, [*shape[:count], width])
    put = rebuilt(op, source, dest)
    step.finish([step.reshape(emit_tiled(step, put), shape)])
    index_add(put, shapes)


def index_add(op: IndexAddOp | IndexPutOp | ScatterOp, shapes: Shapes) -> None:
    """f16 and bf16 are added in f32 and rounded once."""
    element = element_type(op.dest)
    if not isinstance(element, BFloat16Type | Float16Type):
        return
    if not isinstance(op, IndexAddOp) and not kept(op, "add", "accumulate"):
        return
    step = Steps.replacing(op, shapes, op.source)
    put = rebuilt(op, step.f32(op.source), step.f32(op.dest))
    step.finish([step.cast(emit_tiled(step, put), element)])


def rebuilt(op: Putting, source: SSAValue, dest: SSAValue) -> Putting:
    """`op` with another source and destination."""
    operands = [source, dest, *op.operands[2:]]
    return type(op).create(
        operands=operands, properties=dict(op.properties), result_types=[dest.type]
    )


def emit_tiled(step: Steps, op: Operation) -> SSAValue:
    """`op` with the tile of the op that it replaces, as far as its rank goes."""
    result = step.emit(op)
    tile = step.op.attributes.get("tile")
    if isinstance(tile, VecTileAttr):
        op.attributes["tile"] = VecTileAttr(tile.sizes[-tensor_rank(result) :])
    return result


def kept(op: Operation, *names: str) -> dict[str, Any]:
    """Those of the properties `names` that an op has."""
    return {name: op.properties[name] for name in names if name in op.properties}


def product(dims: Sequence[Expr]) -> Expr:
    """The number of elements of a box."""
    total = Expr.const(1)
    for dim in dims:
        total = total * dim
    return total
