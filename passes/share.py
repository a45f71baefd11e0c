"""Who has what of the tiles that two vector cores share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.record import record
from pyptoc.dialects.tile import allocation_of
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import HALVES, Split

SPLITS = (Split.ROWS, Split.COLUMNS)


@record
class Share:
    """The dimension of a buffer that the cores share, and its size for both."""

    axis: int
    whole: int

    @property
    def half(self) -> int:
        """What one core has room for."""
        return -(-self.whole // HALVES)

    @property
    def split(self) -> Split:
        return SPLITS[self.axis]

    def of(self, shape: Sequence[int], size: int) -> tuple[int, int]:
        """`shape` with `size` along the shared dimension."""
        rows, columns = shape
        return (size, columns) if self.axis == 0 else (rows, size)


@record(frozen=False)
class Halves:
    """The decision for all buffers of a kernel."""

    shares: dict[Allocation, Share] = field(default_factory=dict[Allocation, Share])
    """What is not in here each core has all of."""
    alone: set[Operation] = field(default_factory=set[Operation])
    """Instructions that only the first core executes."""
    unshared: list[Operation] = field(default_factory=list[Operation])
    """For each set of buffers that could not be shared, a crossing of it."""

    def share(self, buffer: SSAValue) -> Share | None:
        return self.shares.get(allocation_of(buffer))
