"""Skewing the loops of one mixed kernel; see `skew.py`."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

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
from pyptoc.passes.send_per_stage import send_per_stage
from pyptoc.passes.skew_loop import skew_loop
from pyptoc.passes.stages import Stuck, plan_stages
from pyptoc.passes.structured import enclosing


def skew_kernel(ctx: PyptocContext, kernel: KernelOp) -> None:
    """Skew what can be skewed; the kernel may be replaced."""
    if not find_pairs(kernel):
        return
    for twice in (True, False):
        before = kernel.clone()
        pairs = find_pairs(kernel)
        sent = [send_per_stage(pair) for pair in pairs] if twice else []
        if twice and not any(sent):
            continue
        stuck = [_skew(kernel, pair) for pair in pairs]
        erase_dead(kernel)
        in_vain = any(map(all, zip(sent, stuck, strict=False)))
        if not in_vain and _has_room(ctx, kernel):
            for found, reason in filter(None, stuck):
                ctx.remark(found, reason, "PTO334")
            return
        _restore(kernel, before)
        kernel = before
    ctx.remark(
        kernel,
        f"the cores of @{kernel.sym_name.data} do not overlap: tiles of several "
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


def _skew(kernel: KernelOp, pair: LoopPair) -> tuple[Operation, str] | None:
    """Skew a pair of loops; else what is in the way, and why."""
    found = plan_stages(pair)
    copies = keep_popped(pair.vector) if isinstance(found, Stuck) else []
    if copies:
        again = plan_stages(pair)
        if isinstance(again, Stuck):
            for kept in reversed(copies):
                kept.undo()
        else:
            found = again
    if not isinstance(found, Stuck):
        for side in found.values():
            skew_loop(side)
        return None
    # Loops around those that talk have nothing to say.
    messages = messages_in(pair.cube)
    if not any(enclosing(message, scf.ForOp) is pair.cube for message in messages):
        return None
    reason = (
        f"the cores of @{kernel.sym_name.data} do not overlap in this loop: "
        f"{found.reason}"
    )
    return found.op, reason
