"""
The activations as elementary f32 steps, rounded once at the end.

    sigmoid      1 / (1 + exp(-x))
    silu         x * sigmoid(x), and -0.0 for -inf
    gelu         x * (1 + erf(x / sqrt(2))) / 2
    swiglu       silu(v) * g; of one operand: v and g are the halves of its last axis
"""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from pyptoc.dialects.expr import Compare, Expr
from pyptoc.dialects.pypto.composite import SwigluOp
from pyptoc.dialects.pypto.unary import ErfOp, GeluOp, SigmoidOp, SiluOp
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps
from pyptoc.passes.typed import element_type


def sigmoid(op: SigmoidOp, shapes: Shapes) -> None:
    """1 / (1 + exp(-x))."""
    step = Steps.replacing(op, shapes, op.result)
    y = _sigmoid(step, step.f32(op.operands[0]))
    step.finish([step.cast(y, element_type(op.result))])


def silu(op: SiluOp, shapes: Shapes) -> None:
    """x * sigmoid(x)."""
    step = Steps.replacing(op, shapes, op.result)
    y = _silu(step, step.f32(op.operands[0]))
    step.finish([step.cast(y, element_type(op.result))])


def gelu(op: GeluOp, shapes: Shapes) -> None:
    """x * (1 + erf(x / sqrt(2))) / 2."""
    step = Steps.replacing(op, shapes, op.result)
    x = step.f32(op.operands[0])
    erf = step.emit(ErfOp.make(step.mul(x, math.sqrt(0.5))))
    # Halved first: x times a number up to 2 could overflow.
    y = step.mul(x, step.mul(step.add(erf, 1.0), 0.5))
    step.finish([step.cast(y, element_type(op.result))])


def swiglu(op: SwigluOp, shapes: Shapes) -> None:
    """silu(value) * gate."""
    step = Steps.replacing(op, shapes, op.result)
    value, *rest = op.inputs
    if rest:
        gate = rest[0]
    else:
        last = shapes.dims(value)[-1]
        half = last.floordiv(2)
        if not last.is_const:
            message = "swiglu halves the last axis of {0} elements"
            is_even = Compare("==", last.mod(2), Expr.const(0))
            step.build.require(is_even, message, (last,), "PTO403")
        whole = value
        value = step.part(whole, -1, 0, half)
        gate = step.part(whole, -1, half, half)
    y = step.mul(_silu(step, step.f32(value)), step.f32(gate))
    step.finish([step.cast(y, element_type(op.result))])


def _sigmoid(step: Steps, x: SSAValue) -> SSAValue:
    return step.div(1.0, step.add(step.exp(step.neg(x)), 1.0))


def _silu(step: Steps, x: SSAValue) -> SSAValue:
    """-inf * 0 would be NaN: the product with the least finite number is -0.0."""
    return step.mul(step.maximum(x, LEAST), _sigmoid(step, x))


LEAST = -3.4028234663852886e38
"""The least finite f32."""
