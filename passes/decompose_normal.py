"""
Softmax and the norms as elementary f32 steps.

The steps and their order are the definition of the ops: the reference interpreter does
the same, so results agree to the last bit.

    softmax      m = amax(x); m0 = m, or 0 where m is -inf;  e = exp(x - m0)
                 y = e / sum(e), or 0 where the sum is 0: a row that is fully masked
    rms_norm     x * (1 / sqrt(sum(x * x * (1 / D)) + eps)) * gamma
    layer_norm   c = x - sum(x * (1 / D));
                 c * (1 / sqrt(sum(c * c * (1 / D)) + eps)) * gamma + beta

A softmax along another axis than the last is one along the last between two transposes.
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from pyptoc.dialects.pypto.composite import (
    LayerNormOp,
    OnlineSoftmaxOp,
    RmsNormOp,
    SoftmaxOp,
)
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps, axis_of
from pyptoc.passes.typed import element_type


def softmax(op: SoftmaxOp, shapes: Shapes) -> None:
    """exp(x - max) / sum along one axis; never NaN for -inf alone."""
    step = Steps.replacing(op, shapes, op.source)
    x = step.f32(step.to_last(op.source, axis_of(op)))
    m = step.amax(x, -1)
    masked = step.eq(m, -math.inf)
    e = step.exp(step.sub(x, step.where(masked, 0.0, m)))
    y = step.div(e, step.sum(e, -1), zero_if_zero=True)
    y = step.cast(y, element_type(op.result))
    step.finish([step.from_last(y, axis_of(op))])


def online_softmax(op: OnlineSoftmaxOp, shapes: Shapes) -> None:
    """One block of a softmax over blocks: (m', l', p, alpha) from s and (m, l)."""
    step = Steps.replacing(op, shapes, op.source)
    m = step.maximum(op.maximum, step.amax(op.source, -1))
    masked = step.eq(m, -math.inf)
    base = step.where(masked, 0.0, m)
    p = step.exp(step.sub(op.source, base))
    alpha = step.where(masked, 1.0, step.exp(step.sub(op.maximum, base)))
    total = step.add(step.mul(op.total, alpha), step.sum(p, -1))
    step.finish([m, total, p, alpha])


def rms_norm(op: RmsNormOp, shapes: Shapes) -> None:
    """x divided by the root of the mean of its squares, times gamma."""
    step = Steps.replacing(op, shapes, op.source)
    x = step.f32(op.source)
    y = step.mul(_normalised(step, x, op.eps.value.data), step.f32(op.gamma))
    step.finish([step.cast(y, element_type(op.result))])


def layer_norm(op: LayerNormOp, shapes: Shapes) -> None:
    """x minus its mean, divided by its deviation, times gamma, plus beta."""
    step = Steps.replacing(op, shapes, op.source)
    x = step.f32(op.source)
    centred = step.sub(x, step.mean(x, -1))
    y = step.mul(_normalised(step, centred, op.eps.value.data), step.f32(op.gamma))
    y = step.add(y, step.f32(op.beta))
    step.finish([step.cast(y, element_type(op.result))])


def _normalised(step: Steps, x: SSAValue, eps: float) -> SSAValue:
    """x * (1 / sqrt(mean of squares + eps)); the mean scales before it sums."""
    square = step.mean(step.mul(x, x), -1)
    root = step.sqrt(step.add(square, eps))
    return step.mul(x, step.div(1.0, root))
