"""
Which chain of casts has the result of one cast, on a machine that has only some.

A chain widens exactly, rounds once, and narrows exactly:

    i8 -> f32       i8 -> f16 -> f32                    every i8 is an f16
    f16 -> bf16     f16 -> f32 -> bf16                  every f16 is an f32
    f32 -> i8       f32 -> i32, clip, i32 -> f16 -> i8  every i8 is an f16
    i32 -> bf16     sticky bits, i32 -> f32 -> bf16     f32 alone would round twice
    i64 -> f16      i64 -> i32 -> f16                   beyond i32 an f16 is inf anyway

Element types are written as in MLIR: `f32`, `i8`, `f8E4M3FN`.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, auto
from itertools import pairwise

from pyptoc.dialects.record import record
from pyptoc.runtime.machine import Machine

INTEGER_RANGES = {
    "i8": (-(2**7), 2**7 - 1),
    "ui8": (0, 2**8 - 1),
    "i16": (-(2**15), 2**15 - 1),
}
"""Integers narrower than 32 bits: their least and greatest value."""

_INSIDE: dict[str, tuple[str, ...]] = {
    "f8E4M3FN": ("f16", "bf16", "f32"),
    "f8E5M2": ("f16", "bf16", "f32"),
    "f8E8M0FNU": ("f32",),
    "f16": ("f32",),
    "bf16": ("f32",),
    "i8": ("f16", "i16", "i32", "i64", "bf16", "f32"),
    "ui8": ("f16", "i16", "i32", "i64", "bf16", "f32"),
    "i16": ("i32", "i64", "f32"),
    "i32": ("i64",),
}
"""Types that hold every value of a type."""


class Fix(Enum):
    """Integer work in the middle of a chain, on i32 values."""

    NARROW = auto()
    """Bring an i32 into the range of the target: clip, or keep the low bits."""
    STICKY = auto()
    """Drop bits that f32 cannot hold, but leave a trace of them for the rounding."""


@record
class Route:
    """The steps of a chain: element types to cast to, and fixes between them."""

    steps: tuple[str | Fix, ...]
    rounds: int
    """The step that takes the mode and the saturation of the cast; -1 if none."""


def find_route(source: str, target: str, machine: Machine) -> Route | None:
    """The chain for a cast; None if there is none with the same result."""
    direct = _widen_then_round(source, target, machine)
    if direct is not None:
        return Route(direct, len(direct) - 1)
    if target in INTEGER_RANGES:
        return _narrowing(source, target, machine)
    if (source, target) == ("i32", "bf16"):
        steps = (Fix.STICKY, "f32", "bf16")
        return Route(steps, 2) if _has(("i32", "f32", "bf16"), machine) else None
    if (source, target) == ("i64", "f16"):
        steps = ("i32", "f16")
        return Route(steps, 1) if _has(("i64", *steps), machine) else None
    return None


def _narrowing(source: str, target: str, machine: Machine) -> Route | None:
    """Through i32, where the value is brought into the range of `target`."""
    before = () if source == "i32" else _widen_then_round(source, "i32", machine)
    if before is None:
        return None
    for after in ((target,), ("f16", target)):
        # A 16-bit integer is not always an f16.
        exact = len(after) == 1 or target != "i16"
        if exact and _has(("i32", *after), machine):
            return Route((*before, Fix.NARROW, *after), len(before) - 1)
    return None


def _has(chain: tuple[str, ...], machine: Machine) -> bool:
    """Whether the machine casts each type of `chain` to the next."""
    return all(machine.can_cast(a, b) for a, b in pairwise(chain))


def _widen_then_round(
    source: str, target: str, machine: Machine
) -> tuple[str, ...] | None:
    """The shortest chain to `target` in which only the last step can round."""
    wider = _INSIDE.get(source, ())
    found: dict[str, tuple[str, ...]] = {source: ()}
    queue = deque([source])
    while queue:
        here = queue.popleft()
        if machine.can_cast(here, target):
            return (*found[here], target)
        for step in wider:
            if step not in found and machine.can_cast(here, step):
                found[step] = (*found[here], step)
                queue.append(step)
    return None
