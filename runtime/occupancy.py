"""
What lies in the memories of a core, and when: from what instructions touch.

A slot of a buffer holds something from the instruction that fills it until the last
one that uses that; a write after a read begins something new.
"""

from __future__ import annotations

from pyptoc.dialects.record import record
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_types import bytes_of
from pyptoc.runtime.timing_record import Recorded, TaskRecord, Touch


@record(frozen=False)
class Residence:
    """Something in a slot of a buffer; times are in cycles from the task's start."""

    core: int
    """Of the task's cores."""
    buffer: Allocation
    slot: int
    start: int
    end: int
    writer: str
    """The instruction that filled it."""
    was_read: bool = False

    @property
    def space(self) -> str:
        return str(self.buffer.type.space)

    @property
    def bytes(self) -> int:
        return bytes_of(self.buffer.type)

    @property
    def address(self) -> int:
        return (self.buffer.address or 0) + self.slot * self.bytes

    @property
    def name(self) -> str:
        """The buffer's name in the program, else what filled it; and its slot."""
        hint = self.buffer.results[0].name_hint
        name = f"%{hint}" if hint else self.writer
        return f"{name}[{self.slot}]" if self.buffer.slot_count > 1 else name


def residences(record: TaskRecord) -> list[Residence]:
    """All of a task, in the order in which they begin."""
    found: list[Residence] = []
    current: dict[tuple[int, Allocation, int], Residence] = {}
    for one in record.executed:
        for touch in one.touches:
            key = (one.core, touch.buffer, touch.slot)
            held = current.get(key)
            if held is None or _begins(held, one, touch):
                name = one.op.name.partition(".")[2]
                held = Residence(one.core, *touch[:2], one.start, one.done, name)
                current[key] = held
                found.append(held)
            held.end = max(held.end, one.done)
            held.was_read |= touch.reads
    for message in record.messages:
        start, end = message.start, message.end
        held = Residence(message.core, *message[:2], start, end, "push", True)
        found.append(held)
    return sorted(found, key=lambda held: held.start)


def _begins(held: Residence, one: Recorded, touch: Touch) -> bool:
    """Whether an instruction fills the slot anew."""
    return held.was_read and not touch.reads and one.start >= held.end


def steps(changes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Changes of a level at cycles -> the level from each of those cycles on."""
    level, found = 0, list[tuple[int, int]]()
    for cycle, change in sorted(changes):
        level += change
        if found and found[-1][0] == cycle:
            found[-1] = (cycle, level)
        else:
            found.append((cycle, level))
    return found
