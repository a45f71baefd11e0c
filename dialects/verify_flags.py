"""Flags of a kernel, checked by induction over its structure, for all trip counts.

Every loop body and every branch must give back each token it takes: then what holds
before a loop holds after it, however often it runs. What a body needs at its start is
needed before the loop. At the end of the kernel no token is left.

    tile.set_flag [v -> mte2, 0]            one token before the loop ...
    scf.for ... {
      tile.wait_flag [v -> mte2, 0]         ... that the body takes
      tile.set_flag [v -> mte2, 0]          ... and gives back,
    }
    tile.wait_flag [v -> mte2, 0]           and that is taken at the end

A flag `base + %slot` is followed by the expression of `%slot`; where a loop ends, it
stands for all ids that the range of the expression allows.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field
from typing import TypeAlias

from xdsl.ir import Block, Operation, Region, SSAValue

from pyptoc.dialects.diagnostics import Diagnostic, Note
from pyptoc.dialects.expr import Compare, Expr
from pyptoc.dialects.npu_attrs import ExprAttr
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_flags import FlagOp, SetFlagOp
from pyptoc.dialects.tile_types import Pipe
from pyptoc.dialects.words import counted

FLAG_ERROR = "PTO174"


@record
class Index:
    """The dynamic part of a flag id: equal expressions are equal."""

    identity: Hashable
    value: SSAValue = field(compare=False)

    @staticmethod
    def of(value: SSAValue) -> Index:
        found = _expression(value)
        if found is None:
            return Index(value, value)
        operation, expr = found
        return Index((expr, tuple(operation.operands)), value)

    def depends_on(self, block: Block) -> bool:
        """Whether the index is another one each time that `block` runs."""
        found = _expression(self.value)
        roots = (self.value,) if found is None else found[0].operands
        return any(_block_of(root) is block for root in roots)

    def range(self) -> range | None:
        """All values that the expression can have, if they are few."""
        found = _expression(self.value)
        if found is None:
            return None
        interval = found[1].interval({})
        if interval.lo is None or interval.hi is None or interval.hi > 64:
            return None
        return range(interval.lo, interval.hi + 1)


def _block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner.parent if isinstance(owner, Operation) else owner


def _expression(value: SSAValue) -> tuple[Operation, Expr] | None:
    """The `pypto.index` that computes a value, and its expression."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return None
    attribute = owner.properties.get("expr")
    if not isinstance(attribute, ExprAttr) or isinstance(attribute.data, Compare):
        return None
    return owner, attribute.data


Flag: TypeAlias = tuple[Pipe, Pipe, int, Index | None]


def _flag_of(op: FlagOp) -> Flag:
    index = None if op.index is None else Index.of(op.index)
    return (*op.pipes, op.base, index)


def _text(flag: Flag) -> str:
    source, target, base, index = flag
    number = str(base) if index is None else f"{base} + %{index.value.name_hint or '?'}"
    return f"[{source} -> {target}, {number}]"


@record(frozen=False)
class Tokens:
    """Of a piece of straight-line code: what it changes, and what it must find."""

    change: dict[Flag, int] = field(default_factory=dict[Flag, int])
    need: dict[Flag, int] = field(default_factory=dict[Flag, int])
    wait: dict[Flag, FlagOp] = field(default_factory=dict[Flag, FlagOp])
    """The wait that needs most."""
    last: dict[Flag, FlagOp] = field(default_factory=dict[Flag, FlagOp])

    def add(self, op: FlagOp) -> None:
        flag = _flag_of(op)
        self.last[flag] = op
        if isinstance(op, SetFlagOp):
            self.change[flag] = self.change.get(flag, 0) + 1
        else:
            self.want(flag, 1, op)
            self.change[flag] = self.change.get(flag, 0) - 1

    def want(self, flag: Flag, tokens: int, wait: FlagOp) -> None:
        """At this point `tokens` must be there."""
        need = tokens - self.change.get(flag, 0)
        if need <= self.need.get(flag, 0):
            return
        slots = _slots(flag)
        if slots and all(self.change.get(slot, 0) >= tokens for slot in slots):
            return  # whichever it is, it has been set
        self.need[flag] = need
        self.wait[flag] = wait

    def enter(self, body: Tokens, block: Block) -> None:
        """A neutral body runs at this point, perhaps often, perhaps not at all."""
        for flag, tokens in body.need.items():
            index = flag[3]
            inside = index is not None and index.depends_on(block)
            for known in _slots(flag) if inside else (flag,):
                self.want(known, tokens, body.wait[flag])


def _slots(flag: Flag) -> tuple[Flag, ...]:
    """The flags that one with an index can be. Empty, if its range is not known."""
    source, target, base, index = flag
    values = index.range() if index is not None else None
    return tuple((source, target, base + value, None) for value in values or ())


def check_flags(kernel: Block) -> list[Diagnostic]:
    """What is wrong with the flags of a kernel's body."""
    found: list[Diagnostic] = []
    tokens = _count(kernel, found)
    for flag, need in tokens.need.items():
        # A flag that is set for an unknown slot may be the one that is waited for.
        if need > 0 and not _may_be_set(tokens, flag):
            found.append(
                Diagnostic(
                    FLAG_ERROR,
                    f"waits for flag {_text(flag)}, which nothing has set",
                    tokens.wait[flag].location,
                    rule="each wait takes a token that a set before it gave",
                )
            )
    for flag, change in tokens.change.items():
        if change > 0:
            found.append(_leak(flag, change, tokens.last[flag], "the kernel"))
    return found


def _may_be_set(tokens: Tokens, flag: Flag) -> bool:
    """Whether a set with an index of unknown range has the pipes of `flag`."""
    return any(
        other[:2] == flag[:2]
        and other[3] is not None
        and other[3].range() is None
        and change > 0
        for other, change in tokens.change.items()
    )


def _leak(flag: Flag, change: int, op: FlagOp, where: str) -> Diagnostic:
    return Diagnostic(
        FLAG_ERROR,
        f"{where} leaves {counted(change, 'token')} of flag {_text(flag)} "
        "that nothing takes",
        op.location,
        rule="at the end of a kernel no flag is set",
    )


def _count(block: Block, found: list[Diagnostic]) -> Tokens:
    tokens = Tokens()
    for op in block.ops:
        if isinstance(op, FlagOp):
            tokens.add(op)
        for region in op.regions:
            _count_region(op, region, tokens, found)
    return tokens


def _count_region(
    op: Operation, region: Region, tokens: Tokens, found: list[Diagnostic]
) -> None:
    for block in region.blocks:
        body = _count(block, found)
        for flag, change in body.change.items():
            if change:
                given = "gives" if change > 0 else "takes"
                found.append(
                    Diagnostic(
                        FLAG_ERROR,
                        f"a body of {op.name} {given} "
                        f"{counted(abs(change), 'token')} of flag {_text(flag)} "
                        "more than it "
                        f"{'takes' if change > 0 else 'gives'}",
                        body.last[flag].location,
                        rule="each loop body and branch leaves every flag as it was",
                        notes=(Note(f"the {op.name}", op.location),),
                    )
                )
        tokens.enter(body, block)
