"""Composite operations of the reference interpreter.

Each does its elementary steps in f32, in the order of the definition in the language,
and rounds once at the end: the `decompose` pass writes out the same steps, and the two
are compared bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from pyptoc.dialects.pypto.group_texts import (
    NO_WHOLE_GROUPS_HELP,
    no_whole_groups,
    other_number,
)
from pyptoc.dialects.words import counted
from pyptoc.runtime import numerics
from pyptoc.runtime.numerics import Array
from pyptoc.runtime.reference_core import Interpreter, dtype_of, handles, hint
from pyptoc.runtime.reference_math import (
    ONE,
    check_broadcast,
    is_dynamic_one,
    largest,
    least,
    mean,
    silu,
    total,
)
from pyptoc.runtime.reference_values import Tensor
from pyptoc.runtime.reference_wide import narrow, wide

ZERO = np.float32(0)
I8_MOST = np.float32(127)


def _divide_or_zero(a: Array, b: Array) -> Array:
    return np.where(np.equal(b, 0), ZERO, a / b)


@handles("pypto.softmax")
def softmax(interp: Interpreter, op: Any) -> Tensor:
    x = wide(interp.array(op.source, op))
    axis = op.axis.value.data
    top = largest(x, axis)
    e = np.exp(x - np.where(top == -np.inf, ZERO, top))
    return Tensor(narrow(_divide_or_zero(e, total(e, axis)), dtype_of(op.result)))


@handles("pypto.online_softmax")
def online_softmax(interp: Interpreter, op: Any) -> tuple[Tensor, ...]:
    scores = wide(interp.array(op.source, op))
    old_top = wide(interp.array(op.maximum, op))
    old_total = wide(interp.array(op.total, op))
    top = np.maximum(old_top, largest(scores, -1))
    masked = top == -np.inf
    base = np.where(masked, ZERO, top)
    p = np.exp(scores - base)
    alpha = np.where(masked, ONE, np.exp(old_top - base))
    sums = old_total * alpha + total(p, -1)
    return Tensor(top), Tensor(sums), Tensor(p), Tensor(alpha)


@handles("pypto.mask_causal")
def mask_causal(interp: Interpreter, op: Any) -> Tensor:
    x = interp.array(op.source, op)
    offset = interp.integer(op.mixed_offset)
    rows, columns = x.shape[-2:]
    last_seen = np.arange(offset, offset + rows, dtype=np.int64).reshape(rows, 1)
    hidden = np.greater(np.arange(columns, dtype=np.int64), last_seen)
    return Tensor(np.where(hidden, np.array(-np.inf, x.dtype), x))


def normalised(x: Array, eps: float) -> Array:
    """x * (1 / sqrt(mean of squares + eps)) along the last axis."""
    root = np.sqrt(mean(x * x, -1) + np.float32(eps))
    return x * (ONE / root)


@handles("pypto.rms_norm")
def rms_norm(interp: Interpreter, op: Any) -> Tensor:
    x = wide(interp.array(op.source, op))
    gamma = wide(interp.array(op.gamma, op))
    check_broadcast(interp, op, [(op.source, x), (op.gamma, gamma)])
    y = normalised(x, op.eps.value.data) * gamma
    return Tensor(narrow(y, dtype_of(op.result)))


@handles("pypto.layer_norm")
def layer_norm(interp: Interpreter, op: Any) -> Tensor:
    x = wide(interp.array(op.source, op))
    gamma, beta = (wide(interp.array(value, op)) for value in (op.gamma, op.beta))
    check_broadcast(interp, op, [(op.source, x), (op.gamma, gamma), (op.beta, beta)])
    y = normalised(x - mean(x, -1), op.eps.value.data) * gamma + beta
    return Tensor(narrow(y, dtype_of(op.result)))


@handles("pypto.swiglu")
def swiglu(interp: Interpreter, op: Any) -> Tensor:
    arrays = [interp.array(value, op) for value in op.inputs]
    if len(arrays) == 1:
        size = arrays[0].shape[-1]
        if size % 2:
            message = f"swiglu halves the last axis of {counted(size, 'element')}"
            interp.fail(op, "PTO403", message)
        arrays = [arrays[0][..., : size // 2], arrays[0][..., size // 2 :]]
    else:
        check_broadcast(interp, op, list(zip(op.inputs, arrays, strict=True)))
    value, gate = (wide(array) for array in arrays)
    return Tensor(narrow(silu(value) * gate, dtype_of(op.result)))


@handles("pypto.rope")
def rope(interp: Interpreter, op: Any) -> Tensor:
    source = interp.array(op.source, op)
    x = wide(source)
    cos, sin = (wide(interp.array(value, op)) for value in (op.cos, op.sin))
    first = x.shape[-1] if op.first is None else op.first.value.data
    if first % 2:
        message = f"rope rotates pairs of the {first} elements of the last axis"
        interp.fail(op, "PTO403", message)
    turned, rest = x[..., :first], source[..., first:]
    check_broadcast(interp, op, [(op.source, turned), (op.cos, cos), (op.sin, sin)])
    if op.interleaved is not None:
        pairs = turned.reshape(*turned.shape[:-1], first // 2, 2)
        turned = np.swapaxes(pairs, -1, -2).reshape(turned.shape)
    half = first // 2
    rotated = np.concatenate([-turned[..., half:], turned[..., :half]], axis=-1)
    y = narrow(turned * cos + rotated * sin, source.dtype)
    if y.shape[:-1] != rest.shape[:-1]:
        interp.fail(op, "PTO404", "cos and sin do not broadcast against the source")
    return Tensor(np.concatenate([y, rest], axis=-1))


@handles("pypto.quantize")
def quantize(interp: Interpreter, op: Any) -> Tensor | tuple[Tensor, ...]:
    if op.given is not None:
        return _quantize_given(interp, op)
    x = wide(interp.array(op.source, op))
    shape = x.shape
    if op.axis is None:
        x, axis, kept = x.reshape(-1), 0, (1,) * len(shape)
    else:
        axis = op.axis.value.data % x.ndim
        kept = (*shape[:axis], 1, *shape[axis + 1 :])
    if op.group is not None:
        size = op.group.value.data
        _check_groups(interp, op, axis, shape[axis])
        kept = (*shape[:axis], shape[axis] // size, *shape[axis + 1 :])
        x = x.reshape(*shape[:axis], shape[axis] // size, size, *shape[axis + 1 :])
        axis += 1
    rule = op.properties.get("scale")
    if op.asymmetric is not None:
        values, *parameters = _by_range(x, axis)
    elif rule is not None and rule.data == "amax/127":
        scale = largest(np.abs(x), axis) / I8_MOST
        y = np.minimum(np.maximum(x / scale, -I8_MOST), I8_MOST)
        values, parameters = numerics.cast(y, "i8", "rint"), [scale]
    else:
        ratio = I8_MOST / largest(np.abs(x), axis)
        y = x * np.where(ratio == np.inf, ZERO, ratio)
        values, parameters = numerics.cast(y, "i8", "rint"), [ONE / ratio]
    shaped = [Tensor(parameter.reshape(kept)) for parameter in parameters]
    return Tensor(values.reshape(shape)), *shaped


def _check_groups(interp: Interpreter, op: Any, axis: int, length: int) -> None:
    """PTO404 for an axis that is no whole number of the groups of `op`."""
    size = op.group.value.data
    if length % size:
        numbers = (length, -(-length // size) * size)
        message = no_whole_groups(op.name, size, axis, hint(op.source)).format(*numbers)
        help = NO_WHOLE_GROUPS_HELP.format(*numbers)
        interp.fail(op, "PTO404", message, help=help)


def _check_count(
    interp: Interpreter, op: Any, value: SSAValue, axis: int, count: int
) -> None:
    """PTO404 for a parameter without a number for each group; `axis` is -1 or less."""
    array = interp.array(value, op)
    if array.ndim < -axis or array.shape[axis] == count:
        return
    own = array.ndim + axis
    if array.shape[axis] != 1 or is_dynamic_one(value, own, array):
        size = op.group.value.data
        message = other_number(hint(value), own, size, hint(op.source))
        interp.fail(op, "PTO404", message.format(array.shape[axis], count))


def _by_range(x: Array, axis: int) -> tuple[Array, Array, Array]:
    """Values, scale and zero point of lines from their least and greatest element."""
    low = np.minimum(least(x, axis), ZERO)
    high = np.maximum(largest(x, axis), ZERO)
    scale = (high - low) / np.float32(255)
    at = np.float32(-128) - low / scale
    at = np.minimum(np.maximum(np.rint(at), np.float32(-128)), I8_MOST)
    zero_point = numerics.cast(np.where(scale == 0, ZERO, at), "i32")
    y = np.where(scale == 0, ZERO, x / scale)
    values = numerics.cast(np.rint(y) + numerics.cast(zero_point, "f32"), "i8")
    return values, scale, zero_point


def _quantize_given(interp: Interpreter, op: Any) -> Tensor:
    values = [v for v in (op.source, op.given, op.zero_point) if v is not None]
    arrays = [interp.array(value, op) for value in values]
    check_broadcast(interp, op, list(zip(values, arrays, strict=True)))
    y = np.rint(wide(arrays[0]) / wide(arrays[1]))
    for zero_point in arrays[2:]:
        y = y + numerics.cast(zero_point, "f32")
    return Tensor(numerics.cast(y, "i8"))


@handles("pypto.dequantize")
def dequantize(interp: Interpreter, op: Any) -> Tensor:
    source = interp.array(op.source, op)
    parameters = [*op.scales, *([] if op.zero_point is None else [op.zero_point])]
    arrays = [interp.array(value, op) for value in parameters]
    if op.group is not None:
        axis = op.axis.value.data % source.ndim - source.ndim
        _check_groups(interp, op, source.ndim + axis, source.shape[axis])
        count = source.shape[axis] // op.group.value.data
        for value in parameters:
            _check_count(interp, op, value, axis, count)
        arrays = [_for_each(a, axis, count, op.group.value.data) for a in arrays]
    values = [op.source, *parameters]
    check_broadcast(interp, op, list(zip(values, [source, *arrays], strict=True)))
    y = numerics.cast(source, "f32")
    if op.zero_point is not None:
        y = y - numerics.cast(arrays.pop(), "f32")
    for scale in arrays:
        y = y * wide(scale)
    return Tensor(narrow(y, dtype_of(op.result)))


def _for_each(array: Array, axis: int, count: int, group: int) -> Array:
    """What `count` groups along an axis (-1 is the last) have, for each element."""
    broadcasts = array.ndim < -axis or array.shape[axis] != count
    return array if broadcasts else np.repeat(array, group, axis=axis)


@handles("pypto.mul_groups")
def mul_groups(interp: Interpreter, op: Any) -> Tensor:
    x, scale = interp.array(op.source, op), interp.array(op.scale, op)
    group, first = op.group.value.data, op.first.value.data
    columns = np.repeat(scale[:, first:], group, axis=1)
    return Tensor(x * columns[:, : x.shape[1]])


@handles("pypto.quant_mx")
def quant_mx(interp: Interpreter, op: Any) -> tuple[Tensor, Tensor]:
    """What is missing of the last block counts as zeros."""
    x = np.moveaxis(wide(interp.array(op.source, op)), op.axis.value.data, -1)
    *outer, size = x.shape
    pairs = -(-size // 64)
    blocks = np.zeros((*outer, pairs * 64), np.float32)
    blocks[..., :size] = x
    blocks = blocks.reshape(*outer, pairs, 2, 32)
    target = dtype_of(op.values)
    scale = mx_scale(largest(np.abs(blocks), -1), target)
    q = narrow(blocks * (ONE / wide(scale)), target)
    q = q.reshape(*outer, pairs * 64)[..., :size]
    axis = op.axis.value.data % x.ndim
    scale = np.moveaxis(scale.squeeze(-1), -2, axis)
    q = np.moveaxis(q, -1, axis)
    return Tensor(np.ascontiguousarray(q)), Tensor(np.ascontiguousarray(scale))


def mx_scale(amax: Array, target: np.dtype[Any]) -> Array:
    """
    The E8M0 scale of blocks with these greatest magnitudes.

    The power of two at or below `amax` over the greatest power of two of the f8 type
    (OCP Microscaling 1.0, section 6.3); the least scale for zeros, NaN for inf and NaN.
    """
    power = wide(numerics.cast(amax, "f8E8M0FNU"))
    power = np.where(power > amax, power * np.float32(0.5), power)
    most = 8 if target == numerics.storage_dtype("f8E4M3FN") else 15
    return numerics.cast(power * np.float32(2.0**-most), "f8E8M0FNU")
