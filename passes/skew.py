"""
The cores of a mixed kernel overlap: loops run the stages of several trips at once.

In a flash attention the cube core multiplies a block, the vector cores take its
softmax, the cube core multiplies that, and so on: each waits for the other. Skewed, the
cube core does its first product for block t + 1 while the vector cores are at block t:

    scf.for %t = 0 to %n {            scf.for %t = 0 to %n + 1 {
      push scores(%t)                   scf.if %t < %n { push scores(%t) }
      pop weights(%t) ; ..       ->     scf.if %t >= 1 {
      push parts(%t) }                    pop weights(%t - 1) ; .. ; push parts(%t - 1)
                                      } }

Both sections keep the order of the messages of each channel. `stages.py` plans how late
each operation is, and says why some loops cannot be skewed; then a remark does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.npu import KernelOp, kernels_of
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.messages import LoopPair, find_pairs
from pyptoc.passes.plan_memory import PlanMemoryPass
from pyptoc.passes.skew_loop import skew_loop
from pyptoc.passes.stages import Stuck, plan_stages


@dataclass(frozen=True)
class SkewPass(PyptocPass):
    """Let cube and vector stages of the loops of mixed kernels overlap."""

    name = "skew"
    summary: ClassVar[str] = "overlap the alternating stages of mixed kernels"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for kernel in kernels_of(module).values():
            pairs = find_pairs(kernel) if kernel.unit.data == Unit.MIXED else []
            if not pairs:
                continue
            before = kernel.clone()
            for pair in pairs:
                _skew(ctx, kernel, pair)
            erase_dead(kernel)
            if not _has_room(ctx, kernel) and _has_room(ctx, before):
                _restore(kernel, before)
                ctx.remark(
                    before,
                    f"the cores of @{before.sym_name.data} do not overlap: tiles of "
                    "several trips at once do not fit",
                )


def _has_room(ctx: PyptocContext, kernel: KernelOp) -> bool:
    """Whether `plan-memory` finds a place for every buffer."""
    sizes: dict[str, int] = {}
    for op in kernel.walk():
        if isinstance(op, Allocation):
            space = op.type.space.value
            sizes[space] = sizes.get(space, 0) + op.total_bytes
    if all(size <= ctx.machine.space(space).bytes for space, size in sizes.items()):
        return True
    try:
        PlanMemoryPass().run(ctx.clone(), ModuleOp([kernel.clone()]))
    except CompileError:
        return False
    return True


def _restore(kernel: KernelOp, before: KernelOp) -> None:
    """Put `before` in the place of the kernel."""
    block = kernel.parent
    assert block is not None
    block.insert_op_before(before, kernel)
    kernel.detach()
    kernel.erase(safe_erase=False)


def _skew(ctx: PyptocContext, kernel: KernelOp, pair: LoopPair) -> None:
    found = plan_stages(pair)
    if isinstance(found, Stuck):
        ctx.remark(
            found.op,
            f"the cores of @{kernel.sym_name.data} do not overlap in this loop: "
            f"{found.reason}",
        )
        return
    for side in found.values():
        skew_loop(side)
