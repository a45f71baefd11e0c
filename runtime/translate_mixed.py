"""
Mixed kernels in the generated source (see `translate.py`, `channels.py`).

In program order a section is a generator, which yields where it would wait:

    tile.section vector (%half) {          def s0(v1):
      %b = tile.pop %s                         if g0.is_empty(v1): yield g1
      ...                             ->       while g0.is_empty(v1): yield g2
      tile.free %s                             v2 = g0.pop(v1)
    }                                          ...
                                           run_sections((.., s0(0), s0(1)))

Out of order sections are issued one after the other: which slot a push or pop is for
does not depend on when it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from xdsl.ir import Operation

from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.tile_channel import HALVES, ChannelOp, channel_type
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, PushOp, SectionOp
from pyptoc.runtime.channels import Channel, Waiting
from pyptoc.runtime.codegen import Handler

if TYPE_CHECKING:
    from pyptoc.runtime.translate import KernelTranslator


def handlers(to: KernelTranslator) -> dict[str, Handler]:
    mixed = Mixed(to)
    return {
        "tile.channel": lambda op: mixed.channel(cast(ChannelOp, op)),
        "tile.section": lambda op: mixed.section(cast(SectionOp, op)),
        "tile.push": lambda op: mixed.push(cast(PushOp, op)),
        "tile.pop": lambda op: mixed.pop(cast(PopOp, op)),
        "tile.free": lambda op: mixed.free(cast(FreeOp, op)),
    }


class Mixed:
    """Writes sections and channels of one kernel."""

    def __init__(self, to: KernelTranslator) -> None:
        self.to = to

    def channel(self, op: ChannelOp) -> None:
        to = self.to
        name = to.names[op.channel] = to.bind(Channel(op, to.core.all_buffers))
        to.channels.append(name)
        to.line(f"{name}.reset()")

    def section(self, op: SectionOp) -> None:
        """One core in a function of its own; of a vector section there are two."""
        to = self.to
        cube = op.unit.data == Unit.CUBE
        name = to.fresh("s")
        half = "" if cube else to.define(op.body.block.args[0])
        to.line(f"def {name}({half}):")
        with to.indented(), to.in_section(half or "0", cube):
            to.line("if False: yield" if to.core.pipes is None else "pass")
            to.block(op.body.block)
        calls = [f"{name}()"] if cube else [f"{name}({n})" for n in range(HALVES)]
        if to.core.pipes is None:
            to.sections += calls
        else:
            for call in calls:
                to.line(call)

    def push(self, op: PushOp) -> None:
        to = self.to
        rows, columns = op.extents
        kind = channel_type(op.channel).pushed
        to.check_limit("rows", rows, kind.rows)
        to.check_limit("columns", columns, kind.columns)
        to.check_extents(op.source, rows, columns)
        channel, core = to.ref(op.channel), to.half
        if to.core.pipes is None:
            self._wait(op, f"{channel}.is_full({core})", "a free slot")
            box = to.corner(op.source, rows, columns)
            if op.channel in to.moves.channels:
                is_kept = to.repeated.parts[op.source]
                to.line(f"{channel}.push_part({core}, {box}, {is_kept})")
            else:
                to.line(f"{channel}.push({core}, {box})")
            return
        slot = to.fresh()
        to.line(f"{slot} = {channel}.next_push({core})")
        with to.instruction(op, self._tokens(op, slot, "free", "full")):
            box = to.corner(op.source, rows, columns)
            to.line(f"{channel}.write({core}, {slot}, {box})")

    def pop(self, op: PopOp) -> None:
        to = self.to
        channel, core = to.ref(op.channel), to.half
        if to.core.pipes is None:
            self._wait(op, f"{channel}.is_empty({core})", "a full slot")
            if op.channel in to.moves.channels:
                slot = to.moves.slots[op.buffer] = to.fresh()
                to.line(f"{slot} = {channel}.next_pop({core})")
                to.names[op.buffer] = f"{channel}.views[{core}][{slot}]"
            else:
                to.line(f"{to.define(op.buffer)} = {channel}.pop({core})")
            return
        slot = to.fresh()
        to.line(f"{slot} = {channel}.next_pop({core})")
        to.line(f"{to.define(op.buffer)} = {channel}.views[{core}][{slot}]")
        to.issue(op, self._tokens(op, slot, "full", None))

    def free(self, op: FreeOp) -> None:
        to = self.to
        channel, core = to.ref(op.channel), to.half
        if to.core.pipes is None:
            to.line(f"{channel}.free({core})")
            return
        slot = to.fresh()
        to.line(f"{slot} = {channel}.next_free({core})")
        to.issue(op, self._tokens(op, slot, None, "free"))

    def _wait(self, op: PushOp | PopOp, condition: str, what: str) -> None:
        """Yield while `condition` holds; only the first time something was done."""
        to = self.to
        what = f"{what} of %{op.channel.name_hint or 'channel'}"
        first, again = (
            to.bind(Waiting(op, what, moved=moved)) for moved in (True, False)
        )
        to.line(f"if {condition}: yield {first}")
        to.line(f"while {condition}: yield {again}")

    def _tokens(
        self, op: Operation, slot: str, waits: str | None, sets: str | None
    ) -> str:
        """The text of what an instruction on a channel waits for and sets."""
        to = self.to
        channel = to.ref(op.operands[0])
        pushes = isinstance(op, PushOp)
        return ", ".join(
            f"{key}={channel}.tokens({state!r}, {slot}, {to.half}, {pushes})"
            for key, state in (("waits", waits), ("sets", sets))
            if state is not None
        )
