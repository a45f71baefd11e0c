"""
`npu.tasks` in memory form: which outer values a body uses, and what it declares.

    npu.tasks (%i) in (%n) on vector { npu.load %a[%begin + 16 * %i ..] ... }
    ->
    npu.tasks (%i) in (%n) buffers(%a) scalars(%begin) after(..)
        accesses(read %a[%begin + 16 * %i, 0] [16, 512]) on vector { ... }
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu import TasksOp
from pyptoc.dialects.npu_attrs import Access, Selector
from pyptoc.passes.accesses import BoxAccess
from pyptoc.passes.structured import defined_in, is_constant
from pyptoc.passes.task_builder import Roots
from pyptoc.passes.typed import values_in


def captures(tasks: TasksOp) -> list[SSAValue]:
    """The outer values that the body uses, each once, constants left out."""
    found: dict[SSAValue, None] = {}
    for op in tasks.body.walk():
        for operand in op.operands:
            if not defined_in(operand, tasks) and not is_constant(operand):
                found[operand] = None
    return list(found)


def declare(
    tasks: TasksOp,
    accesses: Sequence[BoxAccess],
    waits: tuple[Sequence[SSAValue], Sequence[Selector]],
    dims: Roots,
) -> TasksOp:
    """`tasks` again, with buffers, scalars, accesses and waits filled in."""
    used = captures(tasks)
    buffers = [value for value in used if isinstance(value.type, MemRefType)]
    names = SymbolNames(tasks, [v for v in used if v not in set(buffers)], dims)
    declared = [
        Access(
            access.mode,
            buffers.index(access.buffer),
            tuple(map(names.rename, access.lo)),
            tuple(map(names.rename, access.size)),
            access.exact,
        )
        for access in accesses
    ]
    events, selectors = waits
    chosen = [names.rename_selector(selector) for selector in selectors]
    new = TasksOp.make(
        tasks.grid,
        tasks.unit.data,
        buffers=buffers,
        scalars=names.scalars,
        waits=events,
        selectors=chosen,
        accesses=declared,
        seq=tasks.ordered_axes,
        body=tasks.detach_region(tasks.body),
        attributes=dict(tasks.attributes),
        location=tasks.location,
    )
    replace_op(tasks, new)
    return new


class SymbolNames:
    """Turns SSA values in expressions into `d0, ..` and `s0, ..` of one tasks op."""

    def __init__(
        self, tasks: TasksOp, scalars: Sequence[SSAValue], dims: Roots
    ) -> None:
        self.scalars = list(scalars)
        self._dims = dims
        self._names: dict[object, Expr] = {
            argument: Expr.sym(f"d{axis}")
            for axis, argument in enumerate(tasks.grid_args)
        }
        for position, value in enumerate(self.scalars):
            self._names[value] = Expr.sym(f"s{position}")

    def rename(self, expr: Expr) -> Expr:
        """`expr` over positional symbols; new outer values become scalars."""
        expr = self._dims.concrete(expr)
        for value in values_in(expr):
            if value not in self._names:
                self._names[value] = Expr.sym(f"s{len(self.scalars)}")
                self.scalars.append(value)
        return expr.subs({key: self._names[key] for key in expr.symbols()})

    def rename_selector(self, selector: Selector) -> Selector:
        """A selector with its expressions renamed."""
        ranges = [
            None if r is None else (self.rename(r[0]), self.rename(r[1]))
            for r in selector.ranges
        ]
        return Selector(selector.kind, tuple(ranges))


def replace_op(old: Operation, new: Operation) -> None:
    """Put `new` in the place of `old`; `new` has the results of `old`, then more."""
    block = old.parent
    assert block is not None
    block.insert_op_before(new, old)
    for before, after in zip(old.results, new.results, strict=False):
        after.name_hint = before.name_hint
        before.replace_all_uses_with(after)
    old.detach()
    old.erase()
