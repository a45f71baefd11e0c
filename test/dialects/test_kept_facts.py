"""What an op keeps is kept as long as all that it follows from is as it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from building import tensor
from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.utils.test_value import create_ssa_value

from pyptoc.dialects.assembly import int_attr
from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.matmul import MatmulOp
from pyptoc.dialects.pypto.reduce import SumOp
from pyptoc.dialects.pypto.scalars import IndexOp


def folded() -> SumOp:
    return SumOp.make(create_ssa_value(tensor("4x8x", "f32")), -1, keepdim=True)


def another_operand(op: SumOp) -> None:
    op.operands[0] = create_ssa_value(op.source.type)


def another_type(op: SumOp) -> None:
    op.source._type = tensor("2x4x8x", "f32")  # pyright: ignore


def another_result(op: SumOp) -> None:
    op.result._type = tensor("4x", "f32")  # pyright: ignore


def another_axis(op: SumOp) -> None:
    op.properties["axis"] = int_attr(0)


CHANGES = (another_operand, another_type, another_result, another_axis)


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_it_is_another(change: Callable[[SumOp], None]):
    op = folded()
    before = op.structure()
    assert op.structure() is before
    change(op)
    after = op.structure()
    assert after != before
    assert after == op._structure()  # pyright: ignore[reportPrivateUsage]


def test_a_flag_by_another_name_is_a_change():
    left, right = (create_ssa_value(tensor("8x8x", "f32")) for _ in range(2))
    op = MatmulOp.make(left, right, a_trans=True)
    before = op.structure()
    del op.properties["a_trans"]
    op.properties["b_trans"] = UnitAttr()
    assert op.structure() != before


def test_what_it_does_not_follow_from_may_change():
    op = folded()
    before = op.structure()
    op.attributes["npu.group"] = int_attr(3)
    assert op.structure() is before
    assert op.clone().structure() is not before


def test_an_expression_is_kept_as_long_as_it_is_over_the_same_values():
    first, second = (create_ssa_value(IndexType()) for _ in range(2))
    op = IndexOp.of(Expr.sym(first) + 1)
    before = op.value_expr
    assert before == Expr.sym(first) + 1
    assert op.value_expr is before
    op.operands[0] = second
    assert op.value_expr == Expr.sym(second) + 1
    op.properties["expr"] = IndexOp.of(Expr.sym(first) * 3).expr
    assert op.value_expr == Expr.sym(second) * 3
