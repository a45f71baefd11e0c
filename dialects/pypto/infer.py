"""Shape and element type inference: pure functions from operand types to result types.

The same functions serve the parser (elided types), `make` (ops built by passes) and
`verify_` (IR that came in generic form). They look at types and literal values only,
never at the IR around an op, so they are cheap and can be tested as a table.

Every dimension is a `Dim`: its size, `DYNAMIC` where only the run knows it, and a
static upper bound. Bounds come from static sizes and, inside task bodies, from the
encoding `#npu.max<16, 256>`; `tensor` puts the encoding back on a result that has a
`?` and a bound for every dimension.

This file holds what every family shares: dimensions, broadcasting, element types and
the check of a written result type. `infer_matmul.py` and `infer_einsum.py` contract,
`infer_shape.py` moves elements without computing, `infer_composite.py` has the ops that
read as sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, NoReturn, TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    IntegerType,
    NoneAttr,
    ShapedType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.lexer import Span

from pyptoc.dialects.diagnostics import Note, error
from pyptoc.dialects.npu_attrs import MaxAttr
from pyptoc.dialects.record import record

DYNAMIC = DYNAMIC_INDEX
"""The size of a `?`: -(2**63), as in xDSL and MLIR."""

Tensor = TensorType[Attribute]

F8 = (Float8E4M3FNType, Float8E5M2Type)
COMPUTE_FLOATS = (BFloat16Type, Float16Type, Float32Type)
E8M0 = Float8E8M0FNUType
ui8 = IntegerType(8, Signedness.UNSIGNED)

ELEMENT_TYPES: tuple[Attribute, ...] = (
    Float8E4M3FNType(),
    Float8E5M2Type(),
    Float8E8M0FNUType(),
    bf16,
    f16,
    f32,
    i8,
    ui8,
    i16,
    i32,
    i64,
    i1,
)
"""The element types of the tensor level."""


Place: TypeAlias = Operation | Attribute | Span[str] | None


@record
class Site:
    """What an error needs to name and point at an operation and its operands."""

    name: str
    """The operation without its dialect: `mul`."""
    at: Place = None
    """The operation, a location or a span of the source."""
    operands: tuple[str, ...] = ()
    """Names of the operands, `%grad`, by position; may be shorter than the operands."""
    places: tuple[Place, ...] = ()
    """Where the operands stand in the source, by position, if known."""

    def operand(self, index: int) -> str:
        """What a message calls operand `index`: its name, else its position."""
        if index < len(self.operands) and self.operands[index]:
            return self.operands[index]
        return f"operand {index + 1}"

    def error(
        self,
        code: str,
        message: str,
        *,
        operand: int | None = None,
        label: str = "",
        rule: str = "",
        here: str = "",
        notes: Sequence[str] = (),
        help: str = "",
    ) -> NoReturn:
        """Raise a CompileError that points at the op, or at one of its operands."""
        at = self.at
        if operand is not None and operand < len(self.places):
            at = self.places[operand] or at
        length = len(at.name) if isinstance(at, Operation) else 1
        error(
            at,
            code,
            message,
            length=length,
            label=label,
            rule=rule,
            here=here,
            notes=tuple(Note(text) for text in notes),
            help=help,
        )


class Dim(NamedTuple):
    """One dimension: its size (`DYNAMIC` for `?`) and an upper bound, if known."""

    size: int
    bound: int | None

    @property
    def is_static(self) -> bool:
        return self.size != DYNAMIC

    def __str__(self) -> str:
        return "?" if self.size == DYNAMIC else str(self.size)

    def map(self, function: Callable[[int], int]) -> Dim:
        """The dimension after a monotonic map of sizes (`ceil(K / 64)`)."""
        return Dim(
            function(self.size) if self.is_static else DYNAMIC,
            None if self.bound is None else function(self.bound),
        )


ONE = Dim(1, 1)


def static(size: int) -> Dim:
    """A dimension of a size known at compile time."""
    return Dim(size, size)


def unknown(bound: int | None = None) -> Dim:
    """A `?`, with an upper bound where there is one."""
    return Dim(DYNAMIC, bound)


# -- types <-> dimensions -----------------------------------------------------


def dims_of(type: Tensor) -> tuple[Dim, ...]:
    """The dimensions of a tensor type, with their bounds."""
    return tuple(map(Dim, type.get_shape(), bounds(type)))


def bounds(type: Tensor) -> tuple[int | None, ...]:
    """An upper bound for each dimension: static size, else `#npu.max`, else None."""
    shape = type.get_shape()
    if isinstance(type.encoding, MaxAttr):
        return tuple(type.encoding.sizes)
    return tuple(None if size == DYNAMIC else size for size in shape)


def tensor(element: Attribute, dims: Iterable[Dim]) -> Tensor:
    """The tensor type; it carries `#npu.max` iff it has a `?` and all bounds."""
    return _tensor(element, tuple(dims))


@lru_cache(maxsize=4096)
def _tensor(element: Attribute, dims: tuple[Dim, ...]) -> Tensor:
    """Types are values: sharing them saves most of the cost of building an op."""
    limits = [dim.bound for dim in dims]
    known = [limit for limit in limits if limit is not None]
    if all(dim.is_static for dim in dims) or len(known) < len(dims):
        encoding: Attribute = NoneAttr()
    else:
        encoding = MaxAttr(known)
    return TensorType(element, [dim.size for dim in dims], encoding)


def show_dims(dims: Iterable[Dim]) -> str:
    """`[?, 512]`, for messages."""
    return "[" + ", ".join(map(str, dims)) + "]"


def show(type: Attribute) -> str:
    """A type in a message: without the bounds of task bodies."""
    plain = as_tensor(type)
    if plain is not None:
        return str(TensorType(plain.element_type, plain.get_shape()))
    return str(type)


# -- element types ------------------------------------------------------------


def is_compute_float(element: Attribute) -> bool:
    """f32, f16 or bf16: the floats that arithmetic is defined on."""
    return isinstance(element, COMPUTE_FLOATS)


def is_integer(element: Attribute) -> bool:
    """An integer of at least 8 bits (i1 is a truth value, not a number)."""
    return isinstance(element, IntegerType) and element.bitwidth > 1


def is_truth(element: Attribute) -> bool:
    return element == i1


FLOATS = "f32, f16 or bf16"
NUMBERS = "f32, f16, bf16 or an integer of at least 8 bits"


def as_tensor(type: Attribute | None) -> Tensor | None:
    """The type if it is a tensor type."""
    return cast(Tensor, type) if isinstance(type, TensorType) else None


def want_tensor(site: Site, type: Attribute, operand: int) -> Tensor:
    """The operand's type as a tensor type; anything else is an error."""
    result = as_tensor(type)
    if result is None:
        is_shaped = isinstance(type, ShapedType)
        scalars = "scalars are computed with pypto.index and pypto.scalar"
        site.error(
            "PTO110",
            f"{site.name} takes a tensor, {site.operand(operand)} is {show(type)}",
            operand=operand,
            notes=() if is_shaped else (scalars,),
            help="an operator has tensors: tensor<4x8xf32>" if is_shaped else "",
        )
    if result.element_type not in ELEMENT_TYPES:
        site.error(
            "PTO111",
            f"{site.name} of {result.element_type} elements: "
            f"{site.operand(operand)} is {show(type)}",
            operand=operand,
            rule=f"elements are {', '.join(map(str, ELEMENT_TYPES))}",
        )
    return result


