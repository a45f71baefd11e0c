"""
Marks of what was stored to an array in gm, whole rows by one mark each.

A result must be written everywhere, so its stores are marked. Most store whole rows,
all of the last dimension, or one of equal parts of each row: then one mark a row or
part is enough, which costs next to nothing. Marks of elements are made when a store
needs them.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Marks:
    """What was stored to an array of this shape, or to an alias of it."""

    def __init__(
        self, shape: tuple[int, ...], shared: dict[int, Array] | None = None
    ) -> None:
        self.shape = shape
        self._shared = {} if shared is None else shared
        """Flat marks by the number of elements that each stands for."""
        self._rows: Array | None = None
        self._parts: dict[int, Array] = {}
        """By their width the marks of parts of rows, as `[.., parts of a row]`."""

    def reshaped(self, shape: tuple[int, ...]) -> Marks:
        """Those of an alias with other sizes and as many elements."""
        return Marks(shape, self._shared)

    @property
    def elements(self) -> Array:
        """One mark an element; to be set, not to be asked."""
        return self._flat(1).reshape(self.shape)

    @property
    def rows(self) -> Array:
        """One mark for all of the last dimension; to be set, not to be asked."""
        if self._rows is None:
            if not prod(self.shape):
                return np.empty(self.shape[:-1], np.bool_)
            self._rows = self._flat(self.shape[-1]).reshape(self.shape[:-1])
        return self._rows

    def columns(self, start: int, end: int) -> Array:
        """The marks of a range of the last dimension; to be set, not to be asked."""
        width, size = end - start, self.shape[-1]
        if width < 2 or start % width or size % width:
            return self.elements[..., start:end]
        parts = self._parts.get(width)
        if parts is None:
            parts = self._flat(width).reshape(*self.shape[:-1], size // width)
            self._parts[width] = parts
        return parts[..., start // width]

    def _flat(self, each: int) -> Array:
        if each not in self._shared:
            self._shared[each] = np.zeros(prod(self.shape) // each, np.bool_)
        return self._shared[each]

    def missing(self) -> Array | None:
        """Where no element was stored; None if all were."""
        if not prod(self.shape) or any(m.all() for m in self._shared.values()):
            return None
        missing = np.ones(prod(self.shape), np.bool_)
        for each, marks in self._shared.items():
            missing.reshape(-1, each)[marks] = False
        return missing.reshape(self.shape) if missing.any() else None
