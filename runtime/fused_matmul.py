"""
Matmuls fed straight from L1 or gm: each box decoded once, no copy in L0.

A loop that moves a slice of A and a slice of B to L0 and multiplies them is one product
if the slices lie side by side. So is the loop around it that loads L1, where the loads
need not be made (`images.py`): its products are put off, as pieces, and pieces whose
boxes lie side by side in memory are multiplied at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyptoc.dialects.record import record
from pyptoc.runtime.ahead import Ahead, Operand
from pyptoc.runtime.decode import Decode
from pyptoc.runtime.images import Box, Filled, Images
from pyptoc.runtime.kept_work import Parts
from pyptoc.runtime.matmul import (
    MX_GROUP,
    Scratch,
    decode_scales,
    product,
    scale_columns,
    scale_rows,
    start_at,
)

Array = NDArray[Any]
MOST_PLANS = 2**12
LARGEST = 2**21
"""Elements of an operand that is joined from several boxes."""


@record
class Side:
    """How one operand of a matmul is read from L1."""

    decode: Decode
    k_axis: int
    """Which axis of the box in L1 is K."""
    pairs: bool = False
    """Whether its scales lie in pairs for each row, `[kb, 2 * rows]`."""

    def box(self, rows: int, depth: int) -> tuple[int, int]:
        """The shape in L1 of `rows` (of A) or columns (of B) and `depth` of K."""
        return (rows, depth) if self.k_axis else (depth, rows)

    def scale_box(self, rows: int, depth: int) -> tuple[int, int]:
        """The shape of the scales of such a box."""
        blocks = -(-depth // (2 * MX_GROUP))
        return (blocks, 2 * rows) if self.pairs else (rows, 2 * blocks)

    def follows(self, first: Boxes, other: Boxes, depth: int) -> bool:
        """Whether `other` lies behind `depth` of K from the start of `first`."""
        if len(first) > 1 and depth % (2 * MX_GROUP):
            return False
        for one, two, length in zip(first, other, self._lengths(depth), strict=False):
            if not one.goes_on(two, *length):
                return False
        return True

    def longer(self, first: Boxes, depth: int) -> Boxes:
        """`first` and what follows it in memory, up to `depth` of K."""
        boxes: list[Box] = []
        for box, (axis, length) in zip(first, self._lengths(depth), strict=False):
            other = box.shape[1 - axis]
            shape = (other, length) if axis else (length, other)
            boxes.append(Box(box.source, box.at, shape))
        return tuple(boxes)

    def _lengths(self, depth: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Of elements and of scales: which axis is K, and the extent for `depth`."""
        axis = 0 if self.pairs else 1
        return (self.k_axis, depth), (axis, self.scale_box(0, depth)[axis])

    def image(self, boxes: Sequence[Array], flat: Array) -> Array:
        """The box as f32, scaled by the second one; its axes as in L1."""
        image = self.decode(boxes[0], flat)
        if len(boxes) == 1:
            return image
        scales = self._scales(boxes[1])
        scale = scale_rows if self.k_axis else scale_columns
        return scale(image, scales, image)

    def _scales(self, box: Array) -> Array:
        """Scales in f32: `[rows, groups]`, or `[groups, columns]` if K comes first."""
        if not self.pairs:
            return decode_scales(box if self.k_axis else box.T)
        blocks, rows = box.shape[0], box.shape[1] // 2
        by_pair = box.reshape(blocks, rows, 2)
        if self.k_axis:
            by_row = by_pair.transpose(1, 0, 2)
            return decode_scales(by_row).reshape(rows, 2 * blocks)
        return decode_scales(by_pair.transpose(0, 2, 1)).reshape(2 * blocks, rows)


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


Boxes = tuple[Box, ...]
"""One side of a piece: its elements and, for MX, its scales."""


class Piece(NamedTuple):
    """A product over a part of K that was put off."""

    accumulate: bool
    m: int
    n: int
    depth: int
    a: Boxes
    b: Boxes


Known = tuple[object, Sequence[int]]
"""What the products of a loop are known by: a key, and where each load starts."""


