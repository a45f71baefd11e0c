"""
Gathers and scatters of the executor: places along an axis from an array of indices.

`Access.locate` checks the indices and turns them into places along each axis; what is
wrong is PTO408 with the index and its position in the tensor of indices. `Access.key`
is the subscript of the memory: slices for rows and columns of the box, a slice of 1 in
every other dimension, and the places along the axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.dialects.indexed import IndexedAccess
from pyptoc.dialects.record import record
from pyptoc.runtime.failures import raise_out_of_bounds
from pyptoc.runtime.marks import Marks
from pyptoc.runtime.memory import Array

Key = tuple["slice[int, int, None] | Array", ...]
"""A subscript: ranges, and an array of places along each axis."""


class Place(NamedTuple):
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
        self.axes = op.axes
        self.row_dim, self.column_dim = op.box_dims
        self.per = op.per.data
        self.missing = None if op.missing is None else op.missing.value.data
        self.page = None if op.page is None else op.page.value.data
        self.table_axis = 0 if op.table_axis is None else op.table_axis.value.data
        first, last = min(self.axes), max(self.axes)
        adjacent = last - first < len(self.axes)
        self.picked = first if adjacent and self.per != "element" else 0
        """The dimension in which numpy puts what `key` picks, one for each index."""

    # -- indices

    def given(self, indices: Array, at: Place) -> Array:
        """The indices that count: [m, n], or a vector."""
        if self.per == "element":
            return indices[: at.rows, : at.columns].astype(np.int64)
        counts = {"row": at.rows, "column": at.columns}
        return indices[0, : counts.get(self.per, 1)].astype(np.int64)

    def places(
        self, indices: Sequence[Array], table: Array | None, at: Place
    ) -> list[Array]:
        """Places along each axis, from its offset on, where no index is missing."""
        return self.locate([self.given(each, at) for each in indices], at, table)[0]

    def locate(
        self, given: Sequence[Array], at: Place, table: Array | None
    ) -> tuple[list[Array], Array | None]:
        """Places along each axis, from its offset on; which indices are missing."""
        missing = None if self.missing is None else given[0] == self.missing
        if missing is not None and not missing.any():
            missing = None
        for number, indices in enumerate(given):
            limit = at.bounds[number]
            legal = limit if self.page is None else at.bounds[1] * self.page
            bad = _beyond(indices, legal)
            if bad is None:
                continue
            if missing is not None:
                bad &= ~missing
            if bad.any():
                rule = f"valid indices are 0 to {legal - 1}"
                self.fail(indices, bad, at, rule, number=number)
        places = list(given)
        if table is not None and self.page is not None:
            places = [self._through(given[0], missing, at, table, at.bounds[0])]
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
        numbers, rest = np.divmod(used, self.page)
        pages = entries[numbers]
        places = pages * self.page + rest
        # A negative page has negative places.
        bad = _beyond(places, limit)
        if bad is not None and missing is not None:
            bad &= ~missing
        if bad is not None and bad.any():
            page = int(pages[bad][0])
            rule = f"pages are 0 to {limit // self.page - 1}"
            self.fail(given, bad, at, rule, f" is in page {page}")
        return places

    def fail(
        self,
        given: Array,
        bad: Array,
        at: Place,
        rule: str,
        why: str = "",
        number: int = 0,
    ) -> NoReturn:
        """PTO408 for the first bad index of those for axis `number`."""
        first = np.argwhere(bad)[0].tolist()
        position = list(at.positions)
        for back, place in enumerate(reversed(first), 1):
            if back <= len(position):
                position[-back] += place
        shown = position[0] if len(position) == 1 else position
        op = self.op
        by = op.name if op.asked_by is None else op.asked_by.data
        names = "the indices" if op.asked_at is None else op.asked_at.data
        of = names.split(", ")[number]
        index = int(given[tuple(first)])
        message = f"{by}: index {index} at position {shown} of {of}{why}"
        raise RunError([Diagnostic("PTO408", message, op.location, rule=rule)])

    # -- subscripts

    def check_box(self, shape: Sequence[int], at: Place) -> None:
        """The box lies in the memory, with all legal rows."""
        for dim, (offset, size) in enumerate(zip(at.offsets, shape, strict=True)):
            self.check_dimension(dim, offset, self.extent(dim, at), size)

    def check_dimension(self, dim: int, offset: int, extent: int, size: int) -> None:
        """`extent` elements from `offset` on lie in a dimension of `size`."""
        if offset < 0 or offset + extent > size:
            message = f"dimension {dim}, {offset} +: {extent} of a memory of {size}"
            raise_out_of_bounds(self.op, message)

    def extent(self, dim: int, at: Place) -> int:
        """How far the box goes along a dimension; along an axis, the legal rows."""
        if dim in self.axes:
            return at.bounds[self.axes.index(dim)]
        if dim == self.column_dim:
            return at.columns
        return at.rows if dim == self.row_dim else 1

    def key(self, places: Sequence[Array], at: Place) -> Key:
        """The subscript of the memory for indices at these places along the axes."""
        if self.per == "element":
            return self._elements(places, at)
        key: list[Any] = [
            slice(offset, offset + self.extent(dim, at))
            for dim, offset in enumerate(at.offsets)
        ]
        for axis, place in zip(self.axes, places, strict=True):
            key[axis] = at.offsets[axis] + place
        return tuple(key)

    def _elements(self, places: Sequence[Array], at: Place) -> Key:
        """A place in each dimension for each element, row after row."""
        shape = (at.rows, at.columns)
        key: list[Any] = list(at.offsets)
        if self.row_dim >= 0:
            key[self.row_dim] += np.arange(at.rows)[:, None]
        if self.column_dim >= 0:
            key[self.column_dim] += np.arange(at.columns)[None, :]
        for axis, place in zip(self.axes, places, strict=True):
            key[axis] = key[axis] + place
        return tuple(np.broadcast_to(part, shape).ravel() for part in key)

    def takes_rows(self, memory: Array, at: Place) -> bool:
        """Whether the box has whole rows of a memory [rows, columns], one an index."""
        return (
            self.per == "row"
            and self.axes == (0,)
            and memory.ndim == 2
            and at.columns == memory.shape[1]
            and at.offsets == (0, 0)
            and memory.flags.c_contiguous
        )

    def picking(self, at: Place) -> Sequence[int]:
        """The dimensions in which `key` has an array of places."""
        return range(len(at.offsets)) if self.per == "element" else self.axes

    def lines(self, box: Array) -> Array:
        """A view of a box [m, n] with what each index is for along dimension 0."""
        if self.per == "element":
            return box.reshape(-1)
        if self.per == "column":
            return box.T
        if self.per == "row":
            return box
        return (box.T if self.row_dim > self.column_dim >= 0 else box)[None]


def _beyond(numbers: Array, limit: int) -> Array | None:
    """Which i64 are not in 0 to limit - 1; None if all are."""
    # As unsigned numbers the negative ones are the greatest.
    unsigned, limit = numbers.view(np.uint64), max(limit, 0)
    if np.maximum.reduce(unsigned, axis=None, initial=0) < limit:
        return None
    bad = unsigned >= limit
    return bad if bad.any() else None


def choose(key: Key, chosen: Array) -> Key:
    """The subscript for some of the indices."""
    return tuple(part if isinstance(part, slice) else part[chosen] for part in key)


def gather(
    access: Access,
    memory: Array,
    indices: Sequence[Array],
    table: Array | None,
    out: Array,
    at: Place,
) -> None:
    """`out[:m, :n]` is the box that the indices name; zeros for missing ones."""
    given = [access.given(each, at) for each in indices]
    access.check_box(memory.shape, at)
    places, missing = access.locate(given, at, table)
    target = out[: at.rows, : at.columns]
    if missing is None and access.takes_rows(memory, at):
        memory.take(places[0], 0, target, "clip")
        return
    key, known = access.key(places, at), slice(None)
    lines = access.lines(np.zeros_like(target) if access.per == "element" else target)
    if missing is not None:
        known = ~missing.ravel()
        key = choose(key, known)
        lines[...] = 0
    found = memory[key]
    if access.picked:
        found = np.moveaxis(found, access.picked, 0)
    lines[known] = found.reshape(len(found), *lines.shape[1:])
    if access.per == "element":
        target[...] = lines.reshape(target.shape)


@record(frozen=False)
class Seen:
    """The indices that the scatters of one launch have used, for `unique`."""

    tiles: dict[int, Array]
    """Those of each tile, by where it begins in the tensor of indices."""

    def note(self, access: Access, given: Array, at: Place) -> None:
        """Remember where each index stands; PTO408 for one that stands twice."""
        start = at.positions[-1]
        if start in self.tiles:
            # Another task, which writes other columns.
            return
        repeats = _nth(given) > 0
        for before in self.tiles.values():
            repeats |= np.isin(given, before)
        if access.missing is not None:
            repeats &= given != access.missing
        self.tiles[start] = given
        if repeats.any():
            index = given[repeats][0]
            first = next(
                begin + int(np.argmax(before == index))
                for begin, before in self.tiles.items()
                if (before == index).any()
            )
            rule = f"unique: no index repeats; position {first} has it too"
            access.fail(given, repeats, at, rule)


def _nth(keys: Array) -> Array:
    """How many equal keys stand before each."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    numbers = np.arange(len(keys))
    starts = np.ones(len(keys), np.bool_)
    starts[1:] = ranked[1:] != ranked[:-1]
    found = np.empty(len(keys), np.int64)
    found[order] = numbers - np.maximum.accumulate(np.where(starts, numbers, 0))
    return found


