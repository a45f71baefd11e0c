"""
The waits of one launch, each said once.

    %t[%i, 0 : 14], %t[%i, 14 : 28], %t[%i, 0 : 14]     ->     %t[%i, 0 : 28]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.ir import SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu_attrs import ALL, OVERLAPS, Selector

Wait = tuple[SSAValue, Selector]
Range = tuple[Expr, Expr] | None


def merged(
    waits: Iterable[Wait], grids: Mapping[SSAValue, Sequence[Expr]]
) -> tuple[list[SSAValue], list[Selector]]:
    """Waits without those that others include; neighbours are one.

    `grids`: the sizes of the grid behind events that are one launch.
    """
    by_events: dict[SSAValue, list[Selector]] = {}
    for events, selector in waits:
        by_events.setdefault(events, []).append(selector)
    values: list[SSAValue] = []
    selectors: list[Selector] = []
    for events, chosen in by_events.items():
        if ALL in chosen:
            chosen = [ALL]
        elif OVERLAPS in chosen:
            chosen = [OVERLAPS]
        else:
            chosen = _joined(chosen, grids[events])
        values += [events] * len(chosen)
        selectors += chosen
    return values, selectors


def _joined(chosen: Iterable[Selector], grid: Sequence[Expr]) -> list[Selector]:
    boxes = [
        tuple(
            None if r is not None and r[0] == Expr.const(0) and r[1] == size else r
            for r, size in zip(selector.ranges, grid, strict=True)
        )
        for selector in chosen
    ]
    kept: list[tuple[Range, ...]] = []
    for box in dict.fromkeys(boxes):
        for number, other in enumerate(kept):
            union = _union(box, other, grid)
            if union is not None:
                kept[number] = union
                break
        else:
            kept.append(box)
    if len(kept) < len(boxes) and len(kept) > 1:
        return _joined([Selector.box(*box) for box in kept], grid)
    return [ALL if all(r is None for r in box) else Selector.box(*box) for box in kept]


def _union(
    one: tuple[Range, ...], other: tuple[Range, ...], grid: Sequence[Expr]
) -> tuple[Range, ...] | None:
    """The two boxes as one: they differ along one axis, and touch there."""
    axes = [axis for axis, r in enumerate(one) if r != other[axis]]
    if len(axes) != 1:
        return None
    (axis,) = axes
    first, second = one[axis], other[axis]
    joined: Range = None
    if first is not None and second is not None:
        if first[1] == second[0]:
            joined = first[0], second[1]
        elif second[1] == first[0]:
            joined = second[0], first[1]
        else:
            return None
        if joined == (Expr.const(0), grid[axis]):
            joined = None
    return (*one[:axis], joined, *one[axis + 1 :])
