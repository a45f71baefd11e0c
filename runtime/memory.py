"""
Memory of the executor: arrays in gm, and the buffers of one core.

Buffers hold true bytes. With addresses, all buffers of a space are views into one
arena of the machine's size, so that two that overlap really spoil each other; without,
each allocation has storage of its own. L0A and L0B are the exception: they hold f32
images of their elements, four times as many bytes at four times the address, since a
matmul would decode them anyway. What nobody wrote is 0xFF: NaN in every float type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Attribute, Operation

from pyptoc.dialects.diagnostics import CompileError, Diagnostic
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_types import BufType, Space, bytes_of
from pyptoc.runtime.machine import Machine
from pyptoc.runtime.marks import Marks
from pyptoc.runtime.numerics import storage_dtype

Array = NDArray[Any]

POISON = 0xFF
IMAGE_BYTES = 4
"""Bytes of an L0A or L0B image for each byte of the buffer: 8-bit types become f32."""
_IMAGES = (Space.L0A, Space.L0B)
_PACKED = (Space.SCALE_A, Space.SCALE_B)


_serials = count(1)

LINE = 64
"""Bytes of a cache line. numpy aligns to 16, and then wide loads straddle two lines."""


def aligned(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """An array, not initialised, that starts at a cache line."""
    sizes = (shape,) if isinstance(shape, int) else shape
    dtype = np.dtype(dtype)
    size = prod(sizes) * dtype.itemsize
    raw = np.empty(size + LINE, np.uint8)
    start = -raw.__array_interface__["data"][0] % LINE
    return raw[start : start + size].view(dtype).reshape(sizes)


@record
class Memory:
    """An array in gm; `written` marks what of it was stored, if asked for."""

    array: Array
    written: Marks | None = None
    serial: int = 0
    """Of a place in an arena: tells it from what had these bytes before."""

    @staticmethod
    def uninitialised(
        shape: tuple[int, ...], element: Attribute, marked: bool, read: bool = True
    ) -> Memory:
        """read: whether anything may see what it holds before it is written."""
        array = aligned(shape, storage_dtype(element))
        if read:
            array.reshape(-1).view(np.uint8)[...] = POISON
        return Memory(array, Marks(shape) if marked else None)

    def reshaped(self, shape: tuple[int, ...]) -> Memory:
        """An alias with other sizes and as many elements."""
        marks = None if self.written is None else self.written.reshaped(shape)
        return Memory(self.array.reshape(shape), marks, self.serial)

    def placed(
        self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Memory | None:
        """A part of this arena of bytes, not written yet; None if it does not fit."""
        end = offset + prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or not 0 <= offset <= end <= self.array.size:
            return None
        array = np.ndarray(shape, dtype, self.array.data, offset)
        marks = None if self.written is None else Marks(shape)
        return Memory(array, marks, next(_serials))

    def reinterpreted(self, dtype: np.dtype[Any]) -> Memory:
        """An alias to read: its last dimension holds as many elements as fit."""
        fit = self.array.shape[-1] * self.array.itemsize // dtype.itemsize
        used = -(-fit * dtype.itemsize // self.array.itemsize)
        array = self.array[..., :used].view(dtype)[..., :fit]
        # What is only read needs no marks: returning it makes a copy.
        return Memory(array, serial=self.serial)


@record
class Apart:
    """That a memory shares no bytes with some others."""

    number: int
    others: frozenset[int]
    """Numbers of buffer arguments."""

    def __call__(self, memories: Sequence[Memory]) -> bool:
        mine = memories[self.number].array
        for number in self.others:
            if np.may_share_memory(mine, memories[number].array):
                return False
        return True


class Buffers:
    """The on-chip memory of one core."""

    def __init__(self, machine: Machine, times: int = 1) -> None:
        """times: how many times the memory it has (`merged_tasks.py`)."""
        self.machine, self.times = machine, times
        self.storage: dict[object, Array] = {}
        """Raw bytes: by space, and by allocation for those without an address."""
        self.filled: dict[object, int] = {}
        """How many bytes of each some view can see: the others were never touched."""
        self.seen: dict[object, int] = {}
        """The same for the kernel that is translated now."""

    def begin_kernel(self) -> dict[object, int]:
        """What the next kernel can see: it grows as `views` are asked for."""
        self.seen = {}
        return self.seen

    def poison(self, seen: Mapping[object, int]) -> None:
        """Forget what a kernel can see, as between two kernels."""
        for key, end in seen.items():
            self.storage[key][:end].fill(POISON)

    def views(self, alloc: Allocation) -> tuple[Array, ...]:
        """The array of each slot of an allocation."""
        kind = alloc.type
        scale = IMAGE_BYTES if kind.space in _IMAGES else 1
        if alloc.address is None:
            key, size, start = alloc, scale * alloc.total_bytes, 0
        else:
            key, size = kind.space, scale * self._capacity(alloc)
            start = scale * alloc.address
        raw = self._raw(key, size, start + scale * alloc.total_bytes)
        step = scale * bytes_of(kind)
        offsets = (start + slot * step for slot in range(alloc.slot_count))
        return tuple(_view(raw, offset, kind) for offset in offsets)

    def _raw(self, key: object, size: int, end: int) -> Array:
        """Storage of `size` bytes, of which a view sees those before `end`."""
        if key not in self.storage:
            self.storage[key] = aligned(size, np.uint8)
        raw, filled = self.storage[key], self.filled.get(key, 0)
        if end > filled:
            raw[filled:end].fill(POISON)
            self.filled[key] = end
        self.seen[key] = max(end, self.seen.get(key, 0))
        return raw

    def _capacity(self, alloc: Allocation) -> int:
        space = self.machine.space(alloc.type.space.value)
        end = (alloc.address or 0) + alloc.total_bytes
        if end <= space.bytes * self.times:
            return space.bytes * self.times
        raise CompileError(
            [
                Diagnostic(
                    "PTO290",
                    f"this buffer ends at byte {end} of {space.name}, which has "
                    f"{space.bytes} bytes on {self.machine.name}",
                    alloc.location,
                )
            ]
        )


def _view(raw: Array, offset: int, kind: BufType) -> Array:
    dtype = buffer_dtype(kind)
    row_bytes = kind.columns * dtype.itemsize
    if kind.space not in _PACKED:
        row_bytes = -(-row_bytes // 32) * 32
    return np.ndarray(
        kind.shape, dtype, raw.data, offset, strides=(row_bytes, dtype.itemsize)
    )


def buffer_dtype(kind: BufType) -> np.dtype[Any]:
    """How the executor holds the elements of a buffer."""
    if kind.space in _IMAGES:
        return np.dtype(np.float32)
    return storage_dtype(kind.element_type)


def sharing(allocs: Iterable[Allocation]) -> dict[Allocation, list[Allocation]]:
    """By each allocation: the others among them that can share bytes with it."""
    found: dict[Allocation, list[Allocation]] = {alloc: [] for alloc in allocs}
    spaces: dict[Space, list[tuple[int, int, Allocation]]] = {}
    for alloc in found:
        start = alloc.address
        if start is not None:
            end = start + alloc.total_bytes
            spaces.setdefault(alloc.type.space, []).append((start, end, alloc))
    for placed in spaces.values():
        before: list[tuple[int, int, Allocation]] = []
        for each in sorted(placed, key=itemgetter(0)):
            start, _, alloc = each
            before = [other for other in before if other[1] > start]
            for _, _, other in before:
                found[alloc].append(other)
                found[other].append(alloc)
            before.append(each)
    return found


def sharing_in(kernel: Operation) -> dict[Allocation, list[Allocation]]:
    """`sharing` among all allocations of a kernel."""
    return sharing(op for op in kernel.walk() if isinstance(op, Allocation))


def may_overlap(one: Allocation, other: Allocation) -> bool:
    """Whether two allocations can share bytes."""
    if one is other:
        return True
    if one.type.space != other.type.space:
        return False
    if one.address is None or other.address is None:
        return False
    first, second = sorted((one, other), key=lambda alloc: alloc.address or 0)
    return (first.address or 0) + first.total_bytes > (second.address or 0)
