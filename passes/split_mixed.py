"""
Flat mixed kernels get a section for each kind of core, and channels between them.

    npu.kernel @k .. on mixed {                 npu.kernel @k .. on mixed {
      tile.matmul %a, %b into %c [%m, %n, 64]     %s = tile.channel {slots = 2} : ..
      tile.move %c[0, 0] [%m, %n] into %x    ->   tile.section cube {
      tile.exp %x into %x [%m, %n]                  tile.matmul %a, %b into %c ..
      tile.store %x [%m, %n] into %y[%r, 0]         tile.push %c [%m, %n] into %s
    }                                             }
                                                  tile.section vector (%half) {
                                                    %x = tile.pop %s
                                                    tile.exp %x into %x [%mine, %n]
                                                    tile.store %x [%mine, %n] into ..
                                                    tile.free %s
                                                  } }

Each side keeps what it needs of the index arithmetic, loops and branches
(`section_needs.py`); both have the loops and branches that hold a crossing, so every
path has as many pushes as pops and frees. Each side goes on in the flat kernel's order,
and a slot is given back in the trip that popped it: no message waits for one that comes
later, so one slot of each channel is enough.

On a machine without a way between the cores, channels go through memory.

How the two vector cores share the tiles is decided in `halves.py`. What keeps a kernel
from being split is listed by `flat_kernels.obstacles`, which whoever forms mixed tasks
may ask first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import Note, error
from pyptoc.dialects.npu import KernelOp, kernels_of
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.tile import MoveOp, buffer_type
from pyptoc.dialects.tile_channel import ChannelOp, ChannelType
from pyptoc.dialects.tile_mixed import SectionOp
from pyptoc.passes.aliases import parameter_aliases
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.flat_kernels import (
    Crossing,
    Obstacle,
    find_crossings,
    has_way,
    is_flat,
    obstacles,
)
from pyptoc.passes.halves import share_tiles
from pyptoc.passes.section_needs import Needs, common_scalars
from pyptoc.passes.sections import SectionWriter
from pyptoc.passes.share import Halves
from pyptoc.passes.slots import SPARE
from pyptoc.passes.vector_section import VectorSectionWriter
from pyptoc.runtime.machine import Machine

SLOTS = 2
"""Slots of a channel: the next tile comes while this one is used."""


@dataclass(frozen=True)
class SplitMixedPass(PyptocPass):
    """Make sections and channels of flat mixed kernels."""

    name = "split-mixed"
    summary: ClassVar[str] = "sections and channels for the cores of mixed kernels"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        aliases = parameter_aliases(module)
        for name, kernel in kernels_of(module).items():
            if is_flat(kernel):
                same = aliases.get(name, {})
                found = obstacles(kernel, ctx.machine, same)
                if found:
                    _refuse(kernel, found[0])
                split(ctx, kernel, same)


def _refuse(kernel: KernelOp, obstacle: Obstacle) -> NoReturn:
    met = obstacle.other
    error(
        obstacle.op,
        "PTO214",
        f"the mixed kernel @{kernel.sym_name.data} cannot be split: {obstacle.reason}",
        notes=[] if met is None else [Note("it does so here", met.location)],
        rule="the cores of a mixed kernel meet only where a move crosses",
        help="two kernels, one on cube and one on vector, can pass it through memory",
    )


def split(ctx: PyptocContext, kernel: KernelOp, aliases: Mapping[int, int]) -> None:
    """Make sections of one flat kernel in which nothing is in the way."""
    crossings = find_crossings(kernel)
    halves = share_tiles(kernel, crossings.values(), aliases)
    for op in halves.unshared:
        ctx.remark(
            op,
            f"the vector cores of @{kernel.sym_name.data} cannot share the tiles of "
            "this instruction, by rows or by columns: the first one does all the work",
        )
    common = common_scalars(kernel)
    block = kernel.block
    rest = [op for op in block.ops if op not in set(common)]
    channels: dict[MoveOp, SSAValue] = {}
    for move, crossing in crossings.items():
        channel = ChannelOp.make(_channel_type(crossing, halves, ctx.machine), SLOTS)
        channel.location = move.location
        channel.attributes[SPARE] = UnitAttr()
        channel.channel.name_hint = move.dest.name_hint
        channels[move] = channel.channel
        block.add_op(channel)
    needs = {
        unit: Needs(kernel, unit, crossings, common)
        for unit in (Unit.CUBE, Unit.VECTOR)
    }
    sections = [SectionOp.make(unit) for unit in needs]
    for section in sections:
        section.location = kernel.location
    cube, vector = (section.body.block for section in sections)
    (half,) = vector.args
    half.name_hint = "half"
    SectionWriter(needs[Unit.CUBE], crossings, channels).write(block, cube)
    VectorSectionWriter(
        needs[Unit.VECTOR], crossings, channels, halves=halves, half=half
    ).write(block, vector)
    block.add_ops(sections)
    for op in reversed(rest):
        op.detach()
        op.erase(safe_erase=False)
    erase_dead(kernel)


def _channel_type(crossing: Crossing, halves: Halves, machine: Machine) -> ChannelType:
    """A tile as large as the vector cores have room for together."""
    move = crossing.move
    share = halves.share(move.dest if crossing.to_vector else move.source)
    assert share is not None
    target = buffer_type(move.dest)
    return ChannelType.of(
        share.of(target.shape, share.whole),
        target.element_type,
        move.way,
        share.split,
        through_gm=not has_way(move, machine),
    )
