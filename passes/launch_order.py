"""
Which launches certainly come after which others, before any wait is derived.

    %t0 writes %a ; %t1 reads %a, writes %b ; npu.read %b ; %t2 writes %c
    ->  %t1 comes after %t0, the read after %t1, and %t2 after all of them

One launch comes after another if they touch the same memory and one of them writes it,
or through a chain of these. What follows a read of the orchestration starts after it.
Sets of launches are bits of an int.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.npu import (
    GatherOp,
    LoadOp,
    PrintOp,
    ReadOp,
    ScatterOp,
    StoreOp,
    TasksOp,
)
from pyptoc.dialects.record import record
from pyptoc.passes.buffer_roots import BufferRoots


@record(frozen=False)
class LaunchOrder:
    """The launches and reads of a function in program order, numbered."""

    nodes: list[Operation] = field(default_factory=list[Operation])
    before: list[int] = field(default_factory=list[int])
    """For each of them those that it certainly comes after."""
    _by_root: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    _homes: dict[Block, list[int]] = field(default_factory=dict[Block, list[int]])

    @staticmethod
    def of(function: func.FuncOp, roots: BufferRoots) -> LaunchOrder:
        """The order in one function."""
        order = LaunchOrder()
        writers: dict[SSAValue, int] = {}
        stops = 0
        for op in _nodes_in(function.body.block):
            touched: dict[SSAValue, bool] = {}
            for memory, writes in touched_by(op):
                root = roots.root(memory)
                touched[root] = touched.get(root, False) or writes
            direct = stops
            for root, writes in touched.items():
                direct |= (order._by_root if writes else writers).get(root, 0)
            before = direct
            for number in _ones(direct):
                before |= order.before[number]
            bit = 1 << len(order.nodes)
            order.nodes.append(op)
            order.before.append(before)
            for root, writes in touched.items():
                order._by_root[root] = order._by_root.get(root, 0) | bit
                if writes:
                    writers[root] = writers.get(root, 0) | bit
            if isinstance(op, ReadOp):
                stops |= bit
        return order

    def touching(self, root: SSAValue) -> int:
        """What touches memory with that root."""
        return self._by_root.get(root, 0)

    def launches(self, nodes: int) -> Iterator[TasksOp]:
        """The launches among `nodes`."""
        for number in _ones(nodes):
            op = self.nodes[number]
            if isinstance(op, TasksOp):
                yield op

    def are_inside(self, nodes: int, block: Block) -> bool:
        """Whether all of them are in `block`, or nested in an op of it."""
        homes = self._positions(block)
        return all(homes[number] >= 0 for number in _ones(nodes))

    def comes_after(self, later: int, earlier: int, block: Block) -> bool:
        """Whether each of `later` comes after all of `earlier`, in other ops."""
        homes = self._positions(block)
        last = max(homes[number] for number in _ones(earlier))
        return all(
            homes[number] > last and not earlier & ~self.before[number]
            for number in _ones(later)
        )

    def _positions(self, block: Block) -> list[int]:
        """For each node the position of its op in `block`; -1 outside."""
        if block not in self._homes:
            places = {op: number for number, op in enumerate(block.ops)}
            homes = (block.find_ancestor_op_in_block(node) for node in self.nodes)
            self._homes[block] = [-1 if op is None else places[op] for op in homes]
        return self._homes[block]


def touched_by(op: Operation) -> Iterator[tuple[SSAValue, bool]]:
    """The memrefs that tasks, a read or a print touch, and whether they write them."""
    if isinstance(op, ReadOp | PrintOp):
        yield op.source, False
        return
    for inner in op.walk():
        match inner:
            case LoadOp() | ReadOp():
                yield inner.source, False
            case StoreOp():
                yield inner.dest, True
            case GatherOp() | ScatterOp():
                yield inner.memory, isinstance(inner, ScatterOp)
                if inner.lookup is not None:
                    yield inner.lookup[0], False
            case _:
                pass


def _nodes_in(block: Block) -> Iterator[Operation]:
    for op in block.ops:
        if isinstance(op, TasksOp | ReadOp | PrintOp):
            yield op
            continue
        for region in op.regions:
            for inner in region.blocks:
                yield from _nodes_in(inner)


def _ones(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
