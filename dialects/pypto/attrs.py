"""Attributes of the tensor level: tiles, tolerances, and rules for test data.

#pypto.cube<m = [16, 16], k = [256, 256], n = [256, 256], split_k = 4>    .. = 4 atomic>
#pypto.cube<m = .., k = .., n = .., walk = blocked<6, 4>, assign = static>
#pypto.vec<8, 2048>
#pypto.tiles<cube = #pypto.cube<..>, vec = [64, 256]>
#pypto.tol<atol = 1.0e-4, rtol = 5.0e-3, outliers = 0.005>   #pypto.tol<as_sets>
#pypto.data<uniform -1.0 to 1.0>          #pypto.data<integer 1 to "pages * 128">
#pypto.data<distinct 0 to "blocks", skip> #pypto.data<partition "M">
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.record import record
from pyptoc.dialects.walk import ASSIGNMENTS, Walk, parse_walk

SPLIT_OFF = 0
SPLIT_CHOSEN = -1
"""`split_k` without a factor: the compiler chooses one."""


class CubeTile(NamedTuple):
    """Sizes of a matmul's tile in elements, L0 first: `m = [mL0, mL1]`."""

    m: tuple[int, ...]
    k: tuple[int, ...]
    """[kL0, kL1], or [kL0, kAL1, kBL1] where A and B are staged differently."""
    n: tuple[int, ...]
    split_k: int = SPLIT_OFF
    """0: not given; -1: the compiler chooses; n: the factor."""
    walk: Walk | None = None
    """The order in which tasks start; None: the compiler chooses."""
    assign: str | None = None
    """Who takes a task, `static` or `dynamic`; None: the compiler chooses."""
    atomic: bool = False
    """With `split_k`: parts are added into the result, in any order."""


@irdl_attr_definition
class CubeTileAttr(Data[CubeTile]):
    """`#pypto.cube<m = [mL0, mL1], k = [kL0, kL1], n = [nL0, nL1], split_k = 4>`.

    Also `walk = row | column | snake | blocked<6, 4>` and `assign = static | dynamic`.
    """

    name = "pypto.cube"

    def __init__(
        self,
        m: Sequence[int] | CubeTile,
        k: Sequence[int] = (),
        n: Sequence[int] = (),
        split_k: int = SPLIT_OFF,
        walk: Walk | None = None,
        assign: str | None = None,
        *,
        atomic: bool = False,
    ) -> None:
        if not isinstance(m, CubeTile):
            sizes = tuple(m), tuple(k), tuple(n)
            m = CubeTile(*sizes, split_k, walk, assign, atomic)
        super().__init__(m)

    @property
    def m(self) -> tuple[int, ...]:
        return self.data.m

    @property
    def k(self) -> tuple[int, ...]:
        return self.data.k

    @property
    def n(self) -> tuple[int, ...]:
        return self.data.n

    @property
    def split_k(self) -> int:
        return self.data.split_k

    @property
    def walk(self) -> Walk | None:
        return self.data.walk

    @property
    def assign(self) -> str | None:
        return self.data.assign

    @property
    def atomic(self) -> bool:
        return self.data.atomic

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> CubeTile:
        sizes: dict[str, tuple[int, ...]] = {}
        split_k = SPLIT_OFF
        walk: Walk | None = None
        assign: str | None = None
        atomic = False

        def entry(key: str) -> None:
            nonlocal split_k, walk, assign, atomic
            if key == "split_k":
                split_k = SPLIT_CHOSEN
                if parser.parse_optional_punctuation("=") is not None:
                    split_k = _positive(parser)
                atomic = parser.parse_optional_keyword("atomic") is not None
                return
            parser.parse_punctuation("=")
            if key == "walk":
                walk = parse_walk(parser)
                return
            if key == "assign":
                assign = _word(parser, ASSIGNMENTS, "assignment")
                return
            start = parser.pos
            sizes[key] = _sizes(parser)
            most = 3 if key == "k" else 2
            if not 2 <= len(sizes[key]) <= most:
                wanted = "[kL0, kL1] or [kL0, kAL1, kBL1]" if key == "k" else ""
                wanted = wanted or f"[{key}L0, {key}L1]"
                parser.raise_error(f"{key} of a cube tile is {wanted}", start)

        start = parser.pos
        _entries(parser, ("m", "k", "n", "split_k", "walk", "assign"), entry)
        for key in ("m", "k", "n"):
            if key not in sizes:
                parser.raise_error(f"a cube tile needs {key} = [..]", start)
        given = sizes["m"], sizes["k"], sizes["n"]
        return CubeTile(*given, split_k, walk, assign, atomic)

    def print_parameter(self, printer: Printer) -> None:
        parts = [f"{key} = {list(getattr(self, key))}" for key in ("m", "k", "n")]
        if self.split_k:
            chosen = self.split_k == SPLIT_CHOSEN
            split = "split_k" if chosen else f"split_k = {self.split_k}"
            parts.append(f"{split} atomic" if self.atomic else split)
        if self.walk is not None:
            parts.append(f"walk = {self.walk}")
        if self.assign is not None:
            parts.append(f"assign = {self.assign}")
        printer.print_string(f"<{', '.join(parts)}>")


