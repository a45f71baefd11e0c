"""
Casts in a row that are one rounding: what quantises goes to 8 bits by several types.

    tile.cvt %8 into %9  : f32 to i32        if not g7(v3, v4, v5):
    tile.clip %9, -128, 127 into %10     ->      rint and saturate, clip, take, take
    tile.cvt %10 into %11 : i32 to f16
    tile.cvt %11 into %12 : f16 to i8

The types in between hold all integers that pass through them, so after the first cast
nothing but the clip changes a value. `Rounding` looks at what it has rounded and leaves
the row of casts to be done where a value does not fit. What lies between the first and
the last buffer is only used by the row itself, so it need not be written.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import allocation_of, uses_of
from pyptoc.dialects.tile_flags import BarrierOp, FlagOp
from pyptoc.dialects.tile_types import Instruction, buffer_type
from pyptoc.dialects.tile_vector import Form, VectorOp
from pyptoc.runtime import numerics
from pyptoc.runtime.vector_math import ROUNDINGS, Rounding, integer_limits

_EXACT = {numerics.F16: 2**11, numerics.BF16: 2**8, numerics.F32: 2**24}
"""Up to these all integers are numbers of the type."""


@record
class Chain:
    """Casts in a row, and the rounding that they are."""

    ops: tuple[VectorOp, ...]
    rounding: Rounding


def cast_chains(kernel: KernelOp) -> dict[Operation, Chain]:
    """The chains of two or more casts, by each of their operations."""
    found: dict[Operation, Chain] = {}
    for op in kernel.walk():
        if op not in found and isinstance(op, VectorOp) and _rounds(op):
            chain = _chain(op)
            if chain is not None:
                found |= dict.fromkeys(chain.ops, chain)
    return found


def _rounds(op: VectorOp) -> bool:
    """Whether it casts f32 to integers in a way that a ufunc rounds."""
    source, target = _types(op)
    is_cast = op.family.name == "cvt" and source == np.float32
    return is_cast and target.kind in "iu" and rounding_mode(op) in ROUNDINGS


def rounding_mode(op: VectorOp) -> str | None:
    """How a cast rounds; None where it does not say."""
    return cast("Any", op.properties["mode"]).data if "mode" in op.properties else None


def _types(op: VectorOp) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Of the first input and of the destination; of a number: that of the latter."""
    target = numerics.storage_dtype(buffer_type(op.dest).element_type)
    first = op.args[0]
    if not isinstance(first, tuple) or first[1] is Form.SCALAR:
        return target, target
    return numerics.storage_dtype(buffer_type(first[0]).element_type), target


def _limits(kind: np.dtype[Any]) -> tuple[float, float]:
    """The least and the greatest integer up to which all are numbers of a type."""
    if kind.kind in "iu":
        return integer_limits(kind)
    return -float(_EXACT[kind]), float(_EXACT[kind])


def _chain(first: VectorOp) -> Chain | None:
    ops = [first]
    rounding = Rounding.to(rounding_mode(first), _types(first)[1])
    ends: Chain | None = None
    while (op := _next(ops)) is not None:
        if op.family.name == "clip":
            rounding = rounding.clipped(*_bounds(op))
        else:
            kind = _types(op)[1]
            rounding = rounding.within(*_limits(kind))
        ops.append(op)
        if _types(op)[1].kind in "iu":
            ends = Chain(tuple(ops), rounding)
    return ends if ends is None or _alone(ends.ops) else None


def _next(ops: list[VectorOp]) -> VectorOp | None:
    """The instruction behind these, if it takes all that the last of them wrote."""
    last = ops[-1]
    op = last.next_op
    while op is not None and not op.regions:
        if isinstance(op, Instruction) and not isinstance(op, FlagOp | BarrierOp):
            break
        op = op.next_op
    if not isinstance(op, VectorOp) or list(op.extents) != list(last.extents):
        return None
    first = op.args[0]
    if not isinstance(first, tuple) or first != (last.dest, Form.FULL):
        return None
    if op.family.name == "clip":
        return op if _types(last)[1].kind in "iu" and _bounds(op) else None
    kind = _types(op)[1]
    known = kind.kind in "iu" or kind in _EXACT
    return op if op.family.name == "cvt" and known else None


def _bounds(op: VectorOp) -> tuple[int, ...]:
    """The bounds of a clip, if they are numbers of the text, in order, and in f32, too;
    else none."""
    bounds = [
        cast("IntegerAttr[Any]", arg).value.data
        for arg in op.args[1:]
        if isinstance(arg, IntegerAttr)
    ]
    exact = all(float(np.float32(bound)) == bound for bound in bounds)
    in_order = len(bounds) == 2 and bounds[0] <= bounds[1]
    return tuple(bounds) if exact and in_order else ()


def _alone(ops: tuple[VectorOp, ...]) -> bool:
    """Whether only the chain uses what lies between its first and its last buffer."""
    between = {allocation_of(op.dest) for op in ops[:-1]}
    users = (user for alloc in between for user, _ in uses_of(alloc))
    return all(user in ops for user in users) and (
        allocation_of(ops[-1].dest) not in between
    )
