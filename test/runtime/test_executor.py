"""The executor on a matmul written by hand at three levels, and its run-time checks."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError, RunError
from pyptoc.dialects.parsing import parse_module
from pyptoc.runtime.executor import Executable
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.run import run

FOLDER = Path(__file__).parent / "handwritten"
MACHINE = load_machine("ascend950")
SIZES = [
    (1, 1, 1),
    (15, 16, 17),
    (16, 17, 15),
    (17, 15, 16),
    (64, 64, 128),
    (65, 63, 129),
    (100, 300, 100),
    (300, 100, 300),
    (1, 300, 257),
    (64, 128, 0),
    (0, 16, 16),
]
ORDERS = range(8)


def parse(text: str) -> ModuleOp:
    module = parse_module(text, "test.mlir", make_context())
    module.verify()
    return module


def source(level: str) -> str:
    return (FOLDER / f"matmul_{level}.mlir").read_text()


@cache
def executable(level: str, **options: bool) -> Executable:
    return Executable(parse(source(level)), MACHINE, **options)


def operands(m: int, n: int, k: int, seed: int = 0) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    a = generator.uniform(-1, 1, (m, k)).astype(np.float16)
    b = generator.uniform(-1, 1, (k, n)).astype(np.float16)
    return {"a": a, "b": b}


def check(results: dict[str, Any], inputs: dict[str, Any]) -> None:
    want = inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)
    got = results["c"]
    assert got.dtype == np.float32
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


# The matmul --------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
@pytest.mark.parametrize("level", ["tasks", "kernel", "program"])
def test_matmul(level: str, m: int, n: int, k: int) -> None:
    inputs = operands(m, n, k)
    check(run(parse(source(level)), MACHINE, inputs), inputs)


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("poison", [True, False])
@pytest.mark.parametrize("level", ["kernel", "program"])
def test_settings(level: str, fuse: bool, poison: bool) -> None:
    program = executable(level, fuse=fuse, check=poison)
    for m, n, k in SIZES:
        inputs = operands(m, n, k)
        check(program.run(inputs), inputs)


@pytest.mark.parametrize("seed", ORDERS)
@pytest.mark.parametrize(("m", "n", "k"), [(65, 63, 129), (100, 30, 300), (1, 1, 0)])
def test_any_order_of_the_pipes(m: int, n: int, k: int, seed: int) -> None:
    inputs = operands(m, n, k)
    check(executable("program").run(inputs, order=seed), inputs)


FLAGS = ["mte2 -> mte1", "mte1 -> mte2", "mte1 -> m", "m -> mte1", "m -> fix"]


@pytest.mark.parametrize("pair", FLAGS)
def test_each_flag_is_needed(pair: str) -> None:
    """Without one of the flags some order is wrong: in value, or in other flags."""
    lines = rf"(?m)^ *tile\.(set|wait)_flag \[{pair}, .*\n"
    text = re.sub(lines, "", source("program"))
    assert text != source("program")
    program = Executable(parse(text), MACHINE)
    inputs = operands(100, 70, 400)
    want = inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)
    check(program.run(inputs), inputs)

    def is_wrong(seed: int) -> bool:
        try:
            got = program.run(inputs, order=seed)["c"]
        except RunError:
            return True
        return not np.allclose(got, want, atol=1e-3)

    assert any(map(is_wrong, ORDERS))


def one_line_less(text: str, pattern: str) -> str:
    changed, count = re.subn(rf"(?m)^ *{pattern}\n", "", text, count=1)
    assert count == 1
    return changed


@pytest.mark.parametrize(
    ("pattern", "code", "message"),
    [
        (
            r"tile\.set_flag \[mte2 -> mte1, %s\]",
            "PTO410",
            r"deadlock: pipe mte1 waits for flag \[mte2 -> mte1, 0\], which nothing",
        ),
        (
            r"tile\.wait_flag \[mte1 -> m, %s0\]",
            "PTO411",
            r"flag \[.*, [01]\] is set again before anything waited for it",
        ),
        (
            r"tile\.wait_flag \[m -> fix, 0\]",
            "PTO412",
            r"flag \[m -> fix, 0\] is set at the end of the task",
        ),
    ],
)
def test_flag_errors(pattern: str, code: str, message: str) -> None:
    text = one_line_less(source("program"), pattern)
    module = parse_module(text, "test.mlir", make_context())
    program = Executable(module, MACHINE)
    found: dict[str, Any] = {}
    for seed in ORDERS:
        with pytest.raises(RunError) as caught:
            program.run(operands(64, 64, 300), order=seed)
        (diagnostic,) = caught.value.diagnostics
        assert str(diagnostic).startswith("test.mlir:")
        assert "in task (%i = 0, %j = 0) of @mm" in diagnostic.notes[-1].message
        found[diagnostic.code] = diagnostic
    assert re.match(message, found[code].message)


def test_overlapping_buffers_spoil_each_other() -> None:
    """Addresses are real: B on top of A in L1 gives another result."""
    text = source("program").replace("addr = 32768", "addr = 4096")
    inputs = operands(64, 64, 128)
    want = inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32)
    got = Executable(parse(text), MACHINE).run(inputs)["c"]
    assert not np.allclose(got, want, atol=1e-2)


def test_buffer_beyond_the_space() -> None:
    text = source("program").replace("addr = 32768", "addr = 520192")
    with pytest.raises(CompileError, match="ends at byte 552960 of l1, which has 5242"):
        Executable(parse(text), MACHINE).run(operands(1, 1, 1))


# Orchestration -----------------------------------------------------------------------

ROWS = """
func.func @f(%x: memref<?x8xf32, "gm"> {{pypto.name = "x"}},
    %g: memref<?xi64, "gm"> {{pypto.name = "g"}},
    %lr: f32 {{pypto.name = "lr", pypto.default = 2.0 : f32}})
    -> ({result} {{pypto.name = "{name}"}}) {{
  {body}
}}
npu.kernel @scale (%i) (%x: memref<?x8xf32, "gm">, %y: memref<?x8xf32, "gm">,
    %begin: index, %s: f32) on vector {{
  %a = tile.alloc : !tile.buf<1x8xf32, ub>
  %r = pypto.index %begin + %i
  tile.load %x[%r, 0] [1, 8] into %a
  tile.mul %a, %s into %a [1, 8]
  tile.store %a [1, 8] into %y[%r, 0]
}}
"""
GROUPS = """
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = pypto.dim %x, 0
  %e = pypto.dim %g, 0
  %y = npu.alloc[%m, 8] : memref<?x8xf32, "gm">
  %none = npu.no_events
  %end, %t = scf.for %k = %zero to %e step %one
      iter_args(%begin = %zero, %w = %none) -> (index, !npu.events) {
    %n = npu.read %g[%k] : memref<?xi64, "gm"> -> index
    pypto.assert %n >= 0, "group {0} is negative"
    %t0 = npu.launch @scale[%n] (%x, %y, %begin, %lr) after(%w)
    %next = pypto.index %begin + %n
    scf.yield %next, %t0 : index, !npu.events
  }
  func.return %y : memref<?x8xf32, "gm">
