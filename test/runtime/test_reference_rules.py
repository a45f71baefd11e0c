"""What the reference interpreter refuses, and tasks and memory in their two forms."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import failure, run

from pyptoc.dialects.diagnostics import CompileError
from pyptoc.runtime.reference_core import HANDLERS


def place(diagnostic):
    return diagnostic.location.line.data, diagnostic.location.column.data


X = np.arange(24, dtype=np.float32).reshape(4, 6) + 1

# Bounds.

VIEW = """
func.func @f(%x: tensor<?x?xf32>, %at: tensor<2xi32>) -> tensor<?x?xf32> {
  %o = pypto.read %at[0]
  %n = pypto.read %at[1]
  %r = pypto.view %x[%o +: %n, :]
  func.return %r : tensor<?x?xf32>
}
"""


@pytest.mark.parametrize("box", [(0, 4), (4, 0), (1, 2)])
def test_views_inside(box):
    got = run(VIEW, x=X, at=np.array(box, np.int32))["result0"]
    assert (got == X[box[0] : box[0] + box[1]]).all()
    assert got.shape == (box[1], 6)


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ((3, 2), "view of %x rows 3 +: 2 ends at 5, %x has 4 rows"),
        ((-1, 2), "view of %x rows -1 +: 2 begins before 0"),
        ((1, -1), "view of %x rows 1 +: -1 has a negative size"),
    ],
)
def test_views_outside(box, message):
    diagnostic = failure(VIEW, x=X, at=np.array(box, np.int32))
    assert diagnostic.code == "PTO402"
    assert diagnostic.message == message
    assert place(diagnostic)[0] == 5
    assert f"%o = {box[0]} (read from %at[0], t.mlir:3:" in diagnostic.label


def test_reads_outside():
    text = """
    func.func @f(%x: tensor<?xi32>, %i: index) -> index {
      %r = pypto.read %x[%i]
      func.return %r : index
    }"""
    x = np.array([5, -3], np.int32)
    assert int(run(text, x=x, i=1)["result0"]) == -3
    for i in (-1, 2):
        assert failure(text, x=x, i=i).code == "PTO402"


# Elements that were never written.

EMPTY = """
func.func @f(%x: tensor<?x6xf32>, %n: index) -> (tensor<?x6xf32> {pypto.name = "out"}) {
  %m = pypto.dim %x, 0
  %e = pypto.empty[%m, 6] : tensor<?x6xf32>
  %v = pypto.view %x[0 +: %n, :]
  %r = pypto.assemble %v into %e[0, 0]
  func.return %r : tensor<?x6xf32>
}
"""


def test_fully_written_results():
    assert (run(EMPTY, x=X, n=4)["out"] == X).all()


def test_results_that_were_not_fully_written():
    diagnostic = failure(EMPTY, x=X, n=3)
    assert diagnostic.code == "PTO405"
    assert diagnostic.message == (
        'result "out" has 6 elements that no store wrote: rows 3 to 3, columns 0 to 5'
    )
    notes = [note.message for note in diagnostic.notes]
    assert notes[0] == "%e = pypto.empty is uninitialised"
    assert "rows 0 +: 3" in notes[1]
    assert place(diagnostic)[0] == 7


def test_unwritten_elements_are_followed_through_shapes():
    text = """
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %e = pypto.empty[2, 3] : tensor<2x3xf32>
      %c = pypto.reshape %x[2, 1]
      %a = pypto.assemble %c into %e[0, 1]
      %t = pypto.transpose %a perm [1, 0]
      %f = pypto.reshape %t[6]
      %v = pypto.view %f[BEGIN +: 2]
      %r = pypto.add %v, 1.0
      func.return %r : tensor<2xf32>
    }"""
    x = np.array([3, 4], np.float32)
    assert run(text.replace("BEGIN", "2"), x=x)["result0"].tolist() == [4, 5]
    diagnostic = failure(text.replace("BEGIN", "3"), x=x)
    assert diagnostic.code == "PTO405"
    assert diagnostic.message == (
        "%v has 1 element that no store wrote: elements 1 to 1"
    )


def test_assemble_does_not_change_its_destination():
    text = """
    func.func @f(%x: tensor<1x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
      %z = pypto.full 0.0[4, 6] : tensor<4x6xf32>
      %a = pypto.assemble %x into %z[1, 0]
      %b = pypto.assemble %x into %a[2, 0]
      func.return %a, %b : tensor<4x6xf32>, tensor<4x6xf32>
    }"""
    results = run(text, x=X[:1])
    assert results["result0"].any(axis=1).tolist() == [False, True, False, False]
    assert results["result1"].any(axis=1).tolist() == [False, True, True, False]


def test_loops_that_carry_a_destination_twice():
    """The same tensor under two names: writing one must not write the other."""
    text = """
    func.func @f(%x: tensor<1xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
      %z = pypto.full 0.0[3] : tensor<3xf32>
      %a, %b = pypto.for (%i = 0 to 3 step 1) iter(%p = %z, %q = %z) {
        %s = pypto.assemble %x into %p[%i]
        pypto.yield %s, %s
      }
      %c = pypto.assemble %x into %a[0]
      %d = pypto.mul %x, 2.0
      %e = pypto.assemble %d into %b[0]
      func.return %c, %e : tensor<3xf32>, tensor<3xf32>
    }"""
    results = run(text, x=np.array([5], np.float32))
    assert results["result0"].tolist() == [5, 5, 5]
    assert results["result1"].tolist() == [10, 5, 5]


def test_a_destination_outside_of_a_loop_starts_anew():
    text = """
    func.func @f(%x: tensor<1xf32>, %r0: tensor<3xf32>) -> tensor<3xf32> {
      %z = pypto.full 0.0[3] : tensor<3xf32>
      %r = pypto.for (%i = 0 to 3 step 1) iter(%p = %r0) {
        %s = pypto.assemble %x into %z[%i]
        pypto.yield %s
      }
      func.return %r : tensor<3xf32>
    }"""
    x, start = np.array([5], np.float32), np.ones(3, np.float32)
    assert run(text, x=x, r0=start)["result0"].tolist() == [0, 0, 5]


# Foralls.

FORALL = """
func.func @f(%x: tensor<4x6xf32>, %step: index) -> tensor<4x6xf32> {
  %e = pypto.empty[4, 6] : tensor<4x6xf32>
  %r = pypto.forall (%i +: %n = 0 to 4 step %step, %j = 0 to 6 step 3) outs(%o = %e) {
    %t = pypto.view %x[%i +: %n, %j +: 3]
    pypto.store %t into %o[%i, AT]
  }
  func.return %r : tensor<4x6xf32>
}
"""


@pytest.mark.parametrize("step", [1, 3, 4])
def test_forall_with_tails(step):
    got = run(FORALL.replace("AT", "%j"), x=X, step=step)["result0"]
    assert (got == X).all()


def test_two_iterations_that_store_the_same():
    diagnostic = failure(FORALL.replace("AT", "2"), x=X, step=3)
    assert diagnostic.code == "PTO406"
    assert "(%i = 0, %j = 0) and (%i = 0, %j = 3)" in diagnostic.message
    assert place(diagnostic)[0] == 6


NESTED = """
func.func @f(%x: tensor<6xf32>) -> tensor<2x6xf32> {
  %e = pypto.full 0.0[2, 6] : tensor<2x6xf32>
  %r = pypto.forall (%b = 0 to 2) outs(%o = %e) {
    pypto.store %x into %o[%b, 0]
    pypto.forall (%j = 0 to 6) {
      %v = pypto.view %x[%j +: 1]
      %w = pypto.mul %v, 2.0
      %even = pypto.index %j mod 2 == 0
      scf.if %even {
        pypto.store %w into %o[%b, AT]
      }
    }
  }
  func.return %r : tensor<2x6xf32>
}
"""


def test_inner_foralls_store_into_outer_destinations():
    x = X[0]
    got = run(NESTED.replace("AT", "%j"), x=x)["result0"]
    expected = np.where(np.arange(6) % 2 == 0, 2 * x, x)
    assert (got == [expected, expected]).all()
    diagnostic = failure(NESTED.replace("AT", "0"), x=x)
    assert "(%j = 0) and (%j = 2)" in diagnostic.message
    assert "in forall (%b = 0), in forall (%j = 2)" in diagnostic.label


# Asserts and arithmetic.

ASSERT = """
func.func @f(%x: tensor<?x6xf32>, %n: index) -> tensor<?x6xf32> {
  %m = pypto.dim %x, 0
  pypto.assert %n * 2 == %m, "{0} is not {1}"
  %r = pypto.clone %x
  func.return %r : tensor<?x6xf32>
}
"""


def test_asserts():
    assert (run(ASSERT, x=X, n=2)["result0"] == X).all()
    diagnostic = failure(ASSERT, x=X, n=3)
    assert diagnostic.code == "PTO401"
    assert diagnostic.message == "6 is not 4"
    assert "%m = 4" in diagnostic.label
    assert place(diagnostic) == (4, 3)


def test_index_arithmetic():
    text = """
    func.func @f(%a: index, %b: index) -> (index, index, index) {
      %x = pypto.index %a floordiv %b
      %y = pypto.index %a mod %b
      %z = pypto.index min(%a * %b, 100) + 1
      func.return %x, %y, %z : index, index, index
    }"""
    results = run(text, a=-7, b=2)
    assert [int(results[f"result{i}"]) for i in range(3)] == [-4, 1, -13]
    assert failure(text, a=1, b=0).code == "PTO403"
    assert "64 bits" in failure(text, a=2**62, b=4).message


def test_sizes_that_do_not_match():
    text = """
    func.func @f(%x: tensor<?x6xf32>, %y: tensor<?x6xf32>) -> tensor<?x6xf32> {
      %r = pypto.add %x, %y
      func.return %r : tensor<?x6xf32>
    }"""
    assert (run(text, x=X, y=X)["result0"] == 2 * X).all()
    diagnostic = failure(text, x=X, y=X[:1])
    assert diagnostic.code == "PTO404"
    assert diagnostic.rule == "a dynamic size of 1 does not broadcast"
    assert "4 in %x and 2 in %y" in failure(text, x=X, y=X[:2]).message


def test_inputs_that_are_missing_or_wrong():
    for given in ({}, {"x": X.astype(np.int32)}, {"x": X[0]}):
        with pytest.raises(CompileError, match="PTO501"):
            run(ASSERT, n=2, **given)


# Tasks in tensor form.

TASKS = """
func.func @f(%x: tensor<4x6xf32>, %init: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = npu.tasks (%i, %j) in (2, 2) outs(%o = %init : tensor<4x6xf32>) on vector {
    %a = pypto.index 2 * %i
    %b = pypto.index STRIDE * %j
    %t = pypto.view %x[%a +: 2, %b +: 3]
    npu.assemble %t into %o[%a, %b] COMBINE : tensor<2x3xf32>, tensor<4x6xf32>
  }
  func.return %r : tensor<4x6xf32>
}
"""


def tasks(stride, combine=""):
    return TASKS.replace("STRIDE", str(stride)).replace("COMBINE", combine)


def test_tasks_assemble():
    assert (run(tasks(3), x=X, init=-X)["result0"] == X).all()
    diagnostic = failure(tasks(2), x=X, init=-X)
    assert diagnostic.code == "PTO406"
    assert "task" in diagnostic.message


def test_tasks_combine_onto_the_initial_value():
    init = np.full((4, 6), 100, np.float32)
    got = run(tasks(2, '{combine = "add"}'), x=X, init=init)["result0"]
    expected = init.copy()
    expected[:, :3] += X[:, :3]
    expected[:, 2:5] += X[:, 2:5]
    assert (got == expected).all()
    init = np.full((4, 6), 9.5, np.float32)
    got = run(tasks(3, '{combine = "max"}'), x=X, init=init)["result0"]
    assert (got == np.maximum(X, init)).all()


def test_ordered_axes_may_overlap():
    text = tasks(2).replace("(%i, %j)", "(%i, seq %j)")
    got = run(text, x=X, init=-X)["result0"]
    expected = -X
    expected[:, :5] = X[:, :5]
    assert (got == expected).all()


def test_no_tasks_give_the_initial_value():
    text = tasks(3).replace("(2, 2)", "(0, 2)")
    assert (run(text, x=X, init=-X)["result0"] == -X).all()


# Memory form.

MEMORY = """
func.func @f(%x: memref<?x6xf32, "gm"> {pypto.name = "x"})
    -> (memref<?x6xf32, "gm"> {pypto.name = "out"}) {
  %m = pypto.dim %x, 0
  %y = npu.alloc[%m, 6] : memref<?x6xf32, "gm">
  %n = pypto.index %m ceildiv 3
  %e = npu.tasks (%i) in (%n) buffers(%x, %y : memref<?x6xf32, "gm">,
      memref<?x6xf32, "gm">) on vector {
    %b = pypto.index 3 * %i
    %c = pypto.index min(3, %m - 3 * %i - LESS)
    %t = npu.load %x[%b +: %c, :]
        : memref<?x6xf32, "gm"> -> tensor<?x6xf32, #npu.max<3, 6>>
    %u = pypto.mul %t, 2.0
    npu.store %u into %y[%b, 0]
        : tensor<?x6xf32, #npu.max<3, 6>>, memref<?x6xf32, "gm">
  }
  func.return %y : memref<?x6xf32, "gm">
}
"""


def test_memory_form():
    assert (run(MEMORY.replace("LESS", "0"), x=X)["out"] == 2 * X).all()
    diagnostic = failure(MEMORY.replace("LESS", "1"), x=X)
    assert diagnostic.code == "PTO405"
    assert "rows 3 to 3" in diagnostic.message


def test_in_place_results_do_not_touch_the_input():
    text = """
    func.func @f(%x: memref<4x6xf32, "gm"> {pypto.name = "x"})
        -> (memref<4x6xf32, "gm"> {pypto.name = "x"}) {
      %e = npu.tasks (%i) in (4) buffers(%x : memref<4x6xf32, "gm">) on vector {
        %t = npu.load %x[%i +: 1, :] : memref<4x6xf32, "gm"> -> tensor<1x6xf32>
        %u = pypto.neg %t
        npu.store %u into %x[%i, 0] : tensor<1x6xf32>, memref<4x6xf32, "gm">
      }
      func.return %x : memref<4x6xf32, "gm">
    }"""
    before = X.copy()
    assert (run(text, x=X)["x"] == -before).all()
    assert (before == X).all()


def test_unsupported_operations_say_so(monkeypatch: pytest.MonkeyPatch):
    text = """
    func.func @f(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
      %r = pypto.exp %x
      func.return %r : tensor<2x64xf32>
    }"""
    monkeypatch.delitem(HANDLERS, "pypto.exp")
    diagnostic = failure(text, x=np.ones((2, 64), np.float32))
    assert diagnostic.code == "PTO190"
    assert "'pypto.exp' is not supported" in diagnostic.message


def test_recursion_ends():
    text = """
    func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = func.call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = func.call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    diagnostic = failure(text, x=np.ones(4, np.float32))
    assert diagnostic.code == "PTO181"
    assert diagnostic.message == "@again calls itself"


def test_private_functions_are_called():
    text = """
    func.func private @twice(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
      %r = pypto.add %x, %x
      func.return %r : tensor<4x6xf32>
    }
    func.func @f(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
      %a = func.call @twice(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %b = func.call @twice(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      func.return %b : tensor<4x6xf32>
    }"""
    assert (run(text, x=X)["result0"] == 4 * X).all()
