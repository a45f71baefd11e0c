"""
How an op goes through its iteration space: the facts that every tiler works from.

An op has *axes*, and a tensor it reads or writes lies along some of them:

    pypto.add %x[M, N], %g[1, N]      axes (M, N)      %x (0, 1)   %g (None, 1)
    pypto.sum %x[M, N] axis -1        axes (M, N)      %x (0, 1)   result (0, None),
                                      N is folded by `add`
    pypto.matmul %a[M, K], %b[K, N]   axes (M, N, K)   %a (0, 2)   %b (2, 1)
                                      result (0, 1), K is folded

An axis of independent points can be cut anywhere; one that is folded can be cut where
a monoid combines the parts; one that is ordered has to be walked. Passes do not ask
which op it is: `partition` puts ops with one iteration space together, `shapes` gets
the sizes of results from those of operands, and the tilers give each tensor the box
that a box of the iteration space touches.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from math import inf
from operator import attrgetter
from typing import cast

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.pypto.brackets import shape_of, shape_or_none
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed


class Kind(Enum):
    """What the points along an axis have to do with each other."""

    INDEPENDENT = "independent"
    FOLDED = "folded"
    """Their results combine into one, in any order up to rounding."""
    ORDERED = "ordered"
    """Each needs those before it."""


class Runs(Enum):
    """What executes an op."""

    VECTOR = "vector"
    CUBE = "cube"
    INDEX = "index"
    """A vector core, in a task of its own: data decide where it reads or writes."""


@record
class Monoid:
    """How partial results of a fold combine, and what an empty one is."""

    combine: str
    """The name of an elementwise op: `add`, `maximum`, ..."""
    identity: float


SUM = Monoid("add", 0)
PRODUCT = Monoid("mul", 1)
GREATEST = Monoid("maximum", -inf)
LEAST = Monoid("minimum", inf)


WHOLE = -1
"""In the place of an axis: any point may touch all of the dimension."""


@record
class Access:
    """A tensor in the iteration space."""

    value: SSAValue
    axes: tuple[int | None, ...]
    """The axis that each of its dimensions runs along. None: it has one place for all
    points, the first one or that of `offsets`. WHOLE: data decide, or a block does."""
    offsets: tuple[Mixed, ...] | None = None
    """Where the first point lies; None: at the origin."""


@record
class Structure:
    """An op as its tilers see it."""

    runs: Runs
    kinds: tuple[Kind, ...]
    """Of each axis."""
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    monoid: Monoid | None = None
    """Of the folded axes."""

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.kinds)

    def has(self, kind: Kind) -> bool:
        """Whether any axis is of a kind."""
        return kind in self.kinds


_type_of = attrgetter("_type")
_KEPT = "_pyptoc_structure"
"""Where an op keeps its structure and what that was found from, beside its fields."""


class Structured:
    """An op that tasks are made of."""

    def structure(self) -> Structure:
        """The op's iteration space, kept as passes ask for it again and again."""
        op = cast(Operation, self)
        operands, results = op._operands, op.results  # pyright: ignore[reportPrivateUsage]
        types = map(_type_of, (*operands, *results))
        now = (operands, results, op.properties.copy(), *types)
        kept = vars(self).get(_KEPT)
        if kept is None or kept[0] != now:
            kept = vars(self)[_KEPT] = now, self._structure()
        return kept[1]

    @abstractmethod
    def _structure(self) -> Structure:
        """From operands, types and properties alone."""


def pointwise(operands: Sequence[SSAValue], results: Sequence[SSAValue]) -> Structure:
    """A point for each element of the first result, to which operands are aligned."""
    space = shape_of(results[0].type)
    rank = len(space)
    reads = [
        Access(value, _aligned(shape, space))
        for value in operands
        if (shape := shape_or_none(value.type)) is not None
    ]
    axes = tuple(range(rank))
    writes = tuple([Access(value, axes) for value in results])
    return Structure(Runs.VECTOR, (Kind.INDEPENDENT,) * rank, tuple(reads), writes)


def along(
    source: SSAValue, result: SSAValue, axis: int, kind: Kind, monoid: Monoid | None
) -> Structure:
    """
    A point for each element of `source`, of which one axis is folded or ordered.

    The result has all of the axes, or lacks a folded one, or has it with size 1.
    """
    rank, kept = len(shape_of(source.type)), len(shape_of(result.type))
    axis %= rank
    axes: list[int | None] = list(range(rank))
    if kind is Kind.FOLDED:
        axes[axis : axis + 1] = [None] * (1 + kept - rank)
    kinds = [Kind.INDEPENDENT] * rank
    kinds[axis] = kind
    reads = (Access(source, tuple(range(rank))),)
    writes = (Access(result, tuple(axes)),)
    return Structure(Runs.VECTOR, tuple(kinds), reads, writes, monoid)