@irdl_attr_definition
class VecTileAttr(Data[tuple[int, ...]]):
    """`#pypto.vec<8, 2048>`: aligned with the trailing dimensions."""

    name = "pypto.vec"

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__(tuple(sizes))

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.data

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        return tuple(
            parser.parse_comma_separated_list(
                parser.Delimiter.ANGLE, lambda: _positive(parser)
            )
        )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{', '.join(map(str, self.sizes))}>")


class Tiles(NamedTuple):
    """Default tiles of a function, a loop or a module."""

    cube: CubeTileAttr | None
    vec: tuple[int, ...] | None


@irdl_attr_definition
class TilesAttr(Data[Tiles]):
    """`#pypto.tiles<cube = #pypto.cube<..>, vec = [64, 256]>`; or one of the two."""

    name = "pypto.tiles"

    def __init__(
        self,
        cube: CubeTileAttr | Tiles | None = None,
        vec: Sequence[int] | None = None,
    ) -> None:
        if not isinstance(cube, Tiles):
            cube = Tiles(cube, None if vec is None else tuple(vec))
        super().__init__(cube)

    @property
    def cube(self) -> CubeTileAttr | None:
        return self.data.cube

    @property
    def vec(self) -> tuple[int, ...] | None:
        return self.data.vec

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Tiles:
        cube: CubeTileAttr | None = None
        vec: tuple[int, ...] | None = None

        def entry(key: str) -> None:
            nonlocal cube, vec
            parser.parse_punctuation("=")
            start = parser.pos
            if key == "vec":
                vec = _sizes(parser)
                return
            attribute = parser.parse_attribute()
            if not isinstance(attribute, CubeTileAttr):
                parser.raise_error("a #pypto.cube<..> is expected here", start)
            cube = attribute

        _entries(parser, ("cube", "vec"), entry)
        return Tiles(cube, vec)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if self.cube is not None:
                printer.print_string("cube = ")
                printer.print_attribute(self.cube)
            if self.vec is not None:
                comma = ", " if self.cube is not None else ""
                printer.print_string(f"{comma}vec = {list(self.vec)}")


@record
class Tolerance:
    """How near a result must be: `|d| <= atol + rtol * |reference|`."""

    atol: float | None = None
    rtol: float | None = None
    outliers: float = 0.0
    """The share of elements that may be off."""
    as_sets: bool = False
    """Compare the last axis as sets: indices of a top-k."""
    misses: int = 0
    """With `as_sets`: how many members of each row may differ."""


