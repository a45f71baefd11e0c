"""
Quantisation as elementary f32 steps.

    quantize     a = amax(abs(x)); r = 127 / a; q = i8(rint(x * r)); scale = 1 / r
    asymmetric   scale = (hi - lo) / 255; z = rint(-128 - lo / scale);
                 q = i8(rint(x / scale) + z), of lo = min(amin, 0), hi = max(amax, 0)
    dequantize   (f32(x) - f32(z)) * s1 * s2, rounded once; for groups in a loop whose
                 body may be one task, * is `mul_groups` (`scale_groups.py`)
    quant_mx     a = amax(abs(x)) of 32 elements; scale = the power of two at or below
                 a, divided by the greatest power of two of the f8 type;
                 q = f8(x * (1 / scale)), saturated

Where r overflows (a row of zeros, or of tiny numbers) q is 0 and the scale is 0; NaN in
a row makes its scale NaN and its q 0: the cast of NaN to an integer is 0. With
`scale = "amax/127"` the scale is a / 127 and q = i8(rint(x / scale)), clipped to
-127 .. 127.

An axis that is folded in groups is split in two first and joined again afterwards. The
axis to fold is moved last by a transpose, and back in the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E8M0FNUType,
    i8,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from pyptoc.dialects.expr import ONE, Expr
from pyptoc.dialects.pypto.elementwise import GtOp
from pyptoc.dialects.pypto.group_texts import (
    NO_WHOLE_GROUPS_HELP,
    no_whole_groups,
    other_number,
)
from pyptoc.dialects.pypto.quantising import (
    DequantizeOp,
    MulGroupsOp,
    QuantizeOp,
    QuantMxOp,
)
from pyptoc.dialects.pypto.reduce import AmaxOp, AminOp, ReductionOp
from pyptoc.dialects.pypto.shape import FullOp
from pyptoc.passes.decompose_rows import product
from pyptoc.passes.obligation import Obligation, pair, sizes_of, value_name
from pyptoc.passes.scale_groups import may_keep_groups
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps, axis_of, replaced
from pyptoc.passes.typed import element_type, tensor_rank

E8M0 = Float8E8M0FNUType()


def quantize(op: QuantizeOp, shapes: Shapes) -> None:
    """Values in i8 and what brings them back: f32 scales, i32 zero points."""
    step = Steps.replacing(op, shapes, op.source)
    if op.given is not None:
        step.finish([_quantized_by(step, op, op.given)])
        return
    dims = shapes.dims(op.source)
    if op.axis is None:
        _quantize_all(step, op, dims)
        return
    axis = op.axis.value.data % len(dims)
    if op.group is None:
        x, folded, kept = op.source, axis, replaced(dims, axis, 1)
    else:
        step.owe([_whole_groups(op)])
        size = op.group.value.data
        count = dims[axis].floordiv(size)
        x = step.reshape(op.source, replaced(dims, axis, count, size))
        folded, kept = axis + 1, replaced(dims, axis, count)
    x = step.f32(step.to_last(x, folded))

    def fold(kind: type[ReductionOp], y: SSAValue) -> SSAValue:
        return step.reduce(kind, y, -1)

    values, *parameters = _quantized(step, op, x, fold)
    values = step.from_last(values, folded)
    if op.group is not None:
        values = step.reshape(values, dims)
    if op.group is not None or folded < tensor_rank(op.source) - 1:
        parameters = [step.reshape(parameter, kept) for parameter in parameters]
    step.finish([values, *parameters])


def _quantize_all(step: Steps, op: QuantizeOp, dims: Sequence[Expr]) -> None:
    """One scale for all elements: rows are folded first, then what they gave."""

    def fold(kind: type[ReductionOp], x: SSAValue) -> SSAValue:
        rank = tensor_rank(x)
        if rank > 1:
            x = step.reduce(kind, x, -1)
            x = step.reshape(x, [product(step.shapes.dims(x))])
        return step.reshape(step.reduce(kind, x, -1), [1] * rank)

    x = step.f32(op.source)
    if not dims:
        x = step.reshape(x, [1])
    results = _quantized(step, op, x, fold)
    step.finish(results if dims else [step.reshape(one, dims) for one in results])


Fold = Callable[[type[ReductionOp], SSAValue], SSAValue]
"""How a reduction of all that shares a scale is emitted."""


def _quantized(step: Steps, op: QuantizeOp, x: SSAValue, fold: Fold) -> list[SSAValue]:
    """The values in i8, and the parameters of what shares them."""
    if op.asymmetric is not None:
        return _by_range(step, x, fold)
    amax = fold(AmaxOp, step.abs(x))
    if op.scale_rule is not None and op.scale_rule.data == "amax/127":
        scale = step.div(amax, 127.0)
        scaled = step.clip(step.div(x, scale), -127.0, 127.0)
    else:
        ratio = step.div(127.0, amax)
        scale = step.div(1.0, ratio)
        overflows = step.eq(ratio, math.inf)
        scaled = step.mul(x, step.where(overflows, 0.0, ratio))
    return [step.cast(scaled, i8, "rint"), scale]


def _by_range(step: Steps, x: SSAValue, fold: Fold) -> list[SSAValue]:
    """From the least and the greatest element: values, scale, zero point."""
    low = step.minimum(fold(AminOp, x), 0.0)
    high = step.maximum(fold(AmaxOp, x), 0.0)
    scale = step.div(step.sub(high, low), 255.0)
    at = step.round(step.sub(-128.0, step.div(low, scale)))
    at = step.clip(at, -128.0, 127.0)
    is_zero = step.eq(scale, 0.0)
    zero_point = step.cast(step.where(is_zero, 0.0, at), i32)
    y = step.round(step.div(x, scale, zero_if_zero=True))
    return [step.cast(step.add(y, step.f32(zero_point)), i8), scale, zero_point]


def _quantized_by(step: Steps, op: QuantizeOp, scale: SSAValue) -> SSAValue:
    """The values by a scale, and a zero point, that are given."""
    y = step.round(step.div(step.f32(op.source), step.f32(scale)))
    if op.zero_point is not None:
        y = step.add(y, step.f32(op.zero_point))
    return step.cast(y, i8)


def dequantize(op: DequantizeOp, shapes: Shapes) -> None:
    """f32(x), less the zero point, times each scale in turn, rounded at the end."""
    step = Steps.replacing(op, shapes, op.result)
    if op.group is not None:
        step.owe(_fitting(op))
    y: SSAValue = step.f32(op.source)
    target = element_type(op.result)
    if op.group is None:
        if op.zero_point is not None:
            y = step.sub(y, step.f32(op.zero_point))
        for scale in op.scales:
            y = step.mul(y, step.f32(scale))
    elif may_keep_groups(op, shapes):
        size = op.group.value.data
        for scale in op.scales:
            y = step.emit(MulGroupsOp.make(y, step.f32(scale), size, 0))
    else:
        y = _by_groups(step, op, y)
    step.finish([step.cast(y, target)])


def _whole_groups(op: QuantizeOp | DequantizeOp) -> Obligation:
    """The axis of `op` is a whole number of its groups."""
    axis, length, size = _grouped_axis(op)
    message = no_whole_groups(op.name, size, axis, value_name(op.source))
    args = (length, length.ceildiv(size) * size)
    rest, none, help = length.mod(size), Expr.const(0), NO_WHOLE_GROUPS_HELP
    return Obligation("==", rest, none, message, args, "PTO404", help)


def _grouped_axis(op: QuantizeOp | DequantizeOp) -> tuple[int, Expr, int]:
    """The axis that is in groups, how long it is, and how long a group."""
    assert op.axis is not None
    assert op.group is not None
    sizes = sizes_of(op.source)
    axis = op.axis.value.data % len(sizes)
    return axis, sizes[axis], op.group.value.data


def _fitting(op: DequantizeOp) -> Iterator[Obligation]:
    """Scales and the zero point have a number for each group, else the sizes of x."""
    yield _whole_groups(op)
    want = sizes_of(op.source)
    axis, length, group = _grouped_axis(op)
    count = length.floordiv(group)
    source = value_name(op.source)
    for value in (*op.scales, *([] if op.zero_point is None else [op.zero_point])):
        have = sizes_of(value)
        for own, size in enumerate(have):
            at = len(want) - len(have) + own
            if size == ONE:
                continue
            if at != axis:
                yield pair((op.source, at), (value, own), (want[at], size))
                continue
            message = other_number(value_name(value), own, group, source)
            yield Obligation("==", size, count, message, (size, count), "PTO404")


def _by_groups(step: Steps, op: DequantizeOp, y: SSAValue) -> SSAValue:
    """Each group along an axis of its own; what is for it repeats along that."""
    dims = step.shapes.dims(y)
    assert op.axis is not None
    assert op.group is not None
    back = op.axis.value.data % len(dims) - len(dims)
    size = op.group.value.data
    count = dims[back].floordiv(size)
    split = step.reshape(y, replaced(dims, back, count, size))

    def for_groups(value: SSAValue) -> SSAValue:
        value, have = step.f32(value), step.shapes.dims(value)
        if len(have) < -back:
            return value
        return step.reshape(value, replaced(have, back, have[back], 1))

    if op.zero_point is not None:
        split = step.sub(split, for_groups(op.zero_point))
    for scale in op.scales:
        split = step.mul(split, for_groups(scale))
    return step.reshape(split, dims)


def quant_mx(op: QuantMxOp, shapes: Shapes) -> None:
    """f8 values and an E8M0 scale for 32 elements; what is missing counts as 0."""
    step = Steps.replacing(op, shapes, op.source)
    dims = shapes.dims(op.source)
    axis = axis_of(op)
    pairs = dims[axis].ceildiv(64)
    x = _padded(step, op.source, axis, pairs * 64)
    x = step.reshape(x, replaced(dims, axis, pairs, 2, 32))
    # [.., pairs, 2, 32, ..]: the 32 are folded.
    x = step.f32(step.to_last(x, axis + 2))
    scale = _mx_scale(step, x, op.target)
    inverse = step.div(1.0, step.f32(scale))
    values = step.cast(step.mul(x, inverse), op.target)
    values = step.from_last(values, axis + 2)
    values = step.reshape(values, replaced(dims, axis, pairs * 64))
    if pairs * 64 != dims[axis]:
        values = step.part(values, axis, 0, dims[axis])
    # [.., pairs, 2, .., 1]: the 2 go last.
    scale = step.reshape(scale, replaced(dims, axis, pairs, 2))
    step.finish([values, step.to_last(scale, axis + 1)])


def _padded(step: Steps, x: SSAValue, axis: int, size: Expr) -> SSAValue:
    """`x` with zeros behind it along `axis`, up to `size` elements."""
    dims = step.shapes.dims(x)
    if dims[axis] == size:
        return x
    sizes = [step.build.index_or_int(d) for d in replaced(dims, axis, size)]
    zeros = step.build.value(FullOp.make(0.0, sizes, result_type=element_type(x)))
    return step.write(x, zeros, axis, Expr.const(0))


def _mx_scale(step: Steps, x: SSAValue, target: Attribute) -> SSAValue:
    """
    The scale of each line of the last axis, in E8M0.

    The greatest power of two is 2^8 in E4M3 and 2^15 in E5M2. The cast to E8M0 takes
    the nearest power, which may be the one above.
    """
    amax = step.amax(step.abs(x), -1)
    power = step.f32(step.cast(amax, E8M0))
    is_above = step.emit(GtOp.make(power, amax))
    power = step.where(is_above, step.mul(power, 0.5), power)
    most = 8 if isinstance(target, Float8E4M3FNType) else 15
    return step.cast(step.mul(power, 2.0**-most), E8M0)
