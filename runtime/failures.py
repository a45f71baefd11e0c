"""What a running program can do wrong, as located errors (RunError)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NoReturn, cast

import numpy as np
from xdsl.ir import BlockArgument, Operation, SSAValue

from pyptoc.dialects.diagnostics import Diagnostic, Note, RunError
from pyptoc.dialects.expr import Compare
from pyptoc.dialects.pypto.scalars import AssertOp, DimOp
from pyptoc.dialects.words import counted
from pyptoc.runtime.memory import Memory


def raise_out_of_bounds(op: Operation, message: str) -> NoReturn:
    raise RunError([Diagnostic("PTO402", message, op.location)])


def raise_beyond_arena(
    op: Operation, sizes: Sequence[int], offset: int, total: int
) -> NoReturn:
    """A place that is not in its arena of `total` bytes."""
    raise_out_of_bounds(
        op, f"{list(sizes)} at byte {offset} of an arena of {total} bytes"
    )


def raise_conflict(op: Operation, message: str, note: str) -> NoReturn:
    """Two iterations of a forall store to one element."""
    found = Diagnostic("PTO406", message, op.location, notes=(Note(note),))
    raise RunError([found])


def raise_assertion(op: AssertOp, operands: tuple[int, ...]) -> NoReturn:
    """The error of a pypto.assert whose operands have these values."""
    known: dict[Hashable, int] = {f"s{n}": value for n, value in enumerate(operands)}
    compare = cast(Compare, op.expr.data)
    shown = operands[len(op.inputs) :]
    if not shown:
        shown = (compare.lhs.evaluate(known), compare.rhs.evaluate(known))
    message = _filled(op.message.data, shown)
    code = "PTO401" if op.code is None else op.code.data
    help = "" if op.help is None else _filled(op.help.data, shown)
    names = {
        f"s{number}": _shown_name(value) or f"%{number}"
        for number, value in enumerate(op.inputs)
    }
    rule = compare.to_string(lambda key: names[cast(str, key)])
    values = ", ".join(
        f"{name} = {known[symbol]}" for symbol, name in sorted(names.items())
    )
    found = Diagnostic(code, message, op.location, rule=rule, here=values, help=help)
    raise RunError([found])


def _filled(text: str, shown: Sequence[int]) -> str:
    """A text with the numbers that its `{0}`, `{1}` stand for."""
    for number, value in enumerate(shown):
        text = text.replace(f"{{{number}}}", str(value))
    return text


def _shown_name(value: SSAValue) -> str:
    """`%n`, or `dim(%x, 1)` of an argument; empty for what has no name."""
    if value.name_hint:
        return f"%{value.name_hint}"
    size = value.owner
    if isinstance(size, DimOp) and isinstance(size.source, BlockArgument):
        return f"dim(%{size.source.name_hint}, {size.axis.value.data})"
    return ""


def check_written(name: str, memory: Memory, at: Operation) -> None:
    """Raise PTO405 if a result has elements that no store wrote."""
    missing = None if memory.written is None else memory.written.missing()
    if missing is None:
        return
    places = np.nonzero(missing)
    ranges = [(int(place.min()), int(place.max())) for place in places]
    names = [f"dimension {dim}: " for dim in range(len(ranges))]
    names[-2:] = ["rows ", "columns "][-len(names) :]
    if len(names) == 1:
        names = ["elements "]
    where = ", ".join(
        f"{kind}{low} to {high}"
        for kind, (low, high) in zip(names, ranges, strict=True)
    )
    count = len(places[0])
    message = (
        f'result "{name}" has {counted(count, "element")} that no store wrote: {where}'
    )
    raise RunError([Diagnostic("PTO405", message, at.location)])
