"""Bytes that the result of an instruction shares with its inputs.

An instruction may write where it reads only if it works in place (`tile_in_place.py`),
and then from one address on:

    %a = tile.alloc {addr = 0} : !tile.buf<8x64xf32, ub>
    %b = tile.alloc {addr = 0} : !tile.buf<8x64xf32, ub>
    %c = tile.alloc {addr = 256} : !tile.buf<8x64xf32, ub>
    tile.exp %a into %b [8, 64]           right
    tile.exp %a into %c [8, 64]           an error: a row off
    tile.row_cumsum %a into %b [8, 64]    an error: it reads what it has written
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from xdsl.ir import Block, SSAValue

from pyptoc.dialects.diagnostics import Diagnostic
from pyptoc.dialects.tile import Allocation, Instruction, VectorOp, allocation_of
from pyptoc.dialects.tile_types import BufType

ADDRESS_ERROR = "PTO175"

_Place: TypeAlias = tuple[str, range, Allocation]
"""A memory, the bytes there, and whose they are."""
_Places: TypeAlias = dict[SSAValue, _Place]
"""Of the buffers that were met."""


def check_addresses(kernel: Block) -> list[Diagnostic]:
    """What is wrong with the addresses of a kernel's buffers."""
    instructions: list[Instruction] = []
    for op in kernel.walk():
        if isinstance(op, Instruction):
            instructions.append(op)
        elif isinstance(op, Allocation) and op.address is None:
            return []  # Not planned yet.
    places: _Places = {}
    return [found for op in instructions for found in _overlaps(op, places)]


def _overlaps(op: Instruction, places: _Places) -> Iterator[Diagnostic]:
    inputs = filter(_is_buffer, dict.fromkeys(op.reads()))
    reads = [(value, _bytes(value, places)) for value in inputs]
    for dest in op.writes() if reads else ():
        if not _is_buffer(dest):
            continue
        space, place, alloc = _bytes(dest, places)
        for value, (other_space, other, source) in reads:
            apart = other.stop <= place.start or place.stop <= other.start
            if source is alloc or space != other_space or apart:
                continue
            in_place = isinstance(op, VectorOp) and op.may_take(value)
            one_slot = source.slot_count == alloc.slot_count == 1
            if in_place and one_slot and other.start == place.start:
                continue
            yield Diagnostic(
                ADDRESS_ERROR,
                f"{op.name} writes bytes {place.start} to {place.stop - 1} of {space} "
                f"and reads bytes {other.start} to {other.stop - 1}",
                op.location,
                rule="a result shares bytes only with an input over which the "
                "instruction can write, from the same address on",
                help="give the result an address of its own",
            )


def _is_buffer(value: SSAValue) -> bool:
    return isinstance(value.type, BufType)


def _bytes(value: SSAValue, places: _Places) -> _Place:
    found = places.get(value)
    if found is None:
        alloc = allocation_of(value)
        start, space = alloc.address or 0, alloc.type.space.value
        found = space, range(start, start + alloc.total_bytes), alloc
        places[value] = found
    return found
