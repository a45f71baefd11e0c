"""A word in capitals is as near to what was meant as one in small letters."""

from __future__ import annotations

import re

import pytest
from building import CONTEXT

from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.near import did_you_mean, nearest
from pyptoc.dialects.other_names import OTHER_NAMES
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.pypto import Pypto


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("EXP %x", "pypto.exp"),
        ("exp %X", "%x (op.mlir:1:14)"),
        ("sum %x AXIS 0", "axis"),
        ("sum %x axis 0 {KEEPDIM}", "keepdim"),
        ("cast %x to BF16", "bf16"),
        ("cast %x to f8e4m3fn", "f8E4M3FN"),
        ("cast %x to bf16 mode RINT", "rint"),
        ("exp %x {tile = #PYPTO.VEC<4>}", "#pypto.vec"),
        ("scalar SQRT(2.0) : f32", "sqrt"),
        ("index 4 FLOORDIV 2", "floordiv"),
    ],
)
def test_case_does_not_count(wrong: str, right: str) -> None:
    text = (
        f"func.func @f(%x: tensor<4xf32>) {{\n  %y = pypto.{wrong}\n  func.return\n}}"
    )
    with pytest.raises(CompileError) as failure:
        parse_module(text, "op.mlir", CONTEXT)
    (found,) = failure.value.diagnostics
    assert found.help == f"did you mean {right}?"


def test_the_name_is_given_as_it_is_known() -> None:
    assert nearest("m", ["K", "M"]) == "M"
    assert nearest("MM", ["mm", "Mm"]) == "mm"
    assert nearest("xyz", ["K", "M"]) is None
    assert did_you_mean("CUBE", ["cube", "vec"], "#") == "did you mean #cube?"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("slice %x[0]", "pypto.view"),
        ("multiply %x, %x", "pypto.mul"),
        ("max %x axis 0", "pypto.amax of an axis, pypto.maximum of two tensors"),
        ("return %x", "func.return"),
        ("zeros[4]", "pypto.full 0.0[..]"),
    ],
)
def test_names_of_other_libraries(wrong: str, right: str) -> None:
    assert help_of(f"%y = pypto.{wrong}") == f"did you mean {right}?"
    if not wrong.startswith("return"):  # which MLIR has
        assert help_of(f"%y = {wrong}") == f"did you mean {right}?"


def test_other_dialects_of_a_file_do_not_count() -> None:
    """Those are loaded when the file first names them."""
    loads = "%c = arith.constant 1 : i32\n  "
    assert help_of(f"{loads}%y = multiply %x, %x") == "did you mean pypto.mul?"


def test_a_dialect_makes_no_two_names_alike() -> None:
    assert help_of("%y = pypto.xyzzy %x") == ""


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_other_names_are_none_of_ours_but_name_some(name: str) -> None:
    known = {op.name for op in Pypto.operations} | {"func.func", "func.return"}
    assert f"pypto.{name}" not in known
    named = re.findall(r"\b(?:pypto|func)\.\w+", OTHER_NAMES[name])
    assert named
    assert set(named) <= known


def help_of(statement: str) -> str:
    text = f"func.func @f(%x: tensor<4xf32>) {{\n  {statement}\n  func.return\n}}"
    with pytest.raises(CompileError) as failure:
        parse_module(text, "op.mlir", CONTEXT)
    (found,) = failure.value.diagnostics
    return found.help
