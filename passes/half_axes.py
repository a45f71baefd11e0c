"""
What each vector instruction asks of two cores that share its tiles.

Dimensions of buffers that run together are shared together; some must be whole:

    tile.row_max %x into %m [m, n]      rows of %x run with rows of %m; a row is whole
    tile.sub %x, %m row into %y         rows of all three; columns of %x and %y
    tile.mul %y, %g col into %y         columns of %g and %y
"""

from __future__ import annotations

from typing import TypeAlias

from pyptoc.dialects.tile import (
    GatherOp,
    Instruction,
    LoadOp,
    MoveOp,
    OneHotOp,
    ScatterOp,
    StoreOp,
    TopkOp,
    VectorOp,
    allocation_of,
)
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_vector import Form, Shape
from pyptoc.passes.flat_kernels import buffers_of

Axis: TypeAlias = tuple[Allocation, int]
"""The rows (0) or the columns (1) of a buffer."""


class Axes:
    """Dimensions that run together, and which of them no core may have a part of."""

    def __init__(self) -> None:
        self._parent: dict[Axis, Axis] = {}
        self._whole: set[Axis] = set()
        self._size: dict[Axis, int] = {}

    def find(self, axis: Axis) -> Axis:
        """The one that stands for all that run together with `axis`."""
        if axis not in self._parent:
            self._parent[axis] = axis
            self._size[axis] = axis[0].type.shape[axis[1]]
        while self._parent[axis] != axis:
            axis = self._parent[axis]
        return axis

    def same(self, one: Axis, other: Axis) -> None:
        one, other = self.find(one), self.find(other)
        if one != other:
            self._parent[other] = one
            self._size[one] = max(self._size[one], self._size[other])
            if other in self._whole:
                self._whole.add(one)

    def keep_whole(self, axis: Axis) -> None:
        self._whole.add(self.find(axis))

    def at_least(self, axis: Axis, size: int) -> None:
        root = self.find(axis)
        self._size[root] = max(self._size[root], size)

    def can_share(self, axis: Axis) -> bool:
        return self.find(axis) not in self._whole

    def size(self, axis: Axis) -> int:
        return self._size[self.find(axis)]


# What instructions say ----------------------------------------------------------------


def relate(op: Instruction, axes: Axes) -> None:
    """Tell `axes` what a vector instruction asks of its buffers."""
    match op:
        case VectorOp():
            _vector(op, axes)
        case LoadOp() | StoreOp():
            _transfer(allocation_of(op.buffer), op.box_dims, axes)
        case GatherOp() | ScatterOp():
            _indexed(op, axes)
        case OneHotOp():
            source, dest = allocation_of(op.source), allocation_of(op.dest)
            axes.same((dest, 0), (source, 0))
            axes.keep_whole((source, 1))
        case TopkOp():
            _topk(op, axes)
        case MoveOp():
            pass
        case _:
            for value in buffers_of(op):
                _keep(allocation_of(value), axes)


def _keep(buffer: Allocation, axes: Axes) -> None:
    axes.keep_whole((buffer, 0))
    axes.keep_whole((buffer, 1))


def _vector(op: VectorOp, axes: Axes) -> None:
    dest = allocation_of(op.dest)
    if op.family.shape is not Shape.ELEMENTWISE or op.family.name == "arange":
        # Along a row everything depends on the others.
        axes.keep_whole((dest, 1))
    for arg in op.args:
        if not isinstance(arg, tuple) or arg[1] is Form.SCALAR:
            continue
        source, form = allocation_of(arg[0]), arg[1]
        if form is Form.GROUP:
            axes.same((dest, 0), (source, 0))
            axes.keep_whole((dest, 1))
            axes.keep_whole((source, 1))
            continue
        for axis, broadcast in ((0, (Form.COL, Form.ONE)), (1, (Form.ROW, Form.ONE))):
            if form in broadcast:
                axes.keep_whole((source, axis))
            else:
                axes.same((dest, axis), (source, axis))


def _transfer(buffer: Allocation, dims: tuple[int, int], axes: Axes) -> None:
    """A dimension that the memory lacks has one element for one core."""
    for axis, dim in enumerate(dims):
        if dim == -1:
            axes.keep_whole((buffer, axis))


def _indexed(op: GatherOp | ScatterOp, axes: Axes) -> None:
    """An index for each row of the box, say, is shared as the rows are."""
    box, per = allocation_of(op.buffer), op.per.data
    places = {
        "element": {0: 0, 1: 1},
        "row": {0: 1},
        "column": {1: 1},
        "box": dict[int, int](),
    }[per]
    # A scatter keeps the order of indices that may name one place twice.
    ordered = isinstance(op, ScatterOp) and op.unique is None
    for axis, dim in enumerate(op.box_dims):
        if dim == -1 and (ordered or axis not in places):
            axes.keep_whole((box, axis))
    for indices in map(allocation_of, op.all_indices):
        for axis, place in places.items():
            axes.same((box, axis), (indices, place))
        for place in {0, 1} - set(places.values()):
            axes.keep_whole((indices, place))


def _topk(op: TopkOp, axes: Axes) -> None:
    source = allocation_of(op.source)
    axes.keep_whole((source, 1))
    for value in (*op.lists, *op.after):
        axes.same((source, 0), (allocation_of(value), 0))
        axes.keep_whole((allocation_of(value), 1))
    if op.lengths is not None:
        axes.same((source, 0), (allocation_of(op.lengths), 1))
        axes.keep_whole((allocation_of(op.lengths), 0))
    if op.scratch is not None:
        _keep(allocation_of(op.scratch), axes)
