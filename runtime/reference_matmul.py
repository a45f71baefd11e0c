"""Products of matrices in the reference interpreter.

Floats accumulate in f32; i8 accumulates exactly in i32.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyptoc.dialects.pypto.infer_einsum import Equation
from pyptoc.dialects.words import counted
from pyptoc.runtime import numerics
from pyptoc.runtime.matmul import apart
from pyptoc.runtime.numerics import Array
from pyptoc.runtime.reference_core import Interpreter, dtype_of, handles, hint
from pyptoc.runtime.reference_math import check_broadcast, is_dynamic_one
from pyptoc.runtime.reference_values import Tensor
from pyptoc.runtime.reference_wide import narrow, wide

EXACT_K = 1024
"""f32 holds a sum of this many products of i8 exactly: 2^14 * 2^10 = 2^24."""


def transposed(array: Array, flag: object) -> Array:
    return array if flag is None else np.swapaxes(array, -1, -2)


def product(a: Array, b: Array) -> Array:
    """`a @ b` of floats in f32, or of integers in i32; leading dimensions broadcast."""
    if numerics.is_float(a.dtype):
        return _fold(wide(a), wide(b))
    k = a.shape[-1]
    total = _fold(
        a[..., :EXACT_K].astype(np.float32), b[..., :EXACT_K, :].astype(np.float32)
    ).astype(np.int32)
    for begin in range(EXACT_K, k, EXACT_K):
        end = begin + EXACT_K
        piece = _fold(
            a[..., begin:end].astype(np.float32),
            b[..., begin:end, :].astype(np.float32),
        )
        total += piece.astype(np.int32)
    return total


def _fold(a: Array, b: Array) -> Array:
    """A matrix b serves all leading dimensions of a in one product.

    How a library adds up a vector depends on its stride, so vectors have none here.
    """
    a = np.ascontiguousarray(a) if a.shape[-2] == 1 else a
    b = np.ascontiguousarray(b) if b.shape[-1] == 1 else b
    if b.ndim == 2 and a.ndim > 2:
        rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
        return (rows @ apart(rows, b)).reshape(*a.shape[:-1], b.shape[-1])
    return np.matmul(a, apart(a, b))


def check_k(interp: Interpreter, op: Any, a: Array, b: Array) -> None:
    if a.shape[-1] != b.shape[-2]:
        message = f"matmul contracts {a.shape[-1]} with {b.shape[-2]}"
        interp.fail(op, "PTO404", message)
    sides = [(op.lhs, a), (op.rhs, b)]
    batches = [(side, np.broadcast_to(0, x.shape[:-2])) for side, x in sides]
    check_broadcast(interp, op, batches)


@handles("pypto.matmul")
def matmul(interp: Interpreter, op: Any) -> Tensor:
    a = transposed(interp.array(op.lhs, op), op.a_trans)
    b = transposed(interp.array(op.rhs, op), op.b_trans)
    check_k(interp, op, a, b)
    acc = product(a, b)
    if op.bias is not None:
        bias = interp.array(op.bias, op)
        if bias.size != acc.shape[-1]:
            message = f"a bias of {bias.size} for {counted(acc.shape[-1], 'column')}"
            interp.fail(op, "PTO404", message)
        acc = acc + bias
    return _stored(interp, op, acc)


@handles("pypto.epilogue")
def epilogue(interp: Interpreter, op: Any) -> Tensor:
    return _stored(interp, op, interp.array(op.acc, op))


def _stored(interp: Interpreter, op: Any, acc: Array) -> Tensor:
    """The accumulator scaled by column, without what is below 0, rounded once."""
    if op.scale is not None:
        scale = numerics.output_scale(interp.array(op.scale, op))
        repeated = scale.size == 1 and not is_dynamic_one(op.scale, 0, scale)
        if scale.size != acc.shape[-1] and not repeated:
            message = (
                f"{counted(scale.size, 'output scale')} for "
                f"{counted(acc.shape[-1], 'column')}"
            )
            interp.fail(op, "PTO404", message)
        acc = numerics.cast(acc, "f32") * scale
    if op.relu is not None:
        acc = np.maximum(acc, acc.dtype.type(0))
    if dtype_of(op.result) == np.int8:
        return Tensor(numerics.cast(acc, "i8", "rint"))
    return Tensor(narrow(acc, dtype_of(op.result)))


def scaled(
    interp: Interpreter,
    op: Any,
    matrices: tuple[Array, Array],
    scales: tuple[Array, Array],
) -> Array:
    """(a * sa) @ (b * sb) in f32 of a [m, k], b [k, n] and rank-3 scales."""
    a, b = matrices
    sa, sb = scales
    m, k = a.shape
    blocks, n = -(-k // 64), b.shape[1]
    want_a = (m, blocks, 2) if op.scales_a_trans is None else (blocks, m, 2)
    want_b = (blocks, n, 2) if op.scales_b_trans is None else (n, blocks, 2)
    for value, have, want in (
        (op.scale_lhs, sa, want_a),
        (op.scale_rhs, sb, want_b),
    ):
        if have.shape != want:
            message = (
                f"{hint(value)} has the shape {list(have.shape)}, not {list(want)}"
            )
            interp.fail(op, "PTO404", message)
    by_row = numerics.mx_scales_lhs(sa, k, op.scales_a_trans is not None)
    by_column = numerics.mx_scales_rhs(sb, k, op.scales_b_trans is not None)
    return _spread(wide(a), by_row) @ _spread(wide(b), by_column)


def _spread(x: Array, scales: Array) -> Array:
    """`x * scales`, which lies as x does.

    How a library adds up a vector times a matrix depends on how the matrix lies.
    """
    return np.multiply(x, scales, out=np.empty_like(x))


@handles("pypto.scaled_mm")
def scaled_mm(interp: Interpreter, op: Any) -> Tensor:
    a = transposed(interp.array(op.lhs, op), op.a_trans)
    b = transposed(interp.array(op.rhs, op), op.b_trans)
    check_k(interp, op, a, b)
    sa, sb = interp.array(op.scale_lhs, op), interp.array(op.scale_rhs, op)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    sides = [
        np.broadcast_to(array, (*batch, *array.shape[-rank:]))
        for array, rank in ((a, 2), (b, 2), (sa, 3), (sb, 3))
    ]
    result = np.zeros((*batch, a.shape[-2], b.shape[-1]), np.float32)
    for at in np.ndindex(batch):
        x, y, of_x, of_y = (array[at] for array in sides)
        result[at] = scaled(interp, op, (x, y), (of_x, of_y))
    return Tensor(narrow(result, dtype_of(op.result)))


@handles("pypto.mma")
def mma(interp: Interpreter, op: Any) -> Tensor:
    acc = interp.array(op.acc, op)
    a = transposed(interp.array(op.lhs, op), op.a_trans)
    b = transposed(interp.array(op.rhs, op), op.b_trans)
    check_k(interp, op, a, b)
    if op.scale_lhs is None:
        return Tensor(narrow(acc + product(a, b), dtype_of(op.result)))
    # The pairs lie flat in tiles: [m, 2 * kb], [kb, 2 * n] and so on.
    sa, sb = (
        array.reshape(array.shape[0], array.shape[1] // 2, 2)
        for array in (interp.array(op.scale_lhs, op), interp.array(op.scale_rhs, op))
    )
    return Tensor(acc + scaled(interp, op, (a, b), (sa, sb)))


class _Flags:
    """The scale layout of a grouped_matmul, as `scaled` asks for it."""

    def __init__(self, op: Any) -> None:
        self.scale_lhs, self.scale_rhs = op.scale_lhs, op.scale_rhs
        self.scales_a_trans = None
        self.scales_b_trans = op.scales_b_trans
        self.name, self.location, self.operands = op.name, op.location, op.operands


def group_bounds(interp: Interpreter, op: Any, rows: int) -> list[tuple[int, int]]:
    """The first row and the end of each expert."""
    groups = [int(g) for g in interp.array(op.groups, op).tolist()]
    ends = op.group_kind is not None and op.group_kind.data == "ends"
    bounds: list[tuple[int, int]] = []
    begin = 0
    name = hint(op.lhs)
    for expert, group in enumerate(groups):
        end = group if ends else begin + group
        if end < begin:
            message = f"expert {expert}: negative group {end - begin}"
            interp.fail(op, "PTO402", message)
        if end > rows:
            message = (
                f"expert {expert} of {len(groups)}: view of {name} rows {begin} +: "
                f"{end - begin} ends at {end}, {name} has {counted(rows, 'row')}"
            )
            interp.fail(op, "PTO402", message, help=_sum_help(op, groups, rows))
        bounds.append((begin, end))
        begin = end
    if begin != rows:
        message = f"the groups sum to {begin}, {name} has {counted(rows, 'row')}"
        interp.fail(op, "PTO402", message, help=_sum_help(op, groups, rows))
    return bounds


def _sum_help(op: Any, groups: list[int], rows: int) -> str:
    if op.group_kind is not None and op.group_kind.data == "ends":
        return f"{hint(op.groups)} = {groups} should end at {rows}"
    return f"{hint(op.groups)} = {groups} sums to {sum(groups)}; M = {rows}"


@handles("pypto.grouped_matmul")
def grouped_matmul(interp: Interpreter, op: Any) -> Tensor:
    a, b = interp.array(op.lhs, op), interp.array(op.rhs, op)
    b = transposed(b, op.b_trans)
    rows, experts, n = a.shape[0], b.shape[0], b.shape[2]
    check_k(interp, op, a, b[0]) if experts else None
    bounds = group_bounds(interp, op, rows)
    if len(bounds) != experts:
        message = (
            f"{hint(op.groups)} has {counted(len(bounds), 'group')}, "
            f"{hint(op.rhs)} {experts}"
        )
        interp.fail(op, "PTO404", message)
    result = np.zeros((rows, n), dtype_of(op.result))
    for expert, (begin, end) in enumerate(bounds):
        x, w = a[begin:end], b[expert]
        if op.scale_lhs is None:
            y = product(x, w)
        else:
            sa = interp.array(op.scale_lhs, op)[begin:end]
            sb = interp.array(op.scale_rhs, op)[expert]
            y = scaled(interp, _Flags(op), (x, w), (sa, sb))
        result[begin:end] = narrow(y, result.dtype)
    return Tensor(result)


@handles("pypto.einsum")
def einsum(interp: Interpreter, op: Any) -> Tensor:
    """Transposes and a batched matmul: batch letters, free letters, summed letters."""
    a, b = interp.array(op.lhs, op), interp.array(op.rhs, op)
    equation = Equation.of(op.equation.data)
    size = dict(zip(equation.lhs, a.shape, strict=True))
    for letter, extent in zip(equation.rhs, b.shape, strict=True):
        if size.setdefault(letter, extent) != extent:
            message = f"'{letter}' is {size[letter]} on the left, {extent} on the right"
            interp.fail(op, "PTO404", message)
    batch, summed = equation.batch, equation.contracted
    left, right = (a, equation.lhs), (b, equation.rhs)
    rows, columns = equation.free_lhs, equation.free_rhs
    if equation.swaps:
        left, right, rows, columns = right, left, columns, rows
    x = _grouped(*left, (batch, rows, summed))
    y = _grouped(*right, (batch, summed, columns))
    z = product(x, y)
    order = [*batch, *rows, *columns]
    z = z.reshape([size[letter] for letter in order])
    z = z.transpose([order.index(letter) for letter in equation.out]).copy()
    return Tensor(narrow(z, dtype_of(op.result)))


def _grouped(array: Array, letters: str, groups: tuple[str, ...]) -> Array:
    """The array as rank 3, one dimension for each group of letters, in row-major order.

    The layout decides how BLAS adds up: it is that of a matmul of transposed tensors.
    """
    order = [letters.index(letter) for group in groups for letter in group]
    moved = np.ascontiguousarray(array.transpose(order))
    sizes = dict(zip(letters, array.shape, strict=True))
    shape = [int(np.prod([sizes[x] for x in group], dtype=int)) for group in groups]
    return moved.reshape(shape)
