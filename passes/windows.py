"""
Looking through views: which box of which tensor a value is.

    %x = pypto.view %a[%e, %r +: %m, :]    of %a : tensor<8x?x512xf16>
    %h = pypto.view %x[:, 256 +: 256]
    ->  %h is %a at offsets [%e, %r, 256], its dimensions are dimensions 1 and 2 of %a

so that a task reads straight from %a, and no view survives the tile pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import OpResult, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.shape import ViewOp
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.structured import tensor_rank


@dataclass(frozen=True)
class Window:
    """A box of `base`: one offset for each of its dimensions."""

    base: SSAValue
    offsets: Dims
    dims: tuple[int, ...]
    """The dimension of `base` that each dimension of the value is."""


def window_of(value: SSAValue, shapes: Shapes) -> Window:
    """The box of the first tensor behind the views that make `value`."""
    if not (isinstance(value, OpResult) and isinstance(value.op, ViewOp)):
        rank = tensor_rank(value)
        return Window(value, (Expr.const(0),) * rank, tuple(range(rank)))
    view = value.op
    inner = window_of(view.source, shapes)
    offsets = list(inner.offsets)
    for axis, offset in enumerate(view.mixed_offsets):
        dim = inner.dims[axis]
        offsets[dim] = offsets[dim] + shapes.mixed(offset)
    dropped = set(view.dropped_dims)
    dims = tuple(dim for axis, dim in enumerate(inner.dims) if axis not in dropped)
    return Window(inner.base, tuple(offsets), dims)
