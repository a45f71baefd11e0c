"""Making sections and channels of one flat mixed kernel; see `split_mixed.py`."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.tile import MoveOp, buffer_type
from pyptoc.dialects.tile_channel import ChannelOp, ChannelType
from pyptoc.dialects.tile_mixed import SectionOp
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.cross_before_use import cross_before_use
from pyptoc.passes.flat_kernels import (
    Crossing,
    find_crossings,
    has_way,
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


def make_sections(
    ctx: PyptocContext, kernel: KernelOp, aliases: Mapping[int, int]
) -> None:
    """Make sections of one flat kernel in which nothing is in the way."""
    cross_before_use(kernel)
    crossings = find_crossings(kernel)
    halves = share_tiles(kernel, crossings.values(), aliases)
    for op in halves.unshared:
        ctx.remark(
            op,
            f"the vector cores of @{kernel.sym_name.data} cannot share the tiles of "
            "this instruction, by rows or by columns: the first one does all the work",
            "PTO335",
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
