"""
Text of random tensor programs: names, shapes, arguments with data, and what is exact.

Data are small multiples of a power of two, and every value knows of which (`grain`) and
how large it can get (`bound`). As long as a sum or product fits the 24 bits of an f32
in those terms it is the same in any order, so that a compiled program must give the
reference's result to the last bit. Where it does not fit, the value is only `exact` to
rounding, and no op that could jump (a compare, a floor) is applied to it.

The generators take a `random.Random`: hypothesis has one that it can shrink, and a seed
gives the same program again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from random import Random
from typing import Any

import numpy as np
from element_types import DTYPES
from numpy.typing import NDArray

Array = NDArray[Any]

FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("i8", "i16", "i32", "i64", "ui8")
LARGE = 64.0
"""Floats beyond it are scaled down before they are used further."""
MANTISSA = 2.0**24


@dataclass(frozen=True)
class Dim:
    """A size; with a name it is dynamic."""

    size: int
    name: str | None = None
    varies: bool = False
    """The size differs between the trips of a loop; `size` is the largest."""

    @property
    def is_one(self) -> bool:
        """Whether it broadcasts."""
        return self.size == 1 and self.name is None


Dims = tuple[Dim, ...]


@dataclass(frozen=True)
class Value:
    """A tensor of the program."""

    name: str
    dims: Dims
    element: str
    exact: bool = True
    """Every order of summation gives the same bits."""
    grain: float | None = None
    """Elements are multiples of it, if known."""
    bound: float = 2.0
    """No element is larger."""

    @property
    def is_float(self) -> bool:
        return self.element in FLOATS

    @property
    def is_integer(self) -> bool:
        return self.element in INTEGERS

    @property
    def type(self) -> str:
        return type_text(self.dims, self.element)

    @property
    def varies(self) -> bool:
        """Whether any size differs between the trips of a loop."""
        return any(dim.varies for dim in self.dims)

    @property
    def count(self) -> int:
        """The number of elements."""
        return elements(self.dims)


def type_text(dims: Dims, element: str) -> str:
    """`tensor<?x4xf32>`."""
    sizes = ["?" if dim.name else str(dim.size) for dim in dims]
    return f"tensor<{'x'.join([*sizes, element])}>"


def elements(dims: Dims) -> int:
    """The number of elements."""
    return prod(dim.size for dim in dims)


@dataclass(frozen=True)
class Index:
    """An index value of the program, from `low` to `high`, and equal if it is known."""

    name: str
    low: int
    high: int

    @property
    def known(self) -> bool:
        return self.low == self.high


def broadcast(a: Dims, b: Dims) -> Dims | None:
    """The dims of an elementwise result; None where the sizes do not agree."""
    if len(a) < len(b):
        a, b = b, a
    result = list(a)
    for back in range(1, len(b) + 1):
        x, y = a[-back], b[-back]
        if x.is_one or y == x:
            result[-back] = y
        elif y.is_one:
            continue
        elif x.size != y.size or x.varies or y.varies:
            return None
        elif x.name:
            result[-back] = y
    return tuple(result)


@dataclass(frozen=True)
class Program:
    """A program with inputs; a result that is not listed in `within` is exact."""

    text: str
    inputs: dict[str, Any]
    within: dict[str, float] = field(default_factory=dict[str, float])
    """How far results may be off, relative to 1 and to their largest element."""
    golden: dict[str, Array] = field(default_factory=dict[str, Array])
    """Results in f64 or integers, from definitions that the compiler does not know."""
    golden_within: float = 0.0
    needs_mx: bool = False
    """Only a machine with MX products can run it."""


TOLERANCE = {"f32": 1e-4, "f16": 1e-2, "bf16": 6e-2}


@dataclass
class Writer:
    """Writes the body of `@f`; a child writes the body of a loop in it."""

    random: Random
    parent: Writer | None = None
    pool: list[Value] = field(default_factory=list[Value])
    """The values that ops may use."""
    lines: list[str] = field(default_factory=list[str])
    arguments: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Name and type, with attributes, of the function's arguments."""
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    tiles: bool = False
    """Whether ops get random tiles."""
    count: int = 0
    indices: list[Index] = field(default_factory=list[Index])
    """Index values that may serve as offsets, sizes, bounds and in conditions."""
    functions: list[str] = field(default_factory=list[str])
    """Private functions that are called."""
    steps: tuple[Callable[[Writer], object], ...] = ()
    """What bodies of loops are made of, if not of the usual."""
    mx: bool = False
    """Whether MX products may occur."""
    ops: int = 0
    """How many ops were written, in nested blocks too."""

    @property
    def root(self) -> Writer:
        return self if self.parent is None else self.parent.root

    def child(self) -> Writer:
        """A writer for a nested block, with a pool of its own."""
        return Writer(self.random, self, tiles=self.tiles, steps=self.steps, mx=self.mx)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def fresh(self, prefix: str = "v") -> str:
        """A new name."""
        root = self.root
        root.count += 1
        return f"{prefix}{root.count}"

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")
        self.root.ops += any(name in line for name in ("pypto.", "scf.", "func."))

    def nest(self, header: str, child: Writer, end: str = "}") -> None:
        """The child's lines as a block."""
        self.emit(header)
        self.lines += [f"  {line}" for line in child.lines]
        self.emit(end)

    def define(self, text: str, like: Value, **changes: Any) -> Value:
        """`%fresh = text`: a value that is like another but for `changes`."""
        value = replace(like, name=self.fresh(), **changes)
        self.emit(f"%{value.name} = {text}")
        value = self._tamed(value)
        self.pool.append(value)
        return value

    def _tamed(self, value: Value) -> Value:
        """Floats scaled down by a power of two before they overflow."""
        if not value.is_float or value.bound <= LARGE:
            return value
        factor = 1.0
        while value.bound * factor > 4:
            factor /= 2
        grain = None if value.grain is None else value.grain * factor
        scaled = replace(
            value, name=self.fresh(), grain=grain, bound=value.bound * factor
        )
        self.emit(f"%{scaled.name} = pypto.mul %{value.name}, {factor!r}")
        return scaled

    def attributes(self, *flags: str, rank: int = 0) -> str:
        """` {flags, tile}`, with a random vector tile now and then."""
        parts = [flag for flag in flags if flag]
        if self.tiles and rank and self.chance(0.25):
            sizes = [
                str(self.random.choice([1, 3, 8, 32, 200])) for _ in range(min(rank, 2))
            ]
            parts.append(f"tile = #pypto.vec<{', '.join(sizes)}>")
        return f" {{{', '.join(parts)}}}" if parts else ""

    def argument(self, dims: Dims, element: str, values: Array | None = None) -> Value:
        """A new argument of the function with random data, or with `values`."""
        root = self.root
        name = self.fresh("x")
        names = ", ".join(f'"{dim.name}"' for dim in dims if dim.name)
        attributes = f" {{pypto.dims = [{names}]}}" if names else ""
        root.arguments.append((name, type_text(dims, element) + attributes))
        shape = tuple(dim.size for dim in dims)
        if values is None:
            values = data(self.random, shape, element)
        root.inputs[name] = values.reshape(shape).astype(DTYPES[element])
        grain = 0.125 if element in FLOATS else 1.0
        value = Value(name, dims, element, grain=grain)
        writer = self
        while writer is not root:
            writer.pool.append(value)
            assert writer.parent is not None
            writer = writer.parent
        root.pool.append(value)
        return value

    def array_argument(self, array: Array, element: str) -> str:
        """A new argument of static shape with given data; its name."""
        root = self.root
        name = self.fresh("g")
        dims = tuple(Dim(size) for size in array.shape)
        root.arguments.append((name, type_text(dims, element)))
        root.inputs[name] = array.astype(DTYPES[element])
        return name

    def scalar_argument(self) -> str:
        """A new f32 argument; its name."""
        root = self.root
        name = self.fresh("s")
        root.arguments.append((name, "f32"))
        root.inputs[name] = self.random.choice([0.5, -0.25, 1.5])
        return name

    def size_of(self, dim: Dim) -> str:
        """A size as it is written: the number, or an index value that holds it."""
        if dim.name is None:
            return str(dim.size)
        for value in self.visible():
            if dim in value.dims:
                name = self.fresh("n")
                axis = value.dims.index(dim)
                self.emit(f"%{name} = pypto.dim %{value.name}, {axis}")
                return f"%{name}"
        raise AssertionError(f"no value has the size {dim}")

    def knows(self, dims: Dims) -> bool:
        """Whether every size can be written here."""
        known = {dim for value in self.visible() for dim in value.dims}
        return all(dim.name is None or dim in known for dim in dims)

    def visible(self) -> list[Value]:
        """The values of this block and of those around it."""
        return self.pool + (self.parent.visible() if self.parent else [])

    def program(self, results: list[Value]) -> Program:
        """The finished function."""
        arguments = ", ".join(f"%{name}: {type_}" for name, type_ in self.arguments)
        types = ", ".join(value.type for value in results)
        names = ", ".join(f"%{value.name}" for value in results)
        default = ""
        if self.tiles and self.chance(0.3):
            rows, columns = (self.random.choice([1, 4, 16, 64, 256]) for _ in "rc")
            default = (
                "\n    attributes {pypto.tiles = "
                f"#pypto.tiles<vec = [{rows}, {columns}]>}}"
            )
        lines = [
            f"func.func @f({arguments}) -> ({types}){default} {{",
            *self.lines,
            f"  func.return {names} : {types}",
            "}",
            *self.functions,
            "",
        ]
        within = {
            f"result{number}": TOLERANCE[value.element]
            for number, value in enumerate(results)
            if not value.exact
        }
        return Program("\n".join(lines), self.inputs, within, needs_mx=self.mx)


def data(random: Random, shape: tuple[int, ...], element: str) -> Array:
    """Multiples of 1/8 up to 2, any truth value, or integers: not all zero."""
    rng = np.random.default_rng(random.getrandbits(32))
    if element == "i1":
        return rng.random(shape) < 0.5
    if element in INTEGERS:
        info = np.iinfo(DTYPES[element])
        wide = random.random() < 0.3
        low, high = (info.min, info.max) if wide else (max(info.min, -20), 20)
        return rng.integers(low, high, shape, DTYPES[element], endpoint=True)
    values = rng.integers(1, 17, shape) * rng.choice([-1, 1], shape) / 8
    return values.astype(DTYPES[element])


def random_dims(random: Random, rank: int, largest: int) -> Dims:
    """Sizes from 1 on, small ones and those around 16 more often; some are `?`."""
    dims: list[Dim] = []
    for axis in range(rank):
        size = random.choice(
            [
                random.randint(1, largest),
                random.randint(1, min(largest, 8)),
                min(largest, random.choice([1, 15, 16, 17, 31, 32, 33, 64, 65, 129])),
            ]
        )
        dims.append(Dim(size, f"d{axis}" if random.random() < 0.35 else None))
    return tuple(dims)
