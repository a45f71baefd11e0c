"""
What a row of the table of operators is, and which of its cells a run checks.

A family has rows that share operands, so that one program, compiled once, checks all
of them. A cell is an element type, a shape, a form (an axis, a way to broadcast, a
flag), static or dynamic sizes, and a machine.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from element_types import DTYPES
from numpy.typing import NDArray

Array = NDArray[Any]
Shape = tuple[int, ...]
Draw = np.random.Generator

NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("i8", "i16", "i32", "i64", "ui8")
NUMBERS = (*FLOATS, *INTEGERS)
F8 = ("f8E4M3FN", "f8E5M2")
MACHINES = ("ascend950", "ascend910b")

ROUNDING = {"f32": 2e-6, "f16": 2.0**-11, "bf16": 2.0**-8}
"""Relative error of one rounding to a type, with some room in f32 for several."""
TINY = {"f32": 1e-37, "f16": 2.0**-25, "bf16": 1e-37}
"""Absolute error of a rounding near zero."""

SHAPES: tuple[Shape, ...] = (
    (33,),
    (1,),
    (0,),
    (7, 24),
    (1, 70),
    (16, 1),
    (3, 0),
    (0, 4),
    (2, 5, 9),
    (4, 1, 17),
    (2, 3, 4, 5),
    (2, 1, 3, 2, 6),
)
LONG: tuple[Shape, ...] = (*SHAPES, (9001, 2), (2, 9001))
"""With axes that no tile holds."""


class Scalar(NamedTuple):
    """An operand that is no tensor."""

    type: str
    value: float


@dataclass(frozen=True)
class Want:
    """What one result is by definition."""

    array: Array
    """In the type of the result where it is exact, else in f64."""
    element: str = ""
    """The element type of a result whose golden is in f64."""
    within: float = 0.0
    """Relative error allowed; 0: every bit, NaN for NaN."""
    near: float = 0.0
    """Absolute error allowed besides."""
    of_largest: bool = False
    """Whether `within` also counts against the largest element."""
    signed_zero: bool = True
    """Whether an exact zero has a sign."""

    @property
    def type(self) -> str:
        return self.element or NAMES[self.array.dtype]


class Call(NamedTuple):
    """One call of an op of the table."""

    text: str
    """The right side of `=`; or lines in which `{r}` and `{t}` stand for the results
    and their types."""
    wants: Sequence[Want]
    before: str = ""
    """Lines that the call needs; names in them start with the row's own."""


