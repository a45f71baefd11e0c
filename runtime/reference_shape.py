"""Operations of the reference interpreter that move elements without computing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyptoc.dialects.words import counted
from pyptoc.runtime.numerics import Array
from pyptoc.runtime.reference_core import (
    Interpreter,
    dtype_of,
    element_of,
    handles,
    hint,
    literal,
)
from pyptoc.runtime.reference_values import Mask, Memory, Tensor
from pyptoc.runtime.show import show_value


def sizes_of(interp: Interpreter, op: Any) -> tuple[int, ...]:
    """The sizes that an operation gives, all of them at least 0."""
    sizes = tuple(interp.integer(size) for size in op.mixed_sizes)
    if any(size < 0 for size in sizes):
        interp.fail(op, "PTO404", f"a size of {list(sizes)} is negative")
    interp.check_limits(op, sizes)
    return sizes


@handles("pypto.empty")
def empty(interp: Interpreter, op: Any) -> Tensor:
    shape, dtype = sizes_of(interp, op), dtype_of(op.result)
    return Tensor(np.zeros(shape, dtype), np.zeros(shape, np.bool_), op, owned=True)


@handles("pypto.full")
def full(interp: Interpreter, op: Any) -> Tensor:
    shape = sizes_of(interp, op)
    if op.scalar is None:
        value = literal(op.value, element_of(op.result))
    else:
        value = interp.scalar_as(interp.env[op.scalar], element_of(op.result), op)
    return Tensor(np.full(shape, value, dtype_of(op.result)), owned=True)


@handles("pypto.arange")
def arange(interp: Interpreter, op: Any) -> Tensor:
    shape = sizes_of(interp, op)
    line = np.arange(shape[-1] if shape else 1).astype(dtype_of(op.result))
    return Tensor(np.broadcast_to(line, shape).copy())


@handles("pypto.clone")
def clone(interp: Interpreter, op: Any) -> Tensor:
    return Tensor(interp.array(op.source, op).copy(), owned=True)


def open_sizes(interp: Interpreter, op: Any) -> list[int]:
    """The sizes that an operation gives; a -1 of its text has a meaning of its own."""
    sizes = [interp.integer(size) for size in op.mixed_sizes]
    for size, given in zip(sizes, op.mixed_sizes, strict=True):
        if size < 0 and not isinstance(given, int):
            interp.fail(op, "PTO404", f"a size of {sizes} is negative")
    return sizes


def whole_shape(
    interp: Interpreter, op: Any, old: Sequence[int], sizes: Sequence[int]
) -> tuple[int, ...]:
    """The new shape of a reshape, its -1 computed."""
    total = math.prod(old)
    known = math.prod(size for size in sizes if size != -1)
    fits = known == total if -1 not in sizes else known > 0 and total % known == 0
    if -1 in sizes and total == 0 and known == 0:
        interp.fail(op, "PTO404", f"-1 in {list(sizes)} is undefined for 0 elements")
    if not fits or any(size < -1 for size in sizes):
        source = hint(op.operands[0])
        message = f"{source} has the shape {list(old)}, which is not {list(sizes)}"
        rule = f"{counted(total, 'element')} on one side, {known} on the other"
        interp.fail(op, "PTO404", message, rule=rule)
    return tuple(total // known if size == -1 else size for size in sizes)


def mapped(source: Tensor, change: Callable[[Array], Array]) -> Tensor:
    """A tensor whose elements and marks are moved in the same way."""
    written: Mask | None = None
    if source.written is not None:
        written = change(source.written)
    return source.like(change(source.array), written)


@handles("pypto.reshape")
def reshape(interp: Interpreter, op: Any) -> Tensor:
    source = interp.tensor(op.source, op)
    sizes = open_sizes(interp, op)
    shape = whole_shape(interp, op, source.array.shape, sizes)

    def change(array: Array) -> Array:
        return array.reshape(shape)

    return mapped(source, change)


@handles("pypto.transpose")
def transpose(interp: Interpreter, op: Any) -> Tensor:
    source = interp.tensor(op.source, op)
    perm = op.perm.get_values()

    def change(array: Array) -> Array:
        # A copy in row-major order: the layout must not change later float sums.
        return array.transpose(perm).copy()

    return mapped(source, change)


@handles("pypto.expand")
def expand(interp: Interpreter, op: Any) -> Tensor:
    source = interp.tensor(op.source, op)
    old = source.array.shape
    sizes = open_sizes(interp, op)
    lead = len(sizes) - len(old)
    kept = (1,) * lead + old
    shape = tuple(
        have if size == -1 else size for size, have in zip(sizes, kept, strict=True)
    )
    for size, have in zip(shape, kept, strict=True):
        if have not in (1, size) or size < 0:
            message = f"{hint(op.source)} of shape {list(old)} does not expand"
            interp.fail(op, "PTO404", f"{message} to {list(shape)}")

    def change(array: Array) -> Array:
        return np.broadcast_to(array, shape).copy()

    return mapped(source, change)


@handles("pypto.concat")
def concat(interp: Interpreter, op: Any) -> Tensor:
    arrays = [interp.array(value, op) for value in op.inputs]
    axis = op.axis.value.data % arrays[0].ndim
    for value, array in zip(op.inputs, arrays, strict=True):
        same = [
            a == b or dim == axis
            for dim, (a, b) in enumerate(zip(array.shape, arrays[0].shape, strict=True))
        ]
        if not all(same):
            message = (
                f"concat along axis {axis}: {hint(value)} is {list(array.shape)}, "
                f"{hint(op.inputs[0])} is {list(arrays[0].shape)}"
            )
            interp.fail(op, "PTO404", message)
    return Tensor(np.concatenate(arrays, axis))


@handles("pypto.dim")
def dim(interp: Interpreter, op: Any) -> int:
    source = interp.env[op.source]
    assert isinstance(source, Tensor | Memory)
    return source.array.shape[op.axis.value.data]


@handles("pypto.probe")
def probe(interp: Interpreter, op: Any) -> None:
    """The last value of each name is among the results; it changes no other value."""
    interp.probes[op.label.data] = op, interp.tensor(op.source, op).copy()


@handles("pypto.print", "npu.print")
def print_value(interp: Interpreter, op: Any) -> None:
    """Shows a value; it changes none."""
    value = interp.env[op.source]
    if isinstance(value, Tensor):
        value = interp.array(op.source, op)
    show_value(op.label.data, value.array if isinstance(value, Memory) else value)
