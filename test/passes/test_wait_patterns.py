"""
The waits between two launches, for every pattern of boxes, against enumeration.

Two launches touch one buffer in boxes that are written as expressions. The waits that
assemble-buffers derives are evaluated for concrete sizes, task by task, and compared
with the tasks whose boxes, evaluated by Python, share an element: none may be missing,
and none may be waited for in vain.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects import func

from pyptoc.dialects.context import make_context
from pyptoc.dialects.npu import TasksOp
from pyptoc.dialects.npu_attrs import SelectorKind
from pyptoc.dialects.parsing import parse_module
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.task_builder import Roots
from pyptoc.passes.waits import WaitDeriver

CONTEXT = make_context()

Range = tuple[str, str]
"""Start and size, over the grid indices %i, %j, %k and the sizes %m, %n."""


@dataclass(frozen=True)
class Side:
    """A launch: its grid, and the box that each task touches."""

    grid: tuple[str, ...]
    rows: Range
    columns: Range = ("0", "%n")


@dataclass(frozen=True)
class Pair:
    """Two launches on one buffer of %m x %n elements."""

    first: Side
    second: Side
    overlaps: bool = False
    """No product of ranges says which tasks are meant."""
    none: bool = False
    """The boxes are apart, and no wait is derived."""


def rows(step: int, name: str = "%i", size: int | None = None) -> Range:
    """Blocks of rows, the last one shorter."""
    lo = f"{step} * {name}"
    return lo, f"min({step if size is None else size}, %m - {lo})"


def blocks(step: int) -> str:
    return f"(%m + {step - 1}) floordiv {step}"


def by_rows(step: int) -> Side:
    return Side((blocks(step),), rows(step))


NESTED = Side(
    ("(%m + 63) floordiv 64", "4"),
    (
        "64 * %i + min(16 * %j, min(64, %m - 64 * %i))",
        "min(16, min(64, %m - 64 * %i) - min(16 * %j, min(64, %m - 64 * %i)))",
    ),
)
"""Blocks of 16 rows in blocks of 64, as form-tasks makes them."""

HALVES = Side(("%m", "2"), ("%i", "1"), ("%n floordiv 2 * %j", "%n floordiv 2"))

PAIRS = {
    "equal tiles": Pair(by_rows(16), by_rows(16)),
    "four behind one": Pair(by_rows(64), by_rows(16)),
    "one behind four": Pair(by_rows(16), by_rows(64)),
    "tiles that do not divide": Pair(by_rows(48), by_rows(32)),
    "tiles that do not divide, back": Pair(by_rows(32), by_rows(48)),
    "two dimensions": Pair(
        Side(
            ("(%m + 15) floordiv 16", "(%n + 7) floordiv 8"),
            rows(16),
            ("8 * %j", "min(8, %n - 8 * %j)"),
        ),
        Side(
            ("(%n + 15) floordiv 16", "(%m + 31) floordiv 32"),
            rows(32, "%j"),
            ("16 * %i", "min(16, %n - 16 * %i)"),
        ),
    ),
    "a stride smaller than the tile": Pair(
        Side(("(%m + 7) floordiv 8",), rows(8, size=20)), by_rows(12)
    ),
    "windows that overlap on both sides": Pair(
        Side(("(%m + 7) floordiv 8",), rows(8, size=20)),
        Side(("(%m + 4) floordiv 5",), rows(5, size=13)),
    ),
    "a stride larger than the tile": Pair(
        Side(("(%m + 15) floordiv 16",), rows(16, size=4)), by_rows(8)
    ),
    "halves of an index": Pair(
        Side(
            ("2 * ((%m + 15) floordiv 16)",),
            ("16 * (%i floordiv 2)", "min(16, %m - 16 * (%i floordiv 2))"),
        ),
        by_rows(32),
    ),
    "halves of the reading index": Pair(
        by_rows(32),
        Side(
            ("2 * ((%m + 15) floordiv 16)",),
            ("16 * (%i floordiv 2)", "min(16, %m - 16 * (%i floordiv 2))"),
        ),
    ),
    "quotient and remainder": Pair(
        Side(("2 * %m",), ("%i floordiv 2", "1"), ("8 * (%i mod 2)", "8")),
        Side(("%m", "2"), ("%i", "1"), ("8 * %j", "8")),
    ),
    "quotient and remainder, all columns": Pair(
        Side(("2 * %m",), ("%i floordiv 2", "1"), ("8 * (%i mod 2)", "8")),
        Side((blocks(4),), rows(4), ("0", "16")),
    ),
    "remainder": Pair(
        Side(("6",), ("16 * (%i mod 3)", "16")),
        Side(("3",), ("16 * %i", "16")),
        overlaps=True,
    ),
    "two indices in one dimension": Pair(
        Side(
            ("(%m + 63) floordiv 64", "4"),
            ("64 * %i + 16 * %j", "min(16, %m - 64 * %i - 16 * %j)"),
        ),
        by_rows(32),
    ),
    "blocks in blocks, read in small ones": Pair(NESTED, by_rows(16)),
    "blocks in blocks, read in halves": Pair(NESTED, by_rows(32)),
    "blocks in blocks, read as they are": Pair(NESTED, NESTED),
    "blocks in blocks, read in large ones": Pair(NESTED, by_rows(128)),
    "blocks in blocks, not in line": Pair(NESTED, by_rows(48), overlaps=True),
    "blocks in blocks, read": Pair(by_rows(32), NESTED),
    "from behind": Pair(
        Side(
            (blocks(16),),
            ("max(0, %m - 16 * %i - 16)", "%m - 16 * %i - max(0, %m - 16 * %i - 16)"),
        ),
        by_rows(16),
    ),
    "all of it": Pair(by_rows(16), Side((), ("0", "%m"))),
    "of one": Pair(Side((), ("0", "%m")), by_rows(16)),
    "a stride that is not known": Pair(
        Side(("4",), ("%s * %i", "%s")), Side(("%m",), ("%i", "1"))
    ),
    "a part of the rows": Pair(Side(("2",), ("16 * %i", "16")), by_rows(8)),
    "a part of the columns": Pair(
        Side((blocks(16), "1"), rows(16), ("0", "8")),
        Side((blocks(8), "2"), rows(8), ("8 * %j", "8")),
    ),
    "a part of both, one task": Pair(Side(("1",), ("0", "8"), ("0", "8")), HALVES),
    "halves side by side": Pair(
        Side((blocks(16),), rows(16), ("0", "8")),
        Side((blocks(4),), rows(4), ("8", "8")),
        none=True,
    ),
    "halves of a size that is not known": Pair(
        Side((blocks(16),), rows(16), ("0", "%n floordiv 2")),
        Side((blocks(4),), rows(4), ("%n floordiv 2", "%n - %n floordiv 2")),
        none=True,
    ),
    "every second row": Pair(
        Side(("%m floordiv 2",), ("2 * %i", "1")),
        Side(("%m floordiv 2",), ("2 * %i + 1", "1")),
        none=True,
    ),
    "every second block of rows": Pair(
        Side(("%m floordiv 32",), ("32 * %i", "16")),
        Side(("%m floordiv 32", "2"), ("32 * %i + 8 * %j + 16", "8")),
        none=True,
    ),
    "every second row, read in pairs": Pair(
        Side(("%m floordiv 2",), ("2 * %i + 1", "1")), by_rows(4)
    ),
    "above and below a row": Pair(
        Side(("%s floordiv 4",), ("4 * %i", "4")),
        Side(("2",), ("%s + 4 * %i", "4")),
        none=True,
    ),
}

SIZES = [
    {"m": m, "n": n, "s": s}
    for m, n, s in ((1, 16, 4), (50, 16, 12), (64, 16, 16), (131, 16, 8), (96, 24, 20))
]


def program(pair: Pair, write_first: bool, write_second: bool) -> str:
    launches = [
        launch(pair.first, write_first),
        re.sub(
            r"%(g\d|t|lo2?|size2?|[ijk])\b", r"%\1_2", launch(pair.second, write_second)
        ),
    ]
    return f"""
