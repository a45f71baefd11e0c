"""
Groups: a matmul and the moves of its operands, which nothing else uses in L0.

What a group becomes is written by `translate_cube.py`.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.record import record
from pyptoc.dialects.tile import allocation_of, uses_of
from pyptoc.dialects.tile_flags import BarrierOp, FlagOp
from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_types import Instruction
from pyptoc.runtime.codegen import Value

MATMULS = ("tile.matmul", "tile.matmul_mx")


@record
class Group:
    """A matmul and the moves of its operands (and scales), in operand order."""

    matmul: Any
    moves: tuple[MoveOp, ...]

    def whole(self) -> tuple[Operation, ...]:
        """All its operations, in the order of the kernel but for that of the moves."""
        return (*self.moves, self.matmul)


def find_groups(kernel: Operation) -> dict[Operation, Group]:
    """Every operation that belongs to a group, with its group."""
    groups: dict[Operation, Group] = {}
    for op in kernel.walk():
        if op.name in MATMULS and (group := _group(op)) is not None:
            groups.update(dict.fromkeys(group.whole(), group))
    # Where one use of an L0 allocation needs real moves, all its uses do.
    changed = True
    while changed:
        changed = False
        for group in set(groups.values()):
            if any(not _feeds_only(move, groups) for move in group.moves):
                for op in group.whole():
                    del groups[op]
                changed = True
    return groups


def _group(matmul: Operation) -> Group | None:
    """The moves of a matmul's operands right before it, if it has that form."""
    op = cast(Any, matmul)
    found: dict[SSAValue, MoveOp] = {}
    sources = op.sources
    current = matmul.prev_op
    # In between, nothing may change L1.
    while current is not None and len(found) < len(sources):
        if isinstance(current, MoveOp):
            if current.dest not in sources or current.dest in found:
                return None
            found[current.dest] = current
        elif current.regions or (
            isinstance(current, Instruction)
            and not isinstance(current, FlagOp | BarrierOp)
        ):
            return None
        current = current.prev_op
    if len(found) < len(sources):
        return None
    moves = tuple(found[source] for source in sources)
    m, n, k = op.extents
    exact = _moves(moves[0], m, k) and _moves(moves[1], k, n)
    plain_scales = not any(move.is_transposed for move in moves[2:])
    return Group(op, moves) if exact and plain_scales else None


def _moves(move: MoveOp, rows: Value, columns: Value) -> bool:
    """Whether the move fills exactly that box of its destination."""
    given = move.extents[::-1] if move.is_transposed else move.extents
    return given == [rows, columns]


def _feeds_only(move: MoveOp, groups: dict[Operation, Group]) -> bool:
    """Whether only groups use the move's L0 allocation (or matmuls of K = 0)."""
    return all(
        user in groups or (user.name in MATMULS and cast(Any, user).extents[2] == 0)
        for user, _ in uses_of(allocation_of(move.dest))
    )