def contraction(
    lhs: SSAValue,
    rhs: SSAValue,
    result: SSAValue,
    transposed: tuple[bool, bool],
    scales: Sequence[Access] = (),
) -> Structure:
    """
    A product of matrices: axes (batch.., m, n, k).

    `transposed`: whether the last two dimensions of a side lie the other way round.
    """
    shape = shape_of(result.type)
    batch = shape[:-2]
    m, n, k = range(len(batch), len(batch) + 3)
    reads: list[Access] = []
    sides = ((lhs, (m, k)), (rhs, (k, n)))
    for (value, matrix), turned in zip(sides, transposed, strict=True):
        lead = aligned(shape_of(value.type)[:-2], batch)
        reads.append(Access(value, (*lead, *(matrix[::-1] if turned else matrix))))
    kinds = (*[Kind.INDEPENDENT] * (len(batch) + 2), Kind.FOLDED)
    writes = (Access(result, tuple(range(len(shape)))),)
    return Structure(Runs.CUBE, kinds, (*reads, *scales), writes, SUM)


def gathering(
    memory: SSAValue,
    axis: int,
    indices: SSAValue,
    index_axes: Sequence[int],
    result: SSAValue,
    rest: Sequence[SSAValue] = (),
) -> Structure:
    """
    A point for each element of the result, from anywhere along an axis of `memory`.

    The dimensions of the result are those of `memory`, with those of `indices` (the
    `index_axes`) in the place of `axis`. `rest`: tensors that may be read anywhere.
    """
    rank = len(shape_of(result.type))
    wide = rank + 1 - len(shape_of(memory.type))
    axes = [*range(axis), WHOLE, *range(axis + wide, rank)]
    reads = [Access(memory, tuple(axes)), Access(indices, tuple(index_axes))]
    reads += [Access(v, (WHOLE,) * len(shape_of(v.type))) for v in rest]
    writes = (Access(result, tuple(range(rank))),)
    kinds = (Kind.INDEPENDENT,) * rank
    return Structure(Runs.INDEX, kinds, tuple(reads), writes)


def scattering(
    source: SSAValue,
    axis: int,
    indices: Sequence[SSAValue],
    index_axes: Sequence[int],
    result: SSAValue,
    count: int = 1,
) -> Structure:
    """
    A point for each element of `source`, to anywhere along axes of the result.

    These are `count` dimensions of it from `axis` on, in the place of as many of
    `source` as make up the difference. The last index counts, so the points along them
    are in order.
    """
    rank = len(shape_of(source.type))
    wide = rank + count - len(shape_of(result.type))
    kinds = [Kind.INDEPENDENT] * rank
    kinds[axis : axis + wide] = [Kind.ORDERED] * wide
    axes = (*range(axis), *[WHOLE] * count, *range(axis + wide, rank))
    reads = [Access(source, tuple(range(rank)))]
    reads += [Access(value, tuple(index_axes)) for value in indices]
    writes = (Access(result, axes),)
    return Structure(Runs.INDEX, tuple(kinds), tuple(reads), writes)


def selecting(
    source: SSAValue, axis: int, results: Sequence[SSAValue], lengths: SSAValue | None
) -> Structure:
    """A point for each element of `source`; along an axis all of them are ordered."""
    shape = shape_of(source.type)
    rank = len(shape)
    axis %= rank
    kinds = [Kind.INDEPENDENT] * rank
    kinds[axis] = Kind.FOLDED
    reads = [Access(source, tuple(range(rank)))]
    outer = tuple(dim for dim in range(rank) if dim != axis)
    if lengths is not None:
        space = [shape[dim] for dim in outer]
        found = aligned(shape_of(lengths.type), space)
        reads.append(
            Access(lengths, tuple(None if a is None else outer[a] for a in found))
        )
    axes = tuple(WHOLE if dim == axis else dim for dim in range(rank))
    writes = tuple(Access(result, axes) for result in results)
    return Structure(Runs.INDEX, tuple(kinds), tuple(reads), writes)


def aligned(shape: Sequence[int], space: Sequence[int]) -> tuple[int | None, ...]:
    """Right-aligned broadcast: the axes along which a tensor of `shape` lies."""
    lead = len(space) - len(shape)
    return tuple(
        None if size == 1 and space[lead + axis] != 1 else lead + axis
        for axis, size in enumerate(shape)
    )


_aligned = lru_cache(maxsize=1024)(aligned)
"""For shapes that are tuples."""
