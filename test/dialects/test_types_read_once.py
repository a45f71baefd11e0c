"""A type that was read is not read again; an alias means what its own file says."""

from __future__ import annotations

import pytest
from building import CONTEXT
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from pyptoc.dialects.parsing import parse_module


def types_of(text: str) -> list[Attribute]:
    """The argument types of the only function."""
    (function,) = parse_module(text, "t.mlir", CONTEXT).ops
    assert isinstance(function, FuncOp)
    return list(function.function_type.inputs)


def function(*types: str) -> str:
    arguments = ", ".join(f"%a{number}: {type}" for number, type in enumerate(types))
    return f"func.func @f({arguments}) {{ func.return }}\n"


def test_a_type_is_one_object_in_all_files() -> None:
    first, second = types_of(function("tensor<4x8xf32>", "tensor<4x8xf32>"))
    (third,) = types_of(function("tensor<4x8xf32>"))
    assert first is second is third


@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_an_alias_is_that_of_its_file(element: str) -> None:
    declared = f"!e = {element}\n!t = tensor<4x{element}>\n"
    inside, outside = types_of(declared + function("tensor<4x!e>", "!t"))
    assert inside == outside
    assert str(inside) == f"tensor<4x{element}>"