def want_element(
    site: Site, type: Tensor, operand: int, allowed: bool, names: str, help: str = ""
) -> None:
    """Require that the element type of an operand is one of those `names` tells."""
    if allowed:
        return
    element = type.element_type
    if not help and isinstance(element, F8):
        help = f"cast {site.operand(operand)} to bf16 or f32 first"
    site.error(
        "PTO111",
        f"{site.name} of {element} elements: {site.operand(operand)} is {show(type)}",
        operand=operand,
        rule=f"elements are {names}",
        help=help,
    )


def same_element(site: Site, types: Sequence[tuple[int, Tensor]]) -> Attribute:
    """The one element type of several operands (position, type)."""
    first, reference = types[0]
    for position, type in types[1:]:
        if type.element_type != reference.element_type:
            _raise_mixed(site, (first, reference), (position, type))
    return reference.element_type


def _raise_mixed(
    site: Site, left: tuple[int, Tensor], right: tuple[int, Tensor]
) -> NoReturn:
    (i, a), (j, b) = left, right
    name_a, name_b = site.operand(i), site.operand(j)
    wide, narrow = (b, name_a) if _rank_of(b) >= _rank_of(a) else (a, name_b)
    element = wide.element_type
    source = narrow if narrow.startswith("%") else "%x"
    site.error(
        "PTO112",
        f"operand types differ: {a.element_type} and {b.element_type}",
        operand=i,
        label=f"{name_a} is {show(a)}, {name_b} is {show(b)}",
        notes=("pypto never converts implicitly",),
        help=f"{source}_{element} = pypto.cast {source} to {element}",
    )


