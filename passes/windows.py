"""
Looking through views: which box of which tensor a value is.

    %x = pypto.view %a[%e, %r +: %m, :]    of %a : tensor<8x?x512xf16>
    %h = pypto.view %x[:, 256 +: 256]
    %t = pypto.transpose %h perm [1, 0]
    ->  %h is %a at offsets [%e, %r, 256], its dimensions are dimensions 1 and 2 of %a;
        of %t they are 2 and 1

so that a task reads straight from %a, and neither a view nor a transpose of a whole
tensor survives the tile pass.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.scalars import ReadOp
from pyptoc.dialects.pypto.shape import AssembleOp, TransposeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import ints
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.typed import tensor_rank


@record
class Window:
    """A box of `base`: one offset for each of its dimensions."""

    base: SSAValue
    offsets: Dims
    dims: tuple[int, ...]
    """The dimension of `base` that each dimension of the value is."""


def is_view(value: SSAValue) -> bool:
    """Whether `value` is a window into another tensor: a reshape would copy it."""
    return isinstance(value.owner, ViewOp | TransposeOp)


def window_of(value: SSAValue, shapes: Shapes) -> Window:
    """The box of the first tensor behind the views that make `value`."""
    op = value.owner
    if isinstance(op, TransposeOp):
        inner = window_of(op.source, shapes)
        dims = tuple(inner.dims[axis] for axis in ints(op.perm))
        return Window(inner.base, inner.offsets, dims)
    if isinstance(op, ViewOp) and op.target is None:
        return _viewed(op, shapes)
    rank = tensor_rank(value)
    return Window(value, (Expr.const(0),) * rank, tuple(range(rank)))


def _viewed(view: ViewOp, shapes: Shapes) -> Window:
    inner = window_of(view.source, shapes)
    offsets = list(inner.offsets)
    for axis, offset in enumerate(view.mixed_offsets):
        dim = inner.dims[axis]
        offsets[dim] = offsets[dim] + shapes.mixed(offset)
    dropped = set(view.dropped_dims)
    dims = tuple(dim for axis, dim in enumerate(inner.dims) if axis not in dropped)
    return Window(inner.base, tuple(offsets), dims)


def is_stored_box(
    value: SSAValue, base: SSAValue, store: AssembleOp, shapes: Shapes
) -> bool:
    """Whether `value` is the box of `base` whose place and sizes `store` writes to."""
    window = window_of(value, shapes)
    rank = len(window.offsets)
    return (
        window.base is base
        and window.offsets == tuple(map(shapes.mixed, store.mixed_offsets))
        and window.dims == tuple(range(rank - len(window.dims), rank))
        and shapes.dims(value) == shapes.dims(store.source)
    )


def read_place(read: ReadOp, shapes: Shapes) -> tuple[SSAValue, list[Expr]]:
    """The first tensor behind the views that an element is read from, and where."""
    window = window_of(read.source, shapes)
    place = list(window.offsets)
    for axis, offset in enumerate(read.mixed_offsets):
        dim = window.dims[axis]
        place[dim] = place[dim] + shapes.mixed(offset)
    return window.base, place


def erase_views(op: Operation) -> None:
    """Erase the views of `op` that nobody reads any more."""
    for result in op.results:
        for use in list(result.uses):
            view = use.operation
            if not isinstance(view, ViewOp | TransposeOp):
                continue
            erase_views(view)
            if not view.results[0].uses:
                view.detach()
                view.erase()


def views_of(value: SSAValue) -> list[Operation]:
    """The views of `value`, and those of them."""
    found: list[Operation] = []
    for use in value.uses:
        if isinstance(use.operation, ViewOp | TransposeOp):
            found += [use.operation, *views_of(use.operation.results[0])]
    return found


def readers(value: SSAValue) -> list[Operation]:
    """The ops that use `value`, looking through views."""
    found: list[Operation] = []
    for use in value.uses:
        if isinstance(use.operation, ViewOp | TransposeOp):
            found += readers(use.operation.results[0])
        else:
            found.append(use.operation)
    return found
