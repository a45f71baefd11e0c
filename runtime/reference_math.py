"""Elementwise operations, casts and reductions of the reference interpreter.

bf16 and f16 compute in f32 and are rounded once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue

from pyptoc.runtime import numerics
from pyptoc.runtime.numerics import Array
from pyptoc.runtime.reference_core import (
    DYNAMIC,
    Interpreter,
    dtype_of,
    element_of,
    handles,
    hint,
)
from pyptoc.runtime.reference_values import Tensor
from pyptoc.runtime.reference_wide import narrow, wide
from pyptoc.runtime.vector_math import FUNCTIONS as VECTOR_FUNCTIONS

ONE = np.float32(1)
LEAST = np.float32(np.finfo(np.float32).min)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) in f32."""
    return ONE / (np.exp(-x) + ONE)


def silu(x: Array) -> Array:
    """x * sigmoid(x).  -inf * 0 would be NaN: the least finite number gives -0.0."""
    return np.maximum(x, LEAST) * sigmoid(x)


def erf(x: Array) -> Array:
    """The error function, by the polynomials of the executor: bits are compared."""
    line = x.reshape(-1)
    out, first, second = (np.empty_like(line) for _ in range(3))
    VECTOR_FUNCTIONS["erf"](line, out, first, second)
    return out.reshape(x.shape)


def gelu(x: Array) -> Array:
    """x * (1 + erf(x / sqrt(2))) / 2, halved before the product could overflow."""
    return x * ((erf(x * np.float32(math.sqrt(0.5))) + ONE) * np.float32(0.5))


UNARY: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: ONE / np.sqrt(x),
    "neg": np.negative,
    "abs": np.abs,
    "relu": lambda x: np.maximum(x, np.zeros((), x.dtype)),
    "sigmoid": sigmoid,
    "silu": silu,
    "gelu": gelu,
    "tanh": np.tanh,
    "reciprocal": lambda x: ONE / x,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "sin": np.sin,
    "cos": np.cos,
    "erf": erf,
    "logical_not": np.logical_not,
    "bitwise_not": np.bitwise_not,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
    "rem": np.fmod,
    "floordiv": np.floor_divide,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": lambda x, y: shifted(x, y, left=True),
    "shift_right": lambda x, y: shifted(x, y, left=False),
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def shifted(x: Array, y: Array, *, left: bool) -> Array:
    """Bits moved by a count; one outside 0 to width - 1 moves all of them out."""
    x, y = np.broadcast_arrays(x, y)
    width = x.dtype.itemsize * 8
    inside = np.greater_equal(y, 0) & np.less(y.astype(np.int64), width)
    count = np.where(inside, y, 0).astype(x.dtype)
    if left:
        return np.where(inside, np.left_shift(x, count), 0).astype(x.dtype)
    outside = np.where(np.less(x, 0), -1, 0).astype(x.dtype)
    return np.where(inside, np.right_shift(x, count), outside)


def is_dynamic_one(value: SSAValue, axis: int, array: Array) -> bool:
    """Whether a dimension is 1 only at run time: such a one does not broadcast."""
    type_ = value.type
    assert isinstance(type_, TensorType)
    return array.shape[axis] == 1 and type_.get_shape()[axis] == DYNAMIC


def check_broadcast(
    interp: Interpreter, op: Any, tensors: Sequence[tuple[SSAValue, Array]]
) -> None:
    """Right-aligned sizes are equal, or statically 1."""
    rank = max((array.ndim for _, array in tensors), default=0)
    for back in range(1, rank + 1):
        sizes: dict[int, SSAValue] = {}
        for value, array in tensors:
            if array.ndim < back:
                continue
            size = array.shape[-back]
            if size != 1 or is_dynamic_one(value, array.ndim - back, array):
                sizes.setdefault(size, value)
        if len(sizes) > 1:
            (a, x), (b, y), *_ = sizes.items()
            message = f"sizes differ: {a} in {hint(x)} and {b} in {hint(y)}"
            rule = f"dimension {rank - back} of the result has one size"
            if 1 in (a, b):
                rule = "a dynamic size of 1 does not broadcast"
            interp.fail(op, "PTO404", message, rule=rule)


def check_pairs(
    interp: Interpreter, op: Any, pairs: Iterable[tuple[SSAValue, int, SSAValue, int]]
) -> None:
    """Dimensions of two tensors that have one size; nothing broadcasts."""
    for a, i, b, j in pairs:
        x, y = (interp.tensor(v, op).array.shape[k] for v, k in ((a, i), (b, j)))
        if x != y:
            message = (
                f"dimension {i} of {hint(a)} is {x}, dimension {j} of {hint(b)} is {y}"
            )
            interp.fail(op, "PTO404", message, rule="they are equal")


