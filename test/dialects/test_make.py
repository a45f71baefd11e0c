"""`make`: operations built from Python are those that the parser reads."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import TensorType, bf16, f32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError, file_location
from pyptoc.dialects.expr import Compare, Expr, minimum
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.pypto.control import ForallOp, ForOp, YieldOp
from pyptoc.dialects.pypto.elementwise import MulOp
from pyptoc.dialects.pypto.matmul import MatmulOp
from pyptoc.dialects.pypto.reduce import SumOp
from pyptoc.dialects.pypto.scalar_expr import ScalarExpr
from pyptoc.dialects.pypto.scalars import AssertOp, DimOp, IndexOp, ReadOp, ScalarOp
from pyptoc.dialects.pypto.shape import (
    AssembleOp,
    ConcatOp,
    EmptyOp,
    FullOp,
    ReshapeOp,
    TransposeOp,
    ViewOp,
)
from pyptoc.dialects.subscripts import Subscripts

SHAPES = {"x": TensorType(f32, [16, 64]), "g": TensorType(i64, [2])}


class Values:
    """Block arguments to build with: tensors x and g, indices i and n, a float s."""

    def __init__(self) -> None:
        from xdsl.dialects.builtin import IndexType

        types = [*SHAPES.values(), IndexType(), IndexType(), f32]
        block = Block(arg_types=types)
        for name, argument in zip("xgins", block.args, strict=True):
            argument.name_hint = name
            setattr(self, name, argument)


def read(line: str) -> Operation:
    text = (
        "func.func @f(%x: tensor<16x64xf32>, %g: tensor<2xi64>, %i: index, %n: index,"
        f" %s: f32) {{\n  {line}\n  func.return\n}}\n"
    )
    module = parse_module(text, "op.mlir", make_context())
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    op = func.body.block.first_op
    assert op is not None
    return op


CASES = {
    "%0 = pypto.sum %x axis -1 {keepdim}": lambda v: SumOp.make(v.x, -1, keepdim=True),
    "%0 = pypto.mul %x, 2.0": lambda v: MulOp.make(v.x, 2),
    "%0 = pypto.mul %x, %s": lambda v: MulOp.make(v.x, v.s),
    "%0 = pypto.matmul %x, %x to bf16 {b_trans}": lambda v: MatmulOp.make(
        v.x, v.x, bf16, b_trans=True
    ),
    "%0 = pypto.view %x[%i, 0 +: %n]": lambda v: ViewOp.make(v.x, [v.i, (0, v.n)]),
    "%0 = pypto.view %x[:, 3]": lambda v: ViewOp.make(v.x, Subscripts.of([..., 3])),
    "%0 = pypto.reshape %x[-1, 8]": lambda v: ReshapeOp.make(v.x, [-1, 8]),
    "%0 = pypto.transpose %x perm [1, 0]": lambda v: TransposeOp.make(v.x, [1, 0]),
    "%0 = pypto.concat %x, %x axis 0": lambda v: ConcatOp.make([v.x, v.x], 0),
    "%0 = pypto.empty[%n, 4] : tensor<?x4xf32>": lambda v: EmptyOp.make(
        [v.n, 4], result_type=f32
    ),
    "%0 = pypto.full -inf[%n] : tensor<?xf32>": lambda v: FullOp.make(
        float("-inf"), [v.n], result_type=TensorType(f32, [-(2**63)])
    ),
    "%0 = pypto.assemble %x into %x[0, 0]": lambda v: AssembleOp.make(v.x, v.x, [0, 0]),
    "%0 = pypto.read %g[1]": lambda v: ReadOp.make(v.g, [1]),
    "%0 = pypto.read %g[%i] : f32": lambda v: ReadOp.make(v.g, [v.i], result_type=f32),
    "%0 = pypto.dim %x, 0": lambda v: DimOp.make(v.x, 0),
    "%0 = pypto.index min(16, %n - 16 * %i)": lambda v: IndexOp.of(
        minimum(16, Expr.sym(v.n) - 16 * Expr.sym(v.i))
    ),
    "%0 = pypto.index %i < %n": lambda v: IndexOp.of(
        Compare("<", Expr.sym(v.i), Expr.sym(v.n))
    ),
    'pypto.assert %n == 16, "text"': lambda v: AssertOp.make(
        Compare("==", Expr.sym(v.n), Expr.const(16)), "text"
    ),
    "%0 = pypto.scalar -%s * 2.0": lambda v: ScalarOp.make(
        ScalarExpr(
            "*",
            (
                ScalarExpr("neg", (ScalarExpr("operand", (), 0),)),
                ScalarExpr("number", (), 2.0),
            ),
        ),
        [v.s],
    ),
}


@pytest.mark.parametrize("line", CASES)
def test_make_is_what_is_read(line: str) -> None:
    made = CASES[line](Values())
    made.verify()
    expected = read(line)
    assert made.properties == expected.properties
    assert [r.type for r in made.results] == [r.type for r in expected.results]
    assert str(made) == str(expected)


def test_loops() -> None:
    v = Values()
    loop = ForOp.make([(0, v.n, 16)], [v.x], tails=[True])
    block = loop.body.block
    block.add_op(YieldOp.of([loop.bound_args[0]]))
    loop.verify()
    (axis,) = loop.axes
    assert (axis.lower, axis.upper, axis.step) == (0, v.n, 16)
    assert axis.tail is block.args[1]
    assert (loop.lower, loop.upper, loop.step) == (0, v.n, 16)
    forall = ForallOp.make([(0, 4, 1), (0, v.n, 8)], [v.x])
    forall.verify()
    assert forall.outs == tuple(forall.body.block.args)[2:]


def test_subscripts() -> None:
    v = Values()
    view = ViewOp.make(v.x, [v.i, (4, v.n)])
    assert view.mixed_offsets == [v.i, 4]
    assert view.mixed_sizes == [1, v.n]
    assert view.dropped_dims == (0,)
    assert ViewOp.make(v.x, [..., (v.i, 2)]).mixed_sizes == [None, 2]


def test_literals() -> None:
    v = Values()
    value, number = MulOp.make(v.x, 0.1).args
    assert value is v.x
    assert str(number) == "1.000000e-01 : f32"
    assert MulOp.make(v.x, v.x).literals is None


def test_errors_are_those_of_the_parser() -> None:
    v = Values()
    place = file_location("op.mlir", 3, 5)
    with pytest.raises(CompileError) as caught:
        SumOp.make(v.x, 2, location=place)
    assert caught.value.diagnostics[0].location == place
    with pytest.raises(CompileError, match="PTO140"):
        SumOp.make(v.x, 0, result_type=TensorType(f32, [65]))
    with pytest.raises(TypeError, match="no field"):
        SumOp.make(v.x, 0, keepdims=True)
    with pytest.raises(TypeError, match="too many"):
        SumOp.make(v.x, 0, v.x, v.x)


def test_the_location_is_kept() -> None:
    place = file_location("op.mlir", 3, 5)
    assert MulOp.make(Values().x, 2.0, location=place).location == place
