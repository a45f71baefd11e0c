"""
`einsum` as a batched matmul between transposes.

    %y = pypto.einsum "thd,hdc->thc" %q, %w        h batch, t and c free, d summed
    ->
    %a = pypto.transpose %q perm [1, 0, 2]         [h, t, d]
    %p = pypto.matmul %a, %w                       [h, t, c]
    %y = pypto.transpose %p perm [1, 0, 2]         [t, h, c]

Each side becomes [batch.., rows, columns]. The letters of one group that follow each
other in an operand are joined by a reshape before the transpose, which moves nothing;
tasks read through the transpose. Other letters are joined behind it, which copies.

The side whose free letters come first in the result is the left one, so that a product
that is stored the other way round needs no turning.

Of a plain matmul, one output scale for all columns is repeated for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.ir import SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.infer_einsum import Equation
from pyptoc.dialects.pypto.matmul import EinsumOp, MatmulOp
from pyptoc.dialects.pypto.shape import ExpandOp
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.obligation import Obligation, pair, sizes_of
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps
from pyptoc.passes.structured import is_one
from pyptoc.passes.typed import element_type


def einsum(op: EinsumOp, shapes: Shapes) -> None:
    """A product of tensors whose dimensions are named by letters."""
    step = Steps.replacing(op, shapes, op.result)
    equation = Equation.of(op.equation.data)
    sizes: dict[str, Expr] = {}
    for term, value in ((equation.rhs, op.rhs), (equation.lhs, op.lhs)):
        sizes |= dict(zip(term, shapes.dims(value), strict=True))
    step.owe(_same_letters(op, equation))
    left, right = _Side(op.lhs, equation.lhs), _Side(op.rhs, equation.rhs)
    rows, columns = equation.free_lhs, equation.free_rhs
    if equation.swaps:
        left, right, rows, columns = right, left, columns, rows
    batch, summed = equation.batch, equation.contracted
    a = left.matrix(step, batch, (rows, summed))
    b = right.matrix(step, batch, (summed, columns))
    product = step.emit(MatmulOp.make(a, b, target=element_type(op.result)))
    made = batch + rows + columns
    if len(rows) != 1 or len(columns) != 1:
        product = step.reshape(product, [sizes[letter] for letter in made])
    order = [made.index(letter) for letter in equation.out]
    step.finish([step.transpose(product, order)])


def _same_letters(op: EinsumOp, equation: Equation) -> Iterator[Obligation]:
    """A letter of both operands has one size."""
    sizes = sizes_of(op.lhs), sizes_of(op.rhs)
    for i, letter in enumerate(equation.lhs):
        j = equation.rhs.find(letter)
        if j >= 0:
            yield pair((op.lhs, i), (op.rhs, j), (sizes[0][i], sizes[1][j]))


@record
class _Side:
    """One operand and the letters of its dimensions."""

    value: SSAValue
    term: str

    def matrix(self, step: Steps, batch: str, groups: tuple[str, str]) -> SSAValue:
        """[batch.., rows, columns]: the letters of a group are one dimension."""
        dims = dict(zip(self.term, step.shapes.dims(self.value), strict=True))
        units = self._units(groups)
        x = self.value
        if units != list(self.term):
            x = step.reshape(x, [_size(unit, dims) for unit in units])
        wanted = [*batch]
        for group in groups:
            wanted += [group] if group in units else list(group)
        x = step.transpose(x, _order(units, wanted))
        if len(wanted) > len(batch) + 2:
            parts = (*batch, *groups)
            x = step.reshape(x, [_size(part, dims) for part in parts])
        return x

    def _units(self, groups: Sequence[str]) -> list[str]:
        """The dimensions before they are moved: letters, joined where they can be."""
        units = list(self.term)
        for group in groups:
            if not group:
                units.append("")
            elif group in self.term:
                place = units.index(group[0])
                units[place : place + len(group)] = [group]
        return units


def _order(units: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The places of the wanted units; both groups of a side may be empty ones."""
    order: list[int] = []
    for unit in wanted:
        free = (i for i, here in enumerate(units) if here == unit and i not in order)
        order.append(next(free))
    return order


def _size(letters: str, dims: dict[str, Expr]) -> Expr:
    return prod((dims[letter] for letter in letters), start=Expr.const(1))


def matmul(op: MatmulOp, shapes: Shapes) -> None:
    """One output scale for all columns is repeated: the unit reads one for each."""
    if op.scale is None or not is_one(shapes.dims(op.scale), 0):
        return
    columns = shapes.dims(op.result)[-1]
    if columns == Expr.const(1):
        return
    build = Builder.before(op)
    every = ExpandOp.make(op.scale, [build.index_or_int(columns)])
    place = list(op.operands).index(op.scale)
    op.operands[place] = build.value(every, op.scale.name_hint)
