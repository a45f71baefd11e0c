"""Random legal kernels, as text, for the tests of plan-memory and insert-sync.

Legal: every read finds something that was written before it in the same trip, or before
the loop. Nothing else is asked: buffers are used across loops and branches, in place,
in slots, through memory and back; loops may run no time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

BUFFER = "!tile.buf<4x16xf32, ub>"
MEMORY = 'memref<64x16xf32, "gm">'
SCALARS = ("n", "m")
BOUNDS = ("%n", "%m")
"""Trip counts: what a kernel gets as scalars, so that a test can try several."""


@dataclass
class Writer:
    """Writes one kernel, with choices by hypothesis."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    top: list[str] = field(default_factory=list)
    """Allocations in the kernel's own block."""
    names: int = 0
    budget: int = 14

    def choose(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"%{prefix}{self.names}"

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("  " * (depth + 1) + text)


def _alloc(writer: Writer, depth: int) -> str:
    name = writer.name("t")
    writer.emit(depth, f"{name} = tile.alloc : {BUFFER}")
    return name


@dataclass
class VectorKernel(Writer):
    """Loads, vector instructions and stores on ub."""

    def block(self, depth: int, readable: list[str], counters: list[str]) -> None:
        readable = list(readable)
        for _ in range(self.number(1, 5)):
            if self.budget <= 0:
                return
            self.budget -= 1
            kinds = ["load", "vector", "vector", "store", "slot", "reload"]
            if depth < 3:
                kinds += ["loop", "loop", "if"]
            getattr(self, f"_{self.choose(*kinds)}")(depth, readable, counters)

    def _target(self, depth: int, readable: list[str]) -> str:
        """Some buffer to overwrite: a new one, or one that is there."""
        if not readable or self.number(0, 2):
            return _alloc(self, depth)
        return self.choose(*readable)

    def _row(self) -> int:
        return 4 * self.number(0, 3)

    def _load(self, depth: int, readable: list[str], counters: list[str]) -> None:
        target = self._target(depth, readable)
        self.emit(depth, f"tile.load %x[{self._row()}, 0] [4, 16] into {target}")
        readable.append(target)

    def _reload(self, depth: int, readable: list[str], counters: list[str]) -> None:
        """From memory that the kernel stores to."""
        target = self._target(depth, readable)
        self.emit(depth, f"tile.load %y[{self._row()}, 0] [4, 16] into {target}")
        readable.append(target)

    def _slot(self, depth: int, readable: list[str], counters: list[str]) -> None:
        """A load into one slot of an allocation outside all loops."""
        slots = self.number(2, 3)
        alloc, index, slot = self.name("a"), self.name("i"), self.name("s")
        self.top.append(f"  {alloc} = tile.alloc {{slots = {slots}}} : {BUFFER}")
        counter = self.choose(*counters) if counters else "%n"
        self.emit(depth, f"{index} = pypto.index {counter} mod {slots}")
        self.emit(depth, f"{slot} = tile.slot {alloc}[{index}] : {BUFFER}")
        self.emit(depth, f"tile.load %x[{self._row()}, 0] [4, 16] into {slot}")
        readable.append(slot)

    def _vector(self, depth: int, readable: list[str], counters: list[str]) -> None:
        if not readable:
            target = _alloc(self, depth)
            self.emit(depth, f"tile.fill 1.5 into {target} [4, 16]")
        else:
            one, other = self.choose(*readable), self.choose(*readable)
            target = self._target(depth, readable)
            op = self.choose("add", "maximum", "sub")
            self.emit(depth, f"tile.{op} {one}, {other} into {target} [4, 16]")
        readable.append(target)

    def _store(self, depth: int, readable: list[str], counters: list[str]) -> None:
        if readable:
            source = self.choose(*readable)
            memory = self.choose("%y", "%z")
            self.emit(
                depth, f"tile.store {source} [4, 16] into {memory}[{self._row()}, 0]"
            )

    def _loop(self, depth: int, readable: list[str], counters: list[str]) -> None:
        counter = self.name("k")
        bound = self.choose(*BOUNDS)
        self.emit(depth, f"scf.for {counter} = %c0 to {bound} step %c1 {{")
        self.block(depth + 1, readable, [*counters, counter])
        self.emit(depth, "}")

    def _if(self, depth: int, readable: list[str], counters: list[str]) -> None:
        counter = self.choose(*counters, "%n")
        condition = self.name("b")
        self.emit(depth, f"{condition} = pypto.index {counter} mod 2 == 0")
        self.emit(depth, f"scf.if {condition} {{")
        self.block(depth + 1, readable, counters)
        if self.number(0, 1):
            self.emit(depth, "} else {")
            self.block(depth + 1, readable, counters)
        self.emit(depth, "}")


@st.composite
def vector_modules(draw: st.DrawFn) -> str:
    """A module with one random vector kernel, launched once."""
    writer = VectorKernel(draw)
    writer.block(0, [], [])
    constants = [f"  %c{i} = arith.constant {i} : index" for i in range(4)]
    body = "\n".join([*constants, *writer.top, *writer.lines])
    memories = ", ".join(f"%{name}: {MEMORY}" for name in "xyz")
    return f"""
npu.kernel @k (%i) ({memories}, %n: index, %m: index) on vector {{
{body}
}}
{entry("64x16", ["64x16", "64x16"])}
"""


def entry(inputs: str, outputs: list[str]) -> str:
    """A function that launches @k; the outputs are updated in place."""
    names = ["y", "z"][: len(outputs)]
    types = [f'memref<{shape}xf32, "gm">' for shape in outputs]
    arguments = [f'%x: memref<{inputs}xf32, "gm"> {{pypto.name = "x"}}']
    arguments += [
        f'%{name}: {kind} {{pypto.name = "{name}"}}'
        for name, kind in zip(names, types, strict=True)
    ]
    arguments += [f'%{name}: index {{pypto.name = "{name}"}}' for name in SCALARS]
    results = ", ".join(
        f'{kind} {{pypto.name = "{name}_out"}}'
        for name, kind in zip(names, types, strict=True)
    )
    given = ", ".join(f"%{name}" for name in ["x", *names, *SCALARS])
    return f"""
func.func @main({", ".join(arguments)}) -> ({results}) {{
  %t = npu.launch @k[1] ({given})
  func.return {", ".join(f"%{name}" for name in names)} : {", ".join(types)}
}}"""


@dataclass
class CubeKernel(Writer):
    """Products of boxes of %x, through l1 and level 0, added up in l0c and stored."""

    def module(self) -> str:
        self.emit(
            0, f"%acc = tile.alloc {{slots = {self.number(1, 1)}}} : {_buf('l0c')}"
        )
        count = self.number(1, 2)
        outer = self.number(0, 1)
        if outer:
            self.emit(0, "scf.for %r = %c0 to %m step %c1 {")
        for _ in range(count):
            self.product(outer, "%r" if outer else "%n")
        if outer:
            self.emit(0, "}")
        constants = [f"  %c{i} = arith.constant {i} : index" for i in range(4)]
        body = "\n".join([*constants, *self.top, *self.lines])
        memory = 'memref<128x16xf32, "gm">'
        return f"""
npu.kernel @k (%i) (%x: {memory}, %y: {memory}, %n: index, %m: index) on cube {{
{body}
}}
{entry("128x16", ["128x16"])}
"""

    def buffer(self, depth: int, space: str, counter: str) -> str:
        """A buffer for this trip: its own, one of several slots, or an older one."""
        slots = self.number(1, 3)
        name = self.name("a")
        if slots == 1 and self.number(0, 1):
            self.emit(depth, f"{name} = tile.alloc : {_buf(space)}")
            return name
        tail = f" {{slots = {slots}}}" if slots > 1 else ""
        self.top.append(f"  {name} = tile.alloc{tail} : {_buf(space)}")
        if slots == 1:
            return name
        index, slot = self.name("i"), self.name("s")
        self.emit(depth, f"{index} = pypto.index {counter} mod {slots}")
        self.emit(depth, f"{slot} = tile.slot {name}[{index}] : {_buf(space)}")
        return slot

    def product(self, depth: int, outer: str) -> None:
        first = self.name("k")
        self.emit(depth, f"scf.for {first} = %c0 to %n step %c1 {{")
        left = self.buffer(depth + 1, "l1", first)
        right = self.buffer(depth + 1, "l1", first)
        row = self.name("r")
        self.emit(depth + 1, f"{row} = pypto.index 16 * ({first} mod 4)")
        self.emit(depth + 1, f"tile.load %x[{row}, 0] [16, 16] into {left}")
        self.emit(depth + 1, f"tile.load %x[16, 0] [16, 16] into {right}")
        second, inner = self.name("k"), self.number(0, 1)
        deep = depth + 1 + inner
        if inner:
            bound = self.choose(*BOUNDS)
            self.emit(depth + 1, f"scf.for {second} = %c0 to {bound} step %c1 {{")
        counter = second if inner else first
        a, b = self.buffer(deep, "l0a", counter), self.buffer(deep, "l0b", counter)
        self.emit(deep, f"tile.move {left}[0, 0] [16, 16] into {a}")
        self.emit(deep, f"tile.move {right}[0, 0] [16, 16] into {b}")
        test = self.name("b")
        terms = f"{first} + {second}" if inner else f"{first} + 0"
        self.emit(deep, f"{test} = pypto.index {terms} > 0")
        self.emit(
            deep, f"tile.matmul {a}, {b} into %acc [16, 16, 16] accumulate {test}"
        )
        if inner:
            self.emit(depth + 1, "}")
        where = self.choose("inside", "after")
        if where == "inside" and not inner:
            self.emit(depth + 1, "tile.store %acc [16, 16] into %y[0, 0]")
        self.emit(depth, "}")
        # A loop that did not run has left nothing to store.
        self.emit(
            depth, f"tile.matmul {self.filled(depth, outer)} into %acc [16, 16, 16]"
        )
        self.emit(depth, "tile.store %acc [16, 16] into %y[16, 0]")

    def filled(self, depth: int, counter: str) -> str:
        """Two level-0 buffers that hold something."""
        source = self.buffer(depth, "l1", counter)
        a, b = self.buffer(depth, "l0a", counter), self.buffer(depth, "l0b", counter)
        self.emit(depth, f"tile.load %x[32, 0] [16, 16] into {source}")
        self.emit(depth, f"tile.move {source}[0, 0] [16, 16] into {a}")
        self.emit(depth, f"tile.move {source}[0, 0] [16, 16] into {b}")
        return f"{a}, {b}"


def _buf(space: str) -> str:
    return f"!tile.buf<16x16xf32, {space}>"


@st.composite
def cube_modules(draw: st.DrawFn) -> str:
    """A module with one random cube kernel, launched once."""
    return CubeKernel(draw).module()
