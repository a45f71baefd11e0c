"""
Addresses for every buffer of every kernel, by liveness.

    %a = tile.alloc {slots = 2} : !tile.buf<16x256xf32, ub>
    %b = tile.alloc : !tile.buf<16x256xf32, ub>

becomes

    %a = tile.alloc {addr = 0, slots = 2} : !tile.buf<16x256xf32, ub>
    %b = tile.alloc {addr = 32768} : !tile.buf<16x256xf32, ub>

Buffers whose lifetimes overlap never share a byte. Others share only as far as they
must, because what shares bytes has to be ordered: first nobody shares; if that is too
much, buffers that one and the same pipe works on (it is in order anyway); then all that
liveness allows. Where that is not enough, a result may lie where an input begins that
its instruction reads last, if it works in place (`dialects/tile_in_place.py`):

    %e = tile.alloc                                   {addr = 0}
    %f = tile.alloc                                   {addr = 0}
    tile.exp %x into %e
    tile.neg %e into %f         the last use of %e

If even that does not fit, slots are given up one at a time, the
largest buffer first, with a remark: correct, but transfers no longer overlap with work
on that buffer. With the option `slots`, loads in a loop get more than two, as many as
fit without sharing more than before, to run further ahead. What then still does not fit
is an error (PTO211) that lists what is live at once and says which tile to shrink.

The slots of a channel of a mixed kernel lie with the core that takes from it, beside
its other buffers, all the time. Addresses that are already there are planned anew, but
for a kernel that has flags: what they order must stay as it is. It keeps its addresses;
if it has none, only what one pipe works on shares, and all slots stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, NoReturn

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import Note, error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.npu import KernelOp, kernels_of
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import Instruction
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_types import round_up
from pyptoc.dialects.words import counted
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.hazards import is_synchronised
from pyptoc.passes.in_place import InPlace, in_place_pairs
from pyptoc.passes.liveness import Lifetime, lifetimes
from pyptoc.passes.packing import Packing, pack
from pyptoc.passes.slots import can_lower_slots, can_raise_slots, change_slots
from pyptoc.runtime.machine import Machine, Space

_TILE_OF_SPACE = {"ub": "vec"}
_FRACTAL_SPACES = ("l1", "l0a", "l0b", "l0c", "scale_a", "scale_b")


@dataclass(frozen=True)
class PlanMemoryPass(PyptocPass):
    """Give every buffer an address, by liveness, within each memory space."""

    name = "plan-memory"
    anchor: ClassVar[str] = "npu.kernel"
    summary: ClassVar[str] = "addresses by liveness; fewer slots where memory is tight"
    counters: ClassVar[Mapping[str, str]] = {
        "lowered": "slots taken from buffers, for space",
        "raised": "slots that buffers of loops got in addition",
    }

    slots: int = 2
    """How many slots what a loop loads may have, where memory allows."""

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        if self.slots < 1:
            error(
                None,
                "PTO504",
                f"plan-memory{{slots={self.slots}}}: a buffer has at least one slot",
                rule="slots is a whole number of at least 1",
                help="plan-memory{slots=2}",
            )
        errors = ErrorList()
        for kernel in kernels_of(module).values():
            with errors.kept():
                self._plan(ctx, kernel)
        errors.check()

    def _plan(self, ctx: PyptocContext, kernel: KernelOp) -> None:
        found = lifetimes(kernel)
        flagged = is_synchronised(kernel)
        if not (flagged and all(life.alloc.address is not None for life in found)):
            by_space: dict[str, list[Lifetime]] = {}
            for life in found:
                by_space.setdefault(life.alloc.type.space.value, []).append(life)
            plans = [
                _Plan(ctx, kernel, ctx.machine.space(space), lives, flagged)
                for space, lives in by_space.items()
            ]
            for plan in plans:
                plan.fit()
            if self.slots > 2 and not flagged:
                _raise_slots(plans, self.slots)
            for plan in plans:
                plan.write()


@record(frozen=False, eq=False)
class _Plan:
    """The buffers of a kernel in one space."""

    ctx: PyptocContext
    kernel: KernelOp
    space: Space
    lives: list[Lifetime]
    flagged: bool
    packing: Packing | None = None
    level: int = 0
    """How far buffers share."""

    def fit(self) -> None:
        """Find a place for all, with fewer slots if need be."""
        while not self.place():
            life = None if self.flagged else _slots_to_lower(self.space, self.lives)
            if life is None:
                _over_capacity(self.ctx.machine, self.kernel, self.space, self.lives)
            slots = life.alloc.slot_count - 1
            change_slots(life, slots)
            self.ctx.count("lowered")
            self.remark(life, f"{slots} of {counted(slots + 1, 'slot')}, so that")

    def place(self, most: int = 9) -> bool:
        """Whether a packing was found that shares no more than level `most`."""
        found = _place(self.space, self.lives, self.flagged, most)
        if found is not None:
            self.level, self.packing = found
        return found is not None

    def remark(self, life: Lifetime, kept: str) -> None:
        self.ctx.remark(
            life.alloc,
            f"{_name(life)} in @{self.kernel.sym_name.data} keeps {kept} "
            f"{self.space.name} fits",
            "PTO326",
        )

    def write(self) -> None:
        assert self.packing is not None
        for life, address in zip(self.lives, self.packing.addresses, strict=True):
            life.alloc.set_address(address)


def _raise_slots(plans: list[_Plan], most: int) -> None:
    """More slots for what loops load, the smallest groups first, while nothing shares
    more for it, and while there are flags: one for each slot of a group."""
    groups: dict[Operation, list[tuple[_Plan, Lifetime]]] = {}
    for plan in plans:
        for life in filter(can_raise_slots, plan.lives):
            groups.setdefault(_first_of_group(life), []).append((plan, life))
    by_size = sorted(
        groups.values(),
        key=lambda group: sum(life.alloc.total_bytes for _, life in group),
    )
    for slots in range(3, most + 1):
        for group in by_size:
            ids = group[0][0].ctx.machine.event_ids
            used = sum(one[0][1].alloc.slot_count for one in by_size)
            if used < ids and all(
                one.alloc.slot_count == slots - 1 for _, one in group
            ):
                _raise_group(group, slots, most)


def _raise_group(group: list[tuple[_Plan, Lifetime]], slots: int, most: int) -> None:
    """One slot more for each of a group, or for none."""
    for _, life in group:
        change_slots(life, slots)
    if all(plan.place(plan.level) for plan in {plan: 0 for plan, _ in group}):
        group[0][0].ctx.count("raised", len(group))
        return
    for plan, life in group:
        change_slots(life, slots - 1)
        plan.remark(life, f"{slots - 1} of {most} slots, so that")
    for plan, _ in group:
        plan.place()


def _first_of_group(life: Lifetime) -> Operation:
    """The first of the loads that stand together with that of a buffer."""
    first = op = life.first_user
    assert isinstance(first, Instruction)
    while op is not None:
        op = op.prev_op
        if isinstance(op, Instruction):
            if op.pipe != first.pipe:
                break
            first = op
    return first


def _slots_to_lower(space: Space, lives: list[Lifetime]) -> Lifetime | None:
    """The largest of the buffers at the worst place that can do with a slot less."""
    able = [life for life in _peak(space, lives).alive if can_lower_slots(life)]
    size = {life: life.alloc.total_bytes // life.alloc.slot_count for life in able}
    return max(able, key=lambda life: size[life], default=None)


def _place(
    space: Space, lives: list[Lifetime], flagged: bool, most: int
) -> tuple[int, Packing] | None:
    """Addresses below the capacity, sharing no more than that takes, and how far they
    share: a level of at most `most`."""
    sizes = [round_up(life.alloc.total_bytes, space.align) for life in lives]
    if sum(sizes) <= space.bytes:
        return 0, _side_by_side(sizes)
    in_place = in_place_pairs(lives)
    if _peak(space, lives, in_place).bytes > space.bytes:
        return None
    together = _overlapping(lives)
    apart = _also_across_pipes(lives, together)
    alone = [(a, b) for a, b in in_place if len(a.pipes | b.pipes) == 1]
    none: InPlace = []
    attempts = [(apart, none), (apart, alone)]
    if not flagged:
        attempts += [(together, none), (together, in_place)]
    for level, (conflicts, pairs) in enumerate(attempts[:most], 1):
        alive = _peak(space, lives, pairs).bytes
        if alive > space.bytes or (level % 2 == 0 and not pairs):
            continue
        partners = _partners(lives, pairs)
        packing = pack(sizes, conflicts, space.bytes, alive, partners)
        if packing.height <= space.bytes:
            return level, packing
    return None


def _partners(lives: list[Lifetime], pairs: InPlace) -> list[list[int]]:
    """The partners of each buffer, by number."""
    number = {life: i for i, life in enumerate(lives)}
    found: list[list[int]] = [[] for _ in lives]
    for one, other in pairs:
        found[number[one]].append(number[other])
        found[number[other]].append(number[one])
    return found


def _side_by_side(sizes: list[int]) -> Packing:
    addresses: list[int] = []
    end = 0
    for size in sizes:
        addresses.append(end)
        end += size
    return Packing(tuple(addresses), end)


def _overlapping(lives: list[Lifetime]) -> list[list[int]]:
    """For each buffer, those that are alive together with it at some position."""
    conflicts: list[list[int]] = [[] for _ in lives]
    open_now: list[int] = []
    for i in sorted(range(len(lives)), key=lambda i: lives[i].start):
        open_now = [j for j in open_now if lives[j].end >= lives[i].start]
        for j in open_now:
            conflicts[i].append(j)
            conflicts[j].append(i)
        open_now.append(i)
    return conflicts


def _also_across_pipes(
    lives: list[Lifetime], together: list[list[int]]
) -> list[list[int]]:
    """As `together`, and buffers of different pipes do not share either."""
    alone = [next(iter(x.pipes)) if len(x.pipes) == 1 else None for x in lives]
    everything = range(len(lives))
    return [
        [
            j
            for j in everything
            if j != i and (alone[i] is None or alone[i] != alone[j] or j in near)
        ]
        for i, near in ((i, set(together[i])) for i in everything)
    ]


@record
class _Peak:
    """Where buffers take most bytes at once."""

    bytes: int
    alive: list[Lifetime]
    """Those that take bytes of their own there."""


def _peak(space: Space, lives: list[Lifetime], pairs: InPlace | None = None) -> _Peak:
    """The least that `lives` need, if the second of each of `pairs` can begin in the
    place of the first; by default all that may do so."""
    inside: dict[Lifetime, Lifetime] = {}
    for pair in in_place_pairs(lives) if pairs is None else pairs:
        small = min(pair, key=lambda life: life.alloc.total_bytes)
        held = inside.get(pair[1])
        if held is None or small.alloc.total_bytes > held.alloc.total_bytes:
            inside[pair[1]] = small
    saved = {life.start: small for life, small in inside.items()}
    edges: list[tuple[int, int, int]] = []
    for life in lives:
        size = round_up(life.alloc.total_bytes, space.align)
        edges += [(life.start, 0, size), (life.end, 1, -size)]
    now = most = where = 0
    for (position, ends), steps in groupby(sorted(edges), key=lambda edge: edge[:2]):
        now += sum(size for _, _, size in steps)
        taken = now
        if position in saved and not ends:
            taken -= round_up(saved[position].alloc.total_bytes, space.align)
        if taken > most:
            most, where = taken, position
    alive = [life for life in lives if life.start <= where <= life.end]
    return _Peak(most, [life for life in alive if life is not saved.get(where)])


def _name(life: Lifetime) -> str:
    hint = life.alloc.results[0].name_hint
    return f"%{hint}" if hint else "a buffer"


def _over_capacity(
    machine: Machine, kernel: KernelOp, space: Space, lives: list[Lifetime]
) -> NoReturn:
    peak = _peak(space, lives)
    alive = sorted(peak.alive, key=lambda life: -life.alloc.total_bytes)
    needed = peak.bytes
    largest = alive[0]
    if space.bytes == 0:
        error(
            largest.alloc,
            "PTO211",
            f"{machine.name} has no {space.name} memory",
            here=f"kernel @{kernel.sym_name.data} keeps {needed} bytes there",
            help="compile for another machine",
        )
    fits = needed <= space.bytes
    count = f"{counted(len(alive), 'buffer')} {'is' if len(alive) == 1 else 'are'}"
    notes = [_describe(life) for life in alive[:10]]
    if len(alive) > 10:
        notes.append(Note(f"and {len(alive) - 10} smaller ones"))
    error(
        largest.alloc,
        "PTO211",
        f"{space.name} of {machine.name} is over capacity in kernel "
        f"@{kernel.sym_name.data}",
        label=f"{_name(largest)} is the largest",
        rule=f"the buffers that are live at once fit {space.name}",
        here=f"{count} live at once and take {needed} bytes; "
        f"{space.name} has {space.bytes}"
        + (", but no place for all of them was found" if fits else ""),
        notes=notes,
        help=_smaller_tile(largest.alloc, needed, space),
    )


def _describe(life: Lifetime) -> Note:
    alloc = life.alloc
    kind = alloc.type
    slots = f", {alloc.slot_count} slots" if alloc.slot_count > 1 else ""
    what = f"{_name(life)}: {kind.rows}x{kind.columns}x{kind.element_type}{slots}"
    user = life.first_user
    where = user.location if isinstance(user, Instruction) else alloc.location
    return Note(f"{what}, {alloc.total_bytes} bytes", where)


def _smaller_tile(alloc: Allocation, needed: int, space: Space) -> str:
    """Which side of which tile to halve how often, so that it should fit."""
    kind = alloc.type
    least_rows = 16 if space.name in _FRACTAL_SPACES else 1
    factor = 2
    while needed > factor * space.bytes:
        factor *= 2
    unit = _TILE_OF_SPACE.get(space.name, "cube")
    if kind.rows // factor >= least_rows:
        change = f"{counted(kind.rows // factor, 'row')} instead of {kind.rows}"
    else:
        change = (
            f"{counted(max(1, kind.columns // factor), 'column')} instead of "
            f"{kind.columns}"
        )
    return f"shrink the {unit} tile: try {change}"
