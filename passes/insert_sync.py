"""
Flags between the pipes of a core: the fewest that order every conflicting pair.

    scf.for %k = ... {
      %s = pypto.index (%k floordiv 256) mod 2
      %as = tile.slot %a[%s]
      tile.load %x[%r, %k] [%m, 256] into %as          // pipe mte2
      tile.move %as[0, 0] [%m, 256] into %l            // pipe mte1

becomes

    tile.set_flag [mte1 -> mte2, 0]
    tile.set_flag [mte1 -> mte2, 1]                    // both slots are free
    scf.for %k = ... {
      %s = pypto.index (%k floordiv 256) mod 2
      %as = tile.slot %a[%s]
      tile.wait_flag [mte1 -> mte2, %s]                // this slot is free
      tile.load %x[%r, %k] [%m, 256] into %as
      tile.set_flag [mte2 -> mte1, %s]
      tile.wait_flag [mte2 -> mte1, %s]                // this slot is full
      tile.move %as[0, 0] [%m, 256] into %l
      tile.set_flag [mte1 -> mte2, %s]
    }
    tile.wait_flag [mte1 -> mte2, 0]
    tile.wait_flag [mte1 -> mte2, 1]

`hazards` finds what conflicts, `needs` what that asks of each block, `flags` decides,
and `flag_ids` gives the ids. This file runs them and writes the result into the kernel.
Where a pair of pipes runs out of ids, it is planned again with fewer flags; a remark
says where that cost double buffering, or put a barrier. A kernel that has flags already
is left alone, and nothing is ordered between the tasks of a core: a task starts when
the one before it is over. The sections of a mixed kernel are planned each by itself:
between cores there are channels, and no flags.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.npu import KernelOp, kernels_of
from pyptoc.dialects.tile import BarrierOp, SetFlagOp, WaitFlagOp
from pyptoc.passes.aliases import parameter_aliases
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.flag_ids import assign_ids
from pyptoc.passes.flag_limits import Level, Limits
from pyptoc.passes.flags import BlockPlan, Flag, plan_flags
from pyptoc.passes.hazards import (
    PIPES,
    BlockNode,
    Item,
    find_hazards,
    is_synchronised,
)
from pyptoc.passes.mixed import Core, cores_of

Plans = dict[BlockNode, BlockPlan]


class InsertSyncPass(PyptocPass):
    """Order the pipes of each core with flags."""

    name = "insert-sync"
    summary: ClassVar[str] = "the fewest flags that order conflicting accesses"
    counters: ClassVar[Mapping[str, str]] = {
        "flags": "pairs of set_flag and wait_flag",
    }

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        kernels = {
            name: kernel
            for name, kernel in kernels_of(module).items()
            if not is_synchronised(kernel)
        }
        aliases = parameter_aliases(module)
        errors = ErrorList()
        for name, kernel in kernels.items():
            with errors.kept():
                plans = plan_kernel(ctx, kernel, aliases.get(name, {}))
                ctx.count("flags", sum(len(plan.flags) for plan in plans.values()))
                write_flags(plans)
        errors.check()


def plan_kernel(
    ctx: PyptocContext, kernel: KernelOp, aliases: Mapping[int, int]
) -> Plans:
    """A plan for each block of the kernel, in which all flags have ids."""
    plans: Plans = {}
    for core in cores_of(kernel):
        plans |= _plan_core(ctx, core, aliases)
    return plans


def _plan_core(ctx: PyptocContext, core: Core, aliases: Mapping[int, int]) -> Plans:
    hazards = find_hazards(core, aliases)
    limits = Limits()
    while True:
        plans = plan_flags(hazards, limits)
        shortage = assign_ids(hazards.root, plans, ctx.machine.event_ids)
        if not shortage:
            _report(ctx, core, limits, plans)
            return plans
        limits.learn(shortage)


def _report(ctx: PyptocContext, core: Core, limits: Limits, plans: Plans) -> None:
    for (source, target), level in limits.levels.items():
        if level == Level.UNSLOTTED and source < target:
            ctx.remark(
                core.kernel,
                f"{core.name} needs more flags between {PIPES[source]} and "
                f"{PIPES[target]} than there are: one slot at a time is in use",
                "PTO336",
            )
    count = sum(len(plan.barriers) for plan in plans.values())
    if count:
        barriers = "a barrier stands" if count == 1 else f"{count} barriers stand"
        ctx.remark(
            core.kernel,
            f"{core.name} needs more flags than there are: {barriers} in for them",
            "PTO336",
        )


# Writing ------------------------------------------------------------------------------


def write_flags(plans: Plans) -> None:
    """Insert the planned flags and barriers into the kernel."""
    for plan in plans.values():
        _emit_block(plan)
    _emit_loops(plans)


def _emit_block(plan: BlockPlan) -> None:
    """The flags and barriers of one block, at each item in the order of `flags`."""
    waits: dict[int, list[Operation]] = {}
    closing_sets: dict[int, list[Operation]] = {}
    closing_waits: dict[int, list[Operation]] = {}
    sets: dict[int, list[Operation]] = {}
    for flag in plan.flags:
        into_sets, into_waits = (
            (closing_sets, closing_waits) if flag.closing else (sets, waits)
        )
        into_sets.setdefault(flag.set_item, []).append(_set(flag))
        into_waits.setdefault(flag.wait_item, []).append(_wait(flag))
    for number, item in enumerate(plan.node.items):
        ahead = waits.get(number, [])
        if number in plan.barriers:
            ahead = [*ahead, BarrierOp.make()]
        ahead += closing_sets.get(number, [])
        _insert(item, ahead, [*closing_waits.get(number, ()), *sets.get(number, ())])


def _emit_loops(plans: Plans) -> None:
    """The tokens of each outermost loop, given before it and taken back after it."""
    tokens: dict[Item, list[Flag]] = {}
    for node, plan in plans.items():
        if node.loop is not None:
            tokens.setdefault(node.loop, []).extend(plan.carried)
    for item, flags in tokens.items():
        given = [op for flag in flags for op in _each_slot(SetFlagOp, flag)]
        taken = [op for flag in flags for op in _each_slot(WaitFlagOp, flag)]
        _insert(item, given, taken)


def _insert(item: Item, ahead: list[Operation], behind: list[Operation]) -> None:
    """Put operations next to an item: the last before it, and the first after it."""
    block = item.op.parent
    assert isinstance(block, Block)
    for op in (*ahead, *behind):
        op.location = item.op.location
    if ahead:
        block.insert_ops_before(ahead, item.op)
    if behind:
        block.insert_ops_after(behind, item.op)


def _set(flag: Flag) -> SetFlagOp:
    return SetFlagOp.make(*_pipes(flag), flag.base, flag.slot and flag.slot.value)


def _wait(flag: Flag) -> WaitFlagOp:
    return WaitFlagOp.make(*_pipes(flag), flag.base, flag.slot and flag.slot.value)


def _each_slot(kind: type[SetFlagOp | WaitFlagOp], flag: Flag) -> Iterator[Operation]:
    for slot in range(flag.width):
        yield kind.make(*_pipes(flag), flag.base + slot)


def _pipes(flag: Flag) -> tuple[str, str]:
    return PIPES[flag.pair[0]], PIPES[flag.pair[1]]
