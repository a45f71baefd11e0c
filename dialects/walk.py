"""The order in which the tasks of a grid start, along its rows and columns of tiles.

    row             2 x 3 tiles   0 1 2     column   0 2 4     snake   0 1 2
                                  3 4 5              1 3 5             5 4 3

    blocked<2, 2>   4 x 4 tiles   0  2  8 10     blocks of 2 x 2 tiles, the blocks below
                                  1  3  9 11     each other first, and within a block
                                  4  6 12 14     the tiles below each other first
                                  5  7 13 15

Tasks that start together then share rows and columns of operand tiles, which they find
in L2. Row is `blocked<1, all>` and column `blocked<all, 1>`. Axes of the grid before
the two come first (outermost), those behind them last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.parser import AttrParser
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import int_attr
from pyptoc.dialects.record import record

ORDERS = ("row", "column", "snake", "blocked")
ASSIGNMENTS = ("static", "dynamic")
"""Who takes a task: cores in turn, or whichever core is free."""
LAUNCH_KEYS = ("order", "blocks", "axes", "assign")
"""The attributes of a launch that say how its tasks are scheduled."""


@record
class Walk:
    """A walk over two axes of a grid."""

    order: str = "row"
    blocks: tuple[int, int] | None = None
    """Rows and columns of tiles of a block, if `order` is `blocked`."""
    axes: tuple[int, int] | None = None
    """The axes of rows and of columns; None: the last two."""

    def __str__(self) -> str:
        blocks = "" if self.blocks is None else f"<{self.blocks[0]}, {self.blocks[1]}>"
        return self.order + blocks

    def attributes(self) -> dict[str, Attribute]:
        """As attributes of a launch."""
        found: dict[str, Attribute] = {"order": StringAttr(self.order)}
        for key, values in (("blocks", self.blocks), ("axes", self.axes)):
            if values is not None:
                found[key] = ArrayAttr(map(int_attr, values))
        return found

    def tasks(self, grid: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The indices of all tasks of a grid, in this order."""
        rank = len(grid)
        if self.order == "row" or rank < 2:
            return product(*map(range, grid))
        return self._in_order(grid)

    def _in_order(self, grid: Sequence[int]) -> Iterator[tuple[int, ...]]:
        rank = len(grid)
        first, second = self.axes or (rank - 2, rank - 1)
        others = [range(n) for a, n in enumerate(grid) if a not in (first, second)]
        before, after = others[:first], others[first:]
        for outer in product(*before):
            for row, column in self._pairs(grid[first], grid[second]):
                for inner in product(*after):
                    yield (*outer, row, column, *inner)

    def _pairs(self, rows: int, columns: int) -> Iterator[tuple[int, int]]:
        if self.order == "snake":
            for row in range(rows):
                line = range(columns)
                for column in reversed(line) if row % 2 else line:
                    yield row, column
            return
        height, width = self.blocks or (max(rows, 1), 1)
        for left in range(0, columns, width):
            for top in range(0, rows, height):
                for column in range(left, min(left + width, columns)):
                    for row in range(top, min(top + height, rows)):
                        yield row, column


ROW = Walk()


def parse_walk(parser: AttrParser) -> Walk:
    """`row`, `column`, `snake` or `blocked<6, 4>`."""
    start = parser.pos
    order = parser.parse_identifier()
    if order not in ORDERS:
        known = ", ".join(ORDERS)
        message = f"a walk is one of {known}, not '{order}'"
        parser.raise_error(message, start, start + len(order))
    if order != "blocked":
        return Walk(order)
    sizes = parser.parse_comma_separated_list(
        parser.Delimiter.ANGLE,
        lambda: parser.parse_integer(allow_boolean=False, allow_negative=False),
    )
    if len(sizes) != 2 or min(sizes) < 1:
        message = "blocked<rows, columns> has two sizes of at least 1"
        parser.raise_error(message, start, parser.pos)
    return Walk(order, (sizes[0], sizes[1]))


def walk_of(attributes: Mapping[str, Attribute]) -> Walk:
    """The walk of a launch; without an order the tasks go by rows."""
    order = attributes.get("order")
    if not isinstance(order, StringAttr):
        return ROW
    blocks, axes = (_pair(attributes.get(key)) for key in ("blocks", "axes"))
    return Walk(order.data, blocks, axes)


def _pair(attribute: Attribute | None) -> tuple[int, int] | None:
    if attribute is None:
        return None
    first, second = cast("ArrayAttr[IntegerAttr]", attribute)
    return first.value.data, second.value.data


def check_walk(attributes: Mapping[str, Attribute], rank: int) -> None:
    """Raise a VerifyException if the attributes of a launch say no walk of its grid."""
    for key, known in (("order", ORDERS), ("assign", ASSIGNMENTS)):
        value = attributes.get(key)
        if value is not None and not (
            isinstance(value, StringAttr) and value.data in known
        ):
            words = ", ".join(f'"{word}"' for word in known)
            raise VerifyException(f"{key} is one of {words}, got {value}")
    for key in ("blocks", "axes"):
        if key in attributes and not _is_pair(attributes[key]):
            raise VerifyException(f"{key} is a list of two integers")
    walk = walk_of(attributes)
    if (walk.blocks is not None) != (walk.order == "blocked"):
        raise VerifyException('order = "blocked" has blocks = [rows, columns]')
    if walk.blocks is not None and min(walk.blocks) < 1:
        raise VerifyException(f"blocks = {list(walk.blocks)} must be at least 1")
    if "axes" in attributes:
        first, second = walk.axes or (0, 0)
        if not (first >= 0 and first + 1 == second and second < rank):
            raise VerifyException(
                f"axes = [{first}, {second}] are two neighbouring axes of a grid of "
                f"rank {rank}"
            )


def _is_pair(attribute: Attribute) -> bool:
    if not isinstance(attribute, ArrayAttr):
        return False
    entries = cast("ArrayAttr[Attribute]", attribute).data
    return len(entries) == 2 and all(isinstance(e, IntegerAttr) for e in entries)
