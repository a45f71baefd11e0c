"""
Reductions in one form, and those that are made of several steps.

    mean         sum(x * (1 / D)) in f32
    var          c = x - mean(x); mean of c * c
    logsumexp    log(sum(exp(x - m))) + m with m = amax(x), and -inf for a masked row
    sum, prod    of f16 and bf16: in f32, rounded once; of small integers: in i32

A reduction over the last axis keeps it with size 1; `pypto.reshape` drops it where the
source did not say `keepdim`.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import AnyFloat, f32
from xdsl.ir import SSAValue

from pyptoc.dialects.pypto.reduce import (
    LogsumexpOp,
    MeanOp,
    ProdOp,
    ReductionOp,
    SumOp,
    VarOp,
)
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps, axis_of, element_of, rank_of


def reduction(op: ReductionOp, shapes: Shapes) -> None:
    """sum, prod, amax, amin in their one form; nothing if `op` has it already."""
    source, target = element_of(op.source), element_of(op.result)
    inside = source
    if isinstance(op, SumOp | ProdOp):
        inside = f32 if isinstance(source, AnyFloat) else target
    keeps = op.keepdim is not None or not _is_last(op)
    if keeps and source == inside == target:
        return
    step = Steps.replacing(op, shapes, op.source)
    x = step.cast(op.source, inside)
    keepdim = op.keepdim is not None or _is_last(op)
    y = step.emit(type(op).make(x, axis_of(op), keepdim=keepdim))
    _finish(step, op, step.cast(y, target), keepdim)


def mean(op: MeanOp, shapes: Shapes) -> None:
    """The mean along one axis, in f32."""
    step = Steps.replacing(op, shapes, op.source)
    y = _mean(step, step.f32(op.source), axis_of(op))
    _finish(step, op, step.cast(y, element_of(op.result)), True)


def var(op: VarOp, shapes: Shapes) -> None:
    """The mean of the squared distances from the mean, in f32."""
    step = Steps.replacing(op, shapes, op.source)
    x = step.f32(op.source)
    centred = step.sub(x, step.mean(x, axis_of(op)))
    y = _mean(step, step.mul(centred, centred), axis_of(op))
    _finish(step, op, step.cast(y, element_of(op.result)), True)


def logsumexp(op: LogsumexpOp, shapes: Shapes) -> None:
    """log(sum(exp(x))) without overflow; -inf where all of x is."""
    step = Steps.replacing(op, shapes, op.source)
    x = step.f32(op.source)
    m = step.amax(x, axis_of(op))
    base = step.where(step.eq(m, -math.inf), 0.0, m)
    total = step.sum(step.exp(step.sub(x, base)), axis_of(op))
    y = step.add(step.log(total), base)
    _finish(step, op, step.cast(y, element_of(op.result)), True)


def _mean(step: Steps, x: SSAValue, axis: int) -> SSAValue:
    """The mean, also of no elements: NaN, where the sum of nothing is 0."""
    size = step.shapes.dims(x)[axis]
    y = step.mean(x, axis)
    if size.is_const:
        return y if size.value else step.mul(y, math.nan)
    # 1 / n is finite, or inf where there is nothing: 1, or NaN.
    return step.mul(y, step.one_or_nan(size))


def _is_last(op: ReductionOp) -> bool:
    rank = rank_of(op.source)
    return axis_of(op) % rank == rank - 1


def _finish(step: Steps, op: ReductionOp, value: SSAValue, has_axis: bool) -> None:
    """Replace `op`, without the axis of size 1 if the source did not keep it."""
    if has_axis and op.keepdim is None:
        dims = list(step.shapes.dims(op.source))
        del dims[axis_of(op) % len(dims)]
        value = step.reshape(value, dims)
    step.finish([value])
