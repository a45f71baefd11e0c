"""Gathers, scatters, top-k and one-hot as calls (see `translate.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from pyptoc.dialects.assembly import join_mixed
from pyptoc.dialects.tile_indexing import (
    GatherOp,
    IndexedTransfer,
    OneHotOp,
    ScatterOp,
    TopkOp,
)
from pyptoc.dialects.tile_types import buffer_type
from pyptoc.runtime import indexed, topk
from pyptoc.runtime.codegen import Handler, Value
from pyptoc.runtime.memory import Array
from pyptoc.runtime.translate_transfer import add

if TYPE_CHECKING:
    from pyptoc.runtime.translate import KernelTranslator


def handlers(to: KernelTranslator) -> dict[str, Handler]:
    return {
        "tile.gather": lambda op: _gather(to, cast(GatherOp, op)),
        "tile.scatter": lambda op: _scatter(to, cast(ScatterOp, op)),
        "tile.topk": lambda op: _topk(to, cast(TopkOp, op)),
        "tile.one_hot": lambda op: _one_hot(to, cast(OneHotOp, op)),
    }


def _place(to: KernelTranslator, op: IndexedTransfer) -> str:
    """The text of the numbers of one execution."""
    bounds = join_mixed(op.static_bounds, op.bounds)
    lists: list[Sequence[Value]] = [op.mixed_offsets, bounds, op.mixed_positions]
    looked = op.lookup
    text = ", ".join(map(to.tuple_of, lists))
    rows, columns = map(to.ref, op.extents)
    last = "" if looked is None else f", {to.tuple_of(looked[1])}"
    return f"{to.bind(indexed.Place)}({text}, {rows}, {columns}{last})"


def _indices(to: KernelTranslator, op: IndexedTransfer) -> str:
    """The text of the buffers of indices."""
    return to.tuple_of(op.all_indices)


def _gather(to: KernelTranslator, op: GatherOp) -> None:
    to.check_extents(op.buffer, *op.extents)
    if to.core.is_plain and op.missing is None and op.per.data in ("row", "column"):
        _gather_lines(to, op)
        return
    access = to.bind(indexed.Access(op))
    table = "None" if op.table is None else to.ref(op.table)
    with to.instruction(op):
        arrays = f"{to.ref(op.memory)}, {_indices(to, op)}, {table}"
        to.line(
            f"{to.bind(indexed.gather)}({access}, {arrays}, {to.ref(op.buffer)}, "
            f"{_place(to, op)})"
        )


def _gather_lines(to: KernelTranslator, op: GatherOp) -> None:
    """A gather of rows or columns, none of them missing, as one subscript."""
    access, by_row = indexed.Access(op), op.per.data == "row"
    rows, columns = op.extents
    count, along = (rows, op.box_dims[1]) if by_row else (columns, op.box_dims[0])
    _check_memory(to, op, access)
    with to.instruction(op):
        places = _places(to, op, access, count)
        key: list[str] = []
        for dim, offset in enumerate(op.mixed_offsets):
            text = to.ref(offset)
            if dim in op.axes:
                place = f"{places}[{op.axes.index(dim)}]"
                key.append(place if offset == 0 else f"{text} + {place}")
            elif dim == along:
                end = add(to, offset, columns if by_row else rows)
                key.append(f"{text}:{end}")
            else:
                key.append(text)
        memory, target = to.ref(op.memory), to.corner(op.buffer, rows, columns)
        found = f"{memory}[{', '.join(key)}]"
        if along == -1:
            found += "[:, None]" if by_row else "[None]"
        elif (along == 0) == by_row:
            # numpy puts what the indices pick first, unless the others come first.
            found += ".T"
        whole = op.mixed_offsets == [0, 0] and str(columns) == to.size_of(op.memory, 1)
        if by_row and op.axes == (0,) and whole:
            take = f'{memory}.take({places}[0], 0, {target}, "clip")'
            to.line(f"if {memory}.flags.c_contiguous: {take}")
            to.line(f"else: {target}[...] = {found}")
        else:
            to.line(f"{target}[...] = {found}")


def _check_memory(to: KernelTranslator, op: GatherOp, access: indexed.Access) -> None:
    """Write the check that the box lies in the memory, with all legal rows."""
    limits = dict(zip(op.axes, op.limits, strict=True))
    boxes = dict(zip(op.box_dims, op.extents, strict=True))
    check = to.bind(access.check_dimension)
    for dim, offset in enumerate(op.mixed_offsets):
        extent = limits.get(dim, boxes.get(dim, 1))
        start, size = to.ref(offset), to.size_of(op.memory, dim)
        if offset == 0 and str(extent) == size:
            continue
        end = add(to, offset, extent)
        known = isinstance(offset, int) and offset >= 0
        beyond = f"{end} > {size}" if known else f"{start} < 0 or {end} > {size}"
        if not (end.isdigit() and size.isdigit() and int(end) <= int(size)):
            numbers = f"{dim}, {start}, {to.ref(extent)}, {size}"
            to.line(f"if {beyond}: {check}({numbers})")


def _places(
    to: KernelTranslator, op: GatherOp, access: indexed.Access, count: Value
) -> str:
    """The local of the places along each axis, those of a gather before if they are
    the same."""
    bounds = to.tuple_of(join_mixed(op.static_bounds, op.bounds))
    positions, table, looked = to.tuple_of(op.mixed_positions), "None", "()"
    if op.lookup is not None:
        table, looked = to.ref(op.lookup[0]), to.tuple_of(op.lookup[1])
    numbers = ", ".join(2 * [to.ref(count)])
    at = f"{to.bind(indexed.Place)}((), {bounds}, {positions}, {numbers}, {looked})"
    constants = op.per, op.page, op.table_axis, len(op.axes)
    lists = _indices(to, op), table, bounds, positions, numbers, looked
    key = str((*lists, *map(str, constants)))
    if key not in to.boxes:
        name = to.boxes[key] = to.fresh()
        call = f"{to.bind(access.places)}({_indices(to, op)}, {table}, {at})"
        to.line(f"{name} = {call}")
        for indices in op.all_indices:
            to.until_written(indices, key)
    return to.boxes[key]


def _scatter(to: KernelTranslator, op: ScatterOp) -> None:
    to.check_extents(op.buffer, *op.extents)
    access = to.bind(indexed.Access(op))
    seen = "None"
    if op.unique is not None:
        state = indexed.Seen({})
        to.at_launch.append(state.tiles.clear)
        seen = to.bind(state)
    memory = to.ref(op.memory)
    with to.instruction(op):
        arrays = f"{memory}, w{memory[1:]}, {_indices(to, op)}, {to.ref(op.buffer)}"
        to.line(
            f"{to.bind(indexed.scatter)}({access}, {arrays}, {_place(to, op)}, {seen})"
        )


def _topk(to: KernelTranslator, op: TopkOp) -> None:
    rows, columns, kept = op.extents
    to.check_extents(op.source, rows, columns)
    to.check_extents(op.values, rows, kept)
    ascending, least = op.ascending is not None, op.least
    has_lengths = op.lengths is not None

    def run(
        source: Array,
        first: int,
        size: int,
        lists: tuple[Array, Array],
        lengths: Any,
        before: tuple[Array, Array] | tuple[()],
    ) -> None:
        if has_lengths:
            lengths = lengths[0, : source.shape[0]]
            topk.check_lengths(op, lengths, size, least)
        last = (before[0][:, -1], before[1][:, -1]) if before else None
        topk.merge(source, first, lists, lengths, last, ascending)

    with to.instruction(op):
        lists = ", ".join(to.corner(value, rows, kept) for value in op.lists)
        full = buffer_type(op.values).columns
        after = "".join(to.corner(value, rows, full) + ", " for value in op.after)
        numbers = to.refs(op.mixed_bounds)
        lengths = "None" if op.lengths is None else to.ref(op.lengths)
        box = to.corner(op.source, rows, columns)
        to.line(f"{to.bind(run)}({box}, {numbers}, ({lists}), {lengths}, ({after}))")


def _one_hot(to: KernelTranslator, op: OneHotOp) -> None:
    rows, columns, count = op.extents
    to.check_extents(op.source, rows, count)
    to.check_extents(op.dest, rows, columns)
    with to.instruction(op):
        source = to.corner(op.source, rows, count)
        first = to.ref(op.first)
        dest = to.corner(op.dest, rows, columns)
        to.line(f"{to.bind(topk.one_hot)}({source}, {first}, {dest})")
