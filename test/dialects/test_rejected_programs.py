"""What one op alone can get wrong: ranks, shapes, sizes, attributes, with the numbers.

A row is the arguments, the statement, the code, a part of the message with the numbers,
and a part of the rule, the label, the help or a note. Every op has a row, or is one of
the elementwise families that are tried as a whole.
"""

from __future__ import annotations

import pytest
from building import CONTEXT
from many import for_each
from rejected_computing import COMPUTING
from rejected_indexing import INDEXING
from rejected_shapes import SHAPES

from pyptoc.dialects.diagnostics import CompileError, Diagnostic
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.pypto import Pypto
from pyptoc.dialects.pypto.elementwise import BINARY_OPS, COMPARE_OPS
from pyptoc.dialects.pypto.unary import UNARY_OPS
from pyptoc.dialects.verify import verify_module

ROWS = {**COMPUTING, **INDEXING, **SHAPES}
FAMILIES = {**UNARY_OPS, **BINARY_OPS, **COMPARE_OPS}


def rejected(arguments: str, statement: str) -> Diagnostic:
    """The only error of a statement in a function."""
    source = f"func.func @f({arguments}) {{\n  pypto.{statement}\n  func.return\n}}\n"
    results = {"topk": 2, "quantize": 2, "quant_mx": 2, "online_softmax": 4}
    name = statement.split("[")[0].split()[0]
    kind = next(kind for kind in Pypto.operations if kind.name == f"pypto.{name}")
    count = results.get(name, len(kind.get_irdl_definition().results))
    if name in ("for", "forall"):
        count = statement.count("iter(") + statement.count("outs(")
    if count:
        names = ", ".join(f"%r{index}" for index in range(count))
        source = source.replace("  pypto.", f"  {names} = pypto.", 1)
    with pytest.raises(CompileError) as failure:
        verify_module(parse_module(source, "op.mlir", CONTEXT))
    (found,) = failure.value.diagnostics
    return found


@for_each(row for rows in ROWS.values() for row in rows)
def test_rejected(arguments, statement, code, message, advice) -> None:
    found = rejected(arguments, statement)
    assert (found.code, found.headline[:10]) == (code, "op.mlir:2:"), str(found)
    assert message in found.message
    assert advice in "\n".join([found.message, found.label, *found.details("")])


@for_each(FAMILIES)
def test_elementwise(name) -> None:
    kind = FAMILIES[name]
    operands = "%x" if name in UNARY_OPS else "%x, %x"
    found = rejected("%x: tensor<4xf8E5M2>", f"{name} {operands}")
    assert found.code == "PTO111"
    assert found.message == f"{name} of f8E5M2 elements: %x is tensor<4xf8E5M2>"
    assert found.rule == f"elements are {kind.DOMAIN.value}"
    if name in UNARY_OPS:
        return
    for left, right in (("4x8", "3x8"), ("4x8", "7"), ("?x5", "?x6")):
        element = "i1" if kind.DOMAIN.name == "BITS" else "f32"
        element = "i32" if kind.DOMAIN.name == "INTEGER" else element
        types = f"%x: tensor<{left}x{element}>, %y: tensor<{right}x{element}>"
        found = rejected(types, f"{name} %x, %y")
        assert found.code == "PTO113"
        a, b = left.split("x")[::-1], right.split("x")[::-1]
        axis = next(
            i for i, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]
        )
        assert found.message == (
            f"sizes {a[axis]} and {b[axis]} of dimension {-axis - 1} do not broadcast"
        )
        assert "%x is [" in found.label
        assert "%y is [" in found.label


def test_every_op_is_tried() -> None:
    names = {kind.name.removeprefix("pypto.") for kind in Pypto.operations}
    assert names == {*ROWS, *FAMILIES}


@pytest.mark.parametrize(
    ("left", "right", "help"),
    [
        ("16x64", "16", "pypto.reshape %y[16, 1]"),
        ("16", "16x64", "pypto.reshape %x[16, 1]"),
        ("3x16x64", "3", "pypto.reshape %y[3, 1, 1]"),
        ("3x16x64", "3x16", "pypto.reshape %y[3, 16, 1]"),
        ("3x16x64", "1x16", "pypto.reshape %y[1, 16, 1]"),
        ("?x16x64", "?x16", "pypto.reshape %y[-1, 16, 1]"),
        ("?x?x16x64", "?x?x16", ""),
        ("16x64", "7", ""),
        ("16x64", "64x16", ""),
    ],
)
def test_the_reshape_that_broadcasts(left, right, help) -> None:
    types = f"%x: tensor<{left}xf32>, %y: tensor<{right}xf32>"
    assert rejected(types, "mul %x, %y").help == help
    if help:
        name = help.split()[1][:2]
        mended = "%r = pypto.mul %x, %y\n".replace(f" {name}", " %m")
        body = f"  %m = {help}\n  {mended}  func.return\n"
        parse_module(f"func.func @f({types}) {{\n{body}}}\n", "op.mlir", CONTEXT)
