"""
Which accesses of a kernel conflict, block by block.

The kernel becomes a tree. A `BlockNode` holds the `Item`s of one block in program
order: single instructions, and composite items (a loop, a branch) with a node for each
of their blocks. Every item lists its `Access`es; those of a composite item are a
summary of what is inside. Two accesses *conflict* if they may touch the same bytes and
one writes.

Bytes are decided by

- addresses: two allocations whose ranges overlap share bytes; an allocation that has no
  address yet shares bytes with nobody;
- channels: what a pop gives is a buffer of its own, which the free that gives back its
  slot writes too, since it lets the other side overwrite it. A slot that comes round is
  ordered by the channel: nothing before a pop touches what it gives, and nothing behind
  a free what that gave back;
- slots: different constant slots of an allocation are different bytes; the same slot
  value (`%s` of this trip) is the same bytes *now*, and in another trip only if it
  comes round to the same slot; anything else may be the same bytes;
- memory arguments: two parameters to which a launch passes one buffer are one.

Every conflicting pair belongs to exactly one node: that of the innermost block which
contains both, where they lie in two different items. So each node can be treated by
itself. The only pair in one item are the two branches of an `scf.if`: they meet only
across the trips of a loop around it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.scf import ForOp, IfOp
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import (
    AllocOp,
    BarrierOp,
    FreeOp,
    Instruction,
    Pipe,
    PopOp,
    SetFlagOp,
    SlotOp,
    WaitFlagOp,
)
from pyptoc.passes.mixed import Core, freed_by
from pyptoc.passes.slots import slot_identity

PIPES: tuple[Pipe, ...] = tuple(Pipe.__members__.values())
PIPE_NUMBER = {pipe: number for number, pipe in enumerate(PIPES)}


@lru_cache(maxsize=1 << len(PIPES))
def bits(mask: int) -> tuple[int, ...]:
    """The numbers of the pipes in a mask."""
    return tuple(number for number in range(len(PIPES)) if mask >> number & 1)


STRIDE = 4
"""Distance of two instructions' positions; flags lie between them."""


@record(eq=False)
class SlotKey:
    """A slot index that may differ from trip to trip."""

    value: SSAValue
    slots: int
    identity: Hashable
    number: int
    """Where its operation stands in the kernel; 0 for a block argument."""


class Tenancy(Enum):
    """What an access does to the time for which a core has a slot of a channel."""

    NONE = 0
    BEGINS = 1
    ENDS = 2


_TENANCIES: dict[type[Operation], Tenancy] = {
    PopOp: Tenancy.BEGINS,
    FreeOp: Tenancy.ENDS,
}


@dataclass(eq=False, slots=True)
class Access:
    """What one pipe does to one resource, in one item."""

    resource: int
    slot: SlotKey | int | None
    """The slot that changes, the constant slot, or None for all bytes."""
    pipe: int
    write: bool
    last: int
    """Position of the last instruction that does this."""
    entered: int = 0
    """Pipes (bits) for which each such access waits inside the item: what they did
    before the item is over then."""
    left: int = 0
    """Pipes (bits) that know of each such access once the item is over."""
    primed: int = 0
    """Pipes (bits) from which a flag carried from trip to trip comes before each: what
    they did before the outermost loop is over then."""
    drained: int = 0
    """Pipes (bits) that know of each by such a flag once the outermost loop is over."""
    tenancy: Tenancy = Tenancy.NONE
    """Whether it takes a channel's slot, or gives it back."""


@record(frozen=False, eq=False)
class Item:
    """An instruction, or an operation with blocks that hold instructions."""

    op: Operation
    number: int
    """Where the operation stands in the kernel, counting all operations."""
    first: int
    last: int
    """Positions of its first and its last instruction."""
    pipes: int
    """The pipes (bits) it uses."""
    accesses: list[Access]
    nodes: list[BlockNode] = field(default_factory=list)

    @property
    def is_single(self) -> bool:
        """Whether it is one instruction."""
        return not self.nodes


@record(frozen=False, eq=False)
class BlockNode:
    """A block and its items."""

    block: Block
    items: list[Item] = field(default_factory=list)
    loop: Item | None = None
    """The outermost loop around the block, if there is one."""
    blocks_around: frozenset[Block] = frozenset()
    """The block itself and those that contain it."""

    def walk(self) -> Iterator[BlockNode]:
        """The nodes inside, then this one."""
        for item in self.items:
            for node in item.nodes:
                yield from node.walk()
        yield self


