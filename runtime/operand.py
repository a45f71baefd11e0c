"""
Operands of products: boxes in gm or L1, and how they are read as f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from pyptoc.dialects.record import record
from pyptoc.runtime.decode import Decode
from pyptoc.runtime.images import Box, Source
from pyptoc.runtime.matmul import MX_GROUP, decode_scales, scale_columns, scale_rows

Array = NDArray[Any]
Boxes = tuple[Box, ...]
"""The elements of an operand and, for MX, its scales."""
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


@record
class Operand:
    """One side of a product."""

    side: Side
    boxes: Boxes

    @property
    def extent(self) -> int:
        """Rows of A, or columns of B."""
        return self.boxes[0].shape[1 - self.side.k_axis]

    @property
    def depth(self) -> int:
        return self.boxes[0].shape[self.side.k_axis]

    @property
    def is_loaded(self) -> bool:
        """Whether nothing but loads of gm is in its boxes."""
        first, last = self.boxes[0], self.boxes[-1]
        return first.source.load is not None and last.source.load is not None

    @property
    def starts(self) -> tuple[int, ...]:
        """The bytes where its boxes begin."""
        return tuple(box.at for box in self.boxes)

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(box.source for box in self.boxes)

    def _steps(self) -> list[tuple[int, int]]:
        """Of each of its boxes the axis of rows (of A) or columns (of B), and how many
        there are for each of them."""
        scales = (1, 2) if self.side.pairs else (0, 1)
        return [(1 - self.side.k_axis, 1), scales][: len(self.boxes)]

    def moved(self, count: int) -> tuple[int, ...]:
        """Its starts that many rows or columns further on."""
        return tuple(
            box.at + count * factor * box.source.strides[axis]
            for box, (axis, factor) in zip(self.boxes, self._steps(), strict=True)
        )

    def wider(self, extent: int, back: int = 0) -> Operand:
        """With so many rows or columns, from that many before its first one."""
        shapes = [f(extent, self.depth) for f in (self.side.box, self.side.scale_box)]
        boxes = zip(self.boxes, self.moved(-back), shapes, strict=False)
        return Operand(
            self.side, tuple(Box(box.source, at, shape) for box, at, shape in boxes)
        )

    def around(self) -> tuple[int, int]:
        """The rows or columns before its first one in memory, and those that tasks load
        from there on."""
        before: list[int] = []
        behind: list[int] = []
        for box, (axis, factor) in zip(self.boxes, self._steps(), strict=True):
            first, rest = box.source.around(box.at, axis)
            before.append(first // factor)
            behind.append(rest // factor)
        return min(before), min(behind)

    def place_in(self, other: Operand) -> int | None:
        """After how many rows or columns of `other` it begins; None: it is no part."""
        # Asked for each tile, so it makes nothing.
        k_axis, boxes, others = self.side.k_axis, self.boxes, other.boxes
        if k_axis != other.side.k_axis or len(boxes) != len(others):
            return None
        (source, at, shape), (whole, start, whole_shape) = boxes[0], others[0]
        if source is not whole or shape[k_axis] != whole_shape[k_axis]:
            return None
        axis = 1 - k_axis
        stride = source.strides[axis]
        count = (at - start) // (stride or 1)
        if not 0 <= count <= whole_shape[axis] - shape[axis]:
            return None
        if at != start + count * stride:
            return None
        if len(boxes) > 1:
            scales, first = boxes[1], others[1]
            axis, factor = self._steps()[1]
            step = factor * scales.source.strides[axis]
            if (
                scales.source is not first.source
                or scales.at != first.at + count * step
            ):
                return None
        return count

    @property
    def spans(self) -> frozenset[int]:
        """The axes of the grid that move it, if it has all that they move it to."""
        source, axis = self.boxes[0].source, 1 - self.side.k_axis
        if source.load is None or self.extent != source.sizes[axis]:
            return frozenset()
        return source.load.moves[axis]

    def goes_on(self, other: Operand) -> bool:
        """Whether boxes beside it are expected to be multiplied by `other`, too."""
        used = frozenset[int]()
        for box in other.boxes:
            load = box.source.load
            if load is None or load.used is None:
                return False
            used |= load.used
        for box, (axis, _) in zip(self.boxes, self._steps(), strict=True):
            load = box.source.load
            if load is None or not load.moves[axis] or load.moves[axis] & used:
                return False
        return True


def arrays(operand: Boxes) -> list[Array]:
    return [box.array() for box in operand]
