"""
Matrix products of the executor: what the generated code of a cube kernel calls.

Operands arrive as f32 images of their narrow types. Floats accumulate in f32. Products
of 8-bit integers go through the f32 product as well, which is exact while
k * 2^14 <= 2^24, so in pieces of k <= 1024 that are added in i32.

`run_steps` is the short cut for a loop that moves a slice of A and a slice of B to L0
and multiplies them: if the slices lie side by side, both L1 tiles are decoded once and
multiplied once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyptoc.runtime.decode import Decode, table_f32

Array = NDArray[Any]
EXACT_K = 1024
MX_GROUP = 32
"""How many elements of K share one scale."""


class Scratch:
    """Flat f32 work space shared by all products of one executor."""

    def __init__(self) -> None:
        self.a: Array = np.empty(0, np.float32)
        self.b: Array = np.empty(0, np.float32)
        self.part: Array = np.empty(0, np.float32)

    def reserve(self, *, a: int = 0, b: int = 0, part: int = 0) -> None:
        """Make room for operands of `a` and `b` elements and a result of `part`."""
        for name, size in (("a", a), ("b", b), ("part", part)):
            if getattr(self, name).size < size:
                setattr(self, name, np.empty(size, np.float32))


def start_at(c: Array, bias: Array, accumulate: bool) -> bool:
    """Put a bias [1, n] into c [m, n] where sums start; whether to add: always."""
    if not accumulate:
        c[...] = bias
    return True


def product(a: Array, b: Array, c: Array, part: Array, accumulate: bool) -> None:
    """`c (+)= a @ b`: a [m, k] and b [k, n] in f32, c [m, n] in f32 or i32."""
    depth = a.shape[1]
    if c.dtype == np.int32:
        _integer_product(a, b, c, part, accumulate)
    elif not accumulate:
        if depth:
            np.matmul(a, b, out=c)
        else:
            c[...] = 0
    elif depth:
        rows, columns = c.shape
        flat = part[: rows * columns].reshape(rows, columns)
        np.matmul(a, b, out=flat)
        np.add(c, flat, out=c)


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
    a = scale_rows(a, row_scales, _like(a, scratch.a))
    by_group = np.ascontiguousarray(column_scales.T)
    b = scale_columns(b, by_group, _like(b, scratch.b))
    product(a, b, c, scratch.part, accumulate)


def _like(x: Array, flat: Array) -> Array:
    return flat[: x.size].reshape(x.shape)


@dataclass(frozen=True)
class Side:
    """How one operand of a matmul is read from L1."""

    decode: Decode
    k_axis: int
    """Which axis of the box in L1 is K."""
    pairs: bool = False
    """Whether its scales lie in pairs for each row, `[kb, 2 * rows]`."""

    def box(self, source: Array, at: tuple[int, int], rows: int, depth: int) -> Array:
        """The box in L1 of `rows` (of A) or columns (of B) and `depth` of K."""
        first, second = at
        if self.k_axis:
            return source[first : first + rows, second : second + depth]
        return source[first : first + depth, second : second + rows]

    def scale_box(
        self, source: Array, at: tuple[int, int], rows: int, depth: int
    ) -> Array:
        first, second = at
        blocks = -(-depth // (2 * MX_GROUP))
        if self.pairs:
            return source[first : first + blocks, second : second + 2 * rows]
        return source[first : first + rows, second : second + 2 * blocks]

    def image(self, box: Array, scales: Array | None, flat: Array) -> Array:
        """The box as f32, scaled; its axes as in L1."""
        image = self.decode(box, flat)
        if scales is None:
            return image
        values = decode_scales(unpack_pairs(scales) if self.pairs else scales)
        if self.k_axis:
            return scale_rows(image, values, image)
        return scale_columns(image, np.ascontiguousarray(values.T), image)


class Step(NamedTuple):
    """One `move, move, matmul`: extents, and where the boxes start in L1."""

    accumulate: bool
    m: int
    n: int
    k: int
    a: tuple[int, int]
    b: tuple[int, int]
    scale_a: tuple[int, int] = (0, 0)
    scale_b: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class FusedMatmul:
    """A matmul fed straight from L1: each box decoded once, no copy in L0."""

    a: Side
    b: Side
    scratch: Scratch

    def run_steps(
        self, steps: Sequence[Step], sources: tuple[Array, ...], c: Array
    ) -> None:
        """Do all steps, at once if their boxes lie side by side along K.

        sources: the L1 buffers of A and B and, for MX, of their scales.
        """
        if not steps:
            return
        if self.side_by_side(steps, len(sources) > 2):
            first = steps[0]
            depth = sum(step.k for step in steps)
            self.run_step(first, depth, sources, c)
        else:
            for step in steps:
                self.run_step(step, step.k, sources, c)

    def side_by_side(self, steps: Sequence[Step], mx: bool) -> bool:
        """Whether the boxes of the steps tile one box of each source."""
        first = steps[0]
        depth = first.k
        for step in steps[1:]:
            same = step.accumulate and step.m == first.m and step.n == first.n
            if not same or step.a != _ahead(first.a, self.a.k_axis, depth):
                return False
            if step.b != _ahead(first.b, self.b.k_axis, depth):
                return False
            if mx and not self._scales_follow(first, step, depth):
                return False
            depth += step.k
        return True

    def _scales_follow(self, first: Step, step: Step, depth: int) -> bool:
        blocks, rest = divmod(depth, 2 * MX_GROUP)
        ahead_a = _scales_ahead(first.scale_a, self.a.pairs, blocks)
        ahead_b = _scales_ahead(first.scale_b, self.b.pairs, blocks)
        return not rest and (step.scale_a, step.scale_b) == (ahead_a, ahead_b)

    def run_step(
        self, step: Step, depth: int, sources: tuple[Array, ...], c: Array
    ) -> None:
        """The product over `depth` of K from where `step` starts."""
        a, b = self.a, self.b
        a_box = a.box(sources[0], step.a, step.m, depth)
        b_box = b.box(sources[1], step.b, step.n, depth)
        a_scales = b_scales = None
        if len(sources) > 2:
            a_scales = a.scale_box(sources[2], step.scale_a, step.m, depth)
            b_scales = b.scale_box(sources[3], step.scale_b, step.n, depth)
        left = a.image(a_box, a_scales, self.scratch.a)
        right = b.image(b_box, b_scales, self.scratch.b)
        product(
            left if a.k_axis else left.T,
            right.T if b.k_axis else right,
            c[: step.m, : step.n],
            self.scratch.part,
            step.accumulate,
        )


def _ahead(at: tuple[int, int], axis: int, depth: int) -> tuple[int, int]:
    first, second = at
    return (first, second + depth) if axis else (first + depth, second)


def _scales_ahead(at: tuple[int, int], pairs: bool, blocks: int) -> tuple[int, int]:
    first, second = at
    return (first + blocks, second) if pairs else (first, second + 2 * blocks)
