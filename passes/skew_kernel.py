"""Skewing the loops of one mixed kernel; see `skew.py`."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.npu import KernelOp
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.keep_popped import keep_popped
from pyptoc.passes.messages import (
    LoopPair,
    find_pairs,
    messages_in,
)
from pyptoc.passes.plan_memory import PlanMemoryPass
from pyptoc.passes.skew_loop import skew_loop
from pyptoc.passes.stages import Stuck, plan_stages
from pyptoc.passes.structured import enclosing


def skew_kernel(ctx: PyptocContext, kernel: KernelOp) -> None:
    """Skew what can be skewed; the kernel may be replaced."""
    pairs = find_pairs(kernel)
    if not pairs:
        return
    before = kernel.clone()
    for pair in pairs:
        _skew(ctx, kernel, pair)
    erase_dead(kernel)
    if not _has_room(ctx, kernel) and _has_room(ctx, before):
        _restore(kernel, before)
        ctx.remark(
            before,
            f"the cores of @{before.sym_name.data} do not overlap: tiles of several "
            "trips at once do not fit",
            "PTO334",
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
    copies = keep_popped(pair.vector) if isinstance(found, Stuck) else []
    if copies:
        again = plan_stages(pair)
        if isinstance(again, Stuck):
            for kept in reversed(copies):
                kept.undo()
        else:
            found = again
    if isinstance(found, Stuck):
        # Loops around those that talk have nothing to say.
        messages = messages_in(pair.cube)
        if any(enclosing(message, scf.ForOp) is pair.cube for message in messages):
            ctx.remark(
                found.op,
                f"the cores of @{kernel.sym_name.data} do not overlap in this loop: "
                f"{found.reason}",
                "PTO334",
            )
        return
    for side in found.values():
        skew_loop(side)
