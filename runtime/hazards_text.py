"""How hazards are reported: names of slots, bytes, and the error itself."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NoReturn, cast

from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import Diagnostic, Note, RunError


def fail(
    code: str,
    message: str,
    op: Operation,
    *,
    rule: str = "",
    here: str = "",
    notes: Sequence[Note] = (),
    help: str = "",
) -> NoReturn:
    """Raise the error of one hazard, at `op`."""
    found = Diagnostic(
        code,
        message,
        op.location,
        rule=rule,
        here=here,
        notes=tuple(notes),
        help=help,
    )
    raise RunError([found])


def name_of(key: Hashable) -> str:
    """`%a`, or `slot 1 of %a`."""
    if isinstance(key, int):
        return "memory outside the core"
    allocation, slot = cast("tuple[Any, int]", key)
    name = f"%{allocation.results[0].name_hint or 'buffer'}"
    return f"slot {slot} of {name}" if allocation.slot_count > 1 else name


def place_text(
    ranges: Mapping[Any, tuple[str, int, int]], key: Hashable, other: Hashable = None
) -> str:
    """`bytes 0 to 4095 of ub`; of two slots the bytes that they share."""
    if isinstance(key, int):
        return "the same memory outside the core"
    if key not in ranges:
        return name_of(key)
    space, start, end = ranges[key]
    text = name_of(key)
    if other is not None and other != key:
        _, low, high = ranges[other]
        start, end = max(start, low), min(end, high)
        text = f"{text} and {name_of(other)}"
    return f"bytes {start} to {end - 1} of {space}, in {text}"


def ordered_by(source: str, target: str) -> str:
    """What to write between two instructions."""
    return (
        f"tile.set_flag [{source} -> {target}, id] behind the first, "
        f"tile.wait_flag [{source} -> {target}, id] before the second"
    )
