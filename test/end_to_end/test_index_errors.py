"""Indexing ops: the order of their tasks, and what must stop a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from end_to_end.indexing_cases import (
    MACHINES,
    Inputs,
    failing_inputs,
    same,
    whole_program,
)
from task_order import record

from pyptoc.api import compile
from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError, RunError
from pyptoc.dialects.parsing import parse_module
from pyptoc.pipeline_text import default_pipeline
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.reference import interpret

CHAINS = {
    "scatter": """%a = pypto.scatter_rows %r into %x at %i
  %b = pypto.scatter_rows %s into %a at %i {unique}
  %y = pypto.gather_rows %b at %i""",
    "add": """%a = pypto.index_add %r into %x at %i axis 0
  %b = pypto.index_add %s into %a at %i axis 0
  %y = pypto.index_select %b at %i axis 1""",
    "page": """%a = pypto.mul %x, 2.0
  %b = pypto.gather_rows %a at %i through %t page 4
  %u = pypto.add %t, 0
  %c = pypto.gather_rows %b at %i through %u page 4
  %y = pypto.index_add %c into %b at %i axis 0""",
    "put": """%a = pypto.scatter %r into %x at %o axis 0 {add}
  %b = pypto.index_put %one into %a at %i, %i
  %y = pypto.gather %b, %o axis 0""",
    "top": """%a = pypto.mul %x, 2.0
  %v, %k = pypto.topk %a k 12 axis -1
  %p = pypto.gather %a, %k axis -1
  %h = pypto.one_hot %k 24
  %z = pypto.where %h, %a, 0.0
  %w, %l = pypto.topk %z k 12 axis -1
  %m = pypto.add %p, %v
  %y = pypto.add %m, %w""",
}


@pytest.mark.parametrize("name", CHAINS)
def test_tasks_wait_for_what_they_touch(name: str) -> None:
    """No two tasks that may meet are without an order, and none does what it hides."""
    inputs = failing_inputs()
    inputs["s"] = inputs["r"][::-1].copy()
    inputs["i"] = np.arange(20, dtype=np.int32)
    inputs["r"], inputs["s"] = inputs["r"][:20], inputs["s"][:20]
    kind = "tensor<?x12xf32>" if name == "top" else "tensor<?x?xf32>"
    inputs["one"], inputs["o"] = inputs["one"][:20], inputs["o"][:20]
    small = "attributes {pypto.tiles = #pypto.tiles<vec = [8, 8]>}"
    text = whole_program(CHAINS[name], inputs, kind, small)
    module = compile(text).module
    order, _ = record(module, load_machine("ascend950"), inputs)
    assert len(order.launches) >= 3
    assert order.problems() == []
    assert order.undeclared() == []


ERRORS: list[tuple[str, str, Callable[[Inputs], None], str, str]] = [
    (
        "gather_rows",
        "%y = pypto.gather_rows %x at %i",
        lambda v: v["i"].__setitem__(67, 20),
        "gather_rows: index 20 at position 67 of %i",
        "valid indices are 0 to 19",
    ),
    (
        "negative",
        "%y = pypto.gather_rows %x at %i",
        lambda v: v["i"].__setitem__(3, -1),
        "gather_rows: index -1 at position 3 of %i",
        "valid indices are 0 to 19",
    ),
    (
        "page",
        "%y = pypto.gather_rows %x at %i through %t page 4",
        lambda v: v["t"].__setitem__(2, 5),
        "is in page 5",
        "pages are 0 to 4",
    ),
    (
        "table",
        "%y = pypto.gather_rows %x at %i through %t page 4",
        lambda v: v["i"].__setitem__(66, 24),
        "gather_rows: index 24 at position 66 of %i",
        "valid indices are 0 to 23",
    ),
    (
        "gather",
        "%y = pypto.gather %x, %g axis 0",
        lambda v: v["g"].__setitem__((65, 5), 20),
        "gather: index 20 at position [65, 5] of %g",
        "valid indices are 0 to 19",
    ),
    (
        "index_select",
        "%y = pypto.index_select %x at %i axis 1",
        lambda v: v["i"].__setitem__(69, 24),
        "index_select: index 24 at position 69 of %i",
        "valid indices are 0 to 23",
    ),
    (
        "scatter_rows",
        "%y = pypto.scatter_rows %r into %x at %i {skip = -2}",
        lambda v: v["i"].__setitem__(68, -1),
        "scatter_rows: index -1 at position 68 of %i",
        "valid indices are 0 to 19",
    ),
    (
        "scatter",
        "%y = pypto.scatter %r into %dest at %g axis 0",
        lambda v: v["g"].__setitem__((66, 3), -1),
        "scatter: index -1 at position [66, 3] of %g",
        "valid indices are 0 to 19",
    ),
    (
        "index_put",
        "%y = pypto.index_put %one into %x at %i, %j {accumulate}",
        lambda v: v["j"].__setitem__(68, 24),
        "index_put: index 24 at position 68 of %j",
        "valid indices are 0 to 23",
    ),
    (
        "index_add",
        "%y = pypto.index_add %r into %x at %i axis 0",
        lambda v: v["i"].__setitem__(0, 2**31 - 1),
        "index_add: index 2147483647 at position 0 of %i",
        "valid indices are 0 to 19",
    ),
]


@pytest.mark.parametrize("level", ["source", "tasks", *MACHINES])
@pytest.mark.parametrize(
    ("body", "spoil", "message", "rule"),
    [case[1:] for case in ERRORS],
    ids=[case[0] for case in ERRORS],
)
def test_illegal_index(
    level: str,
    body: str,
    spoil: Callable[[Inputs], None],
    message: str,
    rule: str,
) -> None:
    """PTO408 at the op, with the index, its position and what would be legal."""
    inputs = failing_inputs()
    if level == "source":
        inputs["x"] = inputs["x"].copy()
    text = whole_program(body, inputs)
    run_at(level, text, inputs)
    spoil(inputs)
    (found,) = failure_of(level, text, inputs)
    assert found.code == "PTO408"
    assert message in found.message
    assert found.rule == rule
    assert found.location is not None
    assert found.location.line.data == 2  # pyright: ignore


def run_at(level: str, text: str, inputs: Inputs) -> Any:
    if level == "source":
        return interpret(parse_module(text, "op.mlir", make_context()), inputs)
    if level == "tasks":
        tasks = compile(text, pipeline=default_pipeline("tasks"))
        return interpret(tasks.module, inputs)
    return compile(text, machine=level).run(**inputs)


def failure_of(level: str, text: str, inputs: Inputs) -> tuple[Any, ...]:
    with pytest.raises(RunError) as failure:
        run_at(level, text, inputs)
    return failure.value.diagnostics


@pytest.mark.parametrize("level", ["source", "tasks", *MACHINES])
def test_unique(level: str) -> None:
    inputs = failing_inputs()
    inputs["i"] = np.arange(70, dtype=np.int32) % 20
    inputs["x"] = np.zeros((70, 24), np.float32)
    text = whole_program("%y = pypto.scatter_rows %r into %x at %i {unique}", inputs)
    (found,) = failure_of(level, text, inputs)
    assert found.code == "PTO408"
    inputs["i"] = np.arange(70, dtype=np.int32)[::-1].copy()
    assert same(run_at(level, text, inputs)["result0"], inputs["r"][::-1])


@pytest.mark.parametrize("level", ["source", "tasks", *MACHINES])
def test_topk_of_too_few(level: str) -> None:
    inputs = {"x": np.zeros((3, 5), np.float32), "n": np.array([4, 5, 3], np.int32)}
    for clause, k in (("", 6), (" lengths %n", 4)):
        body = f"%v, %y = pypto.topk %x k {k} axis -1{clause}"
        text = whole_program(body, inputs, f"tensor<?x{k}xi32>")
        (found,) = failure_of(level, text, inputs)
        assert found.code in ("PTO404", "PTO402"), found
        assert found.location is not None


@pytest.mark.parametrize("level", ["source", "tasks", *MACHINES])
def test_argmax_of_no_elements(level: str) -> None:
    for name, shape in (("argmax", (3, 0)), ("argmin", (0, 0))):
        inputs = {"x": np.zeros(shape, np.float32)}
        text = whole_program(f"%y = pypto.{name} %x axis -1", inputs, "tensor<?xi32>")
        (found,) = failure_of(level, text, inputs)
        assert (found.code, found.message) == ("PTO404", f"{name} of no elements")


def test_topk_of_too_few_is_known_when_compiling() -> None:
    text = """func.func @f(%x: tensor<3x5xf32>) -> tensor<3x6xi32> {
  %v, %i = pypto.topk %x k 6 axis -1
  func.return %i : tensor<3x6xi32>
}
"""
    with pytest.raises(CompileError):
        compile(text)
