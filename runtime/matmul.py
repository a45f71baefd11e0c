"""
Matrix products of the executor: what the generated code of a cube kernel calls.

Operands arrive as f32 images of their narrow types. Floats accumulate in f32. Products
of 8-bit integers go through the f32 product as well, which is exact while
k * 2^14 <= 2^24, so in pieces of k <= 1024 that are added in i32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.runtime.decode import table_f32
from pyptoc.runtime.memory import aligned

Array = NDArray[Any]
EXACT_K = 1024
FEW_ROWS = range(16, 33)
"""So many rows of A are few for a B of many columns, which is to be packed."""
MANY_COLUMNS = 96
MX_GROUP = 32
"""How many elements of K share one scale."""


class Scratch:
    """Flat f32 work space shared by all products of one executor."""

    def __init__(self) -> None:
        self.a: Array = np.empty(0, np.float32)
        self.b: Array = np.empty(0, np.float32)
        self.part: Array = np.empty(0, np.float32)
        self.drained: Array = np.empty(0, np.float32)
        self._held: dict[str, tuple[object, Array]] = {}

    def reserve(self, *, a: int = 0, b: int = 0, part: int = 0) -> None:
        """Make room for operands of `a` and `b` elements and a result of `part`."""
        for name, size in (("a", a), ("b", b), ("part", part)):
            self._grow(name, size)

    def _grow(self, name: str, size: int) -> None:
        if getattr(self, name).size < size:
            setattr(self, name, aligned(size, np.float32))

    def room(self, name: str, size: int) -> Array:
        """One of them, with room for `size` elements; what it held is forgotten."""
        self._held.pop(name, None)
        self._grow(name, size)
        return getattr(self, name)

    def hold(self, name: str, key: object, image: Array) -> None:
        """Note that an image lies in a room until somebody asks for that again."""
        self._held[name] = key, image

    def held(self, name: str, key: object) -> Array | None:
        """The image that a room holds, if it is that one."""
        found = self._held.get(name)
        return found[1] if found is not None and found[0] == key else None

    def forget(self) -> None:
        """Forget what the rooms hold: memory may change."""
        self._held.clear()


def start_at(c: Array, bias: Array, accumulate: bool) -> bool:
    """Put a bias [1, n] into c [m, n] where sums start; whether to add: always."""
    if not accumulate:
        c[...] = bias
    return True


def apart(a: Array, b: Array) -> Array:
    """`b`, or a copy of the same layout where it is the memory of `a`.

    A matrix times its own transpose numpy gives to another routine (syrk), which adds
    up in another order than that for two matrices of equal values.
    """
    square = a.shape[-2] == b.shape[-1]
    return b.copy("K") if square and np.may_share_memory(a, b) else b


def product(
    a: Array, b: Array, c: Array, part: Array, accumulate: bool, each: int = 0
) -> None:
    """`c (+)= a @ b`: a [m, k] and b [k, n] in f32, c [m, n] in f32 or i32.

    each: how many rows are of one task, where they are of several. The order in which a
    library adds up depends on how many rows it is given, so floats are multiplied task
    by task. 0: all are of one.
    """
    if c.dtype == np.int32:
        _integer_product(a, b, c, part, accumulate)
        return
    if 0 < each < len(a):
        # numpy gives them to the library one by one.
        tasks = len(a) // each
        a = a.reshape(tasks, each, a.shape[1])
        c = c.reshape(tasks, each, c.shape[1])
    (rows, depth), columns = a.shape[-2:], b.shape[1]
    # The stride of a vector changes the order in which a library adds it up.
    if rows == 1:
        a = np.ascontiguousarray(a)
    if columns == 1:
        b = np.ascontiguousarray(b)
    if rows == columns:
        b = apart(a, b)
    flat = part[: c.size]
    if not depth:
        if not accumulate:
            c[...] = 0
    elif _is_quicker_turned(a, b):
        turned = flat.reshape(*c.shape[:-2], columns, rows)
        np.matmul(b.T, a.swapaxes(-2, -1), out=turned)
        found = turned.swapaxes(-2, -1)
        np.add(c, found, out=c) if accumulate else np.copyto(c, found)
    elif not accumulate:
        np.matmul(a, b, out=c)
    else:
        sums = flat.reshape(c.shape)
        np.matmul(a, b, out=sums)
        np.add(c, sums, out=c)


def _is_quicker_turned(a: Array, b: Array) -> bool:
    """Whether `(b.T @ a.T).T` takes less time: the same sums in the same order.

    A library copies both operands in pieces that it multiplies. With few rows of A that
    is most of the time, and of a B whose columns lie in rows it takes longest.
    """
    return (
        a.shape[-2] in FEW_ROWS
        and b.shape[1] >= MANY_COLUMNS
        and b.strides[0] < b.strides[1]
        and a.strides[-2] > a.strides[-1]
    )


def _integer_product(
    a: Array, b: Array, c: Array, part: Array, accumulate: bool
) -> None:
    if not accumulate:
        c[...] = 0
    rows, columns = c.shape
    flat = part[: rows * columns].reshape(rows, columns)
    for k in range(0, a.shape[1], EXACT_K):
        np.matmul(a[:, k : k + EXACT_K], b[k : k + EXACT_K], out=flat)
        # A mixed i32 + f32 ufunc would go through f64 buffers.
        np.add(c, flat.astype(np.int32), out=c)


def scale_rows(x: Array, scales: Array, out: Array) -> Array:
    """`out[i, k] = x[i, k] * scales[i, k // 32]`; x [rows, k], f32."""
    rows, depth = x.shape
    whole = depth // MX_GROUP
    edge = whole * MX_GROUP
    shape = (rows, whole, MX_GROUP)
    if whole:
        np.multiply(
            x[:, :edge].reshape(shape),
            scales[:, :whole, None],
            out=out[:, :edge].reshape(shape),
        )
    if edge < depth:
        np.multiply(x[:, edge:], scales[:, whole, None], out=out[:, edge:])
    return out


def scale_columns(x: Array, scales: Array, out: Array) -> Array:
    """`out[k, j] = x[k, j] * scales[k // 32, j]`; x [k, columns], f32."""
    depth, columns = x.shape
    whole = depth // MX_GROUP
    edge = whole * MX_GROUP
    shape = (whole, MX_GROUP, columns)
    if whole:
        np.multiply(
            x[:edge].reshape(shape),
            scales[:whole, None, :],
            out=out[:edge].reshape(shape),
        )
    if edge < depth:
        np.multiply(x[edge:], scales[whole], out=out[edge:])
    return out


def unpack_pairs(box: Array) -> Array:
    """Scales `[kb, 2 * n]`, two by two for each n, as `[n, 2 * kb]`."""
    blocks, columns = box.shape
    by_pair = box.reshape(blocks, columns // 2, 2).transpose(1, 0, 2)
    return by_pair.reshape(columns // 2, 2 * blocks)


def decode_scales(box: Array) -> Array:
    """E8M0 scales as f32."""
    return table_f32(box.dtype).take(box.view(np.uint8), mode="clip")


def product_mx(
    a: Array,
    b: Array,
    scales: tuple[Array, Array],
    c: Array,
    scratch: Scratch,
    accumulate: bool,
) -> None:
    """`c (+)= (a * sa) @ (b * sb)`, scales in E8M0: sa [m, groups], sb [n, groups]."""
    row_scales, column_scales = map(decode_scales, scales)
    a = scale_rows(a, row_scales, _like(a, scratch.room("a", a.size)))
    by_group = np.ascontiguousarray(column_scales.T)
    b = scale_columns(b, by_group, _like(b, scratch.room("b", b.size)))
    product(a, b, c, scratch.part, accumulate)


def _like(x: Array, flat: Array) -> Array:
    return flat[: x.size].reshape(x.shape)
