"""What the state and the counters of one core hold, by name, for one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from pyptoc.dialects.record import record
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.runtime.timing_state import UNSET, State

TAIL = "tail"
"""When the last vector instruction has finished: after its tail, others see it."""


@record(frozen=False)
class Layout:
    """Indices into the state and the counters of a core of one unit."""

    unit: str
    pipes: Sequence[str]
    event_ids: int
    entries: list[object] = field(default_factory=list[object])
    counts: list[tuple[str, object]] = field(default_factory=list["tuple[str, object]"])
    used_pipes: set[str] = field(default_factory=set[str])
    _places: dict[object, int] = field(default_factory=dict[object, int])
    _counters: dict[tuple[str, object], int] = field(
        default_factory=dict["tuple[str, object]", int]
    )

    def __post_init__(self) -> None:
        for name in (*self.pipes, *((TAIL,) if "v" in self.pipes else ())):
            self._add(name)

    def _add(self, name: object) -> int:
        self._places[name] = len(self.entries)
        self.entries.append(name)
        return self._places[name]

    def pipe(self, name: str) -> int:
        """Where the time is from which on a pipe is free."""
        self.used_pipes.add(name)
        return self._places[name]

    def clocks(self) -> list[int]:
        """The entries of all pipes, and of the vector tail."""
        return [i for i, name in enumerate(self.entries) if isinstance(name, str)]

    def flag(self, source: str, target: str, number: int) -> int:
        """Where the time is at which a flag was set."""
        first = ("flag", source, target, 0)
        if first not in self._places:
            for each in range(self.event_ids):
                self._add(("flag", source, target, each))
        if number >= self.event_ids:
            raise IndexError(number)
        return self._places[first] + number

    def use(self, buffer: Allocation) -> int:
        """Where the time is at which a buffer was used last."""
        found = self._places.get(buffer)
        return self._add(buffer) if found is None else found

    def counter(self, kind: str, name: object) -> int:
        """Where something is counted."""
        key = (kind, name)
        if key not in self._counters:
            self._counters[key] = len(self.counts)
            self.counts.append(key)
        return self._counters[key]

    def is_flag(self, index: int) -> bool:
        return isinstance(self.entries[index], tuple)

    @property
    def carried(self) -> list[int]:
        """The entries that the next task of the core starts from."""
        return [i for i in range(len(self.entries)) if not self.is_flag(i)]

    def start(self, carried: Sequence[int] | None) -> State:
        """The state at the start of a task; None: the core was idle."""
        state = [UNSET if self.is_flag(i) else 0 for i in range(len(self.entries))]
        if carried is not None:
            for index, time in zip(self.carried, carried, strict=True):
                state[index] = time
        return state