def _rank_of(type: Tensor) -> tuple[bool, int]:
    """Order of element types by what a cast towards them loses: the most wins."""
    element = type.element_type
    if isinstance(element, IntegerType):
        return False, element.bitwidth
    return True, getattr(element, "bitwidth", 0)


# -- dimensions ---------------------------------------------------------------


def equal_dim(a: Dim, b: Dim) -> Dim | None:
    """The common size of two equal dimensions; None if they cannot be equal.

    `?` against anything is an equality that the run checks; the static size wins.
    """
    if a.is_static and b.is_static:
        return a if a.size == b.size else None
    limits = [limit for limit in (a.bound, b.bound) if limit is not None]
    bound = min(limits) if limits else None
    for one in (a, b):
        if one.is_static:
            return one if bound is None or one.size <= bound else None
    return Dim(DYNAMIC, bound)


def broadcast_dim(a: Dim, b: Dim) -> Dim | None:
    """As `equal_dim`, and a static 1 stretches; a `?` that happens to be 1 does not."""
    if a.size == 1:
        return b
    if b.size == 1:
        return a
    return equal_dim(a, b)


def broadcast(site: Site, types: Sequence[tuple[int, Tensor]]) -> tuple[Dim, ...]:
    """The common shape of operands (position, type): right-aligned, rank-extending."""
    result: list[Dim] = []
    seen: list[int] = []
    for position, type in types:
        pairs = _aligned(result, dims_of(type))
        merged = [broadcast_dim(a, b) for a, b in pairs]
        if None in merged:
            axis = merged.index(None)
            _raise_broadcast(
                site, types, (seen[0], position), *pairs[axis], axis - len(pairs)
            )
        result = [dim for dim in merged if dim is not None]
        seen.append(position)
    return tuple(result)


def _aligned(a: Sequence[Dim], b: Sequence[Dim]) -> list[tuple[Dim, Dim]]:
    """The dimensions of two shapes side by side, from the last on; 1 for none."""
    width = max(len(a), len(b))
    left, right = ([ONE] * (width - len(dims)) + [*dims] for dims in (a, b))
    return list(zip(left, right, strict=True))