"""
MEMREF = 'memref<?x8xf32, "gm">'


def rows(body: str, name: str = "y", result: str = MEMREF) -> Executable:
    text = ROWS.format(body=body, name=name, result=result)
    return Executable(parse(text), MACHINE)


X = np.arange(40, dtype=np.float32).reshape(5, 8)


def test_loop_of_launches_with_a_carried_offset() -> None:
    program = rows(GROUPS)
    for groups in ([2, 3], [5], [0, 5, 0]):
        given = {"x": X, "g": np.array(groups, np.int64)}
        assert np.array_equal(program.run(given)["y"], 2 * X)
        assert np.array_equal(program.run({**given, "lr": 0.5})["y"], X / 2)


def failure(program: Executable, **inputs: Any) -> Any:
    with pytest.raises(RunError) as caught:
        program.run(inputs)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.at_run_time
    assert diagnostic.location is not None
    return diagnostic


def test_numpy_is_as_it_was_before() -> None:
    """After a run, and after one that fails."""
    before = np.geterr(), np.getbufsize()
    failure(rows(GROUPS), x=X, g=np.array([2, 1], np.int64))
    assert (np.geterr(), np.getbufsize()) == before
    rows(GROUPS).run({"x": X, "g": np.array([2, 3], np.int64)})
    assert (np.geterr(), np.getbufsize()) == before


def test_unwritten_result() -> None:
    found = failure(rows(GROUPS), x=X, g=np.array([2, 1], np.int64))
    assert found.code == "PTO405"
    assert found.message == (
        'result "y" has 16 elements that no store wrote: rows 3 to 4, columns 0 to 7'
    )


def test_store_out_of_bounds() -> None:
    found = failure(rows(GROUPS), x=X, g=np.array([2, 4], np.int64))
    assert found.code == "PTO402"
    assert found.message == "load of %x rows 5 +: 1 ends at 6, %x has 5 rows"
    assert found.notes[0].message == "in task (%i = 3) of @scale"
    assert found.notes[1].message == "in loop (%k = 1)"


def test_assertion() -> None:
    found = failure(rows(GROUPS), x=X, g=np.array([2, -1], np.int64))
    assert found.code == "PTO401"
    assert found.message == "group -1 is negative"
    assert found.rule == "%n >= 0"
    assert found.here == "%n = -1"
    assert found.notes[0].message == "in loop (%k = 1)"


def test_read_out_of_range() -> None:
    body = GROUPS.replace("%g[%k]", "%g[%e]")
    found = failure(rows(body), x=X, g=np.array([2, 3], np.int64))
    assert found.code == "PTO402"
    assert "read of %g[2]: index 2 of dimension 0, %g has 2 there" in found.message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "%bad = npu.launch @scale[%less] (%x, %y, %begin, %lr)",
            "a launch of grid [-1]",
        ),
        (
            '%bad = npu.alloc[%less] : memref<?xf32, "gm">',
            "an allocation of sizes [-1]",
        ),
    ],
)
def test_negative_sizes(line: str, message: str) -> None:
    less = "%less = pypto.index %begin - 1"
    body = GROUPS.replace("%t0 =", f"{less}\n{line}\n%t0 =")
    found = failure(rows(body), x=X, g=np.array([2, 3], np.int64))
    assert found.code == "PTO402"
    assert found.message == message


def test_integer_overflow() -> None:
    body = GROUPS.replace("%begin + %n", "%n * 4611686018427387904")
    found = failure(rows(body), x=X, g=np.array([2, 3], np.int64))
    assert found.code == "PTO403"
    assert found.message == "9223372036854775808 does not fit in 64 bits"


def test_division_by_zero() -> None:
    body = GROUPS.replace("%begin + %n", "%begin + %n floordiv %begin")
    found = failure(rows(body), x=X, g=np.array([2, 3], np.int64))
    assert found.code == "PTO403"
    assert found.message == "division by zero"
    assert found.notes[0].message == "in loop (%k = 0)"


def test_workspace_is_not_zero() -> None:
    """What no task wrote reads as NaN, so that relying on zeros is seen."""
    body = """
  %m = pypto.dim %x, 0
  %w = npu.alloc[%m, 8] : memref<?x8xf32, "gm">
  %y = npu.alloc[%m, 8] : memref<?x8xf32, "gm">
  %zero = arith.constant 0 : index
  %t = npu.launch @scale[%m] (%w, %y, %zero, %lr)
  func.return %y : memref<?x8xf32, "gm">
