"""
Tiles for l1 that cross right before each use, not where they are computed.

A cube core cannot copy what it popped, so such a tile stays with the vector cores, and
crosses anew before each use:

    scf.for %t .. {                            scf.for %t .. {
      tile.move %p[0, 0] [m, k] into %l          tile.move %kept[0, 0] [m, k] into %q
      tile.matmul %l, ..                         tile.move %q[0, 0] [m, k] into %l
      ..                                  ->     tile.matmul %l, ..
      tile.move %new[0, 0] [m, k] into %p        ..
    }                                            tile.copy %new into %kept [m, k]
                                               }

That is for tiles which nothing else fills. Uses that nothing comes between share one
crossing, which stands before the loops and branches around them.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.subscripts import Mixed
from pyptoc.dialects.tile import (
    AllocOp,
    BufType,
    Instruction,
    MoveOp,
    SlotOp,
    Space,
    buffer_type,
)
from pyptoc.dialects.tile_vector import vector_op
from pyptoc.passes.builder import Builder
from pyptoc.passes.flat_kernels import Crossing, fills_alone, find_crossings


def cross_before_use(kernel: KernelOp) -> None:
    """Make all crossings to l1 direct that can be."""
    stuck = [c for c in find_crossings(kernel).values() if _is_stuck(c)]
    for alloc in dict.fromkeys(_alloc_of(crossing.move.dest) for crossing in stuck):
        _Tile(alloc).keep()


def _is_stuck(crossing: Crossing) -> bool:
    return not (crossing.direct or crossing.to_vector) and fills_alone(crossing.move)


def _alloc_of(buffer: SSAValue) -> AllocOp:
    owner = buffer.owner
    owner = owner.alloc if isinstance(owner, SlotOp) else owner
    assert isinstance(owner, AllocOp)
    return owner


class _Tile:
    """A buffer in l1, and what uses it."""

    def __init__(self, alloc: AllocOp) -> None:
        self.alloc = alloc
        uses = [use.operation for use in alloc.results[0].uses]
        self.slots = [op for op in uses if isinstance(op, SlotOp)]
        values = [alloc.results[0], *(op.results[0] for op in self.slots)]
        users = [use.operation for value in values for use in value.uses]
        instructions = [op for op in users if isinstance(op, Instruction)]
        held = set(values)
        self.writers = [op for op in instructions if held & set(op.writes())]
        self.readers = [op for op in instructions if held & set(op.reads())]

    def keep(self) -> None:
        """Let the vector cores keep the tile."""
        kept = self._kept()
        for op in self.writers:
            assert isinstance(op, MoveOp)
            copy = vector_op("copy", [op.source], kept[op.dest], op.extents)
            Builder.before(op).emit(copy)
        crossed: dict[tuple[object, SSAValue], SSAValue] = {}
        for reader in self._in_order(self.readers):
            assert isinstance(reader, MoveOp)
            place = self._place(reader, kept[reader.source])
            key = self._since(place), reader.source
            if key not in crossed:
                crossed[key] = self._cross(place, kept[reader.source])
            reader.operands[0] = crossed[key]
        for op in [*self.writers, *self.slots, self.alloc]:
            op.detach()
            op.erase()

    def _kept(self) -> dict[SSAValue, SSAValue]:
        """What stands for the buffer and its slots in ub."""
        type_ = BufType(self.alloc.type.shape, self.alloc.type.element_type, Space.UB)
        build = Builder.before(self.alloc)
        name = self.alloc.results[0].name_hint
        held = build.value(AllocOp.make(type_, self.alloc.slot_count), name)
        found: dict[SSAValue, SSAValue] = {self.alloc.results[0]: held}
        for op in self.slots:
            slot = SlotOp.make(held, op.slot)
            found[op.results[0]] = Builder.before(op).value(slot, name)
        return found

    def _in_order(self, ops: list[Instruction]) -> list[Operation]:
        wanted = set[Operation](ops)
        block = self.alloc.parent
        assert block is not None
        return [op for op in block.walk() if op in wanted]

    def _place(self, reader: Operation, kept: SSAValue) -> Operation:
        """What the crossing stands before: the reader, or a loop or branch around it
        in which nothing fills the tile and which its slot is known before."""
        owner = kept.owner
        home = owner.parent if isinstance(owner, Operation) else None
        place = reader
        while place.parent is not home:
            outer = place.parent_op()
            if outer is None or any(outer.is_ancestor(op) for op in self.writers):
                break
            place = outer
        return place

    def _since(self, place: Operation) -> Operation | Block | None:
        """What fills the tile last before `place`; else the block they are in."""
        op = place.prev_op
        while op is not None and not any(op.is_ancestor(w) for w in self.writers):
            op = op.prev_op
        return op or place.parent

    def _cross(self, place: Operation, kept: SSAValue) -> SSAValue:
        build = Builder.before(place)
        name = kept.name_hint
        type_ = BufType(buffer_type(kept).shape, buffer_type(kept).element_type, "l1")
        tile = build.value(AllocOp.make(type_), name)
        build.emit(MoveOp.make(kept, [0, 0], self._extents(), tile))
        return tile

    def _extents(self) -> list[Mixed]:
        """How much crosses: what is filled, if that is always the same; else all."""
        found = {tuple(op.extents) for op in self.writers if isinstance(op, MoveOp)}
        first = list(found.pop())
        known = all(isinstance(e, int) or self._is_known(e) for e in first)
        return first if known and not found else list(self.alloc.type.shape)

    def _is_known(self, value: SSAValue) -> bool:
        """Whether a value is there in the whole kernel."""
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        return block is not None and isinstance(block.parent_op(), KernelOp)
