"""
The f32 images of operands: made where they are needed, or found.

There are three places where an image may be:

- for a launch (`Images.kept`), of what other tasks read, too;
- for a few tasks (`Store.images`), of what is multiplied again soon: in a loop, or in a
  slot that was filled with what repeated work has left (`moved.py`);
- in a room (`Scratch`), until the next one is made there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptoc.dialects.record import record
from pyptoc.runtime.images import Box, Filled, Images
from pyptoc.runtime.kept_work import Parts
from pyptoc.runtime.matmul import Scratch, product
from pyptoc.runtime.operand import Operand, arrays

Array = NDArray[Any]


@record
class OperandImages:
    """Those of one kernel."""

    images: Images
    scratch: Scratch

    def multiply(
        self,
        a: Operand,
        b: Operand,
        out: Array,
        accumulate: bool = False,
        each: int = 0,
    ) -> None:
        """`out (+)= a @ b`, in f32 or i32. each: see `product`."""
        left = self._image(a, "a", _is_wanted_again(a, b))
        right = self._image(b, "b", _is_wanted_again(b, a))
        part = self.scratch.room("part", out.size)
        product(
            left if a.side.k_axis else left.T,
            right.T if b.side.k_axis else right,
            out,
            part,
            accumulate,
            each,
        )

    def _image(self, x: Operand, name: str, again: bool) -> Array:
        """again: whether other tasks want it, too."""
        first = x.boxes[0].source
        if not again:
            found = None
            if first.again or id(first) in self.images.known:
                found = self._recent_image(x)
            return self._held_image(x, name) if found is None else found
        key = name, x.side.k_axis, x.boxes
        found = self.images.kept.get(key)
        if found is None:
            rows, columns = x.boxes[0].shape
            room = self.images.room(rows * columns)
            found = x.side.image(arrays(x.boxes), room)
            self.images.keep(key, found)
        return found

    def _held_image(self, x: Operand, name: str) -> Array:
        """The image in a room, made unless the product before had the same."""
        fixed = x.is_loaded
        found = self.scratch.held(name, x) if fixed else None
        if found is None:
            if not fixed:
                for box in x.boxes:
                    self._fill(box)
            rows, columns = x.boxes[0].shape
            room = self.scratch.room(name, rows * columns)
            found = x.side.image(arrays(x.boxes), room)
            if fixed:
                self.scratch.hold(name, x, found)
        return found

    def _recent_image(self, x: Operand) -> Array | None:
        """The image of a box that is multiplied again soon; None if it is not kept."""
        box, store = x.boxes[0], self.images.store
        if len(x.boxes) > 1 or box.source.dtype == np.float32:
            return None
        known = self.images.known.get(id(box.source))
        what = box.source if known is None else (id(known[0]), id(known[1]))
        key = x.side.decode, what, box.at, box.shape
        found = store.images.get(key)
        if found is not None:
            return found.arrays[0]
        parts: tuple[Array, ...] = ()
        if known is not None:
            parts = known[:2]
            if not holds(known, box):
                return None
        room = store.room(4 * box.shape[0] * box.shape[1])
        if room is None:
            return None
        self._fill(box)
        image = x.side.image(arrays(x.boxes), room.view(np.float32))
        store.images.put(key, Parts([image, *parts], [room]))
        return image

    def _fill(self, box: Box) -> None:
        """Fill a slot with its kept parts: put off until its bytes are read."""
        known = self.images.known.get(id(box.source))
        if known is not None:
            _, _, channel, slot = known
            channel.fill(slot)


def _is_wanted_again(x: Operand, other: Operand) -> bool:
    """Whether other tasks multiply `x`, too: those along which `other` does not go on,
    or does, but ends here."""
    axes = x.boxes[0].source.free
    if len(x.boxes) > 1:
        axes = axes & x.boxes[1].source.free
    return bool(axes - other.spans) if axes else False


def holds(filled: Filled, box: Box) -> bool:
    """Whether the kept parts that fill a slot have all of a box of it."""
    _, _, channel, slot = filled
    row, rest = divmod(box.at, box.source.strides[0])
    column = rest // box.source.dtype.itemsize
    return channel.holds(slot, row + box.shape[0], column + box.shape[1])
