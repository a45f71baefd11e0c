"""
Gathers and scatters of the executor: places along an axis from an array of indices.

The box of an indexed access in memory has slices for its rows and columns, a slice of 1
in every other dimension, and all legal rows along the axis, of which the indices pick
some. `Access.locate` checks the indices and turns them into places; what is wrong is
PTO408 with the index and its position in the tensor of indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.dialects.indexed import IndexedAccess
from pyptoc.runtime.failures import raise_out_of_bounds
from pyptoc.runtime.memory import Array


@dataclass(frozen=True)
class Place:
    """The numbers of one execution of an indexed access."""

    offsets: tuple[int, ...]
    bounds: tuple[int, ...]
    """The number of legal rows; the number of pages, with a page table."""
    positions: tuple[int, ...]
    rows: int
    columns: int
    table_offsets: tuple[int, ...] = ()


class Access:
    """What does not change from one execution of an operation to the next."""

    def __init__(self, op: IndexedAccess) -> None:
        self.op = op
        self.axis = op.axis_dim
        self.row_dim, self.column_dim = op.box_dims
        self.per = op.per.data
        self.missing = None if op.missing is None else op.missing.value.data
        self.page = None if op.page is None else op.page.value.data
        self.table_axis = 0 if op.table_axis is None else op.table_axis.value.data

    # -- indices

    def given(self, indices: Array, at: Place) -> Array:
        """The indices that count: [m, n], or a vector."""
        if self.per == "element":
            return indices[: at.rows, : at.columns].astype(np.int64)
        counts = {"row": at.rows, "column": at.columns}
        return indices[0, : counts.get(self.per, 1)].astype(np.int64)

    def locate(
        self, given: Array, at: Place, table: Array | None
    ) -> tuple[Array, Array | None]:
        """Places along the axis, from its offset on; which indices are missing."""
        missing = None if self.missing is None else given == self.missing
        limit = at.bounds[0]
        legal = limit if self.page is None else at.bounds[1] * self.page
        bad = (given < 0) | (given >= legal)
        if missing is not None:
            bad &= ~missing
        if bad.any():
            self.fail(given, bad, at, f"valid indices are 0 to {legal - 1}")
        places = given
        if table is not None and self.page is not None:
            places = self._through(given, missing, at, table, limit)
        if missing is not None and missing.any():
            known = places[~missing]
            places = np.where(missing, known[0] if len(known) else 0, places)
        else:
            missing = None
        return places, missing

    def _through(
        self,
        given: Array,
        missing: Array | None,
        at: Place,
        table: Array,
        limit: int,
    ) -> Array:
        assert self.page is not None
        box: list[Any] = list(at.table_offsets)
        start = box[self.table_axis]
        box[self.table_axis] = slice(start, start + at.bounds[1])
        entries = table[tuple(box)].astype(np.int64)
        used = given if missing is None else np.where(missing, 0, given)
        if not len(entries):
            return used
        pages = entries[used // self.page]
        places = pages * self.page + used % self.page
        bad = (pages < 0) | (places >= limit)
        if missing is not None:
            bad &= ~missing
        if bad.any():
            page = int(pages[bad][0])
            rule = f"pages are 0 to {limit // self.page - 1}"
            self.fail(given, bad, at, rule, f" is in page {page}")
        return places

    def fail(
        self, given: Array, bad: Array, at: Place, rule: str, why: str = ""
    ) -> NoReturn:
        """PTO408 for the first bad index."""
        first = np.argwhere(bad)[0].tolist()
        position = list(at.positions)
        for back, place in enumerate(reversed(first), 1):
            if back <= len(position):
                position[-back] += place
        shown = position[0] if len(position) == 1 else position
        op = self.op
        by = op.name if op.asked_by is None else op.asked_by.data
        of = "the indices" if op.asked_at is None else op.asked_at.data
        index = int(given[tuple(first)])
        message = f"{by}: index {index} at position {shown} of {of}{why}"
        raise RunError([Diagnostic("PTO408", message, op.location, rule=rule)])

    # -- subscripts

    def check_box(self, shape: Sequence[int], at: Place) -> None:
        """The box lies in the memory, the axis aside."""
        for dim, (offset, size) in enumerate(zip(at.offsets, shape, strict=True)):
            extent = self.extent(dim, at)
            if offset < 0 or offset + extent > size:
                raise_out_of_bounds(
                    self.op,
                    f"dimension {dim}, {offset} +: {extent} of a memory of {size}",
                )

    def extent(self, dim: int, at: Place) -> int:
        """How far the box goes along a dimension; along the axis, the legal rows."""
        if dim == self.axis:
            return at.bounds[0]
        return {self.row_dim: at.rows, self.column_dim: at.columns}.get(dim, 1)

    def slices(self, at: Place) -> list[Any]:
        """The box in memory, with all legal rows along the axis."""
        return [
            slice(offset, offset + self.extent(dim, at))
            for dim, offset in enumerate(at.offsets)
        ]

    def shape_of_one(self, at: Place) -> list[int]:
        """The sizes of the part of the memory that one index names."""
        shape = [self.extent(dim, at) for dim in range(len(at.offsets))]
        shape[self.axis] = 1
        return shape

    def piece(self, data: Array, number: int, at: Place) -> Array:
        """The part of a box that one index is for."""
        if self.per == "row":
            return data[number : number + 1, : at.columns]
        if self.per == "column":
            return data[: at.rows, number : number + 1]
        return data[: at.rows, : at.columns]

    def elements(self, places: Array, at: Place) -> tuple[Any, ...]:
        """A subscript of `slices`, with a place for each element."""
        box: list[Any] = [0] * len(at.offsets)
        if self.row_dim >= 0:
            box[self.row_dim] = np.arange(at.rows)[:, None]
        if self.column_dim >= 0:
            box[self.column_dim] = np.arange(at.columns)[None, :]
        box[self.axis] = places
        return tuple(box)

    def order(self, rank: int) -> list[int]:
        """The dimensions of the memory with those of rows and columns last."""
        row = self.axis if self.per == "row" else self.row_dim
        column = self.axis if self.per == "column" else self.column_dim
        last = [dim for dim in (row, column) if dim >= 0]
        return [dim for dim in range(rank) if dim not in last] + last

    def boxed(self, part: Array, at: Place) -> Array:
        """The box [m, n] of a part of the memory, a view of it where it can be one."""
        order = self.order(part.ndim)
        return part.transpose(order).reshape(at.rows, at.columns)

    def unboxed(self, box: Array, shape: Sequence[int]) -> Array:
        """A box as a part of the memory, of that shape."""
        order = self.order(len(shape))
        turned = box.reshape([shape[dim] for dim in order])
        return turned.transpose(np.argsort(order))


def gather(
    access: Access,
    memory: Array,
    indices: Array,
    table: Array | None,
    out: Array,
    at: Place,
) -> None:
    """`out[:m, :n]` is the box that the indices name; zeros for missing ones."""
    given = access.given(indices, at)
    access.check_box(memory.shape, at)
    places, missing = access.locate(given, at, table)
    target = out[: at.rows, : at.columns]
    if missing is not None and missing.all():
        target[...] = 0
        return
    whole = memory[tuple(access.slices(at))]
    if access.per == "element":
        target[...] = whole[access.elements(places, at)]
    else:
        target[...] = access.boxed(np.take(whole, places, access.axis), at)
    if missing is not None:
        target[_spread(access, missing)] = 0


def _spread(access: Access, chosen: Array) -> Any:
    """A subscript of the box for chosen indices."""
    if access.per == "row":
        return chosen
    return (slice(None), chosen) if access.per == "column" else chosen


@dataclass
class Seen:
    """The indices that the scatters of one launch have used, for `unique`."""

    positions: dict[int, int]

    def note(self, access: Access, given: Array, at: Place) -> None:
        """Remember where each index stands; PTO408 for one that stands twice."""
        start = at.positions[-1]
        for number, index in enumerate(given.tolist()):
            if index == access.missing:
                continue
            first = self.positions.setdefault(index, start + number)
            if first != start + number:
                rule = f"unique: no index repeats; position {first} has it too"
                access.fail(given, np.arange(len(given)) == number, at, rule)


def scatter(
    access: Access,
    memory: Array,
    marks: Array | None,
    indices: Array,
    data: Array,
    at: Place,
    seen: Seen | None,
) -> None:
    """Write the box to where the indices say, in their order."""
    given = access.given(indices, at)
    access.check_box(memory.shape, at)
    places, missing = access.locate(given, at, None)
    if seen is not None:
        seen.note(access, given, at)
    adds = access.op.properties.get("combine") is not None
    start, shape = at.offsets[access.axis], access.shape_of_one(at)
    box: list[Any] = access.slices(at)
    for number, place in enumerate(places.tolist()):
        if missing is not None and missing[number]:
            continue
        box[access.axis] = slice(start + place, start + place + 1)
        key = tuple(box)
        part = access.unboxed(access.piece(data, number, at), shape)
        memory[key] = memory[key] + part if adds else part
        if marks is not None:
            marks[key] = True
