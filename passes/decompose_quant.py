"""
Quantisation to i8 as elementary f32 steps.

    quantize     a = amax(abs(x)); r = 127 / a; q = i8(rint(x * r)); scale = 1 / r
    dequantize   f32(x) * s1 * s2, rounded once

Where r overflows (a row of zeros, or of tiny numbers) q is 0 and the scale is 0; NaN in
a row makes its scale NaN and its q 0: the cast of NaN to an integer is 0. In groups,
the axis is split in two first and joined again afterwards. With `scale = "amax/127"`
the scale is a / 127 and q = i8(rint(x / scale)), clipped to -127 .. 127.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.composite import DequantizeOp, QuantizeOp
from pyptoc.passes.shapes import Dims, Shapes
from pyptoc.passes.steps import Steps, axis_of, element_of


def quantize(op: QuantizeOp, shapes: Shapes) -> None:
    """Values in i8 and the f32 scales that bring them back."""
    step = Steps.replacing(op, shapes, op.source)
    x = step.f32(op.source)
    axis = axis_of(op)
    dims = shapes.dims(op.source)
    group = None if op.group is None else op.group.value.data
    if group is not None:
        x = step.reshape(x, _replaced(dims, axis, dims[axis].floordiv(group), group))
        # The elements of a group lie one axis further on, counted from the front.
        axis += axis >= 0
    amax = step.amax(step.abs(x), axis)
    if op.scale_rule is not None and op.scale_rule.data == "amax/127":
        scale = step.div(amax, 127.0)
        scaled = step.clip(step.div(x, scale), -127.0, 127.0)
    else:
        ratio = step.div(127.0, amax)
        scale = step.div(1.0, ratio)
        overflows = step.eq(ratio, math.inf)
        scaled = step.mul(x, step.where(overflows, 0.0, ratio))
    q = step.cast(scaled, i8, "rint")
    if group is not None:
        axis = axis_of(op)
        q = step.reshape(q, dims)
        groups = _replaced(dims, axis, dims[axis].floordiv(group))
        scale = step.reshape(scale, groups)
    step.finish([q, scale])


def _replaced(dims: Dims, axis: int, *sizes: Expr | int) -> list[Expr | int]:
    """`dims` with `sizes` in the place of `axis`."""
    place = axis % len(dims)
    return [*dims[:place], *sizes, *dims[place + 1 :]]


def dequantize(op: DequantizeOp, shapes: Shapes) -> None:
    """f32(x), times each scale in turn, rounded once at the end."""
    step = Steps.replacing(op, shapes, op.result)
    y: SSAValue = step.f32(op.source)
    for scale in op.scales:
        y = step.mul(y, step.f32(scale))
    step.finish([step.cast(y, element_of(op.result))])