"""
    assert np.isnan(rows(body).run({"x": X, "g": np.zeros(1, np.int64)})["y"]).all()


IN_PLACE = """
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %flat = npu.reshape %x[%two, 8] : memref<?x8xf32, "gm"> -> memref<?x8xf32, "gm">
  %t = npu.launch @scale[2] (%flat, %flat, %zero, %lr)
  func.return %x : memref<?x8xf32, "gm">
"""


def test_in_place_result_leaves_the_input_alone() -> None:
    given = X[:2].copy()
    program = rows(IN_PLACE, "x")
    got = program.run({"x": given, "g": np.zeros(1, np.int64)})["x"]
    assert np.array_equal(got, 2 * X[:2])
    assert np.array_equal(given, X[:2])
    found = failure(program, x=X, g=np.zeros(1, np.int64))
    assert found.code == "PTO402"
    assert "[5, 8] reshaped to [2, 8]" in found.message


def test_returned_argument_is_a_copy() -> None:
    body = 'func.return %x : memref<?x8xf32, "gm">'
    got = rows(body, "x").run({"x": X, "g": np.zeros(1, np.int64)})["x"]
    assert np.array_equal(got, X)
    assert not np.may_share_memory(got, X)


def test_scalars() -> None:
    body = """
  %s = pypto.scalar sqrt(%lr * 8.0) - 1.0 : f32
  %m = pypto.dim %x, 0
  %y = npu.alloc[%m, 8] : memref<?x8xf32, "gm">
  %zero = arith.constant 0 : index
  %more = pypto.index %m > 3
  %scale = scf.if %more -> (f32) {
    scf.yield %s : f32
  } else {
    scf.yield %lr : f32
  }
  %t = npu.launch @scale[%m] (%x, %y, %zero, %scale)
  func.return %y : memref<?x8xf32, "gm">
"""
    program = rows(body)
    g = np.zeros(1, np.int64)
    assert np.array_equal(program.run({"x": X, "g": g})["y"], 3 * X)
    assert np.array_equal(program.run({"x": X[:2], "g": g})["y"], 2 * X[:2])


def test_inputs() -> None:
    program = rows(GROUPS)
    g = np.array([5], np.int64)
    bits = X.view(np.uint32)
    assert np.array_equal(program.run({"x": bits, "g": g})["y"], 2 * X)
    fortran = np.asfortranarray(X)
    assert np.array_equal(program.run({"x": fortran, "g": g})["y"], 2 * X)
    for wrong in (
        {"g": g},
        {"x": X.astype(np.float64), "g": g},
        {"x": X[:, :7], "g": g},
    ):
        with pytest.raises(CompileError, match="PTO501"):
            program.run({**wrong, "g": g})
