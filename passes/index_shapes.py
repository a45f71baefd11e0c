"""
Sizes of what the indexing ops make, and how their dimensions belong together.

    pypto.gather_rows %x[R, W] at %i[N]        result [N, W]: dimension 0 is dimension 0
                                               of %i, dimension 1 is dimension 1 of %x
    pypto.gather %x[M, L], %i[M, K] axis -1    result [M, K]: dimension 1 is that of %i
                                               alone, dimension 0 that of both
    pypto.index_add %s into %y at %i axis 1    %s plays the part of the result

`Indexed` reads this off the structure of an op; tiles, kernels and accesses follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu_indexing import GatherOp as TileGatherOp
from pyptoc.dialects.npu_indexing import OneHotOp as TileOneHotOp
from pyptoc.dialects.npu_indexing import TopkOp as TileTopkOp
from pyptoc.dialects.pypto.indexing import (
    ArgsortOp,
    GatherOp,
    GatherRowsOp,
    IndexSelectOp,
    OneHotOp,
    TopkOp,
)
from pyptoc.dialects.pypto.scatters import (
    IndexAddOp,
    IndexPutOp,
    ScatterOp,
    ScatterRowsOp,
)
from pyptoc.dialects.pypto.structure import WHOLE
from pyptoc.dialects.record import record
from pyptoc.passes.typed import tensor_rank

if TYPE_CHECKING:
    from pyptoc.passes.shapes import Dims, Shapes

GATHERS = (GatherOp, GatherRowsOp, IndexSelectOp)
"""Ops that read a box for each index."""

SCATTERS = (IndexAddOp, IndexPutOp, ScatterOp, ScatterRowsOp)
"""Ops that write into a destination by indices."""

SELECTIONS = (TopkOp, ArgsortOp)
"""Ops that order the elements of rows."""


Scatter = IndexAddOp | IndexPutOp | ScatterOp | ScatterRowsOp
Selection = TopkOp | ArgsortOp


@record
class Indexed:
    """A gather or scatter: a memory, and a box of which each dimension is .."""

    memory: SSAValue
    axes: tuple[int, ...]
    """The dimensions of the memory that the indices select."""
    indices: tuple[SSAValue, ...]
    """Those of each axis."""
    memory_dims: tuple[int | None, ...]
    """.. one of the memory, if it is not selected,"""
    index_dims: tuple[int | None, ...]
    """.. and one of the tensor of indices, if they differ along it."""
    table: SSAValue | None = None
    page: int | None = None
    missing: int | None = None


def indexed(op: Operation) -> Indexed:
    """How a gather or scatter (in the form that decompose leaves) goes about it."""
    assert isinstance(op, GATHERS + SCATTERS)
    structure = op.structure()
    first, index, *_ = structure.reads
    scatters = isinstance(op, SCATTERS)
    memory = structure.writes[0] if scatters else first
    chosen = tuple(dim for dim, axis in enumerate(memory.axes) if axis == WHOLE)
    several = isinstance(op, IndexPutOp)
    missing = getattr(op, "skip" if scatters else "pad", None)
    page = getattr(op, "page", None)
    return Indexed(
        op.dest if scatters else op.source,
        chosen,
        tuple(op.indices) if several else (op.indices,),
        _inverse(memory.axes, structure.rank),
        _inverse(index.axes, structure.rank),
        getattr(op, "table", None),
        None if page is None else page.value.data,
        None if missing is None else missing.value.data,
    )


def _inverse(axes: Sequence[int | None], rank: int) -> tuple[int | None, ...]:
    """For each axis the dimension that lies along it."""
    dims = {axis: dim for dim, axis in enumerate(axes)}
    return tuple(dims.get(axis) for axis in range(rank))


def per_of(access: Indexed) -> str:
    """What of a box (the last two dimensions) each index is for."""
    *_, row, column = (None, None, *access.index_dims)
    if row is not None and column is not None:
        return "element"
    if row is not None:
        return "row"
    return "box" if column is None else "column"


def scattered(shapes: Shapes, op: Scatter) -> Dims:
    """The sizes of the result of a scatter."""
    return shapes.dims(op.dest)


def selected(shapes: Shapes, op: Selection) -> Dims:
    """The sizes of the results of a top-k or a sorting."""
    dims = list(shapes.dims(op.source))
    if isinstance(op, TopkOp):
        dims[op.axis.value.data % len(dims)] = Expr.const(op.k.value.data)
    return tuple(dims)


def hot(shapes: Shapes, op: OneHotOp) -> Dims:
    """The sizes of a one-hot mask."""
    return (*shapes.dims(op.source)[:-1], Expr.const(op.size.value.data))


def boxed(shapes: Shapes, op: TileGatherOp | TileOneHotOp) -> Dims:
    """The sizes of the tile that a task gathers or marks."""
    extents = [shapes.mixed(extent) for extent in op.extents]
    return tuple(extents[2 - tensor_rank(op.results[0]) :])


def merged(shapes: Shapes, op: TileTopkOp) -> Dims:
    """The sizes of the lists of a top-k."""
    return shapes.dims(op.values)


RULES = {
    **dict.fromkeys(SCATTERS, scattered),
    **dict.fromkeys(SELECTIONS, selected),
    OneHotOp: hot,
    TileGatherOp: boxed,
    TileOneHotOp: boxed,
    TileTopkOp: merged,
}
"""Op class to the function that gives the sizes of its results."""
