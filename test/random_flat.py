"""Random flat mixed kernels, as text, for the tests of split-mixed and skew.

A value is a tile of %m rows and %n columns (both may be 0), in l1, l0c or ub. Products
are with square matrices from memory, so that every product has that shape too. All
numbers are small integers: sums are exact in any order, and results must be equal bit
for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from random_kernels import Writer

SIZES = [(16, 16), (1, 16), (5, 3), (7, 1), (2, 6), (13, 8)]
"""Rows and columns of the tiles."""
TILES = 4
"""Tiles one after the other in each memory."""
ELEMENTWISE = ("add", "sub", "maximum", "minimum")
INPUTS = ("x", "w", "g")


@dataclass
class FlatKernel(Writer):
    """Chains of products and vector instructions, with loops and branches."""

    rows: int = 16
    columns: int = 16
    whole_rows: bool = True
    """Whether instructions that need whole rows may come."""
    neither: bool = False
    """Whether those that need whole columns may come as well."""
    budget: int = 16
    carried: list[str] = field(default_factory=list[str])
    """Buffers in ub that loops update."""

    # -- text

    def type(self, space: str, shape: str = "mn") -> str:
        sizes = {"m": self.rows, "n": self.columns, "1": 1}
        rows, columns = (sizes[letter] for letter in shape)
        return f"!tile.buf<{rows}x{columns}xf32, {space}>"

    def alloc(self, depth: int, space: str, shape: str = "mn") -> str:
        name = self.name(space)
        self.emit(depth, f"{name} = tile.alloc : {self.type(space, shape)}")
        return name

    def buffer(self, depth: int, space: str, counters: list[str]) -> str:
        """A buffer of this trip: its own, one outside of loops, or a slot of one."""
        kind = self.number(0, 3)
        if not counters or kind > 1:
            return self.alloc(depth, space)
        name, index, slot = self.name("a"), self.name("i"), self.name("s")
        if kind == 0:
            self.top.append(f"  {name} = tile.alloc : {self.type(space)}")
            return name
        self.top.append(f"  {name} = tile.alloc {{slots = 2}} : {self.type(space)}")
        self.emit(depth, f"{index} = pypto.index {counters[-1]} mod 2")
        self.emit(depth, f"{slot} = tile.slot {name}[{index}]")
        return slot

    def level0(self, depth: int, space: str, shape: str) -> str:
        """A buffer of this product alone, or one that others use as well."""
        if self.number(0, 1):
            return self.alloc(depth, space, shape)
        name = f"%common_{space}"
        line = f"  {name} = tile.alloc : {self.type(space, shape)}"
        if line not in self.top:
            self.top.append(line)
        return name

    def row(self, counters: list[str]) -> str:
        """An offset in memory, which may depend on a loop."""
        if counters and self.number(0, 1):
            return self.offset(counters)
        return str(self.number(0, TILES - 1) * self.rows)

    def offset(self, counters: list[str]) -> str:
        name = self.name("o")
        counter = self.choose(*counters)
        self.emit(
            len(counters), f"{name} = pypto.index {self.rows} * ({counter} mod {TILES})"
        )
        return name

    # -- values

    def load(self, depth: int, space: str, counters: list[str]) -> str:
        row = self.row(counters) if depth == len(counters) else "0"
        buffer = self.buffer(depth, space, counters)
        self.emit(depth, f"tile.load %x[{row}, 0] [%m, %n] into {buffer}")
        return buffer

    def product(self, depth: int, left: str, counters: list[str]) -> str:
        """`left`, a tile in l1, times a matrix: an accumulator in l0c."""
        right = self.alloc(depth, "l1", "nn")
        self.emit(depth, f"tile.load %w[0, 0] [%n, %n] into {right}")
        a, b = self.level0(depth, "l0a", "mn"), self.level0(depth, "l0b", "nn")
        acc = self.buffer(depth, "l0c", counters)
        parts = self.number(0, 2) == 0
        if parts:
            # The product twice, by a loop that adds it up.
            k, more = self.name("k"), self.name("b")
            self.emit(depth, f"scf.for {k} = %c0 to %c2 step %c1 {{")
            self.emit(depth, f"{more} = pypto.index {k} > 0")
        self.emit(depth, f"tile.move {left}[0, 0] [%m, %n] into {a}")
        self.emit(depth, f"tile.move {right}[0, 0] [%n, %n] into {b}")
        added = f" accumulate {more}" if parts else ""
        self.emit(depth, f"tile.matmul {a}, {b} into {acc} [%m, %n, %n]{added}")
        if parts:
            self.emit(depth, "}")
        return acc

    def down(self, depth: int, acc: str, counters: list[str]) -> str:
        """An accumulator in ub, with small numbers."""
        x = self.buffer(depth, "ub", counters)
        self.emit(depth, f"tile.move {acc}[0, 0] [%m, %n] into {x}")
        self.emit(depth, f"tile.clip {x}, -4.0, 4.0 into {x} [%m, %n]")
        return x

    def up(self, depth: int, x: str, counters: list[str]) -> str:
        """A tile of ub in l1."""
        small = self.alloc(depth, "ub")
        self.emit(depth, f"tile.clip {x}, -4.0, 4.0 into {small} [%m, %n]")
        p = self.buffer(depth, "l1", counters)
        self.emit(depth, f"tile.move {small}[0, 0] [%m, %n] into {p}")
        return p

    # -- statements

    def block(self, depth: int, readable: list[str], counters: list[str]) -> None:
        """Statements on the tiles of ub in `readable`."""
        readable = list(readable)
        for _ in range(self.number(1, 4)):
            if self.budget <= 0:
                return
            self.budget -= 1
            kinds = ["chain", "chain", "vector", "vector", "both", "store", "keep"]
            kinds += ["hold"]
            if depth < 3:
                kinds += ["loop", "branch", "scalars", "stages", "stages"]
            getattr(self, f"_{self.choose(*kinds)}")(depth, readable, counters)

    def _chain(self, depth: int, readable: list[str], counters: list[str]) -> None:
        """cube -> vector, or vector -> cube -> vector."""
        up = readable and self.number(0, 2)
        left = (
            self.up(depth, self.choose(*readable), counters)
            if up
            else self.load(depth, "l1", counters)
        )
        if up and not self.number(0, 3):
            self._vector(depth, readable, counters)
        readable.append(self.down(depth, self.product(depth, left, counters), counters))

    def _both(self, depth: int, readable: list[str], counters: list[str]) -> None:
        """An accumulator that is stored, and used on by the vector cores."""
        acc = self.product(depth, self.load(depth, "l1", counters), counters)
        self.emit(depth, f"tile.store {acc} [%m, %n] into %z[0, 0]")
        readable.append(self.down(depth, acc, counters))

    def _vector(self, depth: int, readable: list[str], counters: list[str]) -> None:
        if not readable:
            readable.append(self.load(depth, "ub", counters))
            return
        x = self.choose(*readable)
        target = self.choose(self.alloc(depth, "ub"), x)
        kinds = ["binary", "binary", "clip", "bias", "arange", "mask"]
        kinds += ["reduce", "reduce", "scan"] if self.whole_rows else ["outer", "down"]
        kinds += ["down"] if self.neither else []
        kind = self.choose(*kinds)
        if kind == "binary":
            op, other = self.choose(*ELEMENTWISE), self.choose(*readable)
            self.emit(depth, f"tile.{op} {x}, {other} into {target} [%m, %n]")
        elif kind == "clip":
            self.emit(depth, f"tile.clip {x}, -3.0, 5.0 into {target} [%m, %n]")
        elif kind == "bias":
            row = self.alloc(depth, "ub", "1n")
            self.emit(depth, f"tile.load %g[0, 0] [1, %n] into {row}")
            self.emit(depth, f"tile.add {x}, {row} col into {target} [%m, %n]")
        elif kind == "down":
            other, t = self.choose(*readable), self.alloc(depth, "ub")
            self.emit(depth, f"tile.maximum {x}, {other} col into {t} [%m, %n]")
            target = t
        elif kind == "outer":
            column = self.alloc(depth, "ub", "m1")
            self.emit(depth, f"tile.load %x[0, 0] [%m, 1] into {column}")
            self.emit(depth, f"tile.add {x}, {column} row into {target} [%m, %n]")
        elif kind == "arange":
            if not self.whole_rows:
                return
            target = self.alloc(depth, "ub")
            self.emit(depth, f"tile.arange 0.0 into {target} [%m, %n]")
        elif kind == "mask":
            o, t = self.name("o"), self.alloc(depth, "ub")
            self.emit(depth, f"{o} = pypto.index {(counters or ['%c1'])[-1]} - 1")
            self.emit(depth, f"tile.mask_causal {x}, {o} into {t} [%m, %n]")
            self.emit(depth, f"tile.clip {t}, -4.0, 4.0 into {target} [%m, %n]")
        elif kind == "scan":
            t = self.alloc(depth, "ub")
            self.emit(depth, f"tile.row_cumsum {x} into {t} [%m, %n]")
            self.emit(depth, f"tile.clip {t}, -9.0, 9.0 into {target} [%m, %n]")
        else:
            column = self.alloc(depth, "ub", "m1")
            name = self.choose("sum", "max", "min")
            # The least of no elements is not a small number.
            self.emit(depth, f"tile.row_{name} {x} into {column} [%m, %n]")
            self.emit(depth, f"tile.clip {column}, -9.0, 9.0 into {column} [%m, 1]")
            self.emit(depth, f"tile.sub {x}, {column} row into {target} [%m, %n]")
        readable.append(target)

    def _store(self, depth: int, readable: list[str], counters: list[str]) -> None:
        if readable:
            row = self.number(0, TILES - 1) * self.rows
            combine = self.choose("", ' {combine = "add"}')
            x = self.choose(*readable)
            self.emit(depth, f"tile.store {x} [%m, %n] into %y[{row}, 0]{combine}")

    def _keep(self, depth: int, readable: list[str], counters: list[str]) -> None:
        """A buffer outside of the loops takes what is here, or a product directly."""
        kept = self.choose(*self.carried)
        if readable and self.number(0, 1):
            x = self.choose(*readable)
            self.emit(depth, f"tile.minimum {kept}, {x} into {kept} [%m, %n]")
        else:
            acc = self.product(depth, self.load(depth, "l1", counters), counters)
            self.emit(depth, f"tile.move {acc}[0, 0] [%m, %n] into {kept}")
        readable.append(kept)

    def _hold(self, depth: int, readable: list[str], counters: list[str]) -> None:
        """A buffer in l1 outside of the loops takes a tile, or is multiplied."""
        if readable and self.number(0, 1):
            small = self.alloc(depth, "ub")
            x = self.choose(*readable)
            self.emit(depth, f"tile.clip {x}, -4.0, 4.0 into {small} [%m, %n]")
            self.emit(depth, f"tile.move {small}[0, 0] [%m, %n] into %held")
        else:
            acc = self.product(depth, "%held", counters)
            readable.append(self.down(depth, acc, counters))

    def _loop(self, depth: int, readable: list[str], counters: list[str]) -> None:
        counter = self.name("k")
        bound = self.choose("%p", "%q")
        step = self.choose("%c1", "%c1", "%c2")
        low = self.choose("%c0", "%c1")
        self.emit(depth, f"scf.for {counter} = {low} to {bound} step {step} {{")
        self.block(depth + 1, readable, [*counters, counter])
        self.emit(depth, "}")

    def _stages(self, depth: int, readable: list[str], counters: list[str]) -> None:
        """A loop whose cube and vector stages alternate."""
        counter, bound = self.name("k"), self.choose("%p", "%q")
        self.emit(depth, f"scf.for {counter} = %c0 to {bound} step %c1 {{")
        deep, inside, tiles = depth + 1, [*counters, counter], list[str]()
        left = self.load(deep, "l1", inside)
        if self.number(0, 1):
            tiles.append(self.load(deep, "ub", inside))
            left = self.up(deep, tiles[0], inside)
        for _ in range(self.number(1, 3)):
            if not self.number(0, 3):
                self._branch(deep, tiles, inside)
            tiles.append(self.down(deep, self.product(deep, left, inside), inside))
            for _ in range(self.number(0, 2)):
                self._vector(deep, tiles, inside)
            if not self.number(0, 2):
                self._keep(deep, tiles, inside)
            if not self.number(0, 2):
                self._store(deep, tiles, inside)
            left = self.up(deep, self.choose(tiles[-1], *tiles), inside)
        acc = self.product(deep, left, inside)
        kept, x = self.choose(*self.carried), self.down(deep, acc, inside)
        self.emit(deep, f"tile.minimum {kept}, {x} into {kept} [%m, %n]")
        self.emit(depth, "}")

    def _branch(self, depth: int, readable: list[str], counters: list[str]) -> None:
        counter = self.choose(*counters, "%q")
        condition = self.name("b")
        self.emit(depth, f"{condition} = pypto.index {counter} mod 2 == 0")
        self.emit(depth, f"scf.if {condition} {{")
        self.block(depth + 1, readable, counters)
        if self.number(0, 1):
            self.emit(depth, "} else {")
            self.block(depth + 1, readable, counters)
        self.emit(depth, "}")

    def _scalars(self, depth: int, readable: list[str], counters: list[str]) -> None:
        """A loop that carries an offset for each side, and a branch that gives one."""
        u, v, k, d = (self.name(n) for n in "uvkd")
        self.emit(
            depth,
            f"{d}, {d}_1 = scf.for {k} = %c0 to %p step %c1 iter_args({u} = %c0, "
            f"{v} = %c1) -> (index, index) {{",
        )
        deep = depth + 1
        left = self.alloc(deep, "l1")
        self.emit(deep, f"tile.load %x[{u}, 0] [%m, %n] into {left}")
        acc = self.product(deep, left, [])
        x = self.alloc(deep, "ub")
        self.emit(deep, f"tile.load %x[{v}, 0] [%m, %n] into {x}")
        if self.number(0, 1):
            y = self.down(deep, acc, [])
            self.emit(deep, f"tile.add {x}, {y} into {x} [%m, %n]")
        kept = self.carried[0]
        self.emit(deep, f"tile.minimum {kept}, {x} into {kept} [%m, %n]")
        test, a, b = self.name("b"), self.name("o"), self.name("o")
        self.emit(deep, f"{test} = pypto.index {k} mod 2 == 1")
        self.emit(deep, f"{a}, {b} = scf.if {test} -> (index, index) {{")
        self.emit(deep + 1, f"{a}_1 = pypto.index {u} + 1")
        self.emit(deep + 1, f"scf.yield {a}_1, %c2 : index, index")
        self.emit(deep, "} else {")
        self.emit(deep + 1, f"scf.yield %c2, {v} : index, index")
        self.emit(deep, "}")
        self.emit(deep, f"scf.yield {a}, {b} : index, index")
        self.emit(depth, "}")
        x = self.alloc(depth, "ub")
        used = self.choose(d, f"{d}_1")
        self.emit(depth, f"tile.load %x[{used}, 0] [%m, %n] into {x}")
        readable.append(x)

    # -- the whole

    def module(self) -> str:
        for number in range(2):
            name = f"%kept{number}"
            self.carried.append(name)
            self.emit(0, f"{name} = tile.alloc : {self.type('ub')}")
            self.emit(0, f"tile.fill {number}.0 into {name} [%m, %n]")
        self.emit(0, f"%held = tile.alloc : {self.type('l1')}")
        self.emit(0, "tile.move %kept1[0, 0] [%m, %n] into %held")
        self.block(0, [], [])
        for number, name in enumerate(self.carried):
            self.emit(0, f"tile.store {name} [%m, %n] into %v[{number * self.rows}, 0]")
        constants = [f"  %c{i} = arith.constant {i} : index" for i in range(3)]
        body = "\n".join([*constants, *self.top, *self.lines])
        tall = f'memref<{TILES * self.rows}x{self.columns}xf32, "gm">'
        sizes = {
            "x": tall,
            "w": f'memref<{self.columns}x{self.columns}xf32, "gm">',
            "g": f'memref<1x{self.columns}xf32, "gm">',
            **dict.fromkeys("yzv", tall),
        }
        parameters = ", ".join(f"%{name}: {kind}" for name, kind in sizes.items())
        arguments = ", ".join(
            f'%{name}: {kind} {{pypto.name = "{name}"}}' for name, kind in sizes.items()
        )
        scalars = ", ".join(f"%{name}: index" for name in SCALARS)
        given = ", ".join(
            f'%{name}: index {{pypto.name = "{name}"}}' for name in SCALARS
        )
        results = ", ".join(f'{tall} {{pypto.name = "{name}_out"}}' for name in "yzv")
        names = ", ".join(f"%{name}" for name in (*sizes, *SCALARS))
        return f"""
