"""
`concat` and `rope`: results that are written piece by piece; and `arange`.

    %r = pypto.concat %a, %b axis 0
    ->
    %0 = pypto.empty[%m, 64]
    %1 = pypto.assemble %a into %0[0, 0]
    %r = pypto.assemble %b into %1[%n, 0]

A task that computes `%a` stores it right there. `rope` computes the two halves of what
it rotates, each from both halves of x, and never builds the rotated tensor:

    y1 = x1 * cos1 + (-x2) * sin1         x1, x2 are the halves of x, or with
    y2 = x2 * cos2 +   x1  * sin2         `interleaved` its even and odd elements

in f32, rounded once. Elements behind `first` are copied. `arange` counts in i32, which
is then cast; narrow integers wrap.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import SSAValue

from pyptoc.dialects.expr import Compare, Expr
from pyptoc.dialects.pypto.composite import RopeOp
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.infer import is_integer
from pyptoc.dialects.pypto.shape import ArangeOp, ConcatOp, ViewOp
from pyptoc.passes.obligations import value_name
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps, replaced
from pyptoc.passes.typed import element_type, tensor_rank

CODE = "PTO402"


def concat(op: ConcatOp, shapes: Shapes) -> None:
    """Tensors one after the other."""
    step = Steps.replacing(op, shapes, op.result)
    first, *rest = op.inputs
    joined = op.axis.value.data % tensor_rank(first)
    for other in rest:
        pairs = zip(shapes.dims(first), shapes.dims(other), strict=True)
        for axis, (want, have) in enumerate(pairs):
            if axis != joined and want != have:
                step.build.require(
                    Compare("==", want, have),
                    f"dimension {axis} of {value_name(first)} is {{0}}, "
                    f"dimension {axis} of {value_name(other)} is {{1}}",
                    (want, have),
                    CODE,
                )
    step.finish([step.join(op.inputs, joined, op.result.type)])


def arange(op: ArangeOp, shapes: Shapes) -> None:
    """Counting in i32; nothing if `op` does."""
    element = element_type(op.result)
    if element == i32:
        return
    step = Steps.replacing(op, shapes, op.result)
    count = step.emit(ArangeOp.make(op.mixed_sizes, result_type=i32))
    saturate = IntegerAttr.from_bool(False) if is_integer(element) else None
    step.finish([step.emit(CastOp.make(count, element, saturate=saturate))])


def rope(op: RopeOp, shapes: Shapes) -> None:
    """The rotary position embedding."""
    step = Steps.replacing(op, shapes, op.source)
    size = shapes.dims(op.source)[-1]
    first = size if op.first is None else Expr.const(op.first.value.data)
    half = first.floordiv(2)
    if not first.is_const:
        is_even = Compare("==", first.mod(2), Expr.const(0))
        message = "rope rotates pairs of the {0} elements of the last axis"
        step.build.require(is_even, message, (first,), "PTO403")
    if op.interleaved is None:
        x1, x2 = _halves(step, op.source, half)
    else:
        x1, x2 = _pairs(step, op.source, size, half)
    cos1, cos2 = _halves(step, op.cos, half)
    sin1, sin2 = _halves(step, op.sin, half)
    parts = [
        _turned(step, op, (x1, cos1), (x2, sin1), negative=True),
        _turned(step, op, (x2, cos2), (x1, sin2), negative=False),
    ]
    if first != size:
        parts.append(step.part(op.source, -1, first, size - first))
    step.finish([step.join(parts, -1, op.result.type)])


def _turned(
    step: Steps,
    op: RopeOp,
    straight: tuple[SSAValue, SSAValue],
    across: tuple[SSAValue, SSAValue],
    *,
    negative: bool,
) -> SSAValue:
    """One half: a product with cos and one with sin, in x's type."""
    a, cos, b, sin = (step.f32(value) for value in (*straight, *across))
    y = step.add(step.mul(a, cos), step.mul(step.neg(b) if negative else b, sin))
    return step.cast(y, element_type(op.result))


def _halves(step: Steps, x: SSAValue, half: Expr) -> Sequence[SSAValue]:
    """The first `half` elements of the last axis, and as many behind them."""
    if not tensor_rank(x) or step.shapes.dims(x)[-1] == Expr.const(1):
        return x, x  # broadcast
    return step.part(x, -1, 0, half), step.part(x, -1, half, half)


def _pairs(step: Steps, x: SSAValue, size: Expr, half: Expr) -> Sequence[SSAValue]:
    """The even and the odd elements of the first `half` pairs of the last axis."""
    if size.mod(2) != Expr.const(0):
        x, size = step.part(x, -1, 0, half * 2), half * 2
    dims = step.shapes.dims(x)
    pairs = step.reshape(x, replaced(dims, -1, size.floordiv(2), 2))
    box = (0, step.build.index_or_int(half))
    whole = [None] * (len(dims) - 1)
    even, odd = (ViewOp.make(pairs, [*whole, box, which]) for which in (0, 1))
    return step.build.value(even), step.build.value(odd)
