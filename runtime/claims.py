"""Which iteration of a forall stored each element of a destination (`pypto.claim`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyptoc.runtime.reference_values import axis_word


class Claims:
    """For each element, which iteration stored it; 0 is nobody."""

    def __init__(self, name: str, sizes: Sequence[int]) -> None:
        self.name = name
        self.owners = np.zeros(tuple(sizes), np.int32)
        self.iterations: list[int] = []

    def conflict(
        self, index: str, value: int, offsets: Sequence[int], sizes: Sequence[int]
    ) -> tuple[str, str] | None:
        """Iteration `index = value` stores a box: the error and a note, or None."""
        if not self.iterations or self.iterations[-1] != value:
            self.iterations.append(value)
        mine = len(self.iterations)
        box = tuple(
            slice(lo, lo + size) for lo, size in zip(offsets, sizes, strict=True)
        )
        part = self.owners[box]
        others = part[(part != 0) & (part != mine)]
        part[...] = mine
        if not others.size:
            return None
        first = self.iterations[int(others.min()) - 1]
        one, other = f"({index} = {first})", f"({index} = {value})"
        return conflict_text("forall", f"%{self.name}", one, other, box)


def conflict_text(
    kind: str, name: str, first: str, second: str, box: Sequence[slice]
) -> tuple[str, str]:
    """How two iterations that store to one element are reported."""
    ranges = ", ".join(
        f"{axis_word(axis, len(box))} {s.start} +: {s.stop - s.start}"
        for axis, s in enumerate(box)
    )
    message = (
        f"two iterations of {kind} store to the same element of {name}: "
        f"{first} and {second}"
    )
    return message, f"{second} stores {ranges}"