npu.kernel @k () ({parameters}, {scalars}) on mixed {{
{body}
}}
func.func @main({arguments}, {given}) -> ({results}) {{
  %t = npu.launch @k[] ({names})
  func.return %y, %z, %v : {tall}, {tall}, {tall}
}}
"""


SCALARS = ("m", "n", "p", "q")
"""Rows and columns of the tiles, and two trip counts."""


@st.composite
def flat_modules(draw: st.DrawFn) -> tuple[str, tuple[int, int]]:
    """A module with one random flat kernel, and the size of its tiles."""
    rows, columns = draw(st.sampled_from(SIZES))
    whole_rows, neither = draw(st.booleans()), draw(st.integers(0, 4)) == 0
    kernel = FlatKernel(
        draw, rows=rows, columns=columns, whole_rows=whole_rows, neither=neither
    )
    return kernel.module(), (rows, columns)


def inputs(size: tuple[int, int], scalars: dict[str, int]) -> dict[str, object]:
    """What a module of tiles of that size takes."""
    rows, columns = size
    rng = np.random.default_rng(rows * columns)

    def numbers(*shape: int) -> np.ndarray:
        return rng.integers(-2, 3, shape).astype(np.float32)

    tall = (TILES * rows, columns)
    return {
        "x": numbers(*tall),
        "w": numbers(columns, columns),
        "g": numbers(1, columns),
        **{name: numbers(*tall) for name in "yzv"},
        **scalars,
    }
