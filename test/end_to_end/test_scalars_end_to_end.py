"""Scalars and literals where tensors stand; integers that must fit; at each level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pyptoc
from pyptoc.dialects.diagnostics import RunError

X = np.arange(-4, 20, dtype=np.float32).reshape(6, 4)


def programs(text: str, machine: str = "ascend950") -> list[pyptoc.Program]:
    """The source, interpreted, and what the pipeline makes of it."""
    return [pyptoc.compile(text, machine=machine, pipeline=p) for p in ("", None)]


MIXED = """
func.func @f(%x: tensor<?x4xf32>, %s: f32, %i: i32, %n: index)
    -> (tensor<?x4xbf16> {pypto.name = "full"}, tensor<?x4xi8> {pypto.name = "whole"},
        tensor<?x4xf32> {pypto.name = "scaled"}, tensor<?x4xbf16> {pypto.name = "two"},
        tensor<?x4xf32> {pypto.name = "one"}, tensor<?x4xf32> {pypto.name = "clipped"},
        tensor<?x4xf32> {pypto.name = "below"}, tensor<?x4xf32> {pypto.name = "moved"},
        tensor<?x4xf32> {pypto.name = "head"}) {
  %m = pypto.dim %x, 0
  %full = pypto.full %s[%m, 4] : tensor<?x4xbf16>
  %whole0 = pypto.full %n[%m, 4] : tensor<?x4xi8>
  %whole = pypto.add %whole0, %i
  %k = pypto.scalar %s / %m + %i * 2.0 : f32
  %scaled = pypto.mul %x, %k
  %c = pypto.gt %x, 3.0
  %two = pypto.where %c, 1.5, -inf : tensor<?x4xbf16>
  %one = pypto.where %c, %s, 0.25 : tensor<?x4xf32>
  %clipped = pypto.clip %x, -1.0, %s
  %below = pypto.mask_causal %x offset -1
  %moved = pypto.mask_causal %x offset %n
  %head0 = pypto.view %x[0 +: %n, :] {max = [5, 4]}
  %head = pypto.add %head0, 1.0
  func.return %full, %whole, %scaled, %two, %one, %clipped, %below, %moved, %head
    : tensor<?x4xbf16>, tensor<?x4xi8>, tensor<?x4xf32>, tensor<?x4xbf16>,
      tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
      tensor<?x4xf32>
}
"""


def masked(offset: int) -> NDArray[Any]:
    rows, columns = np.indices(X.shape)
    return np.where(columns > rows + offset, -np.inf, X)


@pytest.mark.parametrize("machine", ["ascend950", "ascend910b"])
def test_scalars_beside_tensors(machine: str) -> None:
    s, i, n = np.float32(2.5), 3, 2
    k = np.float32(s / np.float32(6)) + np.float32(i * 2.0)
    wanted = {
        "full": np.full(X.shape, 2.5),
        "whole": np.full(X.shape, n + i),
        "scaled": X * np.float32(k),
        "two": np.where(X > 3, 1.5, -np.inf),
        "one": np.where(X > 3, 2.5, 0.25),
        "clipped": np.minimum(np.maximum(X, -1), 2.5),
        "below": masked(-1),
        "moved": masked(n),
        "head": X[:n] + 1,
    }
    for program in programs(MIXED, machine):
        found = program.run(x=X, s=s, i=i, n=n)
        for name, want in wanted.items():
            assert np.array_equal(found[name].astype(np.float64), want), name
        with pytest.raises(RunError, match=r"6, at most 5 \(max\)"):
            program.run(x=X, s=s, i=i, n=6)
        with pytest.raises(RunError, match="128 does not fit in i8"):
            program.run(x=X, s=s, i=128, n=1)


INTEGERS = """
func.func @f(%x: tensor<?x9xT>, %y: tensor<?x9xT>, %n: index)
    -> (tensor<?x9xT>, tensor<?x9xT>, tensor<?x9xT>, tensor<?x9xT>, tensor<?x9xT>) {
  %a = pypto.shift_left %x, %y
  %b = pypto.shift_right %x, %y
  %c = pypto.shift_right %y, %n
  %d = pypto.bitwise_not %x
  %e = pypto.shift_left %x, 3
  func.return %a, %b, %c, %d, %e
    : tensor<?x9xT>, tensor<?x9xT>, tensor<?x9xT>, tensor<?x9xT>, tensor<?x9xT>
}
"""


@pytest.mark.parametrize("element", ["i8", "i32", "i64", "ui8"])
def test_shifts(element: str) -> None:
    dtype = np.dtype({"ui8": "u1", "i8": "i1", "i32": "i4", "i64": "i8"}[element])
    limits, width = np.iinfo(dtype), dtype.itemsize * 8
    generator = np.random.default_rng(width)
    x = generator.integers(limits.min, limits.max, (7, 9), dtype, endpoint=True)
    low = max(int(limits.min), -2)
    y = generator.integers(low, width + 2, (7, 9)).astype(dtype)

    def moved(number: int, count: int, left: bool) -> int:
        inside = 0 <= count < width
        if not left:
            return number >> (count if inside else width)
        bits = (number << count) % 2**width if inside else 0
        return bits - 2**width if limits.min and bits >> (width - 1) else bits

    shift = np.vectorize(moved, otypes=[dtype])
    wanted = [shift(x, y, True), shift(x, y, False), shift(y, 2, False), ~x]
    wanted.append(shift(x, 3, True))
    for program in programs(INTEGERS.replace("T>", f"{element}>")):
        found = program.run(x=x, y=y, n=2)
        for number, want in enumerate(wanted):
            assert np.array_equal(found[f"result{number}"], want), number


SUMS = """
func.func @f(%x: tensor<?x1100xT>, %z: tensor<?x1100xT>)
    -> (tensor<?x1100xT>, tensor<?x1100xT>) {
  %a = pypto.cumsum %x axis 1
  %b = pypto.cumsum %z axis 0
  func.return %a, %b : tensor<?x1100xT>, tensor<?x1100xT>
}
"""


@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
def test_integer_sums_must_fit(element: str) -> None:
    dtype = np.dtype({"i8": "i1", "i32": "i4", "i64": "i8"}[element])
    limits = np.iinfo(dtype)
    x = np.zeros((3, 1100), dtype)
    # The second piece of a row alone would overflow; on top of the first it does not.
    x[1, [3, 1050, 1060, 1070]] = limits.min, limits.max, limits.max, -limits.max
    x[2, [0, 1099]] = limits.max - 7, 7
    z = x.T[:, :3].T.copy()
    z[1] = -1 - z[0]
    z[2] = 0
    columns = np.cumsum(z.astype(object), axis=0)
    assert limits.min <= columns.min() <= columns.max() <= limits.max
    for program in programs(SUMS.replace("T>", f"{element}>")):
        found = program.run(x=x, z=z)
        assert np.array_equal(found["result0"], np.cumsum(x.astype(object), axis=1))
        assert np.array_equal(found["result1"], columns)
        for place, line in ((("x", 2, 5), 4), (("z", 2, 0), 5)):
            name, row, column = place
            arrays = {"x": x.copy(), "z": z.copy()}
            arrays[name][row, column] = 1 if name == "x" else limits.min
            with pytest.raises(RunError, match=f"does not fit in {element}") as failure:
                program.run(**arrays)
            (diagnostic,) = failure.value.diagnostics
            assert diagnostic.code == "PTO403"
            assert f":{line}:" in str(diagnostic.location)


@pytest.mark.parametrize("name", ["floordiv", "rem"])
def test_integer_division_by_zero(name: str) -> None:
    text = f"""
    func.func @f(%x: tensor<?x5xi32>) -> tensor<?x5xi32> {{
      %y = pypto.{name} 7, %x
      func.return %y : tensor<?x5xi32>
    }}
    """
    x = np.arange(1, 11, dtype=np.int32).reshape(2, 5)
    wanted = 7 // x if name == "floordiv" else 7 % x
    for program in programs(text):
        assert np.array_equal(program.run(x=x)["result0"], wanted)
        with pytest.raises(RunError, match="by zero"):
            program.run(x=x - 3)


REORDER = """
func.func @f(%x: tensor<3x4xf32>, %t: tensor<1x4xf32>)
    -> (tensor<3x4xf32> {pypto.name = "x"}, tensor<3x4xf32>, tensor<3x4xf32>) {
  %r = pypto.assemble %t into %x[0, 0]
  %v = pypto.view %x[0 +: 1, :]
  %q = pypto.add %x, %v
  %r2 = pypto.assemble %t into %r[1, 0]
  %w = pypto.neg %r
  func.return %r2, %q, %w : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
"""


def test_readers_of_the_old_value_go_first() -> None:
    x, t = X[:3], np.full((1, 4), 9, np.float32)
    first = np.concatenate([t, x[1:]])
    last = np.concatenate([t, t, x[2:]])
    wanted = {"x": last, "result1": x + x[:1], "result2": -first}
    for program in programs(REORDER):
        found = program.run(x=x, t=t)
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted)
    parted = pyptoc.compile(REORDER, pipeline="inline,desugar,decompose,partition")
    assert "pypto.clone" not in parted.text
    assert not parted.remarks


def test_a_copy_is_a_warning_with_its_size() -> None:
    text = """
    func.func @f(%x: tensor<1024x1024xf32>, %t: tensor<1x1024xf32>)
        -> (tensor<1024x1024xf32>{0}, tensor<1024x1024xf32>) {{
      %r = pypto.assemble %t into %x[0, 0]
      %s = pypto.exp %r
      %q = pypto.{1}
      func.return %r, %q : tensor<1024x1024xf32>, tensor<1024x1024xf32>
    }}
    """
    named = ' {pypto.name = "x"}'
    for name, last, rule in (
        (named, "add %x, %s", "it is read after it was changed"),
        ("", "neg %s", "it is changed, but no result has its name"),
    ):
        made = pyptoc.compile(text.format(name, last), pipeline="partition")
        (warning,) = made.remarks
        assert warning.code == "PTO310"
        assert warning.message == "'x' is copied: 4.19 MB a call"
        assert warning.rule.startswith(rule)
        assert made.text.count("pypto.clone") == 1


DIM_LATER = """
func.func @f(%x: tensor<?x64xf32>, %t: tensor<1x64xf32>, %k: index)
    -> (tensor<?x64xf32> {pypto.name = "x"}, tensor<?x64xf32>) {
  %r = pypto.assemble %t into %x[0, 0]
  pypto.assert %k >= 0, "{0} is negative"
  %n = pypto.dim %x, 0
  %one = pypto.full 1.0[%n, 64] : tensor<?x64xf32>
  %q = pypto.add %r, %one
  func.return %r, %q : tensor<?x64xf32>, tensor<?x64xf32>
}
"""


def test_sizes_outlive_what_is_changed_in_place() -> None:
    """A size of the old value is no reason to copy it."""
    made = pyptoc.compile(DIM_LATER, pipeline="inline,desugar,decompose,partition")
    assert "pypto.clone" not in made.text
    assert not made.remarks
    x, t = np.ones((3, 64), np.float32), np.full((1, 64), 7, np.float32)
    for program in programs(DIM_LATER):
        found = program.run(x=x, t=t, k=1)
        assert np.array_equal(found["x"][:, 0], [7, 1, 1])
        assert np.array_equal(found["result1"][:, 0], [8, 2, 2])


def arithmetic(element: str, lines: dict[str, str]) -> list[pyptoc.Program]:
    """Programs that return one scalar for each line, in which %s and %t stand."""
    body = "\n".join(f"  %v{i} = {line}" for i, line in enumerate(lines.values()))
    names = ", ".join(f"%v{i}" for i in range(len(lines)))
    types = ", ".join([element] * len(lines))
    return programs(f"""
    func.func @f(%s: {element}, %t: {element}) -> ({types}) {{
    {body}
      func.return {names} : {types}
    }}
    """)


FLOATS = {
    "math.exp %s": np.exp,
    "math.sqrt %s": np.sqrt,
    "math.log %s": np.log,
    "math.absf %s": np.abs,
    "math.rsqrt %s": lambda s: np.float32(1) / np.sqrt(s),
    "math.floor %s": np.floor,
    "math.roundeven %s": np.rint,
    "math.powf %s, %t": np.power,
    "arith.divf %s, %t": np.divide,
    "arith.maxnumf %s, %t": np.fmax,
    "arith.maximumf %s, %t": np.maximum,
}


@pytest.mark.parametrize("s", [0.0, 2.5, -1.25, np.inf, np.nan])
def test_math_of_scalars(s: float) -> None:
    lines = {name: f"{name} : f32" for name in FLOATS}
    pair = np.float32(s), np.float32(0.5)
    for program in arithmetic("f32", lines):
        found = program.run(s=pair[0], t=pair[1])
        for number, (name, function) in enumerate(FLOATS.items()):
            with np.errstate(all="ignore"):
                want = function(*pair[: name.count("%")])
            got = found[f"result{number}"]
            assert np.array_equal(got, want, equal_nan=True), name


WHOLE = {
    "addi": lambda s, t: s + t,
    "muli": lambda s, t: s * t,
    "shli": lambda s, t: s << t if 0 <= t < 64 else 0,
    "shrui": lambda s, t: s % 2**32 >> (t % 2**32 if 0 <= t < 64 else 64),
    "divui": lambda s, t: s % 2**32 // (t % 2**32),
    "floordivsi": lambda s, t: s // t,
    "maxui": lambda s, t: max(s % 2**32, t % 2**32),
    "xori": lambda s, t: s ^ t,
}


@pytest.mark.parametrize(("s", "t"), [(7, 3), (2**31 - 1, 2), (-(2**31), 31), (-9, -4)])
def test_integers_of_scalars_wrap(s: int, t: int) -> None:
    lines = {name: f"arith.{name} %s, %t : i32" for name in WHOLE}
    for program in arithmetic("i32", lines):
        found = program.run(s=np.int32(s), t=np.int32(t))
        for number, (name, function) in enumerate(WHOLE.items()):
            want = (function(s, t) + 2**31) % 2**32 - 2**31
            assert found[f"result{number}"] == want, name