@record
class FusedMatmul:
    """One matmul of a kernel, with the moves of its operands."""

    a: Side
    b: Side
    scratch: Scratch
    images: Images
    ahead: Ahead
    repeats: bool = False
    """Whether another matmul of a task multiplies the same."""
    each: int = 0
    """How many rows of A are a product of their own (see `product`)."""
    plans: dict[Hashable, list[tuple[Step, int]]] = field(default_factory=dict)
    """The steps of loops, by what they depend on."""

    def run(
        self,
        steps: Sequence[Step],
        sources: tuple[Array, ...],
        c: Array,
        bias: Array | None,
        key: Hashable = None,
    ) -> None:
        """Do all steps, at once if their boxes lie side by side along K.

        sources: the L1 buffers of A and B and, for MX, of their scales. bias: what sums
        start at, [1, n]. key: what the steps depend on; remember them by that.
        """
        plan = self._plan(steps, len(sources) > 2)
        if key is not None:
            if len(self.plans) >= MOST_PLANS:
                self.plans.clear()
            self.plans[key] = plan
        self.redo(plan, sources, c, bias)

    def redo(
        self,
        plan: Sequence[tuple[Step, int]],
        sources: tuple[Array, ...],
        c: Array,
        bias: Array | None,
    ) -> None:
        """Do steps that are known."""
        pieces = [self._piece(step, depth, sources) for step, depth in plan]
        self.finish(pieces, c, bias)

    def put_off(
        self, steps: Sequence[Step], sources: tuple[Array, ...], pieces: list[Piece]
    ) -> None:
        """Append what the steps are to do."""
        for step, depth in self._plan(steps, len(sources) > 2):
            pieces.append(self._piece(step, depth, sources))

    def _plan(self, steps: Sequence[Step], mx: bool) -> list[tuple[Step, int]]:
        """The steps that are done, each with its depth."""
        if len(steps) > 1 and self.side_by_side(steps, mx):
            return [(steps[0], sum(step.k for step in steps))]
        return [(step, step.k) for step in steps]

    def _piece(self, step: Step, depth: int, sources: tuple[Array, ...]) -> Piece:
        at_a, at_b = (step.a, step.scale_a), (step.b, step.scale_b)
        a = self._operand(self.a, sources[::2], at_a, step.m, depth)
        b = self._operand(self.b, sources[1::2], at_b, step.n, depth)
        return Piece(step.accumulate, step.m, step.n, depth, a, b)

    def _operand(
        self,
        side: Side,
        sources: tuple[Array, ...],
        places: tuple[tuple[int, int], ...],
        rows: int,
        depth: int,
    ) -> Boxes:
        """The boxes of one operand, in gm or L1."""
        part = self.images.part
        box = part(sources[0], places[0], side.box(rows, depth))
        if len(sources) == 1:
            return (box,)
        return box, part(sources[1], places[1], side.scale_box(rows, depth))

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

    def finish(
        self,
        pieces: list[Piece],
        c: Array,
        bias: Array | None,
        known: Known | None = None,
    ) -> None:
        """Do what was put off, and forget it; known: remember it by that."""
        joined = pieces if len(pieces) == 1 else list(self._joined(pieces))
        if known is not None:
            self._remember(joined, *known)
        for piece in joined:
            self._multiply(piece, c, bias)
        pieces.clear()

    def _remember(
        self, pieces: Sequence[Piece], key: object, starts: Sequence[int]
    ) -> None:
        """Keep pieces by their distance from `starts`, of each operand, in gm."""
        boxes = (box for piece in pieces for box in (*piece.a, *piece.b))
        if all(box.source in self.images.sources.values() for box in boxes):
            back = [-start for start in starts]
            self.images.plans[key] = [_moved(piece, back) for piece in pieces]

    def replay(
        self,
        plan: Sequence[Piece],
        starts: Sequence[int],
        c: Array,
        bias: Array | None,
    ) -> None:
        """Do what is known, for loads that start there."""
        for piece in plan:
            self._multiply(_moved(piece, starts), c, bias)

    def _multiply(self, piece: Piece, c: Array, bias: Array | None) -> None:
        if c.dtype == np.int32 and bias is None and self._found(piece, c):
            return
        box, accumulate = c[: piece.m, : piece.n], piece.accumulate
        key = self._key(piece) if self.repeats and bias is None else None
        if key is not None and (found := self.images.store.images.get(key)):
            np.copyto(box, found.arrays[0])
            return
        left = self._image(self.a, piece.a, "a")
        right = self._image(self.b, piece.b, "b")
        if bias is not None:
            accumulate = start_at(box, bias[:, : piece.n], accumulate)
        product(
            left if self.a.k_axis else left.T,
            right.T if self.b.k_axis else right,
            box,
            self.scratch.part,
            accumulate,
            self.each,
        )
        if key is not None:
            self._keep(key, box, piece.b[0])

    def _key(self, piece: Piece) -> Hashable:
        """What a product is known by: what is loaded for a loop, and the kept parts
        that fill a slot. None: it is of other things."""
        (a, *scales), (b, *_) = piece.a, piece.b
        filled = self.images.known.get(id(b.source))
        if filled is None or scales or piece.accumulate or not a.source.again:
            return None
        sides = self.a.decode, self.a.k_axis, self.b.decode, self.b.k_axis
        return sides, a, id(filled[0]), id(filled[1]), b.at, b.shape

    def _keep(self, key: Hashable, product: Array, b: Box) -> None:
        """Keep a product whose B is nothing but kept parts."""
        store, filled = self.images.store, self.images.known[id(b.source)]
        room = store.room(product.nbytes) if _holds(filled, b) else None
        if room is not None:
            kept = room.view(product.dtype).reshape(product.shape)
            kept[...] = product
            store.images.put(key, Parts([kept, *filled[:2]], [room]))

    def _found(self, piece: Piece, c: Array) -> bool:
        """Take the product of a piece that several tasks need beside each other."""
        (a,), (b,) = piece.a, piece.b
        left = Operand(a, self.a.decode, self.a.k_axis)
        right = Operand(b, self.b.decode, self.b.k_axis)
        found = self.ahead.product(left, right, self.scratch)
        if found is None:
            return False
        box = c[: piece.m, : piece.n]
        np.add(box, found, out=box) if piece.accumulate else np.copyto(box, found)
        return True

    def _joined(self, pieces: Sequence[Piece]) -> Iterator[Piece]:
        """The pieces, those that lie side by side along K as one."""
        start = 0
        while start < len(pieces):
            first, end = pieces[start], start + 1
            depth = first.depth
            while end < len(pieces) and self._follows(first, pieces[end], depth):
                depth += pieces[end].depth
                end += 1
            if end == start + 1:
                yield first
            else:
                a, b = self.a.longer(first.a, depth), self.b.longer(first.b, depth)
                yield first._replace(depth=depth, a=a, b=b)
            start = end

    def _follows(self, first: Piece, piece: Piece, depth: int) -> bool:
        """Whether `piece` goes on where `first`, by now of `depth`, ends."""
        return (
            piece.accumulate
            and (first.m, first.n) == (piece.m, piece.n)
            and (depth + piece.depth) * max(first.m, first.n) <= LARGEST
            and self.a.follows(first.a, piece.a, depth)
            and self.b.follows(first.b, piece.b, depth)
        )

    def _image(self, side: Side, operand: Boxes, name: str) -> Array:
        """The image of an operand, kept or made."""
        first, last = operand[0].source, operand[-1].source
        if not (first.keep and last.keep):
            found = None
            if first.again or id(first) in self.images.known:
                found = self._recent_image(side, operand)
            return self._held_image(side, operand, name) if found is None else found
        key = name, side.k_axis, operand
        found = self.images.kept.get(key)
        if found is None:
            rows, columns = operand[0].shape
            found = side.image(arrays(operand), self.images.room(rows * columns))
            self.images.keep(key, found)
        return found

    def _held_image(self, side: Side, operand: Boxes, name: str) -> Array:
        """The image of an operand, made unless the product before had the same."""
        fixed = operand[0].source.fixed and operand[-1].source.fixed
        found = self.scratch.held(name, (side, operand)) if fixed else None
        if found is None:
            rows, columns = operand[0].shape
            found = side.image(arrays(operand), self.scratch.room(name, rows * columns))
            if fixed:
                self.scratch.hold(name, (side, operand), found)
        return found

    def _recent_image(self, side: Side, operand: Boxes) -> Array | None:
        """The image of a box that is multiplied again soon; None if it is not kept."""
        box, store = operand[0], self.images.store
        if len(operand) > 1 or box.source.dtype == np.float32:
            return None
        known = self.images.known.get(id(box.source))
        what = box.source if known is None else (id(known[0]), id(known[1]))
        key = side.decode, what, box.at, box.shape
        found = store.images.get(key)
        if found is not None:
            return found.arrays[0]
        parts: tuple[Array, ...] = ()
        if known is not None:
            first, second, channel, slot = known
            parts = first, second
            channel.fill(slot)
            if not _holds(known, box):
                return None
        room = store.room(4 * box.shape[0] * box.shape[1])
        if room is None:
            return None
        image = side.image(arrays(operand), room.view(np.float32))
        store.images.put(key, Parts([image, *parts], [room]))
        return image