@dataclass(frozen=True)
class Sample:
    """Operands and the calls on them, by the names of their rows."""

    operands: dict[str, Array | Scalar]
    calls: dict[str, Call]
    machines: Sequence[str] = MACHINES
    """Others refuse with an error."""
    ones: bool = False
    """Whether a size of 1 stays 1 in a dynamic program: it may broadcast."""

    def program(self, dynamic: bool) -> str:
        """One function of all calls."""
        arguments = ", ".join(
            f"%{name}: {self._argument(value, dynamic)}"
            for name, value in self.operands.items()
        )
        lines: list[str] = []
        results: list[tuple[str, str]] = []
        for number, call in enumerate(self.calls.values()):
            names = [f"%r{number}_{place}" for place in range(len(call.wants))]
            types = [
                type_of(want.array.shape, want.type, dynamic, self.ones)
                for want in call.wants
            ]
            results += zip(names, types, strict=True)
            if call.before:
                lines.append(call.before)
            stated = types[0] if len(types) == 1 else f"({', '.join(types)})"
            if "{r}" in call.text:
                text = call.text.replace("{r}", ", ".join(names))
                lines.append(text.replace("{t}", ", ".join(types)))
            else:
                lines.append(f"{', '.join(names)} = {call.text} : {stated}")
        names, types = (", ".join(part) for part in zip(*results, strict=True))
        text = "\n  ".join(lines)
        return (
            f"func.func @f({arguments}) -> ({types}) {{\n  {text}\n"
            f"  func.return {names} : {types}\n}}\n"
        )

    def bare(self, row: str, element: str, instead: str) -> str:
        """The call of one row alone, without result types, and with another type."""
        types = {
            name: value.type
            if isinstance(value, Scalar)
            else type_of(value.shape, NAMES[value.dtype], False, False)
            for name, value in self.operands.items()
        }
        call = self.calls[row]
        arguments = ", ".join(f"%{name}: {kind}" for name, kind in types.items())
        want = call.wants[0]
        kind = type_of(want.array.shape, want.type, False, False)
        creates = " %" not in call.text.partition("[")[0]
        text = call.text + (f" : {kind}" if creates else "")
        text = text.replace("{t}", kind)
        if "{r}" not in text:
            names = ", ".join(f"%r{place}" for place in range(len(call.wants)))
            text = f"{names} = {text}"
        text = f"({arguments}) {{\n  {call.before}\n  {text.replace('{r}', '%r')}\n"
        text = text.replace(f"x{element}>", f"x{instead}>")
        text = text.replace(f"tensor<{element}>", f"tensor<{instead}>")
        return f"func.func @f{text}  func.return\n}}\n"

    def _argument(self, value: Array | Scalar, dynamic: bool) -> str:
        if isinstance(value, Scalar):
            return value.type
        shape, element = value.shape, NAMES[value.dtype]
        free = [size for size in shape if size != 1 or not self.ones]
        names = ", ".join(f'"D{size}"' for size in free)
        dims = f" {{pypto.dims = [{names}]}}" if dynamic and names else ""
        return type_of(shape, element, dynamic, self.ones) + dims

    @property
    def inputs(self) -> dict[str, Any]:
        return {
            name: value.value if isinstance(value, Scalar) else value
            for name, value in self.operands.items()
        }


def type_of(shape: Shape, element: str, dynamic: bool, ones: bool) -> str:
    """A tensor type; in a dynamic one sizes are `?`, but for 1 if `ones`."""
    sizes = ["?" if dynamic and not (ones and n == 1) else str(n) for n in shape]
    return f"tensor<{'x'.join([*sizes, element])}>"


Maker = Callable[[Draw, str, Shape, str, Sequence[str]], Sample | None]
"""`make(draw, element, shape, form, rows)`: None where no row is defined."""


class Cell(NamedTuple):
    """One program of a family."""

    element: str
    shape: Shape
    form: str
    dynamic: bool
    machine: str

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape))
        sizes = "dynamic" if self.dynamic else "static"
        return f"{self.element}[{shape}] {self.form} {sizes} {self.machine}"


