"""
What indexing ops owe besides legal indices: sizes that agree, and enough for top-k.

    %y = pypto.gather %x, %i axis -1      the other dimensions of %x and %i are equal
    %v, %i = pypto.topk %x k 8 axis -1    the axis has 8 elements, or there is a pad

Indices are data: whether they are legal is found out where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import ONE, Expr
from pyptoc.dialects.pypto.indexing import GatherOp, TopkOp
from pyptoc.dialects.pypto.scatters import (
    IndexAddOp,
    IndexPutOp,
    ScatterOp,
    ScatterRowsOp,
)
from pyptoc.passes.obligation import Obligation, pair, sizes_of, value_name


def _gather(op: GatherOp) -> Iterator[Obligation]:
    have, want = sizes_of(op.indices), sizes_of(op.source)
    axis = op.axis.value.data % len(want)
    for dim in range(len(want)):
        if dim != axis:
            yield pair((op.source, dim), (op.indices, dim), (want[dim], have[dim]))


def _index_add(op: IndexAddOp) -> Iterator[Obligation]:
    have, want = sizes_of(op.source), sizes_of(op.dest)
    axis = op.axis.value.data % len(want)
    for dim in range(len(want)):
        if dim == axis:
            sizes = (sizes_of(op.indices)[0], have[dim])
            yield pair((op.indices, 0), (op.source, dim), sizes)
        else:
            yield pair((op.dest, dim), (op.source, dim), (want[dim], have[dim]))


def _scatter(op: ScatterOp) -> Iterator[Obligation]:
    """Source and indices have one shape, the destination's but for the axis."""
    have, own, want = map(sizes_of, (op.source, op.indices, op.dest))
    axis = op.axis.value.data % len(want)
    for dim in range(len(want)):
        yield pair((op.indices, dim), (op.source, dim), (own[dim], have[dim]))
        if dim != axis:
            yield pair((op.dest, dim), (op.source, dim), (want[dim], have[dim]))


def index_put(op: IndexPutOp) -> Iterator[Obligation]:
    """One value for each place, of the dimensions without indices."""
    have, want = sizes_of(op.source), sizes_of(op.dest)
    for indices in op.indices:
        yield pair((indices, 0), (op.source, 0), (sizes_of(indices)[0], have[0]))
    leading = len(op.indices)
    for dim in range(leading, len(want)):
        own = dim - leading + 1
        yield pair((op.dest, dim), (op.source, own), (want[dim], have[own]))


def scatter_rows(op: ScatterRowsOp) -> Iterator[Obligation]:
    """Sizes of 1 aside, the rows are the indices' dimensions and those of a row."""
    leading = 1 if op.rows is None else len(op.rows.data)
    have = _numbered(op.source, 0)
    want = [*_numbered(op.indices, 0), *_numbered(op.dest, leading)]
    for (value, dim, size), (other, place, wanted) in zip(have, want, strict=True):
        yield pair((other, place), (value, dim), (wanted, size))


def _numbered(value: SSAValue, first: int) -> Sequence[tuple[SSAValue, int, Expr]]:
    """The dimensions from `first` on that are not of static size 1."""
    return [
        (value, dim, size)
        for dim, size in enumerate(sizes_of(value))
        if dim >= first and not (size.is_const and size.value == 1)
    ]


def _topk(op: TopkOp) -> Iterator[Obligation]:
    if op.lengths is not None:
        yield from _lengths(op, op.lengths)
    if op.pad_index is not None or op.lengths is not None:
        return
    k, sizes = op.k.value.data, sizes_of(op.source)
    size = sizes[op.axis.value.data % len(sizes)]
    message = f"topk of {{0}} elements of {value_name(op.source)} has no {k} greatest"
    yield Obligation("<=", Expr.const(k), size, message, (size,))


def _lengths(op: TopkOp, lengths: SSAValue) -> Iterator[Obligation]:
    """A length for each row: sizes of 1 aside, the source's but for the axis."""
    have, want = sizes_of(lengths), sizes_of(op.source)
    axis = op.axis.value.data % len(want)
    outer = [dim for dim in range(len(want)) if dim != axis][-len(have) :]
    for own, dim in enumerate(outer):
        if have[own] != ONE:
            yield pair((op.source, dim), (lengths, own), (want[dim], have[own]))


RULES: dict[type[Operation], Callable[[Any], Iterator[Obligation]]] = {
    GatherOp: _gather,
    IndexAddOp: _index_add,
    ScatterOp: _scatter,
    IndexPutOp: index_put,
    ScatterRowsOp: scatter_rows,
    TopkOp: _topk,
}
"""Op class to what such an op owes."""
