"""Which parameters of a kernel may be one buffer, judging by its launches."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.ir import Block, BlockArgument, OpResult, SSAValue

from pyptoc.dialects.npu import LaunchOp


def buffer_aliases(launches: Iterable[LaunchOp]) -> dict[int, int]:
    """For each memory parameter, the first one that may be the same buffer."""
    groups: dict[int, int] = {}
    for launch in launches:
        owners: dict[SSAValue, int] = {}
        for number, value in enumerate(launch.arguments):
            if isinstance(value.type, MemRefType):
                groups.setdefault(number, number)
                for root in buffer_roots(value):
                    _join(groups, owners.setdefault(root, number), number)
    return {number: _find(groups, number) for number in groups}


def _find(groups: dict[int, int], number: int) -> int:
    while groups[number] != number:
        number = groups[number]
    return number


def _join(groups: dict[int, int], one: int, other: int) -> None:
    first, second = sorted((_find(groups, one), _find(groups, other)))
    groups[second] = first


def buffer_roots(value: SSAValue) -> set[SSAValue]:
    """The allocations and function arguments that `value` may be, through reshapes,
    loops and branches."""
    roots: set[SSAValue] = set()
    seen: set[SSAValue] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        sources = _sources(value)
        pending += sources
        if not sources:
            roots.add(value)
    return roots


def _sources(value: SSAValue) -> list[SSAValue]:
    """The values one of which `value` is; none if it is a buffer of its own."""
    owner = value.owner
    if isinstance(owner, Block):
        assert isinstance(value, BlockArgument)
        loop, carried = owner.parent_op(), value.index - 1
        if isinstance(loop, ForOp) and carried >= 0:
            return [loop.iter_args[carried], _yielded(owner, carried)]
        return []
    assert isinstance(value, OpResult)
    if isinstance(owner, ForOp):
        init = owner.iter_args[value.index]
        return [init, _yielded(owner.body.block, value.index)]
    if isinstance(owner, IfOp):
        return [
            _yielded(region.block, value.index)
            for region in owner.regions
            if region.blocks
        ]
    memories = [x for x in owner.operands if isinstance(x.type, MemRefType)]
    return memories[:1]


def _yielded(block: Block, number: int) -> SSAValue:
    last = block.last_op
    assert isinstance(last, YieldOp)
    return last.operands[number]
