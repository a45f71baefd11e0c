"""Random legal mixed kernels, as text, for the tests of plan-memory and insert-sync.

A kernel is a few rounds, in a loop or behind each other. In a round a tile goes from
the cube core to the vector cores or back, through one of the channels; both sections
have the same rounds in the same order, so that nobody waits for ever. What is popped is
used on several pipes, and freed at once, later, or by the trip after.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from random_kernels import Writer, entry

TILE, HALF = "16x16xf32", "8x16xf32"
WAYS = {"up": "l0c -> ub", "down": "ub -> l1"}
TRIP_FREES = "trip"
"""A round whose slot the next trip frees."""


@dataclass(frozen=True)
class Round:
    """A tile through a channel."""

    channel: str
    way: str
    free: str
    """`now`, `late` (at the end of the trip) or `trip`."""
    skew: bool
    """Whether it is done from the second trip on, for the trip before."""


@dataclass
class Core(Writer):
    """One section."""

    memory: str = ""
    """Where it stores."""
    readable: list[str] = field(default_factory=list)
    """Buffers of ub, or of l1, that hold something."""

    def section(self, header: str, rounds: list[list[Round]]) -> str:
        self.begin()
        for number, trip in enumerate(rounds):
            counter = f"%t{number}"
            self.emit(1, f"scf.for {counter} = %c0 to %trips step %c1 {{")
            self.trip(counter, trip)
            self.emit(1, "}")
            for one in trip:
                if self.takes(one) and one.free == TRIP_FREES:
                    self.guarded(1, "%n > 0", f"tile.free %{one.channel}")
        self.end()
        return "\n".join([f"  {header} {{", *self.top, *self.lines, "  }"])

    def trip(self, counter: str, rounds: list[Round]) -> None:
        late: list[str] = []
        known = list(self.readable)
        for one in rounds:
            test = self.name("b")
            range_ = f"{counter} > 0" if one.skew else f"{counter} < %n"
            self.emit(2, f"{test} = pypto.index {range_}")
            self.emit(2, f"scf.if {test} {{")
            if self.takes(one):
                frees = self.take(3, one, counter)
                if frees:
                    late.append(f"scf.if {test} {{ tile.free %{one.channel} }}")
            else:
                self.give(3, one, counter)
            self.emit(2, "}")
            self.readable = list(known)
        for line in late:
            self.emit(2, line)

    def take(self, depth: int, one: Round, counter: str) -> bool:
        """Pop, use and perhaps free; whether it is to be freed at the trip's end."""
        if one.free == TRIP_FREES:
            first = 1 if one.skew else 0
            self.guarded(depth, f"{counter} > {first}", f"tile.free %{one.channel}")
        popped = self.name("p")
        self.emit(depth, f"{popped} = tile.pop %{one.channel}")
        self.use(depth, popped, counter)
        if one.free == "now":
            self.emit(depth, f"tile.free %{one.channel}")
        return one.free == "late"

    def guarded(self, depth: int, condition: str, line: str) -> None:
        test = self.name("b")
        self.emit(depth, f"{test} = pypto.index {condition}")
        self.emit(depth, f"scf.if {test} {{ {line} }}")

    def buffer(self, depth: int, kind: str, counter: str) -> str:
        """A new buffer, or a slot that comes round."""
        name, slots = self.name("a"), self.number(1, 3)
        if slots == 1 and self.number(0, 1):
            self.emit(depth, f"{name} = tile.alloc : !tile.buf<{kind}>")
            return name
        tail = f" {{slots = {slots}}}" if slots > 1 else ""
        self.top.append(f"    {name} = tile.alloc{tail} : !tile.buf<{kind}>")
        if slots == 1:
            return name
        index, slot = self.name("i"), self.name("s")
        self.emit(depth, f"{index} = pypto.index {counter} mod {slots}")
        self.emit(depth, f"{slot} = tile.slot {name}[{index}]")
        return slot

    def row(self) -> int:
        return 16 * self.number(0, 3)

    def takes(self, one: Round) -> bool:
        raise NotImplementedError

    def begin(self) -> None: ...

    def end(self) -> None: ...

    def give(self, depth: int, one: Round, counter: str) -> None:
        raise NotImplementedError

    def use(self, depth: int, popped: str, counter: str) -> None:
        raise NotImplementedError