@irdl_attr_definition
class TolAttr(Data[Tolerance]):
    """`#pypto.tol<atol = 1.0e-4, rtol = 5.0e-3, outliers = 0.005>`, `<as_sets, ..>`."""

    name = "pypto.tol"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Tolerance:
        values: dict[str, float] = {}

        def entry(key: str) -> None:
            if key == "as_sets":
                values[key] = 1
                return
            parser.parse_punctuation("=")
            if key == "misses":
                values[key] = parser.parse_integer(allow_negative=False)
            else:
                start = parser.pos
                values[key] = float(parser.parse_number())
                if values[key] < 0:
                    parser.raise_error(f"{key} is not negative", start, parser.pos)

        _entries(parser, ("atol", "rtol", "outliers", "as_sets", "misses"), entry)
        return Tolerance(
            values.get("atol"),
            values.get("rtol"),
            values.get("outliers", 0.0),
            "as_sets" in values,
            int(values.get("misses", 0)),
        )

    def print_parameter(self, printer: Printer) -> None:
        tol = self.data
        parts = ["as_sets"] if tol.as_sets else []
        if tol.misses:
            parts.append(f"misses = {tol.misses}")
        for key in ("atol", "rtol"):
            value = getattr(tol, key)
            if value is not None:
                parts.append(f"{key} = {_float(value)}")
        if tol.outliers:
            parts.append(f"outliers = {_float(tol.outliers)}")
        printer.print_string(f"<{', '.join(parts)}>")


DATA_KINDS = {
    "uniform": "range",
    "integer": "range",
    "distinct": "range",
    "partition": "text",
    "causal_topk": "text",
}
"""The kinds of `pypto.data` and what follows them."""

Limit = int | float | str
"""A number, or an expression of dimension names in quotes."""


@record
class DataRule:
    """How `--random-inputs` fills an argument."""

    kind: str
    low: Limit | None = None
    high: Limit | None = None
    of: str = ""
    """partition: what the elements sum to; causal_topk: the argument of lengths."""
    skip: bool = False
    """Some elements are -1 (padding)."""


@irdl_attr_definition
class DataAttr(Data[DataRule]):
    """`#pypto.data<integer 1 to "pages * 128">`, `<partition "M">`, and so on."""

    name = "pypto.data"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DataRule:
        with parser.in_angle_brackets():
            kind = _word(parser, DATA_KINDS, "kind of data")
            low: Limit | None = None
            high: Limit | None = None
            of = ""
            if DATA_KINDS[kind] == "text":
                of = parser.parse_str_literal()
            else:
                low = _limit(parser)
                parser.parse_keyword("to")
                high = _limit(parser)
            skip = False
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("skip")
                skip = True
        return DataRule(kind, low, high, of, skip)

    def print_parameter(self, printer: Printer) -> None:
        rule = self.data
        with printer.in_angle_brackets():
            printer.print_string(f"{rule.kind} ")
            if rule.low is None or rule.high is None:
                printer.print_string_literal(rule.of)
            else:
                _print_limit(printer, rule.low)
                printer.print_string(" to ")
                _print_limit(printer, rule.high)
            if rule.skip:
                printer.print_string(", skip")


def _entries(
    parser: AttrParser, keys: Sequence[str], entry: Callable[[str], None]
) -> None:
    """`<key .., key ..>`, each key at most once; `entry` reads what follows a key."""
    seen: set[str] = set()

    def one() -> None:
        start = parser.pos
        key = _word(parser, keys, "entry")
        if key in seen:
            parser.raise_error(f"{key} is given twice", start, start + len(key))
        seen.add(key)
        entry(key)

    parser.parse_comma_separated_list(parser.Delimiter.ANGLE, one)


def _word(parser: AttrParser, known: Sequence[str] | dict[str, str], what: str) -> str:
    start = parser.pos
    word = parser.parse_identifier()
    if word not in known:
        message = f"there is no {what} '{word}' here, only {', '.join(known)}"
        hint = did_you_mean(word, known)
        message = f"{message}; {hint}" if hint else message
        parser.raise_error(message, start, start + len(word))
    return word


def _positive(parser: AttrParser) -> int:
    start = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if value <= 0:
        parser.raise_error("a positive size is expected here", start, parser.pos)
    return value


def _sizes(parser: AttrParser) -> tuple[int, ...]:
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _positive(parser)
        )
    )


def _limit(parser: AttrParser) -> Limit:
    text = parser.parse_optional_str_literal()
    return parser.parse_number() if text is None else text


def _print_limit(printer: Printer, limit: Limit) -> None:
    if isinstance(limit, str):
        printer.print_string_literal(limit)
    else:
        printer.print_string(_float(limit) if isinstance(limit, float) else str(limit))


def _float(value: float) -> str:
    from pyptoc.dialects.literals import format_float

    return format_float(value)
