"""Broken copies of the operator files end in an error with its place, or compile."""

from __future__ import annotations

from random import Random

import pytest
from bad_input import TEXTS, mutant, problem

FILES = 20
"""`make fuzz` tries 2,000."""


@pytest.mark.parametrize("part", range(4))
def test_broken_files(part: int) -> None:
    names = list(TEXTS)
    for number in range(part, FILES, 4):
        random = Random(number)
        name = random.choice(names)
        _, wrong = problem(mutant(random, TEXTS[name]))
        assert not wrong, f"{name}, {number}"


SEEN = {
    "pieces without end": ("flash_attention", "step 512)", "step 9223372036854775807)"),
    "a name without its point": ("mla_prolog_quant", "#pypto.tol<", "#pyptotol<"),
}


@pytest.mark.parametrize("kind", SEEN)
def test_what_ended_badly_once(kind: str) -> None:
    name, old, new = SEEN[kind]
    assert old in TEXTS[name]
    assert problem(TEXTS[name].replace(old, new).encode())[1] == ""


def test_arguments_without_names() -> None:
    text = "func.func @f(tensor<4xf32>, i32) {\n  func.return\n}\n"
    assert problem(text.encode()) == (1, "")
    assert problem(text.replace("{\n  func.return\n}", "").encode())[1] == ""


def test_what_is_tried_is_told_apart() -> None:
    text = "func.func @f() {\n  func.return\n}\n"
    assert problem(text.encode()) == (0, "")
    assert problem(b"func.func @f() {\n  func.retur\n}\n") == (1, "")
    assert problem(b"\xff")[0] == 1
