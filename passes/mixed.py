"""The cores of a kernel, for the passes that plan one core at a time.

A kernel of one unit is what one core runs. A mixed kernel has a block for its cube core
and one that both its vector cores run; outside of them stand channels, and scalars that
all cores compute.
"""

from __future__ import annotations

from dataclasses import field

from xdsl.ir import Block, SSAValue

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.npu import KernelOp, Unit
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, SectionOp
from pyptoc.dialects.tile_types import Instruction


@record(eq=False)
class Core:
    """What one core of a kernel runs."""

    kernel: KernelOp
    block: Block
    name: str
    """`@attend`, or `the cube section of @attend`."""


def cores_of(kernel: KernelOp) -> list[Core]:
    """The cores of a kernel, in the order in which it names them."""
    name = f"@{kernel.sym_name.data}"
    if kernel.unit.data != Unit.MIXED:
        return [Core(kernel, kernel.block, name)]
    found: list[Core] = []
    for op in kernel.block.ops:
        if isinstance(op, SectionOp):
            found.append(
                Core(kernel, op.body.block, f"the {op.unit.data} section of {name}")
            )
            continue
        for inner in op.walk():
            if isinstance(inner, Instruction):
                error(
                    inner,
                    "PTO504",
                    f"{inner.name} stands in no section of the mixed kernel {name}",
                    rule="an instruction of a mixed kernel is the cube core's or the "
                    "vector cores'",
                    help="move it into tile.section cube or tile.section vector",
                )
    return found


def freed_by(core: Core) -> dict[FreeOp, list[PopOp]]:
    """
    For each free of a core the pops whose slot it may give back.

    Where a block frees what it pops, that is one pop: the first that is open. A channel
    of which something is open when a block begins or ends, as when a trip frees what
    the trip before popped, may give back any of its slots with any free.
    """
    channels: dict[SSAValue, _Takes] = {}
    for op in core.block.walk() if core.kernel.unit.data == Unit.MIXED else ():
        if isinstance(op, PopOp | FreeOp):
            channels.setdefault(op.channel, _Takes()).add(op)
    found: dict[FreeOp, list[PopOp]] = {}
    for takes in channels.values():
        across = takes.across or bool(takes.open)
        for free, pop in takes.freed.items():
            found[free] = takes.pops if across or pop is None else [pop]
    return found


@record(frozen=False, eq=False)
class _Takes:
    """The pops and frees of one channel, in program order."""

    pops: list[PopOp] = field(default_factory=list[PopOp])
    open: list[PopOp] = field(default_factory=list[PopOp])
    freed: dict[FreeOp, PopOp | None] = field(default_factory=dict)
    across: bool = False
    """Whether something is open where a block begins or ends."""

    def add(self, op: PopOp | FreeOp) -> None:
        if self.open and self.open[0].parent is not op.parent:
            self.across = True
        if isinstance(op, PopOp):
            self.pops.append(op)
            self.open.append(op)
            return
        self.freed[op] = self.open.pop(0) if self.open else None
        self.across = self.across or self.freed[op] is None
