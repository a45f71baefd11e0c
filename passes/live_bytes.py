"""
What is live at once in each memory, while tiles are still being chosen.

The ops of a body have positions in program order, a buffer is kept from one position to
another, both included. The result of an op that works in place takes the buffer of an
operand that ends there: `plan-memory` and `lower_mixed.py` do the same.

    0  %e = exp %x       %x [0, 0]                    %e takes %x
    1  %m = amax %e      %e [0, 2]    %m [1, 2]
    2  %d = div %e, %m                                %d takes %e; peak: %e and %m

Groups (`group_bytes.py`) and the bodies of nests (`working_set.py`) say what they keep;
all sizes are asked of `bytes_of`, as `plan-memory` asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from itertools import accumulate

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.record import record
from pyptoc.passes.lower_mixed import works_in_place


@record(frozen=False, eq=False)
class Kept:
    """Bytes of a memory, from one position to another."""

    space: str
    bytes: int
    start: int
    end: int


@record(frozen=False)
class LiveBytes:
    """The buffers that a body keeps."""

    kept: list[Kept] = field(default_factory=list[Kept])
    buffers: dict[SSAValue, Kept] = field(default_factory=dict[SSAValue, Kept])
    """Those of single values, which a later result may take."""

    def keep(self, space: str, size: int, start: int, end: int) -> Kept:
        """`size` bytes from `start` to `end`."""
        kept = Kept(space, size, start, max(start, end))
        self.kept.append(kept)
        return kept

    def taken(
        self,
        op: Operation,
        operands: Iterable[SSAValue],
        ends: Callable[[SSAValue], bool],
    ) -> Kept | None:
        """
        The buffer that the result of `op` takes: of an operand that `ends` there, None:
        one of its own.
        """
        if not works_in_place(op):
            return None
        for operand in operands:
            place = self.buffers.get(operand)
            if place is not None and ends(operand):
                return place
        return None

    def peaks(self) -> dict[str, int]:
        """The most bytes of each memory that are kept at once."""
        edges: dict[str, list[tuple[int, int, int]]] = {}
        for kept in self.kept:
            found = edges.setdefault(kept.space, [])
            found += [(kept.start, 0, kept.bytes), (kept.end, 1, -kept.bytes)]
        return {
            space: max(accumulate(step for _, _, step in sorted(found)))
            for space, found in edges.items()
        }
