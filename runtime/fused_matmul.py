"""
Matmuls fed straight from L1 or gm: each box decoded once, no copy in L0.

A loop that moves a slice of A and a slice of B to L0 and multiplies them is one product
if the slices lie side by side. So is the loop around it that loads L1, where the loads
need not be made (`direct_loads.py`): its products are put off, as pieces, and pieces
whose boxes lie side by side in memory are multiplied at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyptoc.dialects.record import record
from pyptoc.runtime.ahead import Ahead, is_left_alone
from pyptoc.runtime.images import Box, Images
from pyptoc.runtime.kept_work import Parts
from pyptoc.runtime.matmul import MX_GROUP, start_at
from pyptoc.runtime.operand import LARGEST, Boxes, Operand, Side
from pyptoc.runtime.operand_images import OperandImages, holds

Array = NDArray[Any]
MOST_PLANS = 2**12


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
    operands: OperandImages
    ahead: Ahead
    repeats: bool = False
    """Whether another matmul of a task multiplies the same."""
    each: int = 0
    """How many rows of A are a product of their own (see `product`)."""
    is_read_elsewhere: bool = False
    """Whether sums need not be put into their accumulator (`accumulators.py`); then
    that is given as just their box."""
    plans: dict[Hashable, list[tuple[Step, int]]] = field(default_factory=dict)
    """The steps of loops, by what they depend on."""

    def run(
        self,
        steps: Sequence[Step],
        sources: tuple[Array, ...],
        c: Array,
        bias: Array | None,
        key: Hashable = None,
    ) -> Array:
        """Do all steps, at once if their boxes lie side by side along K.

        sources: the L1 buffers of A and B and, for MX, of their scales. bias: what sums
        start at, [1, n]. key: what the steps depend on; remember them by that. The sums
        are in c, or else in what is returned.
        """
        plan = self._plan(steps, len(sources) > 2)
        if key is not None:
            if len(self.plans) >= MOST_PLANS:
                self.plans.clear()
            self.plans[key] = plan
        return self.redo(plan, sources, c, bias)

    def redo(
        self,
        plan: Sequence[tuple[Step, int]],
        sources: tuple[Array, ...],
        c: Array,
        bias: Array | None,
    ) -> Array:
        """Do steps that are known; see `run`."""
        pieces = [self._piece(step, depth, sources) for step, depth in plan]
        return self.finish(pieces, c, bias)

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
            if not same or step.a != _further(first.a, self.a.k_axis, depth):
                return False
            if step.b != _further(first.b, self.b.k_axis, depth):
                return False
            if mx and not self._scales_follow(first, step, depth):
                return False
            depth += step.k
        return True

    def _scales_follow(self, first: Step, step: Step, depth: int) -> bool:
        blocks, rest = divmod(depth, 2 * MX_GROUP)
        after_a = _scales_further(first.scale_a, self.a.pairs, blocks)
        after_b = _scales_further(first.scale_b, self.b.pairs, blocks)
        return not rest and (step.scale_a, step.scale_b) == (after_a, after_b)

    def finish(
        self,
        pieces: list[Piece],
        c: Array,
        bias: Array | None,
        known: Known | None = None,
    ) -> Array:
        """Do all that was put off; known: remember it by that. See `run`."""
        joined = pieces if len(pieces) == 1 else list(self._joined(pieces))
        if known is not None:
            self._remember(joined, *known)
        return self._sums(joined, c, bias)

    def fill(self, pieces: list[Piece], c: Array, bias: Array | None) -> None:
        """Do what was put off so far, into c, and forget it."""
        for piece in self._joined(pieces):
            self._multiply(piece, c, bias, False)
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
    ) -> Array:
        """Do what is known, for loads that start there; see `run`."""
        return self._sums([_moved(piece, starts) for piece in plan], c, bias)

    def _sums(self, pieces: Sequence[Piece], c: Array, bias: Array | None) -> Array:
        """Do all pieces of a sum: what is to be read."""
        if self.is_read_elsewhere and len(pieces) == 1:
            return self._multiply(pieces[0], c, bias, True)
        for piece in pieces:
            self._multiply(piece, c, bias, False)
        return c

    def _multiply(
        self, piece: Piece, c: Array, bias: Array | None, elsewhere: bool
    ) -> Array:
        """
        Do `c (+)= a @ b`: what is to be read is given back.

        elsewhere: sums that were found are left where they are, and c as it is.
        """
        box, accumulate = c[: piece.m, : piece.n], piece.accumulate
        key = self._key(piece) if self.repeats and bias is None else None
        if key is not None and (found := self.images.store.images.get(key)):
            return _taken(found.arrays[0], box, elsewhere)
        if bias is not None:
            accumulate = start_at(box, bias[:, : piece.n], accumulate)
        sums = self._put(piece, box, accumulate, elsewhere)
        if key is not None:
            self._keep(key, sums, piece.b[0])
        return sums

    def _put(self, piece: Piece, c: Array, accumulate: bool, elsewhere: bool) -> Array:
        """`_multiply` of sums that are not kept; they may have been computed ahead."""
        a, b = Operand(self.a, piece.a), Operand(self.b, piece.b)
        found, dtype = None, c.dtype
        by_task = self.each and dtype != np.int32
        if not (by_task or is_left_alone(piece.m, piece.n, piece.depth, dtype)):
            found = self.ahead.product(a, b, dtype)
        if found is None:
            self.operands.multiply(a, b, c, accumulate, self.each)
        elif accumulate:
            np.add(c, found, out=c)
        else:
            return _taken(found, c, elsewhere)
        return c

    @property
    def images(self) -> Images:
        return self.operands.images

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
        room = store.room(product.nbytes) if holds(filled, b) else None
        if room is not None:
            kept = room.view(product.dtype).reshape(product.shape)
            kept[...] = product
            store.images.put(key, Parts([kept, *filled[:2]], [room]))

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


def _taken(found: Array, c: Array, elsewhere: bool) -> Array:
    """What is to be read of sums that were found."""
    if elsewhere:
        return found
    np.copyto(c, found)
    return c


def _moved(piece: Piece, by: Sequence[int]) -> Piece:
    """The piece with its boxes so many bytes further on: A, B, scales of A and of B."""
    accumulate, m, n, depth, a, b = piece
    if len(by) == 2:
        a, b = (_box_at(a[0], by[0]),), (_box_at(b[0], by[1]),)
        return Piece(accumulate, m, n, depth, a, b)
    (a, scales_a), (b, scales_b) = a, b
    return Piece(
        accumulate,
        m,
        n,
        depth,
        (_box_at(a, by[0]), _box_at(scales_a, by[2])),
        (_box_at(b, by[1]), _box_at(scales_b, by[3])),
    )


def _box_at(box: Box, by: int) -> Box:
    """A box so many bytes further on."""
    source, at, shape = box
    return Box(source, at + by, shape)


def _further(at: tuple[int, int], axis: int, depth: int) -> tuple[int, int]:
    first, second = at
    return (first, second + depth) if axis else (first + depth, second)


def _scales_further(at: tuple[int, int], pairs: bool, blocks: int) -> tuple[int, int]:
    first, second = at
    return (first + blocks, second) if pairs else (first, second + 2 * blocks)
