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
    access = to.bind(indexed.Access(op))
    table = "None" if op.table is None else to.ref(op.table)
    with to.instruction(op):
        arrays = f"{to.ref(op.memory)}, {_indices(to, op)}, {table}"
        to.line(
            f"{to.bind(indexed.gather)}({access}, {arrays}, {to.ref(op.buffer)}, "
            f"{_place(to, op)})"
        )


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
