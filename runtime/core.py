"""What the kernels of one executor have in common: on-chip memory and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyptoc.dialects.record import record
from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.memory import Array, Buffers, aligned
from pyptoc.runtime.pipes import Pipes


@record(frozen=False)
class Core:
    """What the kernels of one executor share: memory, work space, settings."""

    buffers: Buffers
    scratch: Scratch
    fuse: bool = True
    """Whether slices of an L1 buffer may be multiplied at once."""
    check: bool = False
    """Whether each task starts with poisoned buffers."""
    pipes: Pipes | None = None
    """Runs the pipes out of order; None: program order."""
    numbers: str | None = None
    """In program order: what to look for in numbers (`hazards_numbers.py`)."""

    def __post_init__(self) -> None:
        self._work: dict[tuple[object, ...], Array] = {}
        self._larger: dict[int, Core] = {}
        self.other = Buffers(self.buffers.machine, self.buffers.times)
        """Those of the second vector core of a mixed kernel."""

    @property
    def is_plain(self) -> bool:
        """Whether work may be left out that no value depends on."""
        return self.fuse and not self.check and self.pipes is None

    def larger(self, times: int) -> Core:
        """One with as many times the memory, for tasks that are merged."""
        if times not in self._larger:
            buffers = Buffers(self.buffers.machine, times)
            self._larger[times] = Core(buffers, self.scratch)
        return self._larger[times]

    @property
    def all_buffers(self) -> tuple[Buffers, Buffers]:
        """Of the cube and the first vector core, and of the second one."""
        return self.buffers, self.other

    def begin_kernel(self) -> Callable[[], None]:
        """What poisons the buffers of the kernel that is translated next."""
        seen = [(buffers, buffers.begin_kernel()) for buffers in self.all_buffers]

        def poison() -> None:
            for buffers, found in seen:
                buffers.poison(found)

        return poison

    def work(self, number: int, shape: tuple[int, int], dtype: Any) -> Array:
        """A work array; the same for the same number, shape and type."""
        key = (number, shape, np.dtype(dtype))
        if key not in self._work:
            self._work[key] = aligned(shape, dtype)
        return self._work[key]