func.func @f(%y: memref<?x?xf32, "gm">, %x: memref<?x?xf32, "gm">,
             %m: index, %n: index, %s: index) {{
  pypto.assert %s >= 1, "s"
{"".join(launches)}  func.return
}}
"""


def launch(side: Side, writes: bool) -> str:
    names = ("%i", "%j", "%k")[: len(side.grid)]
    before = [f"  %g{n} = pypto.index {size}\n" for n, size in enumerate(side.grid)]
    grid = ", ".join(f"%g{n}" for n in range(len(side.grid)))
    (lo, size), (lo2, size2) = side.rows, side.columns
    box = "[%lo +: %size, %lo2 +: %size2]"
    types = 'memref<?x?xf32, "gm"> -> tensor<?x?xf32>'
    body = [
        f"    %lo = pypto.index {lo}",
        f"    %size = pypto.index {size}",
        f"    %lo2 = pypto.index {lo2}",
        f"    %size2 = pypto.index {size2}",
        f"    %t = npu.load %x[0 +: %size, 0 +: %size2] : {types}"
        if writes
        else f"    %t = npu.load %y{box} : {types}",
    ]
    if writes:
        body.append(
            "    npu.store %t into %y[%lo, %lo2] "
            ': tensor<?x?xf32>, memref<?x?xf32, "gm">'
        )
    text = "\n".join(body)
    head = f"  %t = npu.tasks ({', '.join(names)}) in ({grid}) on vector"
    return "".join(before) + f"{head} {{\n{text}\n  }}\n"


def value(text: str, symbols: dict[str, int]) -> int:
    """An expression of the table, by Python."""
    plain = text.replace("floordiv", "//").replace("mod", "%").replace(" % ", " @ ")
    plain = re.sub(r"%(\w)", r"\1", plain).replace(" @ ", " % ")
    return eval(plain, {"min": min, "max": max}, dict(symbols))


def elements(side: Side, index: tuple[int, ...], sizes: dict[str, int]) -> list[range]:
    symbols = {**sizes, **dict(zip("ijk", index, strict=False))}
    found: list[range] = []
    for lo, size in (side.rows, side.columns):
        start = value(lo, symbols)
        found.append(range(start, start + max(value(size, symbols), 0)))
    return found


def tasks_of(side: Side, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(value(g, sizes)) for g in side.grid)))


def meets(one: list[range], other: list[range]) -> bool:
    return all(
        max(a.start, b.start) < min(a.stop, b.stop)
        for a, b in zip(one, other, strict=True)
    )


def derived(text: str) -> TasksOp:
    """The second launch with its waits."""
    module: Any = parse_module(text, "<pattern>", CONTEXT)
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    WaitDeriver(function, Shapes(), Roots(function)).run()
    return [op for op in module.walk() if isinstance(op, TasksOp)][-1]


def check(pair: Pair, second: TasksOp, sizes: dict[str, int]) -> tuple[int, int]:
    """
    How many pairs of tasks are not ordered but must be, and the other way round.

    A task whose box is empty has nothing to order, and waits for what it likes.
    """
    names = [scalar.name_hint for scalar in second.scalars]
    first = {
        task: elements(pair.first, task, sizes) for task in tasks_of(pair.first, sizes)
    }
    grid = [value(g, sizes) for g in pair.first.grid]
    missing = needless = 0
    for task in tasks_of(pair.second, sizes):
        mine = elements(pair.second, task, sizes)
        symbols: dict[Any, int] = {f"d{axis}": i for axis, i in enumerate(task)}
        symbols |= {
            f"s{n}": sizes[name] for n, name in enumerate(names) if name in sizes
        }
        wanted = {other for other, theirs in first.items() if meets(mine, theirs)}
        chosen: set[tuple[int, ...]] = set()
        for _, selector in second.wait_list:
            if selector.kind == SelectorKind.OVERLAPS:
                chosen |= wanted
            elif selector.kind == SelectorKind.ALL:
                chosen |= set(first)
            else:
                ends = [
                    (0, size) if r is None else tuple(e.evaluate(symbols) for e in r)
                    for r, size in zip(selector.ranges, grid, strict=True)
                ]
                chosen |= {
                    other
                    for other in first
                    if all(
                        lo <= i < hi for i, (lo, hi) in zip(other, ends, strict=True)
                    )
                }
        missing += len(wanted - chosen)
        idle = {other for other, theirs in first.items() if not all(theirs)}
        needless += len(chosen - wanted - idle) if all(mine) else 0
    return missing, needless


MODES = {"raw": (True, False), "war": (False, True), "waw": (True, True)}


@pytest.mark.parametrize("name", PAIRS)
def test_pattern(name: str):
    pair = PAIRS[name]
    for mode, (write_first, write_second) in MODES.items():
        second = derived(program(pair, write_first, write_second))
        kinds = {selector.kind for _, selector in second.wait_list}
        assert (SelectorKind.OVERLAPS in kinds) == pair.overlaps, mode
        assert bool(kinds) != pair.none, mode
        for sizes in SIZES:
            assert check(pair, second, sizes) == (0, 0), (mode, sizes)


def test_reads_do_not_wait():
    assert not derived(program(PAIRS["equal tiles"], False, False)).wait_list


# Random patterns ---------------------------------------------------------------------


@st.composite
def sides(draw: st.DrawFn) -> Side:
    rank = draw(st.integers(1, 2))
    names = ("%i", "%j")[:rank]
    terms = [draw(st.sampled_from(TERMS)).format(i=name) for name in names]
    start = " + ".join([*terms, str(draw(st.integers(0, 3)))])
    step = draw(st.integers(1, 9))
    size = draw(st.sampled_from((f"{step}", f"min({step}, max(0, %m - ({start})))")))
    columns = draw(
        st.sampled_from(
            (("0", "%n"), ("0", "8"), ("8", "8"), (f"8 * ({names[-1]} mod 2)", "8"))
        )
    )
    grid = tuple(
        draw(st.sampled_from(("3", "%s", "(%m + 7) floordiv 8"))) for _ in names
    )
    return Side(grid, (start, size), columns)


TERMS = (
    "{i}",
    "4 * {i}",
    "8 * {i}",
    "24 * {i}",
    "3 * {i}",
    "4 * ({i} floordiv 2)",
    "8 * ({i} mod 2)",
    "2 * {i} + 4 * ({i} floordiv 2)",
    "(40 - 5 * {i})",
)


@given(pair=st.builds(Pair, sides(), sides()), mode=st.sampled_from(sorted(MODES)))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_patterns(pair: Pair, mode: str):
    second = derived(program(pair, *MODES[mode]))
    for sizes in ({"m": 20, "n": 16, "s": 4}, {"m": 37, "n": 16, "s": 3}):
        assert check(pair, second, sizes) == (0, 0)
