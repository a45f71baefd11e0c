"""`pypto.probe` and `pypto.print`: seen the same before and behind the pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyptoc
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.runtime.show import text_of

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def programs(text: str, machine: str = "ascend950") -> list[pyptoc.Program]:
    """The source, interpreted, and what the pipeline makes of it."""
    return [pyptoc.compile(text, machine=machine, pipeline=p) for p in ("", None)]


def check(text: str, inputs: dict[str, Any], wanted: dict[str, Any]) -> None:
    for program in programs(text):
        found = program.run(**inputs)
        assert list(found) == list(wanted)
        for name, want in wanted.items():
            assert found[name].shape == np.shape(want), name
            assert np.array_equal(found[name].astype(np.float32), want), name


def test_probes_at_the_top() -> None:
    text = """
    func.func private @helper(%y: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %w = pypto.mul %y, 2.0
      pypto.probe %w "inside"
      func.return %w : tensor<?x4xf32>
    }
    func.func @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %y = pypto.add %x, 1.0
      pypto.probe %x "argument"
      %v = pypto.view %y[1 +: 2, 0 +: 3]
      pypto.probe %v "view"
      %w = func.call @helper(%y) : (tensor<?x4xf32>) -> tensor<?x4xf32>
      %b = pypto.cast %w to bf16
      pypto.probe %b "narrow"
      %z = pypto.add %y, %w
      pypto.probe %z "same"
      func.return %z : tensor<?x4xf32>
    }
    """
    y = X + 1
    probed = {"argument": X, "view": y[1:, :3], "inside": 2 * y, "narrow": 2 * y}
    check(text, {"x": X}, {"result0": 3 * y, **probed, "same": 3 * y})


IN_PLACE = """
func.func @f(%x: tensor<3x4xf32>, %t: tensor<1x4xf32>)
    -> (tensor<3x4xf32> {pypto.name = "x"}) {
  pypto.probe %x "old"
  %r = pypto.assemble %t into %x[1, 0]
  pypto.probe %r "new"
  func.return %r : tensor<3x4xf32>
}
"""


def test_probes_of_what_is_updated_in_place() -> None:
    new = X.copy()
    new[1] = 7
    t = np.full((1, 4), 7, np.float32)
    check(IN_PLACE, {"x": X, "t": t}, {"x": new, "old": X, "new": new})


NESTED = """
func.func @f(%x: tensor<3x4xf32>, %n: index, %m: index) -> tensor<4xf32> {
  %z = pypto.full 0.0[4] : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> (tensor<4xf32>) {
    %q = pypto.for (%j = 0 to 3) iter(%e = %a) {
      %v = pypto.view %x[%j, :]
      %t = pypto.add %v, %e
      %c = pypto.index %j < %m
      scf.if %c {
        pypto.probe %t "row"
        scf.yield
      } else {
        pypto.probe %v "other"
        scf.yield
      }
      pypto.yield %t
    }
    pypto.probe %q "sum"
    scf.yield %q : tensor<4xf32>
  }
  func.return %s : tensor<4xf32>
}
"""


@pytest.mark.parametrize(("n", "m"), [(2, 2), (1, 3), (0, 3), (2, 0)])
def test_probes_inside_loops(n: int, m: int) -> None:
    zero = np.zeros(4, np.float32)
    total, row, other, last = zero, zero, zero, zero
    for _ in range(n):
        for j in range(3):
            total = total + X[j]
            row, other = (total, other) if j < m else (row, X[j])
        last = total
    wanted = {"result0": total, "row": row, "other": other, "sum": last}
    inputs = {"x": X, "n": n, "m": m}
    for program in programs(NESTED):
        found = program.run(**inputs)
        assert found.keys() == wanted.keys()
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def test_one_name_has_one_type() -> None:
    text = """
    func.func @f(%x: tensor<3x4xf32>, %c: i1) -> tensor<3x4xf32> {
      pypto.probe %x "a"
      %v = pypto.view %x[0, :]
      scf.if %c {
        pypto.probe %v "a"
      }
      func.return %x : tensor<3x4xf32>
    }
    """
    with pytest.raises(CompileError, match='"a" is tensor<4xf32> here'):
        pyptoc.compile(text)


PRINTS = """
func.func @f(%x: tensor<?x4xf32>, %n: index) -> tensor<?x4xf32> {
  %s = pypto.scalar 1.0 / 3.0 : f32
  pypto.print "third" %s
  %y = pypto.add %x, 1.0
  pypto.print "y" %y
  %t = pypto.transpose %y perm [1, 0]
  pypto.print "turned" %t
  %z = pypto.full 9.0[1, 4] : tensor<1x4xf32>
  %w = pypto.assemble %z into %y[1, 0]
  pypto.print "w" %w
  %r = pypto.for (%i = 0 to %n) iter(%a = %w) {
    pypto.print "i" %i
    %v = pypto.view %a[%i, :]
    pypto.print "row" %v
    %b = pypto.add %a, %a
    pypto.yield %b
  }
  func.return %r : tensor<?x4xf32>
}
"""


def test_prints(capsys: pytest.CaptureFixture[str]) -> None:
    y = X + 1
    w = y.copy()
    w[1] = 9
    shown = [("third", np.float32(1 / 3)), ("y", y), ("turned", y.T), ("w", w)]
    shown += [("i", 0), ("row", w[0]), ("i", 1), ("row", 2 * w[1])]
    wanted = "".join(text_of(label, value) for label, value in shown)
    for program in programs(PRINTS):
        found = program.run(x=X, n=2)
        assert np.array_equal(found["result0"], 4 * w)
        streams = capsys.readouterr()
        assert streams.err == wanted
        assert not streams.out


def test_printed_texts() -> None:
    assert text_of("third", np.float32(1 / 3)) == "third = 0.33333334\n"
    assert text_of("n", 3) == "n = 3\n"
    assert text_of("none", np.zeros((0, 4), np.int8)) == "none: 0x4xi8, no elements\n"
    rows = "a: 2x2xf32\n  [[0. 1.]\n   [2. 3.]]\n"
    assert text_of("a", np.arange(4, dtype=np.float32).reshape(2, 2)) == rows
    large = text_of("large", np.zeros((500, 700, 30), np.int32))
    assert large.startswith("large: 500x700x30xi32\n")
    assert "..." in large
    assert len(large) < 3000