@dataclass(frozen=True)
class Family:
    """Rows that share their operands."""

    rows: Mapping[str, Sequence[str]]
    """Row name to element types; its first word is the name of the op."""
    make: Maker
    shapes: Sequence[Shape] = SHAPES
    forms: Sequence[str] = ("",)
    thorough: Sequence[str] = ()
    """Element types that meet each shape and each form in an ordinary run."""
    elements: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = dict.fromkeys(e for types in self.rows.values() for e in types)
        object.__setattr__(self, "elements", tuple(found))

    def sample(self, element: str, shape: Shape, form: str) -> Sample | None:
        """The sample of a cell, the same in every run."""
        rows = [row for row, types in self.rows.items() if element in types]
        return self.sample_of(rows, element, shape, form)

    def sample_of(
        self, rows: Sequence[str], element: str, shape: Shape, form: str
    ) -> Sample | None:
        """A sample of some rows, whether or not they take the element type."""
        seed = zlib.crc32(f"{next(iter(self.rows))} {element} {shape} {form}".encode())
        with np.errstate(all="ignore"):
            found = self.make(np.random.default_rng(seed), element, shape, form, rows)
        return found if found is not None and found.calls else None

    def every_cell(self) -> Iterator[Cell]:
        """The full product."""
        dimensions = (self.elements, self.shapes, self.forms, (False, True), MACHINES)
        for values in product(*dimensions):
            yield Cell(*values)

    def few_cells(self) -> Iterator[tuple[Cell, Sample]]:
        """
        A fixed choice in which each row meets each of its element types, each nature of
        shape, each part of a form, and static and dynamic sizes on both machines; each
        shape is met by one row at least, and so is each thorough type with each shape.
        """
        open_keys = self._keys()
        tries = dict.fromkeys(open_keys, 0)
        for number, cell in enumerate(self._in_turn()):
            if not open_keys:
                return
            rows = [row for row, types in self.rows.items() if cell.element in types]
            here = parts_of(cell.form)
            switches = (cell.dynamic, cell.machine)
            pairs = product([cell.element], here)
            marks = (cell.element, nature_of(cell.shape), switches, *here, *pairs)
            shapes = (cell.shape, (cell.element, cell.shape))
            wanted = open_keys & {*product(rows, marks), *product([SOME_ROW], shapes)}
            if not wanted:
                continue
            sample = self.sample(*cell[:3])
            calls = sample.calls if sample else {}
            covered = {key for key in wanted if calls and key[0] in (SOME_ROW, *calls)}
            if sample is not None and covered:
                open_keys -= covered
                chosen = {row for row, _ in covered} - {SOME_ROW}
                chosen = chosen or {list(calls)[number % len(calls)]}
                few = {row: call for row, call in calls.items() if row in chosen}
                yield cell, replace(sample, calls=few)
            for key in wanted - covered:
                tries[key] += 1
                if tries[key] > 40:
                    open_keys.discard(key)  # not defined there

    def _keys(self) -> set[tuple[str, Any]]:
        """What `few_cells` has to meet: a row, or any, and a value."""
        parts = {part for form in self.forms for part in parts_of(form)}
        natures = set(map(nature_of, self.shapes))
        odd = [element for element in self.thorough if element in self.elements]
        keys = set(product([SOME_ROW], [*self.shapes, *product(odd, self.shapes)]))
        for row, types in self.rows.items():
            keys |= set(product([row], [*types, *natures, *parts, *SWITCHES]))
            own = [element for element in odd if element in types]
            keys |= set(product([row], product(own, parts)))
        return keys

    def _in_turn(self) -> Iterator[Cell]:
        """Cells that walk through all values of each dimension at once."""
        draw = np.random.default_rng(zlib.crc32(next(iter(self.rows)).encode()))
        dimensions = (self.elements, self.shapes, self.forms, SWITCHES)
        left: list[list[Any]] = [[] for _ in dimensions]
        for _ in range(60 * max(map(len, dimensions))):
            for values, rest in zip(dimensions, left, strict=True):
                if not rest:
                    rest += [values[i] for i in draw.permutation(len(values))]
            element, shape, form, (dynamic, machine) = (rest.pop() for rest in left)
            yield Cell(element, shape, form, dynamic, machine)


def parts_of(form: str) -> list[tuple[int, str]]:
    """The parts of a form, which stand between semicolons."""
    return list(enumerate(form.split(";")))


SWITCHES = tuple(product((False, True), MACHINES))
SOME_ROW = ""
"""In place of a row: it does not matter which."""


def nature_of(shape: Shape) -> str:
    """What all rows of a family have to meet of shapes."""
    if 0 in shape:
        return "empty"
    return "long" if max(shape, default=1) > 1000 else "short"


# Data.


def data(draw: Draw, element: str, shape: Shape) -> Array:
    """Numbers on a coarse grid: sums of them are exact in f32 in any order."""
    if element == "i1":
        return draw.integers(0, 2, shape).astype(np.bool_)
    if element == "f8E8M0FNU":
        return draw.integers(124, 131, shape).astype(np.uint8).view(DTYPES[element])
    low = 0 if element == "ui8" else -12
    numbers = draw.integers(low, 13, shape)
    is_float = element in (*FLOATS, *F8)
    return (numbers / 4 if is_float else numbers).astype(DTYPES[element])