def _raise_broadcast(
    site: Site,
    types: Sequence[tuple[int, Tensor]],
    operands: tuple[int, int],
    a: Dim,
    b: Dim,
    axis: int,
) -> NoReturn:
    by_position = dict(types)
    first, second = operands
    shapes = ", ".join(
        f"{site.operand(position)} is {show_dims(dims_of(by_position[position]))}"
        for position in (first, second)
    )
    notes = ["shapes align at the last dimension; only a static 1 is repeated"]
    if not (a.is_static and b.is_static):
        bounded = a if not a.is_static else b
        notes.append(
            f"the ? is at most {bounded.bound}; a dynamic size of 1 does not broadcast"
        )
    site.error(
        "PTO113",
        f"sizes {a} and {b} of dimension {axis} do not broadcast",
        operand=first,
        label=shapes,
        notes=notes,
        help=_reshape_to_broadcast(site, types, first, second),
    )


def _reshape_to_broadcast(
    site: Site, types: Sequence[tuple[int, Tensor]], first: int, second: int
) -> str:
    """The reshape of the operand of lower rank that puts its axes further left.

    `%s[16, 1]` for a [16] beside a [16, 64]; nothing where the operands fit in no way,
    or where a reshape could not be written with sizes that are known.
    """
    shapes = {position: dims_of(type) for position, type in types}
    low, high = sorted((first, second), key=lambda position: len(shapes[position]))
    dims, name = shapes[low], site.operand(low)
    if sum(not dim.is_static for dim in dims) > 1 or not name.startswith("%"):
        return ""
    for ones in range(1, len(shapes[high]) - len(dims) + 1):
        moved = (*dims, *[ONE] * ones)
        if _broadcasts([*({**shapes, low: moved}).values()]):
            sizes = ", ".join(str(dim.size if dim.is_static else -1) for dim in moved)
            return f"pypto.reshape {name}[{sizes}]"
    return ""


def _broadcasts(shapes: Sequence[Sequence[Dim]]) -> bool:
    result: list[Dim] = []
    for shape in shapes:
        merged = [broadcast_dim(a, b) for a, b in _aligned(result, shape)]
        result = [dim for dim in merged if dim is not None]
        if len(result) != len(merged):
            return False
    return True


def want_axis(site: Site, axis: int, rank: int, operand: int = 0) -> int:
    """`axis` counted from 0; -1 is the last. An error outside -rank .. rank - 1."""
    if not -rank <= axis < rank:
        have = "no axis" if rank == 0 else f"axes {-rank} to {rank - 1}"
        site.error(
            "PTO135",
            f"axis {axis} of a tensor of rank {rank}",
            operand=operand,
            label=f"{site.operand(operand)} has {have}",
        )
    return axis % rank


def want_rank(site: Site, type: Tensor, operand: int, rank: int, least: bool) -> None:
    """Require rank `rank`, or at least that."""
    have = type.get_num_dims()
    if have == rank or (least and have > rank):
        return
    how = f"at least {rank}" if least else str(rank)
    site.error(
        "PTO135",
        f"{site.name} takes rank {how}, {site.operand(operand)} has rank {have}",
        operand=operand,
        label=f"{site.operand(operand)} is {show(type)}",
    )


# -- the clause ": result type" -----------------------------------------------


def refine(site: Site, inferred: Attribute, written: Attribute, index: int = 0) -> None:
    """Check a written result type: equal to the inferred one up to `?`.

    `?` may be written where a size is inferred, and a size where `?` is inferred; the
    second becomes a check at run time.
    """
    if inferred == written:
        return
    mine, theirs = as_tensor(inferred), as_tensor(written)
    if mine is None or theirs is None or not _agree(mine, theirs):
        site.error(
            "PTO140",
            f"result {index + 1} of {site.name} is {show(inferred)}, "
            f"not {show(written)}",
            rule="a written type may differ from the inferred one in ? only",
        )


def _agree(a: Tensor, b: Tensor) -> bool:
    """Whether two tensor types are equal up to `?`."""
    return (
        a.element_type == b.element_type
        and a.get_num_dims() == b.get_num_dims()
        and all(
            DYNAMIC in pair or pair[0] == pair[1]
            for pair in zip(a.get_shape(), b.get_shape(), strict=True)
        )
    )