def _holds(filled: Filled, box: Box) -> bool:
    """Whether the kept parts that fill a slot have all of a box of it."""
    _, _, channel, slot = filled
    row, rest = divmod(box.at, box.source.strides[0])
    column = rest // box.source.dtype.itemsize
    return channel.holds(slot, row + box.shape[0], column + box.shape[1])


def _moved(piece: Piece, by: Sequence[int]) -> Piece:
    """The piece with its boxes so many bytes further on: A, B, scales of A and of B."""
    accumulate, m, n, depth, a, b = piece
    if len(by) == 2:
        ((source, at, shape),) = a
        a = (Box(source, at + by[0], shape),)
        ((source, at, shape),) = b
        return Piece(accumulate, m, n, depth, a, (Box(source, at + by[1], shape),))
    a, b = (
        tuple(
            Box(source, at + step, shape)
            for (source, at, shape), step in zip(boxes, by[side::2], strict=True)
        )
        for side, boxes in enumerate((a, b))
    )
    return Piece(accumulate, m, n, depth, a, b)


def arrays(operand: Boxes) -> list[Array]:
    return [box.array() for box in operand]


def _ahead(at: tuple[int, int], axis: int, depth: int) -> tuple[int, int]:
    first, second = at
    return (first, second + depth) if axis else (first + depth, second)


def _scales_ahead(at: tuple[int, int], pairs: bool, blocks: int) -> tuple[int, int]:
    first, second = at
    return (first + blocks, second) if pairs else (first, second + 2 * blocks)