class Vector(Core):
    """Pops from l0c, pushes to l1."""

    def takes(self, one: Round) -> bool:
        return one.way == "up"

    def begin(self) -> None:
        self.top.append(f"    %total = tile.alloc : !tile.buf<{HALF}, ub>")
        self.emit(1, "tile.fill 1.0 into %total [8, 16]")
        self.readable = ["%total"]

    def end(self) -> None:
        self.emit(1, "%last = pypto.index 8 * %half")
        self.emit(1, "tile.store %total [8, 16] into %y[%last, 0]")

    def compute(self, depth: int, one: str, counter: str) -> str:
        target = one
        if self.number(0, 2):
            target = self.buffer(depth, f"{HALF}, ub", counter)
        other = self.choose(one, *self.readable)
        op = self.choose("add", "maximum")
        self.emit(depth, f"tile.{op} {one}, {other} into {target} [8, 16]")
        return target

    def use(self, depth: int, popped: str, counter: str) -> None:
        for _ in range(self.number(1, 3)):
            kind = self.choose("compute", "store", "total", "load")
            if kind == "compute":
                self.readable.append(self.compute(depth, popped, counter))
            elif kind == "total":
                self.emit(depth, f"tile.maximum %total, {popped} into %total [8, 16]")
            elif kind == "store":
                self.store(depth, self.choose(popped, *self.readable))
            else:
                self.emit(depth, f"tile.load %x[{self.row()}, 0] [8, 16] into {popped}")

    def store(self, depth: int, source: str) -> None:
        row = self.name("r")
        self.emit(depth, f"{row} = pypto.index {self.row()} + 8 * %half")
        self.emit(depth, f"tile.store {source} [8, 16] into %y[{row}, 0]")

    def give(self, depth: int, one: Round, counter: str) -> None:
        source = self.choose(*self.readable)
        if self.number(0, 1):
            source = self.buffer(depth, f"{HALF}, ub", counter)
            self.emit(depth, f"tile.load %x[{self.row()}, 0] [8, 16] into {source}")
        if self.number(0, 2):
            source = self.compute(depth, source, counter)
        self.emit(depth, f"tile.push {source} [8, 16] into %{one.channel}")
        if self.number(0, 1):
            self.emit(depth, "tile.add %total, 1.0 into %total [8, 16]")


class Cube(Core):
    """Pops from ub, pushes to ub."""

    def takes(self, one: Round) -> bool:
        return one.way == "down"

    def begin(self) -> None:
        self.top.append(f"    %kept = tile.alloc : !tile.buf<{TILE}, l1>")
        self.emit(1, "tile.load %x[0, 0] [16, 16] into %kept")
        self.readable = ["%kept"]

    def product(self, depth: int, left: str, counter: str) -> str:
        a = self.buffer(depth, f"{TILE}, l0a", counter)
        b = self.buffer(depth, f"{TILE}, l0b", counter)
        c = self.buffer(depth, f"{TILE}, l0c", counter)
        right = self.choose(left, *self.readable)
        self.emit(depth, f"tile.move {left}[0, 0] [16, 16] into {a}")
        self.emit(depth, f"tile.move {right}[0, 0] [16, 16] into {b}")
        self.emit(depth, f"tile.matmul {a}, {b} into {c} [16, 16, 16]")
        return c

    def use(self, depth: int, popped: str, counter: str) -> None:
        for _ in range(self.number(1, 2)):
            product = self.product(depth, popped, counter)
            if self.number(0, 1):
                row = self.row()
                self.emit(depth, f"tile.store {product} [16, 16] into %z[{row}, 0]")
        if self.number(0, 3) == 0:
            self.emit(depth, f"tile.load %x[{self.row()}, 0] [16, 16] into {popped}")

    def give(self, depth: int, one: Round, counter: str) -> None:
        if self.number(0, 1):
            loaded = self.buffer(depth, f"{TILE}, l1", counter)
            self.emit(depth, f"tile.load %x[{self.row()}, 0] [16, 16] into {loaded}")
            self.readable.append(loaded)
        product = self.product(depth, self.choose(*self.readable), counter)
        self.emit(depth, f"tile.push {product} [16, 16] into %{one.channel}")


@st.composite
def mixed_modules(draw: st.DrawFn, across: bool = True) -> str:
    """A module with one random mixed kernel, launched once.

    across: whether a trip may free what the trip before popped.
    """
    slots: dict[str, int] = {}
    rounds: list[list[Round]] = []
    for _ in range(draw(st.integers(1, 2))):
        trip: list[Round] = []
        for way in draw(st.lists(st.sampled_from(list(WAYS)), min_size=1, max_size=3)):
            name = f"{way}{len(slots)}"
            slots[name] = draw(st.integers(1, 3))
            frees = ["now", "late"] + [TRIP_FREES] * (across and slots[name] > 1)
            free = draw(st.sampled_from(frees))
            trip.append(Round(name, way, free, draw(st.booleans())))
        rounds.append(trip)
    channels = [
        f"  %{one.channel} = tile.channel {{slots = {slots[one.channel]}}} : "
        f"!tile.chan<{TILE}, {WAYS[one.way]}, rows>"
        for trip in rounds
        for one in trip
    ]
    cube = Cube(draw).section("tile.section cube", rounds)
    vector = Vector(draw).section("tile.section vector (%half)", rounds)
    constants = [f"  %c{i} = arith.constant {i} : index" for i in range(4)]
    memory = 'memref<64x16xf32, "gm">'
    memories = ", ".join(f"%{name}: {memory}" for name in "xyz")
    body = "\n".join([*constants, *channels, "  %trips = pypto.index %n + 1"])
    return f"""
npu.kernel @k (%i) ({memories}, %n: index, %m: index) on mixed {{
{body}
{cube}
{vector}
}}
{entry("64x16", ["64x16", "64x16"])}
"""