def scatter(
    access: Access,
    memory: Array,
    marks: Marks | None,
    indices: Sequence[Array],
    data: Array,
    at: Place,
    seen: Seen | None,
) -> None:
    """Write the box to where the indices say, in their order."""
    given = [access.given(each, at) for each in indices]
    access.check_box(memory.shape, at)
    places, missing = access.locate(given, at, None)
    if seen is not None:
        seen.note(access, given[0], at)
    key, parts = access.key(places, at), access.lines(data[: at.rows, : at.columns])
    if missing is not None:
        known = ~missing.ravel()
        key, parts = choose(key, known), parts[known]
    if access.op.properties.get("combine") is None:
        memory[key] = _in_place(access, parts, at)
    else:
        _accumulate(access, memory, key, parts, at)
    if marks is not None:
        marks.elements[key] = True


def _in_place(access: Access, parts: Array, at: Place) -> Array:
    """Parts, one for each index, in the shape of what `key` picks."""
    dims = [dim for dim in range(len(at.offsets)) if dim not in access.picking(at)]
    rest = [access.extent(dim, at) for dim in dims]
    return np.moveaxis(parts.reshape(len(parts), *rest), 0, access.picked)


def _accumulate(
    access: Access, memory: Array, key: Key, parts: Array, at: Place
) -> None:
    """Add parts one after the other: first those of a place that come first, ..."""
    if not len(parts):
        return
    dims = access.picking(at)
    places: Any = tuple(key[dim] for dim in dims)
    sizes: Any = [memory.shape[dim] for dim in dims]
    ravel: Any = np.ravel_multi_index
    nth = _nth(ravel(places, sizes))
    order = np.argsort(nth, kind="stable")
    for chosen in np.split(order, np.cumsum(np.bincount(nth))[:-1]):
        some = choose(key, chosen)
        memory[some] = memory[some] + _in_place(access, parts[chosen], at)