def elementwise_args(
    interp: Interpreter, op: Any, args: Sequence[SSAValue | Attribute]
) -> list[Any]:
    """The operands of an elementwise op, floats in f32, checked for their sizes."""
    tensors = [
        arg
        for arg in args
        if isinstance(arg, SSAValue) and isinstance(arg.type, TensorType)
    ]
    like = element_of(tensors[-1])
    values = [interp.operand(arg, like, op) for arg in args]
    arrays = [
        (arg, value)
        for arg, value in zip(args, values, strict=True)
        if isinstance(arg, SSAValue) and isinstance(arg.type, TensorType)
    ]
    check_broadcast(interp, op, arrays)
    return [_widened(interp, op, value, like) for value in values]


def _widened(interp: Interpreter, op: Any, value: Any, element: Attribute) -> Any:
    """An operand in the type that computes; scalars join the type of the tensors."""
    if isinstance(value, np.ndarray):
        return wide(cast("Array", value))
    if numerics.is_float(numerics.storage_dtype(element)):
        return np.float32(value)
    return interp.scalar_as(value, element, op)


def unary(interp: Interpreter, op: Any) -> Tensor:
    (x,) = elementwise_args(interp, op, op.args)
    y = UNARY[op.name.partition(".")[2]](x)
    return Tensor(narrow(y, dtype_of(op.result)))


def binary(interp: Interpreter, op: Any) -> Tensor:
    x, y = elementwise_args(interp, op, op.args)
    name = op.name.partition(".")[2]
    divides = name in ("rem", "floordiv") and isinstance(
        element_of(op.result), IntegerType
    )
    if divides and np.any(np.equal(y, 0)):
        interp.fail(op, "PTO403", "division of an integer by zero")
    result = np.asarray(BINARY[name](x, y))
    if name == "add" and op.checked is not None:
        require_exact(interp, op, x, y, result)
    if name == "div" and op.zero_if_zero is not None:
        result = np.where(np.equal(y, 0), np.float32(0), result)
    return Tensor(narrow(result, dtype_of(op.result)))


def require_exact(interp: Interpreter, op: Any, x: Any, y: Any, sums: Array) -> None:
    """Fail where a sum of integers wrapped."""
    wide = np.asarray(x).astype(object) + np.asarray(y).astype(object)
    if np.any(wide != sums):
        name = numerics.element_name(sums.dtype)
        interp.fail(op, "PTO403", f"a sum does not fit in {name}")


for _name in UNARY:
    handles(f"pypto.{_name}")(unary)
for _name in BINARY:
    handles(f"pypto.{_name}")(binary)


@handles("pypto.clip")
def clip(interp: Interpreter, op: Any) -> Tensor:
    x, low, high = elementwise_args(interp, op, op.args)
    result = np.minimum(np.maximum(x, low), high)
    return Tensor(narrow(np.asarray(result), dtype_of(op.result)))


@handles("pypto.where")
def where(interp: Interpreter, op: Any) -> Tensor:
    condition = interp.array(op.args[0], op)
    dtype, element = dtype_of(op.result), element_of(op.result)
    tensors = [(op.args[0], condition)]
    values: list[Array] = []
    args = cast("list[SSAValue | Attribute]", op.args[1:])
    for arg in args:
        # Bits are copied: tensors and literals have the element type already.
        given: Any = interp.operand(arg, element, op)
        if not isinstance(given, np.ndarray):
            given = interp.scalar_as(given, element, op)
        value = np.asarray(cast("Array", given)).astype(dtype, copy=False)
        values.append(value)
        if isinstance(arg, SSAValue) and isinstance(arg.type, TensorType):
            tensors.append((arg, value))
    check_broadcast(interp, op, tensors)
    x, y = values
    result = np.empty(np.broadcast_shapes(condition.shape, x.shape, y.shape), dtype)
    result[...] = y
    np.copyto(result, x, where=condition)
    return Tensor(result)


@handles("pypto.cast")
def cast_elements(interp: Interpreter, op: Any) -> Tensor:
    mode = None if op.mode is None else op.mode.data
    saturate = None if op.saturate is None else bool(op.saturate.value.data)
    source = interp.array(op.source, op)
    return Tensor(numerics.cast(source, op.target, mode, saturate))


# Reductions.


