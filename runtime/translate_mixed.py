"""
Mixed kernels in the generated source (see `translate.py`, `channels.py`).

In program order a section is a generator, which yields where it would wait:

    tile.section vector (%half) {      def s0(v1):
      %b = tile.pop %s                     if pushed[0] <= popped[v1]:
      ...                         ->           yield g1
      tile.free %s                             while pushed[0] <= popped[v1]: yield g2
    }                                      v2 = views[v1][popped[v1] % 2]
                                           popped[v1] += 1
                                           ...
                                       run_sections((.., s0(0), s0(1)))

Out of order sections are issued one after the other: which slot a push or pop is for
does not depend on when it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.record import record
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


@record
class _Counts:
    """A channel, and the globals of how often each core has done what with it."""

    channel: Channel
    pushed: str
    popped: str
    freed: str

    def is_full(self, core: str) -> str:
        """Whether a push would wait."""
        pushed, slots = f"{self.pushed}[{core}]", self.channel.slots
        takers = range(len(self.channel.freed))
        return " or ".join(f"{pushed} - {self.freed}[{n}] >= {slots}" for n in takers)

    def is_empty(self, core: str) -> str:
        """Whether a pop would wait."""
        popped, givers = f"{self.popped}[{core}]", range(len(self.channel.pushed))
        return " or ".join(f"{self.pushed}[{n}] <= {popped}" for n in givers)

    def next_push(self, core: str) -> str:
        return self._slot(f"{self.pushed}[{core}]")

    def next_pop(self, core: str) -> str:
        return self._slot(f"{self.popped}[{core}]")

    def _slot(self, count: str) -> str:
        slots = self.channel.slots
        return "0" if slots == 1 else f"{count} % {slots}"


class Mixed:
    """Writes sections and channels of one kernel."""

    def __init__(self, to: KernelTranslator) -> None:
        self.to = to
        self.counts: dict[SSAValue, _Counts] = {}

    def channel(self, op: ChannelOp) -> None:
        to = self.to
        channel = Channel(op, to.core.all_buffers)
        name = to.names[op.channel] = to.bind(channel)
        self.counts[op.channel] = _Counts(
            channel, *map(to.bind, (channel.pushed, channel.popped, channel.freed))
        )
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
            counts = self.counts[op.channel]
            self._wait(op, counts.is_full(core), "a free slot")
            box, slot = to.corner(op.source, rows, columns), counts.next_push(core)
            if op.channel in to.moves.channels:
                is_kept = to.repeated.parts[op.source]
                to.line(f"{channel}.put({core}, {slot}, {box}, {is_kept})")
            else:
                to.line(f"{channel}.write({core}, {slot}, {box})")
            to.line(f"{counts.pushed}[{core}] += 1")
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
            counts = self.counts[op.channel]
            self._wait(op, counts.is_empty(core), "a full slot")
            slot, views = counts.next_pop(core), f"{to.bind(counts.channel.views)}"
            if op.channel in to.moves.channels:
                name = to.fresh()
                to.line(f"{name} = {slot}")
                to.names[op.buffer] = f"{views}[{core}][{name}]"
                to.moves.popped(op, name)
            else:
                to.line(f"{to.define(op.buffer)} = {views}[{core}][{slot}]")
            to.line(f"{counts.popped}[{core}] += 1")
            return
        slot = to.fresh()
        to.line(f"{slot} = {channel}.next_pop({core})")
        to.line(f"{to.define(op.buffer)} = {channel}.views[{core}][{slot}]")
        to.issue(op, self._tokens(op, slot, "full", None))

    def free(self, op: FreeOp) -> None:
        to = self.to
        channel, core = to.ref(op.channel), to.half
        if to.core.pipes is None:
            counts = self.counts[op.channel]
            freed, popped = f"{counts.freed}[{core}]", f"{counts.popped}[{core}]"
            to.line(f"if {freed} < {popped}: {freed} += 1")
            to.line(f"else: {channel}.next_free({core})")
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
        to.line(f"if {condition}:")
        to.line(f"    yield {first}")
        to.line(f"    while {condition}: yield {again}")

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