@record(eq=False)
class Hazards:
    """The tree of a kernel, and which resources share bytes."""

    root: BlockNode
    neighbours: Mapping[int, list[int]]
    """Resources that share bytes with each, other than itself."""


def conflict(one: Access, other: Access) -> bool:
    """Whether two accesses to the same resource may touch the same bytes."""
    if not (one.write or other.write):
        return False
    a, b = one.slot, other.slot
    return not (isinstance(a, int) and isinstance(b, int) and a != b)


def common_slot(one: Access, other: Access, node: BlockNode) -> SlotKey | None:
    """
    The slot value that says which trips' accesses to this resource can meet.

    None if they may meet from any trip to any other: it is not the same slot value, or
    the value is not there in the block of `node`.
    """
    a, b = one.slot, other.slot
    if not (isinstance(a, SlotKey) and isinstance(b, SlotKey)):
        return None
    if one.resource != other.resource or a.identity != b.identity:
        return None
    visible = [key for key in (a, b) if _block_of(key.value) in node.blocks_around]
    return min(visible, key=lambda key: key.number, default=None)


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def is_synchronised(kernel: KernelOp) -> bool:
    """Whether the kernel has flags or barriers already."""
    return any(op.name in _SYNC_NAMES for op in kernel.walk())


_SYNC_NAMES = {SetFlagOp.name, WaitFlagOp.name, BarrierOp.name}


def find_hazards(core: Core, aliases: Mapping[int, int]) -> Hazards:
    """
    The tree of what a core runs.

    `aliases` maps the number of a memory parameter to the first one that a launch may
    give the same buffer; parameters it does not mention have a buffer of their own.
    """
    tree = _Tree(core, aliases)
    root = tree.root(core)
    neighbours = _neighbours(tree.allocations, tree.pipes)
    # What one pipe alone touches is in order, and most buffers are of that kind.
    contested = {
        resource
        for resource, pipes in tree.pipes.items()
        if resource in neighbours or len(bits(pipes)) > 1
    }
    for item in tree.instructions:
        item.accesses = [a for a in item.accesses if a.resource in contested]
    return Hazards(root, neighbours)


