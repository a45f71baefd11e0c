"""The values of the reference interpreter: tensors, destinations, memory.

A tensor knows which of its elements were ever written, so that reading or returning
an element of `pypto.empty` that no store wrote is an error and not a random number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from pyptoc.runtime.numerics import Array

Mask = NDArray[np.bool_]
Box = tuple[slice, ...]


@dataclass(slots=True)
class Tensor:
    """A tensor value.  The array is never changed, unless it is `owned`."""

    array: Array
    written: Mask | None = None
    """True where an element has a value; None: everywhere."""
    origin: Operation | None = None
    """The `pypto.empty` that the unwritten elements come from."""
    last_store: str = ""
    """What wrote into it last, for messages."""
    owned: bool = False
    """No other value shares the storage, so that an assemble may reuse it."""

    def missing(self) -> int:
        """How many elements were never written."""
        if self.written is None:
            return 0
        return self.written.size - int(np.count_nonzero(self.written))

    def like(self, array: Array, written: Mask | None) -> Tensor:
        """A part or another shape of this tensor."""
        if written is not None and written.all():
            written = None
        return Tensor(array, written, self.origin, self.last_store)

    def copy(self) -> Tensor:
        written = None if self.written is None else self.written.copy()
        return Tensor(self.array.copy(), written, self.origin, self.last_store, True)


def reinterpreted(array: Array, dtype: np.dtype[Any]) -> Array:
    """The bytes of the last axis as elements of `dtype`, as many as fit."""
    fit = array.shape[-1] * array.itemsize // dtype.itemsize
    used = -(-fit * dtype.itemsize // array.itemsize)
    rows = np.ascontiguousarray(array[..., :used])
    return rows.view(dtype)[..., :fit]


def marks_of_bytes(written: Mask, have: int, want: int) -> Mask:
    """Which elements of `want` bytes were written, all of them; of elements of `have`
    bytes it is known."""
    bytes_ = np.repeat(written, have, axis=-1)
    fit = bytes_.shape[-1] // want
    whole = bytes_[..., : fit * want].reshape(*written.shape[:-1], fit, want)
    return np.asarray(whole.all(axis=-1))


@dataclass(slots=True, frozen=True)
class Iteration:
    """One iteration of one execution of a loop or grid."""

    execution: int
    """Tells executions of the same loop apart."""
    kind: str
    names: tuple[str, ...]
    values: tuple[int, ...]
    apart: tuple[int, ...] | None = None
    """Iterations that differ in these values must not store to the same element."""

    def __str__(self) -> str:
        pairs = zip(self.names, self.values, strict=True)
        return f"({', '.join(f'{name} = {value}' for name, value in pairs)})"


@dataclass(slots=True)
class Destination:
    """What the body of a forall or of tasks stores into; it cannot be read."""

    tensor: Tensor
    depth: int
    """How many iterations are active outside the loop that owns it."""
    owners: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """For each element, 1 + the position in `paths` of who stored it; 0: nobody."""
    paths: list[tuple[Iteration, ...]] = field(
        default_factory=list[tuple[Iteration, ...]]
    )

    def conflict(
        self, box: Box, path: tuple[Iteration, ...]
    ) -> tuple[Iteration, Iteration] | None:
        """Notes that `path` stores a box; two iterations of one loop that both did."""
        if self.owners.shape != self.tensor.array.shape:
            self.owners = np.zeros(self.tensor.array.shape, np.int32)
        if not self.paths or self.paths[-1] != path:
            self.paths.append(path)
        mine = len(self.paths)
        part = self.owners[(*box, ...)]  # a view at rank 0, too
        others = np.unique(part[(part != 0) & (part != mine)])
        for other in others:
            for theirs, ours in zip(self.paths[int(other) - 1], path, strict=False):
                if theirs.execution != ours.execution:
                    break
                if theirs.apart != ours.apart:
                    return theirs, ours
                if theirs.values != ours.values:
                    break
        part[...] = mine
        return None


@dataclass(slots=True)
class Memory:
    """A memref: an array that stores change, and which elements were written."""

    array: Array
    written: Mask

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Memory:
        return Memory(np.zeros(shape, dtype), np.zeros(shape, np.bool_))

    @staticmethod
    def holding(array: Array) -> Memory:
        return Memory(array, np.ones(array.shape, np.bool_))


def axis_word(axis: int, rank: int) -> str:
    """How a dimension is called in messages."""
    if rank == 1:
        return "elements"
    if rank == 2:
        return ("rows", "columns")[axis]
    return f"dimension {axis}:"


def describe_missing(written: Mask) -> str:
    """`3584 elements that no store wrote: rows 15 to 15, columns 0 to 3583`."""
    places = np.argwhere(~written)
    low, high = places.min(axis=0), places.max(axis=0)
    ranges = ", ".join(
        f"{axis_word(axis, written.ndim)} {low[axis]} to {high[axis]}"
        for axis in range(written.ndim)
    )
    noun = "element" if len(places) == 1 else "elements"
    where = f": {ranges}" if ranges else ""
    return f"{len(places)} {noun} that no store wrote{where}"
