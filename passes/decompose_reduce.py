"""
Reductions and scans in one form: along the last axis, which a reduction keeps.

    mean         sum(x * (1 / D)) in f32
    var          c = x - mean(x); mean of c * c
    logsumexp    log(sum(exp(x - m))) + m with m = amax(x), and -inf for a masked row
    argmax       the least index where x equals amax(x), or where x is NaN
    sum, prod    of f16 and bf16: in f32, rounded once; of small integers: in i32
    cumsum       of f16 and bf16: in f32, each sum rounded; of small integers: in i32;
                 of integers sums s that wrap, then (s - x) + x, which is checked

Another axis is moved last by a `pypto.transpose`, through which tasks read; it comes
first, so that what is computed needs no turning. `pypto.reshape` puts the axis of size
1 back at its place, or drops it where the source did not say `keepdim`:

    %s = pypto.sum %x axis 0                  : tensor<?x64xf32> -> tensor<64xf32>
    ->
    %t = pypto.transpose %x perm [1, 0]       : tensor<?x64xf32> -> tensor<64x?xf32>
    %0 = pypto.sum %t axis -1 {keepdim}       : tensor<64x?xf32> -> tensor<64x1xf32>
    %s = pypto.reshape %0[64]                 : tensor<64x1xf32> -> tensor<64xf32>
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import AnyFloat, BoolAttr, f32, i32
from xdsl.ir import SSAValue

from pyptoc.dialects.expr import Compare, Expr
from pyptoc.dialects.pypto.elementwise import AddOp, CastOp, NeOp, OrOp
from pyptoc.dialects.pypto.reduce import (
    AmaxOp,
    AminOp,
    ArgmaxOp,
    ArgminOp,
    CumsumOp,
    LogsumexpOp,
    MeanOp,
    ProdOp,
    ReductionOp,
    SumOp,
    VarOp,
)
from pyptoc.dialects.pypto.shape import ArangeOp
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps, axis_of, is_last_axis, replaced
from pyptoc.passes.typed import element_type, integer_width

NO = BoolAttr.from_bool(False)

LAST_INDEX = 2**31 - 1
"""Greater than every index of an axis."""


def reduction(op: ReductionOp, shapes: Shapes) -> None:
    """sum, prod, amax, amin in their one form; nothing if `op` has it already."""
    source, target = element_type(op.source), element_type(op.result)
    inside = source
    if isinstance(op, SumOp | ProdOp):
        inside = f32 if isinstance(source, AnyFloat) else target
    if op.keepdim is not None and is_last_axis(op) and source == inside == target:
        return
    step = Steps.replacing(op, shapes, op.source)
    x = step.cast(_lines(step, op), inside)
    _finish(step, op, step.cast(step.reduce(type(op), x, -1), target))


def mean(op: MeanOp, shapes: Shapes) -> None:
    """The mean along one axis, in f32."""
    step = Steps.replacing(op, shapes, op.source)
    y = _mean(step, step.f32(_lines(step, op)))
    _finish(step, op, step.cast(y, element_type(op.result)))


def var(op: VarOp, shapes: Shapes) -> None:
    """The mean of the squared distances from the mean, in f32."""
    step = Steps.replacing(op, shapes, op.source)
    x = step.f32(_lines(step, op))
    centred = step.sub(x, step.mean(x, -1))
    y = _mean(step, step.mul(centred, centred))
    _finish(step, op, step.cast(y, element_type(op.result)))


def logsumexp(op: LogsumexpOp, shapes: Shapes) -> None:
    """log(sum(exp(x))) without overflow; -inf where all of x is."""
    step = Steps.replacing(op, shapes, op.source)
    x = step.f32(_lines(step, op))
    m = step.amax(x, -1)
    base = step.where(step.eq(m, -math.inf), 0.0, m)
    total = step.sum(step.exp(step.sub(x, base)), -1)
    y = step.add(step.log(total), base)
    _finish(step, op, step.cast(y, element_type(op.result)))


def argument(op: ArgmaxOp | ArgminOp, shapes: Shapes) -> None:
    """
    The first index of the greatest, or least, element; a NaN wins.

    Where a NaN is, the greatest element is NaN, which nothing equals.
    """
    step = Steps.replacing(op, shapes, op.source)
    x = _lines(step, op)
    size = shapes.dims(x)[-1]
    name = op.name.partition(".")[2]
    if not size.is_const or size.value == 0:
        is_some = Compare("<=", Expr.const(1), size)
        step.build.require(is_some, f"{name} of no elements", (), "PTO404")
    hit = step.eq(x, step.reduce(AmaxOp if name == "argmax" else AminOp, x, -1))
    if isinstance(element_type(x), AnyFloat):
        hit = step.emit(OrOp.make(hit, step.emit(NeOp.make(x, x))))
    order = ArangeOp.make([step.build.index_or_int(size)], result_type=i32)
    index = step.where(hit, step.build.value(order), LAST_INDEX)
    _finish(step, op, step.reduce(AminOp, index, -1))


def cumsum(op: CumsumOp, shapes: Shapes) -> None:
    """The scan in its one form; nothing if `op` has it already."""
    element = element_type(op.source)
    inside = f32 if isinstance(element, AnyFloat) else element
    width = integer_width(element)
    if width is not None and width < 32:
        inside = i32
    checked = width is not None and op.wraps is None
    if is_last_axis(op) and inside == element and not checked:
        return
    step = Steps.replacing(op, shapes, op.source)
    x = step.to_last(op.source, axis_of(op))
    y = step.emit(CumsumOp.make(step.cast(x, inside), -1, wraps=width is not None))
    if inside != element:
        y = step.emit(CastOp.make(y, element, saturate=None if width is None else NO))
    if checked:
        # Sums modulo 2^width: what wraps is found where the last step to it overflows.
        y = step.emit(AddOp.make(step.sub(y, x), x, checked=True))
    step.finish([step.from_last(y, axis_of(op))])


def _mean(step: Steps, x: SSAValue) -> SSAValue:
    """The mean along the last axis, also of no elements: NaN, not the sum 0."""
    size = step.shapes.dims(x)[-1]
    y = step.mean(x, -1)
    if size.is_const:
        return y if size.value else step.mul(y, math.nan)
    # 1 / n is finite, or inf where there is nothing: 1, or NaN.
    return step.mul(y, step.one_or_nan(size))


def _lines(step: Steps, op: ReductionOp) -> SSAValue:
    """The operand with the axis that `op` folds moved last."""
    return step.to_last(op.source, axis_of(op))


def _finish(step: Steps, op: ReductionOp, value: SSAValue) -> None:
    """Replace `op` by `value`, whose last axis has size 1: its own axis, moved."""
    if op.keepdim is None or not is_last_axis(op):
        kept = [] if op.keepdim is None else [1]
        dims = replaced(step.shapes.dims(op.source), axis_of(op), *kept)
        value = step.reshape(value, dims)
    step.finish([value])