def smooth(draw: Draw, element: str, shape: Shape) -> Array:
    """Normal numbers."""
    if element not in (*FLOATS, *F8):
        return data(draw, element, shape)
    return draw.normal(size=shape).astype(np.float32).astype(DTYPES[element])


NOTABLE = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 0.1, -7.25),
    *(np.inf, -np.inf, np.nan, 65504.0, -65504.0, 2.0**-24, -(2.0**-126), 3.3e38),
    *(2.0**-149, 2.0**24 + 2, 88.0, -88.0, 1e-30),
)


def edges(draw: Draw, element: str, shape: Shape) -> Array:
    """Any bits at all, and numbers that are limits, ties, zeros, inf and NaN."""
    dtype = np.dtype(DTYPES[element])
    if element == "i1":
        return data(draw, element, shape)
    bits = draw.integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8)
    any_bits = bits.view(dtype)[..., 0]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        pool = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2, 7]
        notable = np.array(pool, dtype)
    else:
        notable = np.array(NOTABLE, np.float32).astype(dtype)
    few = draw.choice(notable.view(f"u{dtype.itemsize}"), shape).astype(
        f"u{dtype.itemsize}"
    )
    return np.where(draw.random(shape) < 0.6, few.view(dtype), any_bits)


def f64(array: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64)


def exact(array: Array) -> Array:
    """Floats in f64, integers in i64, where they wrap."""
    with np.errstate(invalid="ignore"):  # NaN that signals
        return array.astype(np.int64 if array.dtype.kind in "iub" else np.float64)


def rounded(values: Array, element: str) -> Array:
    """f64 that f32 holds, or is rounded to, then rounded again; integers wrap."""
    if element in FLOATS:
        return np.asarray(values, np.float64).astype(np.float32).astype(DTYPES[element])
    return np.asarray(values).astype(DTYPES[element])


def approximately(values: Array, element: str, steps: float = 1) -> Want:
    """A golden in f64 that a result may miss by some roundings."""
    return Want(
        np.asarray(values, np.float64),
        element,
        steps * ROUNDING[element],
        TINY[element],
    )


# Comparing.


def difference(found: Array, want: Want) -> str:
    """What is wrong with a result; empty if it is right."""
    expected = want.array
    if found.shape != expected.shape:
        return f"has shape {found.shape}, not {expected.shape}"
    if found.dtype != DTYPES[want.type]:
        return f"is {found.dtype}, not {want.type}"
    if found.dtype.kind in "iub":
        same = found == expected
    else:
        got, ideal = f64(found), f64(expected)
        same = (got == ideal) | ((got != got) & (ideal != ideal))
        if want.within:
            same |= _near(got, ideal, want)
        elif want.signed_zero:
            same &= (got != got) | (np.signbit(got) == np.signbit(ideal))
    if same.all():
        return ""
    at = tuple(map(int, np.argwhere(~same)[0]))
    count = int((~same).sum())
    return f"{list(at)}: {found[at]}, not {expected[at]}; {count} of {same.size}"


def _near(got: Array, ideal: Array, want: Want) -> Array:
    finite = np.abs(ideal[np.isfinite(ideal)])
    largest = finite.max(initial=0.0) if want.of_largest else 0.0
    most = float(ml_dtypes.finfo(DTYPES[want.type]).max)
    with np.errstate(invalid="ignore"):
        allowed = want.within * (np.abs(ideal) + largest) + want.near
        close = np.abs(got - ideal) <= allowed
        # Beyond the largest number of the type a result is inf.
        beyond = np.isinf(got) & (np.abs(ideal) * (1 + want.within) >= most)
        return close | (beyond & (np.sign(got) == np.sign(ideal)))
