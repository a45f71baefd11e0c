"""
Where the buffers of a kernel lie: who shares bytes with whom, and what no place allows.

Every buffer begins at a multiple of its memory's alignment and ends within it. The
slots of a channel belong to it all the time, so nothing else may lie there.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyptoc.dialects.diagnostics import Note
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import ChannelOp
from pyptoc.dialects.tile_types import Space, bytes_of
from pyptoc.runtime.hazards_state import Key, Slots
from pyptoc.runtime.hazards_text import fail, name_of
from pyptoc.runtime.machine import Machine


def _allocations(kernel: KernelOp) -> Iterator[Allocation]:
    return (op for op in kernel.walk() if isinstance(op, Allocation))


def check_places(kernel: KernelOp, machine: Machine) -> None:
    """Alignment, capacity, and that channels have their bytes to themselves."""
    for one in _allocations(kernel):
        if one.address is not None:
            _check_place(one, machine)
    for one in _allocations(kernel):
        if not isinstance(one, ChannelOp) or one.address is None:
            continue
        for other in _allocations(kernel):
            if other is not one and _share_bytes(one, other):
                _, low, end = _range(one)
                fail(
                    "PTO423",
                    f"{name_of((other, 0))} lies where the slots of "
                    f"{name_of((one, 0))} are",
                    other,
                    rule="a channel keeps its bytes from the first push to the last "
                    "free",
                    here=f"bytes {low} to {end - 1} of {one.type.space}",
                    notes=[Note("the channel", one.location)],
                )


def _check_place(one: Allocation, machine: Machine) -> None:
    space = machine.space(one.type.space.value)
    _, start, end = _range(one)
    if start % space.align:
        below = start - start % space.align
        fail(
            "PTO424",
            f"this buffer begins at byte {start} of {space.name}",
            one,
            rule=f"buffers in {space.name} begin at multiples of {space.align} bytes "
            f"on {machine.name}",
            help=f"addr = {below} or {below + space.align}",
        )
    if end > space.bytes:
        fail(
            "PTO424",
            f"this buffer ends at byte {end} of {space.name}",
            one,
            rule=f"{space.name} has {space.bytes} bytes on {machine.name}",
            here=f"{start} + {one.slot_count} * {bytes_of(one.type)} = {end}",
        )


def _range(one: Allocation) -> tuple[Space, int, int]:
    start = one.address or 0
    return one.type.space, start, start + one.total_bytes


def _share_bytes(one: Allocation, other: Allocation) -> bool:
    if other.address is None:
        return False
    (space, low, high), (place, start, end) = _range(one), _range(other)
    return space == place and low < end and start < high


def slots_of(kernel: KernelOp, unit: Unit) -> Slots:
    """The slots that one kind of core has: ub is the vector's, the rest the cube's."""
    ranges: dict[Key, tuple[str, int, int]] = {}
    for one in _allocations(kernel):
        space = one.type.space
        foreign = unit != Unit.MIXED and (space == Space.UB) != (unit == Unit.VECTOR)
        if one.address is None or foreign:
            continue
        size = bytes_of(one.type)
        for number in range(one.slot_count):
            start = one.address + number * size
            ranges[one, number] = (space.value, start, start + size)
    found: dict[Key, list[Key]] = {key: [] for key in ranges}
    ordered = sorted(ranges, key=lambda key: ranges[key])
    active: list[Key] = []
    for key in ordered:
        space, start, _ = ranges[key]
        active = [k for k in active if ranges[k][0] == space and ranges[k][2] > start]
        for other in active:
            found[key].append(other)
            found[other].append(key)
        active.append(key)
    return Slots(ranges, {key: tuple(others) for key, others in found.items()})
