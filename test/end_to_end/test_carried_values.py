"""Values that loops and branches carry: right at each level, and without copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import pyptoc
from pyptoc.runtime.executor import Executable

Array = NDArray[Any]

X = np.arange(24, dtype=np.float32).reshape(6, 4)
PLACES = np.array([0, 1, 2, 3, 1, 0])


@dataclass(frozen=True)
class Case:
    """A body that makes %r from %x, %n, %s and %l; its meaning and its copies."""

    body: str
    meaning: Callable[[int], Array]
    """Of n."""
    copies: int = 0


def repeated(start: Array, count: int, step: Callable[[Array], Array]) -> Array:
    for _ in range(count):
        start = step(start)
    return start


def prefix_sums(n: int) -> Array:
    y = X.copy()
    for row in range(1, n):
        y[row] += y[row - 1]
    return y


def marked_rows(n: int) -> Array:
    y = X.copy()
    y[:n][PLACES[:n] > 0] *= 2
    return y


def gathered(n: int) -> Array:
    y = X.copy()
    for i in range(n):
        y[i] = X[2 * i % 6]
    return y


CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
"""

CASES = {
    "whole": Case(
        """
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<6x4xf32>) {
    %y = pypto.add %a, 1.0
    scf.yield %y : tensor<6x4xf32>
  }""",
        lambda n: X + n,
    ),
    "nested": Case(
        """
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<6x4xf32>) {
    %q = scf.for %j = %c0 to %c3 step %c1 iter_args(%e = %a) -> (tensor<6x4xf32>) {
      %y = pypto.add %e, 1.0
      scf.yield %y : tensor<6x4xf32>
    }
    %z = pypto.mul %q, 2.0
    scf.yield %z : tensor<6x4xf32>
  }""",
        lambda n: repeated(X, n, lambda a: (a + 3) * 2),
    ),
    "in_place": Case(
        """
  %y = pypto.add %x, 0.0
  %r = pypto.for (%i = 1 to %n) iter(%a = %y) {
    %k = pypto.index %i - 1
    %v = pypto.view %a[%i +: 1, :]
    %p = pypto.view %a[%k +: 1, :]
    %u = pypto.add %v, %p
    %z = pypto.assemble %u into %a[%i, 0]
    pypto.yield %z
  }""",
        prefix_sums,
    ),
    "branch": Case(
        """
  %y = pypto.add %x, 0.0
  %r = pypto.for (%i = 0 to %n) iter(%a = %y) {
    %w = pypto.read %l[%i]
    %k = pypto.index %w > 0
    %q = scf.if %k -> (tensor<6x4xf32>) {
      %v = pypto.view %a[%i +: 1, :]
      %z = pypto.mul %v, 2.0
      %o = pypto.assemble %z into %a[%i, 0]
      scf.yield %o : tensor<6x4xf32>
    } else {
      scf.yield %a : tensor<6x4xf32>
    }
    pypto.yield %q
  }""",
        marked_rows,
    ),
    "swapped": Case(
        """
  %w = pypto.mul %x, 3.0
  %r, %o = pypto.for (%i = 0 to %n) iter(%a = %x, %e = %w) {
    %z = pypto.add %a, 1.0
    pypto.yield %e, %z
  }""",
        lambda n: X * (1, 3)[n % 2] + n // 2,
    ),
    "scalars": Case(
        """
  %y = pypto.add %x, 0.0
  %q, %z, %g = pypto.for (%i = 0 to %n) iter(%a = %y, %o = %c0, %f = %s) {
    %v = pypto.view %x[%o +: 1, :]
    %b = pypto.assemble %v into %a[%i, 0]
    %p = pypto.index (%o + 2) mod 6
    %h = pypto.scalar %f * 2.0 : f32
    pypto.yield %b, %p, %h
  }
  %r = pypto.mul %q, %g""",
        lambda n: gathered(n) * np.float32(2.0) ** n,
    ),
    "read_from_tensors": Case(
        """
  %m = pypto.read %l[2]
  %t = pypto.cast %x to i32
  %k = pypto.read %t[0, 3]
  %f = pypto.read %x[0, 1]
  %v = pypto.view %x[%m +: %k, :]
  %some = pypto.index %m == 2
  %to = scf.if %some -> (index) {
    scf.yield %c1 : index
  } else {
    scf.yield %c0 : index
  }
  %y = pypto.add %x, 0.0
  %r = pypto.for (%i = 0 to %m) iter(%a = %y) {
    %w = pypto.add %v, %f
    %b = pypto.assemble %w into %a[%to, 0]
    pypto.yield %b
  }""",
        lambda n: np.concatenate([X[:1], X[2:5] + 1, X[4:]]),
    ),
    "argument": Case(
        """
  %v = pypto.view %x[0 +: 1, :]
  %w = pypto.neg %v
  %r = pypto.for (%i = 0 to %n) iter(%a = %x) {
    %b = pypto.assemble %w into %a[%i, 0]
    pypto.yield %b
  }""",
        lambda n: np.concatenate([np.repeat(-X[:1], n, 0), X[n:]]),
        copies=1,
    ),
}