class _Tree:
    """Builds the nodes.

    Resources are numbered: allocations from 0, memory and what is popped below 0.
    """

    def __init__(self, core: Core, aliases: Mapping[int, int]) -> None:
        self.allocations: list[AllocOp] = []
        self.number = 0
        self.position = 0
        self.instructions: list[Item] = []
        self.pipes: dict[int, int] = {}
        self.keys: dict[Hashable, SlotKey] = {}
        self.numbers: dict[SSAValue, int] = {}
        self.touched: dict[SSAValue, tuple[int, SlotKey | int | None]] = {}
        parameters = core.kernel.parameters
        for number, value in enumerate(parameters):
            if isinstance(value.type, MemRefType):
                self.touched[value] = (-1 - aliases.get(number, number), None)
        self.frees = freed_by(core)
        self.lowest = -len(parameters)

    def root(self, core: Core) -> BlockNode:
        """The node of the core's block."""
        outside = core.kernel.block
        if core.block is outside:
            return self.block(outside, None, frozenset())
        for op in outside.ops:
            self.number += 1
            self.scalars(op)
        return self.block(core.block, None, frozenset((outside,)))

    def block(
        self, block: Block, loop: Item | None, around: frozenset[Block]
    ) -> BlockNode:
        node = BlockNode(block, [], loop, around | {block})
        for op in block.ops:
            self.number += 1
            if isinstance(op, Instruction):
                node.items.append(self.instruction(op))
            elif isinstance(op, AllocOp):
                self.touched[op.results[0]] = (len(self.allocations), None)
                self.allocations.append(op)
            elif isinstance(op, SlotOp):
                self.slot(op)
            elif op.regions:
                item = self.composite(op, node)
                if item.nodes:
                    node.items.append(item)
            else:
                self.scalars(op)
        return node

    def scalars(self, op: Operation) -> None:
        for result in op.results:
            self.numbers[result] = self.number
            if isinstance(result.type, MemRefType) and op.operands:
                self.touched[result] = self.touched[op.operands[0]]

    def instruction(self, op: Instruction) -> Item:
        self.position += STRIDE
        at, pipe = self.position, PIPE_NUMBER[op.pipe]
        accesses: list[Access] = []
        written: Sequence[SSAValue] = op.writes()
        if isinstance(op, FreeOp):
            written = [pop.buffer for pop in self.frees[op]]
        if isinstance(op, FreeOp | PopOp):
            self.popped(written)
        for write, values in ((False, op.reads()), (True, written)):
            for value in values:
                resource, slot = self.touched[value]
                access = Access(resource, slot, pipe, write, at)
                access.tenancy = _TENANCIES.get(type(op), Tenancy.NONE)
                accesses.append(access)
                self.pipes[resource] = self.pipes.get(resource, 0) | 1 << pipe
        item = Item(op, self.number, at, at, 1 << pipe, accesses)
        self.instructions.append(item)
        return item

    def popped(self, buffers: Sequence[SSAValue]) -> None:
        """Number what comes from channels, when first seen."""
        for value in buffers:
            if value not in self.touched:
                self.lowest -= 1
                self.touched[value] = (self.lowest, None)

    def slot(self, op: SlotOp) -> None:
        resource, _ = self.touched[op.operands[0]]
        slots = self.allocations[resource].slot_count
        identity = slot_identity(op.slot)
        key: SlotKey | int | None = None
        if slots > 1 and isinstance(identity, int):
            key = identity
        elif slots > 1 and isinstance(op.slot, SSAValue):
            # Of equal indices in one block the first stands for all.
            where = identity, slots, _block_of(op.slot)
            if where not in self.keys:
                number = self.numbers.get(op.slot, 0)
                self.keys[where] = SlotKey(op.slot, slots, where[:2], number)
            key = self.keys[where]
        self.touched[op.results[0]] = (resource, key)

    def composite(self, op: Operation, node: BlockNode) -> Item:
        if not isinstance(op, ForOp | IfOp):
            error(op, "PTO213", f"{op.name} cannot stand in a kernel")
        item = Item(op, self.number, self.position + STRIDE, 0, 0, [])
        loop = node.loop or (item if isinstance(op, ForOp) else None)
        for region in op.regions:
            for block in region.blocks:
                child = self.block(block, loop, node.blocks_around)
                if child.items:
                    item.nodes.append(child)
                    for inner in child.items:
                        item.pipes |= inner.pipes
        item.last = self.position
        for result in op.results:
            self.numbers[result] = self.number
        return item


def summarize(item: Item) -> None:
    """Set the accesses of a composite item from those of its finished nodes."""
    merged: dict[tuple[object, ...], Access] = {}
    for node in item.nodes:
        for inner in node.items:
            for access in inner.accesses:
                kind = (
                    *(access.resource, access.slot, access.pipe, access.write),
                    access.tenancy,
                )
                seen = merged.get(kind)
                if seen is None:
                    merged[kind] = _copy(access)
                else:
                    seen.last = max(seen.last, access.last)
                    seen.entered &= access.entered
                    seen.left &= access.left
                    seen.primed &= access.primed
                    seen.drained &= access.drained
    item.accesses = list(merged.values())


def forget(item: Item) -> None:
    """Reset what an earlier plan said about the accesses of an instruction."""
    for access in item.accesses:
        access.entered = access.left = access.primed = access.drained = 0


def _copy(access: Access) -> Access:
    return Access(
        access.resource,
        access.slot,
        access.pipe,
        access.write,
        access.last,
        access.entered,
        access.left,
        access.primed,
        access.drained,
        access.tenancy,
    )


def _neighbours(
    allocations: list[AllocOp], pipes: Mapping[int, int]
) -> dict[int, list[int]]:
    """For each allocation, the others that share its bytes and are of other pipes."""
    found: dict[int, list[int]] = {}
    open_now: dict[tuple[str, int], list[tuple[int, int]]] = {}
    placed = [
        (alloc.address, number, alloc)
        for number, alloc in enumerate(allocations)
        if alloc.address is not None and number in pipes
    ]
    for address, number, alloc in sorted(placed, key=lambda entry: entry[:2]):
        kind = alloc.type.space.value, pipes[number]
        for other_kind, entries in open_now.items():
            in_order = other_kind == kind and len(bits(kind[1])) == 1
            if other_kind[0] != kind[0] or in_order:
                continue
            entries[:] = [entry for entry in entries if entry[0] > address]
            for _, other in entries:
                found.setdefault(number, []).append(other)
                found.setdefault(other, []).append(number)
        end = address + alloc.total_bytes
        open_now.setdefault(kind, []).append((end, number))
    return found
