"""
When each buffer of a kernel holds something that is still wanted.

Every operation of the kernel has a position, counted in program order through all
regions. An allocation lives from its first to its last use, with one widening: used
inside a loop that its own block contains, it lives through all of that loop, because
the next trip may find there what this one left. An allocation in a loop body lives
within one trip, so its range lies inside the body.

    0  %a = tile.alloc             %a  2 .. 7   used in the loop, so through all of it
    1  %b = tile.alloc             %b  8 .. 9
    2  scf.for {
    3    %c = tile.alloc           %c  4 .. 5   one trip
    4    tile.load %x into %c
    5    tile.add %a, %c into %a
    6    scf.yield
    7  }
    8  tile.exp %a into %b         %a is read here: 2 .. 8
    9  tile.store %b into %y

The branches of an scf.if come one after the other, so that a buffer that both write and
a later operation reads lives through both. The slots of a channel, which another core
may fill at any time, live through the whole kernel. Every operand that is a buffer
counts as a use, whatever the operation says it reads and writes.
"""

from __future__ import annotations

from dataclasses import field
from typing import NoReturn

from xdsl.dialects.scf import ForOp
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import AllocOp, Instruction, Pipe, PopOp, SlotOp
from pyptoc.dialects.tile_alloc import Allocation


@record(frozen=False, eq=False)
class Lifetime:
    """The positions of the first and the last use of an allocation."""

    alloc: Allocation
    start: int
    end: int
    loops_around: int
    """How many loops contain the allocation itself."""
    pipes: set[Pipe] = field(default_factory=set[Pipe])
    """The pipes that touch it."""
    first_user: Operation | None = None
    first_use: int = -1
    """The position of that; `start` is before, if it stands in a loop further in."""
    slot_ops: list[SlotOp] = field(default_factory=list[SlotOp])

    def overlaps(self, other: Lifetime) -> bool:
        """Whether both hold something at one position."""
        return self.start <= other.end and other.start <= self.end


@record(frozen=False, eq=False)
class _Loop:
    start: int
    inside: set[Lifetime] = field(default_factory=set[Lifetime])
    """Allocations from outside the loop that it uses."""


class _Walk:
    def __init__(self) -> None:
        self.position = 0
        self.loops: list[_Loop] = []
        self.found: dict[SSAValue, Lifetime] = {}
        self.lifetimes: list[Lifetime] = []

    def block(self, block: Block) -> None:
        for op in block.ops:
            here = self.position
            self.position += 1
            if isinstance(op, Allocation):
                life = Lifetime(op, here, here, len(self.loops))
                self.found[op.results[0]] = life
                self.lifetimes.append(life)
            elif isinstance(op, SlotOp):
                life = self.found[op.operands[0]]
                life.slot_ops.append(op)
                self.found[op.results[0]] = life
            else:
                if isinstance(op, PopOp):
                    self.found[op.buffer] = self.found[op.channel]
                self.uses(op, here)
                if op.regions:
                    self.regions(op, here)

    def regions(self, op: Operation, here: int) -> None:
        loop = _Loop(here)
        is_loop = isinstance(op, ForOp)
        if is_loop:
            self.loops.append(loop)
        for region in op.regions:
            for block in region.blocks:
                self.block(block)
        if is_loop:
            self.loops.pop()
            end = self.position
            self.position += 1
            for life in loop.inside:
                life.end = max(life.end, end)

    def uses(self, op: Operation, here: int) -> None:
        for operand in op.operands:
            life = self.found.get(operand)
            if life is not None:
                self.use(life, op, here)
                if isinstance(op, Instruction):
                    life.pipes.add(op.pipe)
                else:
                    _escapes(op)

    def use(self, life: Lifetime, op: Operation, here: int) -> None:
        start = here
        if len(self.loops) > life.loops_around:
            loop = self.loops[life.loops_around]
            start = loop.start
            loop.inside.add(life)
        if life.first_user is None:
            life.first_user, life.first_use = op, here
            life.start = start
        life.end = max(life.end, here)


def _escapes(op: Operation) -> NoReturn:
    error(
        op,
        "PTO212",
        f"{op.name} passes on a buffer",
        rule="the place of a buffer is fixed: only instructions take one",
        help="carry an index, and take a tile.slot of the allocation with it",
    )


def lifetimes(kernel: Operation) -> list[Lifetime]:
    """The lifetime of every allocation of `kernel`, in program order."""
    walk = _Walk()
    for region in kernel.regions:
        for block in region.blocks:
            walk.block(block)
    for life in walk.lifetimes:
        if not isinstance(life.alloc, AllocOp):
            life.start, life.end = 0, walk.position
    return walk.lifetimes
