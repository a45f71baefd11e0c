"""
Loops of products that a task before has done for boxes that lie elsewhere.

What a loop of loads, moves and matmuls multiplies depends on few numbers: bounds and
extents, and where its loads begin. The tasks of a grid mostly differ in the latter
only. So the products of such a loop are remembered by all other numbers (`key`), each
box by its distance from where its load begins (`starts`); the next task with that key
does them without the loop, if its loads lie in their memory.

    for v17 in range(0, 640, 256):             plan = plans.get((v6, v7))
        load(v22, v2, v8 * s0[0] + v17, ..)    if plan is not None:
        ..                                 ->      site.replay(plan, (v8 * s0[0], ..))
    site.finish(pieces, ..)                    else: (the loop)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.pypto.scalars import IndexOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import AllocOp, SlotOp, allocation_of
from pyptoc.dialects.tile_flags import BarrierOp, FlagOp
from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_transfer import LoadOp
from pyptoc.runtime.codegen import Value

_PURE = ("arith.constant", "pypto.index", "scf.yield")


@record
class Start:
    """Where a load begins in one dimension, and how far it goes there."""

    offset: SSAValue
    extent: Value
    dim: int


@record
class Layout:
    """A loop of loads, moves and matmuls, and the numbers that it depends on."""

    before: tuple[IndexOp, ...]
    """Numbers that are computed in the loop, but do not change in it."""
    key: tuple[SSAValue, ...]
    loads: tuple[LoadOp, ...]
    """Of each operand."""
    starts: tuple[tuple[Start, ...], ...]
    """For each load the dimensions in which it begins where `key` does not say."""


def layout_of(
    block: Block, moves: Sequence[MoveOp], matmul: Operation
) -> Layout | None:
    """The layout of a loop, its only group and its loads; None: it has something else.

    moves: of the operands of `matmul`.
    """
    loop = block.parent_op()
    ops = tuple(block.walk())
    if not isinstance(loop, scf.ForOp) or loop.results:
        return None
    for op in ops:
        expected = isinstance(op, scf.ForOp | LoadOp | SlotOp | FlagOp | BarrierOp)
        if not (expected or op in moves or op is matmul or op.name in _PURE):
            return None
    before, inside = _invariant(block, ops)
    loads = tuple(_load_of(move, ops) for move in moves)
    if None in loads:
        return None
    found = tuple(load for load in loads if load is not None)
    starts: list[tuple[Start, ...]] = []
    for load in found:
        own = _starts(load, inside)
        if any(start.extent in inside for start in own):
            return None
        starts.append(own)
    return Layout(before, _key((loop, *ops), before, inside), found, tuple(starts))


def numbers_of_loop(block: Block) -> tuple[SSAValue, ...] | None:
    """The numbers from outside that a loop of moves and matmuls depends on.

    None: it has something else.
    """
    loop = block.parent_op()
    if not isinstance(loop, scf.ForOp) or loop.results:
        return None
    ops = tuple(block.ops)
    for op in ops:
        is_step = isinstance(op, MoveOp) or op.name in ("tile.matmul", "tile.matmul_mx")
        expected = isinstance(op, AllocOp | SlotOp | FlagOp | BarrierOp)
        if not (is_step or expected or op.name in _PURE):
            return None
    return _key((loop, *ops), (), _inside(block, ops))


def _inside(block: Block, ops: Sequence[Operation]) -> set[Value]:
    """The values that are made in a loop."""
    inside: set[Value] = set(block.args)
    for op in ops:
        inside.update(op.results)
        inside.update(arg for region in op.regions for arg in region.block.args)
    return inside


def _invariant(
    block: Block, ops: Sequence[Operation]
) -> tuple[tuple[IndexOp, ...], set[Value]]:
    """Numbers that could be computed before the loop, and what is made in it."""
    inside = _inside(block, ops)
    before: list[IndexOp] = []
    for op in ops:
        if not isinstance(op, IndexOp) or inside.intersection(op.operands):
            continue
        # A division could fail in a loop that does not run.
        if not op.expr.data.divides():
            before.append(op)
            inside.difference_update(op.results)
    return tuple(before), inside


def _load_of(move: MoveOp, ops: Sequence[Operation]) -> LoadOp | None:
    """The only load into what a move reads."""
    source = allocation_of(move.source)
    loads = [
        op for op in ops if isinstance(op, LoadOp) and allocation_of(op.dest) is source
    ]
    return loads[0] if len(loads) == 1 else None


def _starts(load: LoadOp, inside: set[Value]) -> tuple[Start, ...]:
    dims = list(load.box_dims)
    return tuple(
        Start(offset, load.extents[dims.index(dim)] if dim in dims else 1, dim)
        for dim, offset in enumerate(load.mixed_offsets)
        if isinstance(offset, SSAValue) and offset not in inside
    )


def _key(
    ops: Sequence[Operation], before: Sequence[Operation], inside: set[Value]
) -> tuple[SSAValue, ...]:
    """The numbers from outside that anything but the start of a load depends on."""
    found: dict[SSAValue, None] = {}
    for op in ops:
        if op in before:
            continue
        used: Sequence[Any] = op.extents if isinstance(op, LoadOp) else op.operands
        for value in used:
            if not isinstance(value, SSAValue) or value in inside:
                continue
            if isinstance(value.type, IndexType | IntegerType):
                found[value] = None
    return tuple(found)
