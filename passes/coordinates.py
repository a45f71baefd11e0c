"""
Boxes of two memrefs over the same memory, in coordinates that both have.

    %s  memref<?x8x32xf32>, a reshape of %y        box [%i, 0, 0] [1, 8, 32]
    %y  memref<?x256xf32>                          box [8 * %j, 32 * %k] [8, 32]
    ->  [%i, 0] [1, 1024]   and    [8 * %j, 128 * %k] [8, 128]     (innermost: bytes)

Dimensions are compared from the innermost one outwards: where their products agree, a
group of dimensions ends on both sides. A box is one range of a group if it is
contiguous there; otherwise the range around it is taken and the result is not exact.
Memory that starts at a byte of an arena, or of other sizes, is one group.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from pyptoc.dialects.expr import ONE, ZERO, Expr, Facts, prove_eq
from pyptoc.dialects.memory import memory_type
from pyptoc.dialects.npu import PlaceOp, ReinterpretOp, ReshapeOp
from pyptoc.dialects.npu_place import stored_bytes
from pyptoc.dialects.record import record
from pyptoc.passes.shapes import Dims, Shapes


@record
class Place:
    """Where a memref lies: behind a byte of a memref that is no view of another."""

    base: SSAValue
    offset: Expr


@record
class Region:
    """A box in common coordinates; the innermost dimension counts bytes."""

    lo: Dims
    size: Dims
    exact: bool = True


def place_of(memory: SSAValue, shapes: Shapes) -> Place:
    """The memory behind reshapes, reinterpretations and places."""
    offset = ZERO
    while isinstance(memory.owner, ReshapeOp | ReinterpretOp | PlaceOp):
        op = memory.owner
        if isinstance(op, PlaceOp):
            offset = offset + shapes.mixed(op.offset)
            memory = op.arena
        else:
            memory = op.source
    return Place(memory, offset)


def common_regions(
    one: tuple[SSAValue, Dims, Dims],
    other: tuple[SSAValue, Dims, Dims],
    shapes: Shapes,
    facts: Facts,
) -> tuple[Region, Region] | None:
    """Two boxes (memref, start, size) in common coordinates; None if there are none."""
    places = place_of(one[0], shapes), place_of(other[0], shapes)
    if places[0].base is not places[1].base:
        return None
    sizes = [_in_bytes(shapes.dims(memory), memory) for memory in (one[0], other[0])]
    groups = None
    if places[0].offset == places[1].offset:
        groups = _groups(sizes[0], sizes[1])
    flat = groups is None
    if groups is None:
        groups = [(range(len(sizes[0])), range(len(sizes[1])))]
    regions: list[Region] = []
    for side, (memory, lo, size) in enumerate((one, other)):
        width = stored_bytes(memory_type(memory).element_type)
        starts = (*lo[:-1], lo[-1] * width) if lo else (ZERO,)
        extents = (*size[:-1], size[-1] * width) if size else (Expr.const(width),)
        region = _grouped(
            starts, extents, sizes[side], [g[side] for g in groups], facts
        )
        if flat:
            start = region.lo[0] + places[side].offset
            region = Region((start,), region.size, region.exact)
        regions.append(region)
    return regions[0], regions[1]


def _in_bytes(dims: Dims, memory: SSAValue) -> Dims:
    """The dimensions, the innermost one in bytes."""
    width = stored_bytes(memory_type(memory).element_type)
    return (*dims[:-1], dims[-1] * width) if dims else (Expr.const(width),)


Group = tuple[range, range]
"""Dimensions of one memref and of the other that are as long together."""


def _groups(one: Dims, other: Dims) -> list[Group] | None:
    """Groups of dimensions of equal sizes, outermost first; None if there are none."""
    found: list[Group] = []
    i, j = len(one), len(other)
    while i or j:
        ends = i, j
        left = right = ONE
        while (i, j) == ends or left != right:
            if i and (not j or _is_shorter(left, right) or (i, j) == ends):
                i -= 1
                left = left * one[i]
            elif j:
                j -= 1
                right = right * other[j]
            elif i:
                i -= 1
                left = left * one[i]
            else:
                return None
        found.append((range(i, ends[0]), range(j, ends[1])))
    return found[::-1]


def _is_shorter(left: Expr, right: Expr) -> bool:
    """Whether the left product is certainly the one to continue."""
    if left.is_const and right.is_const:
        return left.value < right.value
    return left.is_const


def _grouped(
    lo: Dims, size: Dims, dims: Dims, groups: Sequence[range], facts: Facts
) -> Region:
    starts: list[Expr] = []
    extents: list[Expr] = []
    exact = True
    for group in groups:
        start, extent, whole = _flattened(lo, size, dims, group, facts)
        starts.append(start)
        extents.append(extent)
        exact = exact and whole
    return Region(tuple(starts), tuple(extents), exact)


def _flattened(
    lo: Dims, size: Dims, dims: Dims, group: range, facts: Facts
) -> tuple[Expr, Expr, bool]:
    """The range of a group that holds a box, and whether the box is all of it."""
    if len(group) == 1:
        axis = group[0]
        return lo[axis], size[axis], True
    start, last, stride = ZERO, ZERO, ONE
    exact, whole = True, True
    for axis in reversed(group):
        # Contiguous: whole dimensions, then a part of one, then single places.
        if not whole and size[axis] != ONE:
            exact = False
        whole = whole and lo[axis] == ZERO and prove_eq(size[axis], dims[axis], facts)
        start += lo[axis] * stride
        last += (size[axis] - 1) * stride
        stride = stride * dims[axis]
    return start, last + 1, exact
