"""Which buffers may begin in the place of others that end with the same instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from pyptoc.dialects.tile import AllocOp, VectorOp, allocation_of
from pyptoc.passes.liveness import Lifetime

InPlace: TypeAlias = list[tuple[Lifetime, Lifetime]]
"""Buffers of which the second may begin in the place of the first, which ends then."""


def in_place_pairs(lives: Sequence[Lifetime]) -> InPlace:
    """
    All such pairs among `lives`.

    The second is the result of an instruction, and nothing else before; the first is an
    input over which that may write (`dialects/tile_in_place.py`), and nothing reads it
    afterwards. Both are single buffers.
    """
    by_alloc = {life.alloc: life for life in lives if _is_single(life)}
    found: InPlace = []
    for life in by_alloc.values():
        op = life.first_user
        if not isinstance(op, VectorOp) or life.start != life.first_use:
            continue
        if allocation_of(op.dest) is not life.alloc:
            continue
        for value in dict.fromkeys(op.reads()):
            ends = by_alloc.get(allocation_of(value))
            if ends is None or ends is life or ends.end != life.start:
                continue
            if op.may_take(value):
                found.append((ends, life))
    return found


def _is_single(life: Lifetime) -> bool:
    return isinstance(life.alloc, AllocOp) and life.alloc.slot_count == 1
