"""
Random nests of independent loops with inner loops, products and vector ops.

All elements are multiples of 1/8 between -4 and 4, in f32, f16 or bf16, and whatever
is computed is brought back to that: sums of products are exact then, in any order. What
the interpreter gives is what each pass must keep, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
from random_writer import Program

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
UNARY = ("relu", "abs", "neg", "floor")
BINARY = ("add", "sub", "maximum", "minimum")


@dataclass(frozen=True)
class Tile:
    """A value of the body: rows of the task by `columns`."""

    name: str
    columns: str
    element: str


@dataclass
class Writer:
    """Writes one program."""

    random: Random
    lines: list[str] = field(default_factory=list[str])
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    count: int = 0
    indent: int = 4

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def emit(self, text: str) -> None:
        self.lines.append(" " * self.indent + text)

    def argument(self, shape: tuple[int, ...], text: str, element: str) -> str:
        """A new tensor argument of multiples of 1/8."""
        name = self.fresh("a")
        draw = np.random.default_rng(self.random.randrange(1 << 30))
        self.inputs[name] = (draw.integers(-32, 33, shape) / 8).astype(TYPES[element])
        self.arguments[name] = f"%{name}: tensor<{text}x{element}>"
        return name

    def indices(self, shape: tuple[int, ...], most: int) -> str:
        """A new tensor argument of numbers of rows."""
        name = self.fresh("a")
        draw = np.random.default_rng(self.random.randrange(1 << 30))
        self.inputs[name] = draw.integers(0, most, shape).astype(np.int32)
        self.arguments[name] = f"%{name}: tensor<{'x'.join(map(str, shape))}xi32>"
        return name


@dataclass
class Nest:
    """One nest: heads, rows in tiles, perhaps an inner loop over tiles of keys."""

    w: Writer
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    """A name of columns to the number."""
    pool: list[Tile] = field(default_factory=list[Tile])
    keys: str | None = None
    """The name of the columns that are as many as a tile of keys."""

    def __post_init__(self) -> None:
        choose = self.w.random.choice
        self.rows = choose((1, 5, 16, 33, 70))
        self.step = choose((1, 8, 16, 24, 40))
        self.heads = choose((1, 2, 3))
        self.total = choose((0, 1, 20, 37, 64))
        self.key_step = choose((16, 24, 48))

    def type_of(self, columns: str, element: str) -> str:
        size = "?" if columns == self.keys else str(self.sizes[columns])
        return f"tensor<?x{size}x{element}>"

    def width(self, columns: str) -> str:
        return "%n" if columns == self.keys else str(self.sizes[columns])

    def columns(self) -> str:
        """The name of a static number of columns."""
        size = self.w.random.choice((1, 8, 16, 40, 96))
        name = f"c{size}"
        self.sizes[name] = size
        return name

    def define(self, text: str, columns: str, element: str) -> Tile:
        name = self.w.fresh("t")
        self.w.emit(f"%{name} = {text}")
        tile = Tile(name, columns, element)
        self.pool.append(tile)
        return tile

    # -- steps

    def window(self) -> Tile:
        """A tile of a tensor outside."""
        columns, element = self.columns(), self.w.random.choice(list(TYPES))
        width = self.sizes[columns]
        shape = (self.heads, self.rows, width)
        name = self.w.argument(shape, f"{self.heads}x{self.rows}x{width}", element)
        return self.define(f"pypto.view %{name}[%h, %i +: %m, :]", columns, element)

    def rows_at(self, width: int, element: str, *, keys: bool) -> str:
        """Rows of a tensor outside by indices, perhaps through a table of pages."""
        w, rows = self.w, self.w.random.choice((1, 12, 40))
        memory = w.argument((rows, width), f"{rows}x{width}", element)
        total = self.total if keys else self.rows
        numbers = w.indices((self.heads, total), rows)
        where, name = w.fresh("x"), w.fresh("g")
        box = "%j +: %n" if keys else "%i +: %m"
        w.emit(f"%{where} = pypto.view %{numbers}[%h, {box}]")
        through = ""
        if rows > 1 and w.random.random() < 0.5:
            table = w.indices((rows // 4,), rows // 4)
            through = f" through %{table} page 4"
        w.emit(f"%{name} = pypto.gather_rows %{memory} at %{where}{through}")
        return name

    def gather(self) -> None:
        columns, element = self.columns(), self.w.random.choice(list(TYPES))
        name = self.rows_at(self.sizes[columns], element, keys=False)
        self.pool.append(Tile(name, columns, element))

    def concat(self) -> None:
        """Tiles side by side."""
        fit = [t for t in self.pool if t.columns != self.keys]
        one = self.w.random.choice(fit) if fit else None
        if one is None:
            return
        fit = [t for t in fit if t.element == one.element]
        chosen = [one, *(self.w.random.choice(fit) for _ in range(2))]
        total = sum(self.sizes[tile.columns] for tile in chosen)
        if total > 300:
            return
        self.sizes[f"c{total}"] = total
        names = ", ".join(f"%{tile.name}" for tile in chosen)
        self.define(f"pypto.concat {names} axis -1", f"c{total}", one.element)

    def part(self) -> None:
        """Some columns of a tile."""
        tile = self.any()
        if tile.columns == self.keys or self.sizes[tile.columns] < 16:
            return
        eighths = self.sizes[tile.columns] // 8
        first = self.w.random.randrange(eighths)
        size = 8 * self.w.random.randint(1, eighths - first)
        self.sizes[f"c{size}"] = size
        text = f"pypto.view %{tile.name}[:, {8 * first} +: {size}]"
        self.define(text, f"c{size}", tile.element)

    def key_rows(self, width: int, element: str) -> str:
        """A tile of keys: a window, or rows from anywhere."""
        w = self.w
        if w.random.random() < 0.5:
            text = f"{self.heads}x{self.total}x{width}"
            shape = (self.heads, self.total, width)
            name, right = w.argument(shape, text, element), w.fresh("k")
            w.emit(f"%{right} = pypto.view %{name}[%h, %j +: %n, :]")
            return right
        half = width // 2
        if w.random.random() < 0.5 or not half:
            return self.rows_at(width, element, keys=True)
        left = self.rows_at(half, element, keys=True)
        rest = self.rows_at(width - half, element, keys=True)
        right = w.fresh("k")
        w.emit(f"%{right} = pypto.concat %{left}, %{rest} axis -1")
        return right

    def any(self) -> Tile:
        return self.w.random.choice(self.pool)

    def clamped(self, tile: Tile) -> Tile:
        """Back to multiples of 1/8 between -4 and 4."""
        for text in (
            "floor %{0}",
            "maximum %{0}, -32.0",
            "minimum %{0}, 32.0",
            "mul %{0}, 0.125",
        ):
            tile = self.define(
                "pypto." + text.format(tile.name), tile.columns, tile.element
            )
            self.pool.pop()
        self.pool.append(tile)
        return tile

    def unary(self) -> None:
        tile = self.any()
        name = self.w.random.choice(UNARY)
        self.define(f"pypto.{name} %{tile.name}", tile.columns, tile.element)

    def binary(self) -> None:
        """Of two tiles as wide as each other, or of one and a column."""
        one = self.any()
        others = [
            t
            for t in self.pool
            if t.element == one.element and t.columns in (one.columns, "c1")
        ]
        if not others:
            return
        other = self.w.random.choice(others)
        name = self.w.random.choice(BINARY)
        tile = self.define(
            f"pypto.{name} %{one.name}, %{other.name}", one.columns, one.element
        )
        self.pool.pop()
        self.clamped(tile)

    def cast(self) -> None:
        tile, element = self.any(), self.w.random.choice(list(TYPES))
        if element != tile.element:
            text = f"pypto.cast %{tile.name} to {element}"
            self.define(text, tile.columns, element)

    def fold(self) -> None:
        tile = self.any()
        name = self.w.random.choice(("amax", "amin", "sum"))
        self.sizes["c1"] = 1
        if tile.columns == self.keys and name != "sum":
            name = "sum"  # a row of no elements has no greatest one here
        found = self.define(
            f"pypto.{name} %{tile.name} axis -1 {{keepdim}}", "c1", tile.element
        )
        self.pool.pop()
        self.clamped(found)

    def product(self) -> None:
        """With a matrix from outside, or, in the inner loop, with keys."""
        choose = self.w.random.choice
        left = self.any()
        if left.element == "f32":
            left = self.define(f"pypto.cast %{left.name} to f16", left.columns, "f16")
        flags: list[str] = []
        trans = self.w.random.random() < 0.4
        if left.columns == self.keys:
            columns = self.columns()
            right = self.key_rows(self.sizes[columns], left.element)
            trans = False
        elif self.keys is not None and self.w.random.random() < 0.6:
            columns = self.keys
            right = self.key_rows(self.sizes[left.columns], left.element)
            trans = True
        else:
            columns, depth = self.columns(), self.sizes[left.columns]
            width = self.sizes[columns]
            shape = (width, depth) if trans else (depth, width)
            right = self.w.argument(shape, "x".join(map(str, shape)), left.element)
        if trans:
            flags.append("b_trans")
        if self.w.random.random() < 0.5:
            n0, times = choose((16, 32, 64)), choose((1, 2, 4))
            k0 = choose((16, 32))
            m = -(-self.step // 16) * 16
            flags.append(
                f"tile = #pypto.cube<m = [{m}, {m}], "
                f"k = [{k0}, {k0 * choose((1, 2))}], n = [{n0}, {n0 * times}]>"
            )
        options = f" {{{', '.join(flags)}}}" if flags else ""
        found = self.define(
            f"pypto.matmul %{left.name}, %{right}{options}", columns, "f32"
        )
        if self.w.random.random() < 0.8:
            self.pool.pop()
            scaled = self.define(f"pypto.mul %{found.name}, 0.125", columns, "f32")
            self.pool.pop()
            self.clamped(scaled)
        else:
            self.pool.pop()  # stored as it is
            self.kept = found

    def steps(self, count: int) -> None:
        made = (
            self.unary,
            self.binary,
            self.cast,
            self.fold,
            self.gather,
            self.concat,
            self.part,
            self.product,
            self.product,
        )
        for _ in range(count):
            self.w.random.choice(made)()

    def loop(self) -> None:
        """An inner loop over tiles of keys that carries tiles."""
        w = self.w
        choices = [t for t in self.pool if t.columns != self.keys]
        carried = w.random.sample(choices, min(len(choices), w.random.randint(1, 2)))
        outside = list(self.pool)
        names = [w.fresh("p") for _ in carried]
        results = [w.fresh("r") for _ in carried]
        start = ", ".join(
            f"%{n} = %{t.name}" for n, t in zip(names, carried, strict=True)
        )
        w.emit(
            f"{', '.join('%' + r for r in results)} = pypto.for (%j +: %n = 0 to "
            f"{self.total} step {self.key_step}) iter({start}) {{"
        )
        w.indent += 2
        self.keys, self.sizes["keys"] = "keys", 0
        inside = [
            Tile(name, tile.columns, tile.element)
            for name, tile in zip(names, carried, strict=True)
        ]
        self.pool += inside
        self.steps(w.random.randint(2, 6))
        ends = [
            w.random.choice(
                [
                    t
                    for t in self.pool
                    if (t.columns, t.element) == (tile.columns, tile.element)
                ]
            )
            for tile in carried
        ]
        w.emit(f"pypto.yield {', '.join('%' + t.name for t in ends)}")
        w.indent -= 2
        w.emit("}")
        self.keys = None
        self.pool = outside + [
            Tile(name, tile.columns, tile.element)
            for name, tile in zip(results, carried, strict=True)
        ]

    def branch(self) -> None:
        """A tile that one of two branches gives."""
        w, tile = self.w, self.any()
        type_ = self.type_of(tile.columns, tile.element)
        condition, name = w.fresh("b"), w.fresh("t")
        w.emit(f"%{condition} = pypto.index %i + %h > {w.random.randint(0, 20)}")
        w.emit(f"%{name} = scf.if %{condition} -> ({type_}) {{")
        for index, what in enumerate(w.random.sample(UNARY, 2)):
            inner = w.fresh("t")
            w.emit(f"  %{inner} = pypto.{what} %{tile.name}")
            w.emit(f"  scf.yield %{inner} : {type_}")
            w.emit("} else {" if not index else "}")
        self.pool.append(Tile(name, tile.columns, tile.element))


def draw(seed: int) -> Program:
    """A program with one nest."""
    w = Writer(Random(seed))
    nest = Nest(w)
    for _ in range(w.random.randint(1, 2)):
        nest.window()
    nest.steps(w.random.randint(0, 3))
    for _ in range(w.random.randint(0, 2)):
        w.random.choice((nest.loop, nest.loop, nest.branch))()
        nest.steps(w.random.randint(0, 2))
    outs = w.random.sample(nest.pool, min(len(nest.pool), w.random.randint(1, 3)))
    outs[0] = nest.pool[-1]
    outs = list(dict.fromkeys(outs))
    return Program(_text(w, nest, outs), w.inputs)


def _text(w: Writer, nest: Nest, outs: list[Tile]) -> str:
    types = [
        f"tensor<{nest.heads}x{nest.rows}x{nest.sizes[t.columns]}x{t.element}>"
        for t in outs
    ]
    empties = [
        f"  %e{i} = pypto.empty[{nest.heads}, {nest.rows}, "
        f"{nest.sizes[t.columns]}] : {type_}"
        for i, (t, type_) in enumerate(zip(outs, types, strict=True))
    ]
    dests = ", ".join(f"%o{i} = %e{i}" for i in range(len(outs)))
    results = ", ".join(f"%x{i}" for i in range(len(outs)))
    stores = [
        f"    pypto.store %{t.name} into %o{i}[%h, %i, 0]" for i, t in enumerate(outs)
    ]
    return "\n".join(
        [
            f"func.func @f({', '.join(w.arguments.values())}) -> "
            f"({', '.join(types)}) {{",
            *empties,
            f"  {results} = pypto.forall (%h = 0 to {nest.heads}, %i +: %m = 0 to "
            f"{nest.rows} step {nest.step}) outs({dests}) {{",
            *w.lines,
            *stores,
            "  }",
            f"  func.return {results} : {', '.join(types)}",
            "}\n",
        ]
    )
