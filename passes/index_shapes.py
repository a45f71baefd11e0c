"""
Sizes of what the indexing ops make, and how their dimensions belong together.

    pypto.gather_rows %x[R, W] at %i[N]        result [N, W]: dimension 0 is dimension 0
                                               of %i, dimension 1 is dimension 1 of %x
    pypto.gather %x[M, L], %i[M, K] axis -1    result [M, K]: dimension 1 is that of %i
                                               alone, dimension 0 that of both
    pypto.index_add %s into %y at %i axis 1    %s plays the part of the result

`Indexed` says this once for all of them; tiles, kernels and their accesses follow.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    IndexAddOp,
    IndexPutOp,
    IndexSelectOp,
    OneHotOp,
    ScatterOp,
    ScatterRowsOp,
    TopkOp,
)
from pyptoc.passes.typed import tensor_type

if TYPE_CHECKING:
    from pyptoc.passes.shapes import Dims, Shapes

GATHERS = (GatherOp, GatherRowsOp, IndexSelectOp)
"""Ops that read a box for each index."""

SCATTERS = (IndexAddOp, IndexPutOp, ScatterOp, ScatterRowsOp)
"""Ops that write into a destination by indices."""

SELECTIONS = (TopkOp, ArgsortOp)
"""Ops that order the elements of rows."""

INDEXING = (*GATHERS, *SCATTERS, *SELECTIONS, OneHotOp)
"""Ops that make a group, and a task, of their own."""


Scatter = IndexAddOp | IndexPutOp | ScatterOp | ScatterRowsOp
Selection = TopkOp | ArgsortOp


@dataclass(frozen=True)
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
    match op:
        case GatherRowsOp():
            rank, rows = _rank(op.indices), _rank(op.source) - 1
            return Indexed(
                op.source,
                (0,),
                (op.indices,),
                (*[None] * rank, *range(1, rows + 1)),
                (*range(rank), *[None] * rows),
                op.table,
                None if op.page is None else op.page.value.data,
                None if op.pad is None else op.pad.value.data,
            )
        case GatherOp() | ScatterOp():
            memory = op.dest if isinstance(op, ScatterOp) else op.source
            rank = _rank(memory)
            axis = op.axis.value.data % rank
            dims = tuple(None if dim == axis else dim for dim in range(rank))
            return Indexed(memory, (axis,), (op.indices,), dims, tuple(range(rank)))
        case IndexSelectOp() | IndexAddOp():
            axis = op.axis.value.data % _rank(op.source)
            memory = op.dest if isinstance(op, IndexAddOp) else op.source
            return _along(memory, axis, op.indices)
        case ScatterRowsOp():
            missing = None if op.skip is None else op.skip.value.data
            return _along(op.dest, 0, op.indices, missing)
        case IndexPutOp():
            count, rank = len(op.indices), _rank(op.dest)
            inner = range(count, rank)
            return Indexed(
                op.dest,
                tuple(range(count)),
                tuple(op.indices),
                (None, *inner),
                (0, *[None for _ in inner]),
            )
        case _:
            raise TypeError(f"{op.name} is no gather and no scatter")


def per_of(access: Indexed) -> str:
    """What of a box (the last two dimensions) each index is for."""
    *_, row, column = (None, None, *access.index_dims)
    if row is not None and column is not None:
        return "element"
    if row is not None:
        return "row"
    return "box" if column is None else "column"


def _along(
    memory: SSAValue, axis: int, indices: SSAValue, missing: int | None = None
) -> Indexed:
    """A vector of indices along one axis."""
    rank = _rank(memory)
    dims = tuple(None if dim == axis else dim for dim in range(rank))
    index = tuple(0 if dim == axis else None for dim in range(rank))
    return Indexed(memory, (axis,), (indices,), dims, index, missing=missing)


def _rank(value: SSAValue) -> int:
    return tensor_type(value).get_num_dims()


def gathered(shapes: Shapes, op: GatherOp | GatherRowsOp | IndexSelectOp) -> Dims:
    """The sizes of the result of a gather."""
    access = indexed(op)
    memory, index = shapes.dims(access.memory), shapes.dims(access.indices[0])
    sizes: list[Expr] = []
    for dim, own in zip(access.memory_dims, access.index_dims, strict=True):
        given = [] if dim is None else [memory[dim]]
        given += [] if own is None else [index[own]]
        known = [size for size in given if size.is_const]
        sizes.append((known or given)[0])
    return tuple(sizes)


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
    return tuple(extents[2 - _rank(op.results[0]) :])


def merged(shapes: Shapes, op: TileTopkOp) -> Dims:
    """The sizes of the lists of a top-k."""
    return shapes.dims(op.values)


RULES = {
    **dict.fromkeys(GATHERS, gathered),
    **dict.fromkeys(SCATTERS, scattered),
    **dict.fromkeys(SELECTIONS, selected),
    OneHotOp: hot,
    TileGatherOp: boxed,
    TileOneHotOp: boxed,
    TileTopkOp: merged,
}
"""Op class to the function that gives the sizes of its results."""
