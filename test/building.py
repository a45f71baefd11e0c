"""Building single operations in tests: types from short text, ops on plain values."""

from __future__ import annotations

from functools import cache

import pytest
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.utils.test_value import create_ssa_value

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.npu_attrs import MaxAttr

FLOATS = ("f32", "f16", "bf16")
F8 = ("f8E4M3FN", "f8E5M2", "f8E8M0FNU")
SIGNED = ("i8", "i16", "i32", "i64")
INTEGERS = (*SIGNED, "ui8")
ALL = (*FLOATS, *F8, *INTEGERS, "i1")
"""Every element type of the language."""

CONTEXT = make_context()


@cache
def parse(text: str) -> Attribute:
    """`?x4xf32` (a tensor), `f32`, `index`."""
    is_scalar = text in (*ALL, "f64", "index")
    text = text if is_scalar else f"tensor<{text}>"
    return Parser(CONTEXT, text).parse_attribute()


@cache
def tensor(shape: str, element: str, bounds: str = "") -> Attribute:
    """`tensor("?x4x", "f32", "16, 4")`: the last are the bounds of the sizes."""
    plain = Parser(CONTEXT, f"tensor<{shape}{element}>").parse_attribute()
    assert isinstance(plain, TensorType)
    if not bounds:
        return plain
    sizes = MaxAttr([int(bound) for bound in bounds.split(", ")])
    return TensorType(plain.element_type, plain.get_shape(), sizes)


def value(type: Attribute | str) -> SSAValue:
    """An SSA value that nothing defines."""
    return create_ssa_value(parse(type) if isinstance(type, str) else type)


def made(kind, *args, **fields) -> tuple[Attribute, ...]:
    """The result types of an op, which must also pass its own verifier."""
    op = kind.make(*args, **fields)
    op.verify_()
    return tuple(result.type for result in op.results)


def code_of(kind, *args, **fields) -> str:
    """The code of the error that building the op raises."""
    with pytest.raises(CompileError) as failure:
        kind.make(*args, **fields)
    (diagnostic,) = failure.value.diagnostics
    return diagnostic.code