def along_last(array: Array, axis: int) -> Array:
    """The axis moved last, in row-major order: sums then go in one fixed order."""
    return np.ascontiguousarray(np.moveaxis(array, axis, -1))


def total(array: Array, axis: int) -> Array:
    """The f32 sum along an axis, which is kept with size 1."""
    lines = along_last(array, axis)
    return np.moveaxis(np.sum(lines, axis=-1, keepdims=True), -1, axis)


def largest(array: Array, axis: int) -> Array:
    """The maximum along an axis, kept; of nothing -inf."""
    lines, initial = along_last(array, axis), _identity(array.dtype, -1)
    return np.moveaxis(np.max(lines, -1, keepdims=True, initial=initial), -1, axis)


def least(array: Array, axis: int) -> Array:
    """The minimum along an axis, kept; of nothing inf."""
    lines, initial = along_last(array, axis), _identity(array.dtype, 1)
    return np.moveaxis(np.min(lines, -1, keepdims=True, initial=initial), -1, axis)


def mean(array: Array, axis: int) -> Array:
    """sum(x * (1/D)) along an axis, kept; of nothing NaN."""
    count = array.shape[axis]
    if count == 0:
        return total(array, axis) * np.float32(np.nan)
    return total(array * (ONE / np.float32(count)), axis)


def _identity(dtype: np.dtype[Any], sign: int) -> Any:
    """The least (sign -1) or greatest value of an element type."""
    if numerics.is_float(dtype):
        return np.float32(sign * math.inf)
    return np.iinfo(dtype).min if sign < 0 else np.iinfo(dtype).max


def _sum(x: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    if numerics.is_float(dtype):
        return total(x, axis)
    return np.sum(x, axis=axis, keepdims=True, dtype=dtype)


def _prod(x: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    if not numerics.is_float(dtype):
        return np.prod(x, axis=axis, keepdims=True, dtype=dtype)
    lines = along_last(x, axis)
    return np.moveaxis(np.prod(lines, axis=-1, keepdims=True), -1, axis)


def _var(x: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    centred = x - mean(x, axis)
    return mean(centred * centred, axis)


def _logsumexp(x: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    top = largest(x, axis)
    base = np.where(top == -np.inf, np.float32(0), top)
    return np.log(total(np.exp(x - base), axis)) + base


REDUCTIONS: dict[str, Callable[[Array, int, np.dtype[Any]], Array]] = {
    "sum": _sum,
    "prod": _prod,
    "mean": lambda x, axis, dtype: mean(x, axis),
    "var": _var,
    "logsumexp": _logsumexp,
    "amax": lambda x, axis, dtype: largest(x, axis),
    "amin": lambda x, axis, dtype: least(x, axis),
    "argmax": lambda x, axis, dtype: np.argmax(x, axis=axis, keepdims=True),
    "argmin": lambda x, axis, dtype: np.argmin(x, axis=axis, keepdims=True),
}


def reduction(interp: Interpreter, op: Any) -> Tensor:
    x = wide(interp.array(op.source, op))
    name = op.name.partition(".")[2]
    axis = op.axis.value.data % x.ndim
    dtype = dtype_of(op.result)
    if name in ("argmax", "argmin") and x.shape[axis] == 0:
        interp.fail(op, "PTO404", f"{name} of no elements")
    result = REDUCTIONS[name](x, axis, dtype)
    if name in ("argmax", "argmin"):
        result = result.astype(dtype)
    if op.keepdim is None:
        result = result.squeeze(axis)
    return Tensor(narrow(result, dtype))


for _name in REDUCTIONS:
    handles(f"pypto.{_name}")(reduction)


@handles("pypto.cumsum")
def cumsum(interp: Interpreter, op: Any) -> Tensor:
    source = interp.array(op.source, op)
    axis = op.axis.value.data % source.ndim
    if numerics.is_float(source.dtype):
        sums = np.cumsum(wide(source), axis=axis, dtype=np.float32)
        return Tensor(narrow(sums, source.dtype))
    sums = np.cumsum(source, axis=axis, dtype=np.int64)
    if op.wraps is not None:
        return Tensor(sums.astype(source.dtype))
    before = sums - source  # wraps back to the sum before
    wrapped = ((before ^ sums) & (source ^ sums)) < 0
    limits = np.iinfo(source.dtype)
    if wrapped.any() or (sums < limits.min).any() or (sums > limits.max).any():
        name = numerics.element_name(source.dtype)
        interp.fail(op, "PTO403", f"a sum of cumsum does not fit in {name}")
    return Tensor(sums.astype(source.dtype))