def text_of(case: Case) -> str:
    return f"""
func.func @f(%x: tensor<6x4xf32>, %n: index, %l: tensor<6xi64>, %s: f32)
    -> tensor<6x4xf32> {{{CONSTANTS}{case.body}
  func.return %r : tensor<6x4xf32>
}}
"""


@pytest.mark.parametrize("name", CASES)
def test_carried(name: str) -> None:
    case = CASES[name]
    text = text_of(case)
    for pipeline in ("", None):
        program = pyptoc.compile(text, pipeline=pipeline)
        for n in (0, 1, 2, 5):
            found = program.run(x=X, n=n, l=PLACES, s=np.float32(1))["result0"]
            assert np.array_equal(found, case.meaning(n)), (pipeline, n)
    parted = pyptoc.compile(text, pipeline="inline,desugar,decompose,partition")
    assert parted.text.count("pypto.clone") == case.copies


PASSED_ON = """
func.func @f(%x: tensor<6x4xf32>, %n: index)
    -> (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) {
  %y = pypto.exp %x
  %r, %o = pypto.for (%i = 0 to %n) iter(%a = %y, %b = %x) {
    pypto.yield %a, %b
  }
  func.return %r, %y, %o : tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>
}
"""


def test_results_that_a_loop_passes_on_are_arrays_of_their_own() -> None:
    """Of one memory there may be two results, and one may be an input."""
    for pipeline in ("", None):
        program = pyptoc.compile(PASSED_ON, pipeline=pipeline)
        results = program.run(x=X, n=2)
        arrays = [X, *results.values()]
        for n, array in enumerate(arrays):
            assert not any(np.shares_memory(array, one) for one in arrays[:n])


def test_what_offers_its_memory_stays_the_caller_s() -> None:
    """An input need not be an array of numpy."""
    x = X.copy()
    program = pyptoc.compile(PASSED_ON)
    executable = Executable(program.module, program.machine)
    found = executable.run({"x": memoryview(x), "n": 2})["result2"]
    assert not np.shares_memory(found, x)


SUM = """
func.func @f(%q: tensor<2x16x16xbf16>, %k: tensor<64x16xbf16>, %l: tensor<2xi64>)
    -> tensor<2x16x16xf32> {
  %e = pypto.empty[2, 16, 16] : tensor<2x16x16xf32>
  %r = pypto.forall (%t = 0 to 2) outs(%o = %e) {
    %v = pypto.view %q[%t, :, :]
    %n = pypto.read %l[%t]
    %z = pypto.full ZERO[16, 16] : tensor<16x16xf32>
    %s = pypto.for (%j +: %w = 0 to %n step 16) iter(%a = %z) {
      %d = pypto.view %k[%j +: %w, :]
      %y = pypto.matmul %v, %d {b_trans}
      %p = pypto.cast %y to bf16
      %x = pypto.matmul %p, %d
      %b = pypto.add %x, %a
      pypto.yield %b
    }
    pypto.store %s into %o[%t, 0, 0]
  }
  func.return %r : tensor<2x16x16xf32>
}
"""


@pytest.mark.parametrize("machine", ["ascend910b", "ascend950"])
@pytest.mark.parametrize("zero", ["0.0", "-0.0"])
def test_a_sum_of_no_products_keeps_its_sign(zero: str, machine: str) -> None:
    """The cube unit makes 0.0 of nothing, so a sum that starts at -0.0 is not its."""
    q = np.ones((2, 16, 16), np.float32).astype(ml_dtypes.bfloat16)
    program = pyptoc.compile(SUM.replace("ZERO", zero), machine=machine)
    found = program.run(q=q, k=q[0].repeat(4, 0), l=np.array([0, 20]))["result0"]
    assert (found[0] == 0).all()
    assert (np.signbit(found[0]) == zero.startswith("-")).all()
    assert (found[1] == 20 * 16).all()
