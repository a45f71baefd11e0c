"""
The parts of columns that are all that anyone reads of a value.

    %v = pypto.view %y[:, 0 +: 64]
    %g = pypto.view %y[:, 64 +: 64]         the parts of %y, if nothing else reads it
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from pyptoc.dialects.pypto.shape import ViewOp
from pyptoc.dialects.subscripts import Mixed
from pyptoc.passes.builder import Builder
from pyptoc.passes.typed import tensor_rank

Columns = tuple[int, int]
"""The first column and how many."""


def column_parts(value: SSAValue) -> list[ViewOp]:
    """
    The views of some columns that read `value`, in its block.

    None if anything else reads it, if two of them overlap without being the same, or if
    only the run knows where one starts.
    """
    views: list[ViewOp] = []
    for use in value.uses:
        view = use.operation
        if not isinstance(view, ViewOp) or columns_of(view) is None:
            return []
        if view.parent is not getattr(value.owner, "parent", None):
            return []
        views.append(view)
    found = sorted({columns for view in views if (columns := columns_of(view))})
    ends = [lo + size for lo, size in found]
    apart = all(end <= lo for end, (lo, _) in zip(ends, found[1:], strict=False))
    return views if apart else []


def columns_of(view: ViewOp) -> Columns | None:
    """The columns of which a view takes all rows; None if it is no such view."""
    *lead, (lo, size) = zip(view.mixed_offsets, view.mixed_sizes, strict=True)
    whole: tuple[Mixed, None] = (0, None)
    if view.target is not None or view.dropped_dims or any(s != whole for s in lead):
        return None
    return (lo, size) if isinstance(lo, int) and isinstance(size, int) else None


def part_of(build: Builder, value: SSAValue, axis: int, columns: Columns) -> SSAValue:
    """A view of `columns` along an axis that counts from the last, -1."""
    rank = tensor_rank(value)
    subscripts: list[object] = [None] * rank
    subscripts[rank + axis] = columns
    return build.value(ViewOp.make(value, subscripts), value.name_hint)
