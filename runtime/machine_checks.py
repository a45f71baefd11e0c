"""
Rules between the values of a machine's table, each of which is right by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyptoc.dialects.record import record

ROUTES = (("gm", "l1"), ("gm", "ub"), ("l1", "l0a"), ("l1", "l0b"), ("l0c", "gm"))
NEEDED_ROUTES = (*ROUTES, ("ub", "gm"))
"""Transfers without which no product or no vector operation reaches its memory."""

MATRICES = ("l0a", "l0b", "l0c")


@record
class Problem:
    """What is wrong with the value at a path."""

    path: tuple[str, ...]
    message: str
    at_value: bool = False
    """The value is wrong, rather than the key."""
    rule: str = ""
    here: str = ""
    help: str = ""
    guess: Sequence[str] = ()
    """The key that was meant, if it is near."""


def inconsistencies(table: Mapping[str, Any]) -> Iterator[Problem]:
    """All broken rules of a table that is complete and has the right types."""
    yield from _spaces(table)
    yield from _routes(table)
    yield from _units(table)
    memory = table["memory"]
    kept, size = memory["l2_kept_bytes"], memory["l2_bytes"]
    if kept > size:
        yield Problem(
            ("memory", "l2_kept_bytes"),
            "more than L2 holds",
            at_value=True,
            rule="l2_kept_bytes <= l2_bytes",
            here=f"{kept} > {size}",
        )


def _spaces(table: Mapping[str, Any]) -> Iterator[Problem]:
    fractal = table["fractal"]["rows"] * table["fractal"]["row_bytes"]
    for name, space in table["spaces"].items():
        size, align = space["size_bytes"], space["align_bytes"]
        if align & (align - 1):
            yield Problem(
                ("spaces", name, "align_bytes"),
                f"is {align}",
                at_value=True,
                rule="an alignment is a power of two",
                help=f"{1 << align.bit_length() - 1} or {1 << align.bit_length()}",
            )
        elif size % align:
            yield Problem(
                ("spaces", name, "size_bytes"),
                f"is {size}",
                at_value=True,
                rule="a size is a multiple of the alignment",
                here=f"{size} = {size // align} * {align} + {size % align}",
                help=f"{size // align * align} or {(size // align + 1) * align}",
            )
    for names, least, what in (
        (MATRICES, fractal, "a block of fractal.rows * fractal.row_bytes"),
        (("ub",), table["vector"]["repeat_bytes"], "one repeat of vector.repeat_bytes"),
        (("l1",), fractal, "a block of fractal.rows * fractal.row_bytes"),
    ):
        for name in names:
            size = table["spaces"].get(name, {}).get("size_bytes", 0)
            if size < least:
                yield Problem(
                    ("spaces", name, "size_bytes"),
                    f"is {size}",
                    at_value=True,
                    rule=f"{name} holds {what}",
                    here=f"{size} < {least}",
                )


def _routes(table: Mapping[str, Any]) -> Iterator[Problem]:
    routes, pipes = table["routes"], table["pipes"]
    for source, target in NEEDED_ROUTES:
        if target not in routes.get(source, {}):
            yield Problem(
                ("routes", source, target),
                "missing",
                rule="every machine moves data from " + ", ".join(
                    f"{start} to {end}" for start, end in NEEDED_ROUTES
                ),
            )  # fmt: skip
    known = {*pipes["cube"], *pipes["vector"]}
    for source, targets in routes.items():
        for target, route in targets.items():
            if route["pipe"] not in known:
                yield Problem(
                    ("routes", source, target, "pipe"),
                    f"no core has the pipe {route['pipe']}",
                    at_value=True,
                    rule="pipes.cube and pipes.vector list the pipes",
                )


def _units(table: Mapping[str, Any]) -> Iterator[Problem]:
    spaces = table["spaces"]
    for unit, needed in (("cube", ("mte2", "mte1", "m", "fix", "s")),
                         ("vector", ("mte2", "v", "mte3", "s"))):  # fmt: skip
        missing = [pipe for pipe in needed if pipe not in table["pipes"][unit]]
        if missing:
            yield Problem(
                ("pipes", unit),
                f"lacks {', '.join(missing)}",
                at_value=True,
                rule=f"the instructions of a {unit} core run on {', '.join(needed)}",
            )
    scales = [spaces.get(n, {}).get("size_bytes", 0) for n in ("scale_a", "scale_b")]
    if table["cube"]["supports_mx"] and not all(scales):
        yield Problem(
            ("cube", "supports_mx"),
            "there is no room for scales",
            at_value=True,
            rule="scaled products need the spaces scale_a and scale_b",
            here=f"they have {scales[0]} and {scales[1]} bytes",
        )
    if "default" not in table["vector"]["cost_cycles"]:
        yield Problem(
            ("vector", "cost_cycles"),
            "needs a cost for 'default'",
            rule="instructions without an entry of their own have it",
        )
