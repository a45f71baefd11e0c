"""The first instruction that makes a NaN or infinity, and the first that saturates."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

import pyptoc
from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.runtime.hazards_run import CheckedExecutable

Kind = Literal["nan", "overflow"]
X = np.linspace(-1.0, 1.0, 16 * 64, dtype=np.float32).reshape(16, 64)


def program(body: str, result: str = "f32") -> pyptoc.Program:
    return pyptoc.compile(
        f"func.func @f(%x: tensor<16x64xf32>) -> tensor<16x64x{result}> {{\n{body}\n"
        f"  func.return %y : tensor<16x64x{result}>\n}}\n"
    )


def run(made: pyptoc.Program, kind: Kind, x: Any = X) -> None:
    made.run(check=kind, x=x)


def problem(made: pyptoc.Program, kind: Kind) -> Diagnostic:
    with pytest.raises(RunError) as found:
        run(made, kind)
    (one,) = found.value.diagnostics
    return one


def test_the_first_that_makes_a_nan_is_named() -> None:
    body = "%a = pypto.add %x, 0.5\n  %s = pypto.sqrt %a\n  %y = pypto.neg %s"
    found = problem(program(body), "nan")
    assert found.code == "PTO427"
    assert "tile.sqrt makes nan at [0, 0]" in found.message
    assert ":3:" in found.headline
    run(program(body), "nan", np.abs(X))


def test_what_comes_in_is_not_its_fault() -> None:
    run(program("%y = pypto.neg %x"), "nan", np.full_like(X, np.nan))


def test_infinities_that_are_meant() -> None:
    run(program("%c = pypto.gt %x, 0.0\n %y = pypto.where %c, %x, -inf"), "nan")
    run(program("%y = pypto.softmax %x axis -1"), "nan")


@pytest.mark.parametrize("kind", ["i8", "f8E4M3FN"])
def test_a_cast_that_saturates(kind: str) -> None:
    factor = {"i8": 200.0, "f8E4M3FN": 500.0}[kind]
    body = f"%a = pypto.mul %x, {factor}\n  %y = pypto.cast %a to {kind}"
    assert problem(program(body, kind), "overflow").code == "PTO428"
    run(program(body, kind), "overflow", X / 2)
    run(program(body, kind), "nan")


def test_attention_makes_no_infinity_of_its_own() -> None:
    from mutants import compiled

    base = compiled("flash attention")
    for kind in ("nan", "overflow"):
        made = CheckedExecutable(base.program.module, base.program.machine, kind)
        made.run(base.inputs)
