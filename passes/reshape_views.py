"""
A reshape of a part of a tensor is a part of the reshaped tensor, where that is so.

    %v = pypto.view %q[:, :, 128 +: 64]             of tensor<?x128x192xbf16>
    %r = pypto.reshape %v[-1, 128, 32, 2]
    ->
    %q2 = pypto.reshape %q[%t, 128, 96, 2]
    %r = pypto.view %q2[:, :, 64 +: 32, :]

A reshape needs elements side by side: of the part it would take a copy. There is none
where each dimension of the part stays one, or is split in static ones that the offset
and the size of the tensor are multiples of; dimensions of 1 may come in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pyptoc.dialects.expr import ONE, Expr
from pyptoc.dialects.pypto.shape import ReshapeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.task_form import replace_op
from pyptoc.passes.windows import Window, window_of


@record
class Piece:
    """One dimension of the reshaped tensor: its size, and the range that is viewed."""

    size: Expr
    lo: Expr
    extent: Expr | None
    """None: a single index, which is no dimension of the result."""


def view_of_reshape(op: ReshapeOp) -> bool:
    """Turn `op`, a reshape of a view, round; False where it cannot be."""
    shapes = Shapes()
    window = window_of(op.source, shapes)
    if list(window.dims) != sorted(window.dims):
        return False
    pieces = _pieces(
        window,
        shapes.dims(window.base),
        shapes.dims(op.source),
        shapes.dims(op.results[0]),
    )
    if pieces is None:
        return False
    build = Builder.before(op, stamp=op.attributes)
    reshaped = build.reshaped(window.base, [piece.size for piece in pieces])
    subscripts: list[object] = []
    for piece in pieces:
        lo = build.index_or_int(piece.lo)
        extent = piece.extent
        subscripts.append(lo if extent is None else (lo, build.index_or_int(extent)))
    view = ViewOp.make(reshaped, subscripts, result_type=op.results[0].type)
    view.attributes = dict(op.attributes)
    view.location = op.location
    replace_op(op, view)
    return True


def _pieces(
    window: Window, base: Dims, source: Dims, result: Dims
) -> list[Piece] | None:
    """The dimensions of the reshaped base, outermost first."""
    left = list(result)
    found: list[Piece] = []
    for axis, size in enumerate(base):
        lo = window.offsets[axis]
        if axis not in window.dims:
            found.append(Piece(size, lo, None))
            continue
        extent = source[window.dims.index(axis)]
        while left and left[0] == ONE != extent:
            found.append(Piece(left.pop(0), Expr.const(0), ONE))
        if left and left[0] == extent:
            found.append(Piece(size, lo, left.pop(0)))
            continue
        parts = _split(extent, left)
        inner = prod(part.value for part in parts[1:])
        if (
            inner == 0
            or not parts
            or not all(e.is_const and e.value % inner == 0 for e in (lo, size))
        ):
            return None
        del left[: len(parts)]
        found.append(Piece(size.floordiv(inner), lo.floordiv(inner), parts[0]))
        found += [Piece(part, Expr.const(0), part) for part in parts[1:]]
    if any(size != ONE for size in left):
        return None
    return found + [Piece(size, Expr.const(0), ONE) for size in left]


def _split(extent: Expr, sizes: Sequence[Expr]) -> list[Expr]:
    """The first of `sizes` whose product is `extent`; none if there are none."""
    parts: list[Expr] = []
    for size in sizes:
        if not (size.is_const and extent.is_const):
            break
        parts.append(size)
        if prod(part.value for part in parts) == extent.value:
            return parts
    return []
