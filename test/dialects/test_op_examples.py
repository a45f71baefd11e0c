"""The example in each op's docstring: it parses, types and prints as it stands."""

from __future__ import annotations

import re

import pytest

from pyptoc.dialects.context import make_context
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.pypto.composite import COMPOSITE_OPS
from pyptoc.dialects.pypto.elementwise import ELEMENTWISE_OPS
from pyptoc.dialects.pypto.indexing import INDEXING_OPS
from pyptoc.dialects.pypto.matmul import MATMUL_OPS
from pyptoc.dialects.pypto.reduce import REDUCE_OPS

OPS = (
    *ELEMENTWISE_OPS,
    *REDUCE_OPS,
    *MATMUL_OPS,
    *COMPOSITE_OPS,
    *INDEXING_OPS,
)
UNTYPED = {"pypto.mask_causal": {"%r": "index"}}
"""Operands whose type an op's text leaves out."""


def example_of(kind) -> str:
    """What follows `Example:` in the docstring, on one line."""
    _, found, text = kind.__doc__.partition("Example:")
    assert found, f"{kind.name} has no example"
    return " ".join(text.split())


def in_function(kind, text: str) -> str:
    """The example as the body of a function that has its operands as arguments."""
    body, _, clause = text.partition(" : ")
    body = body.partition(f"{kind.name} ")[2]
    names = dict.fromkeys(re.findall(r"%\w+", body))
    types = iter(re.findall(r"tensor<[^>]*>", clause.partition("->")[0]))
    untyped = UNTYPED.get(kind.name, {})
    arguments = [f"{name}: {untyped.get(name) or next(types)}" for name in names]
    return f"func.func @f({', '.join(arguments)}) {{\n  {text}\n  func.return\n}}\n"


@pytest.mark.parametrize("kind", OPS, ids=lambda kind: kind.name)
def test_example(kind):
    text = example_of(kind)
    module = parse_module(in_function(kind, text), "example.mlir", make_context())
    module.verify()
    assert f"    {text}\n" in str(module)
    assert not kind.__doc__.startswith(("Example", "\n"))


@pytest.mark.parametrize("kind", OPS, ids=lambda kind: kind.name)
def test_types_may_be_left_out(kind):
    text = example_of(kind)
    short = text.partition(" : ")[0]
    source = in_function(kind, text).replace(text, short)
    module = parse_module(source, "example.mlir", make_context())
    assert f"    {text}\n" in str(module)
