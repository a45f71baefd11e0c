"""Result types of ops that move elements without computing.

Sizes given in the text are ints; a size from an SSA operand is `None` here (a `?`
without a bound). `reshape` follows language.md section 3, rule 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import Attribute

from pyptoc.dialects.pypto.infer import (
    Dim,
    Site,
    Tensor,
    broadcast_dim,
    dims_of,
    equal_dim,
    same_element,
    show,
    show_dims,
    static,
    tensor,
    unknown,
    want_axis,
    want_rank,
    want_tensor,
)
from pyptoc.dialects.words import counted

Size = int | None
"""A static size, -1 where the op takes what is left, None for an SSA operand."""


def _dim(size: Size) -> Dim:
    return unknown() if size is None else static(size)


def reshape(site: Site, source: Attribute, sizes: Sequence[Size]) -> Tensor:
    """`reshape %x[-1, 4, 128]`: the same elements in row-major order.

    At most one -1; static products must match; with one `?` in and one -1 out the
    rest of the new shape must be provably a divisor of what the `?` is multiplied
    with, else the run checks.
    """
    source = want_tensor(site, source, 0)
    have = dims_of(source)
    if sizes.count(-1) > 1:
        site.error(
            "PTO130",
            f"reshape to {_show(sizes)} has {counted(sizes.count(-1), 'size')} of -1",
            rule="at most one size is -1: it takes what is left",
        )
    for size in sizes:
        if size is not None and size < -1:
            site.error("PTO130", f"reshape to {_show(sizes)}: {size} is not a size")
    known = prod(size for size in sizes if size is not None and size != -1)
    if all(dim.is_static for dim in have):
        total = prod(dim.size for dim in have)
        result = _reshape_static(site, have, total, sizes, known)
    else:
        result = _reshape_dynamic(site, have, sizes, known)
    return tensor(source.element_type, result)


def _reshape_static(
    site: Site, have: Sequence[Dim], total: int, sizes: Sequence[Size], known: int
) -> list[Dim]:
    """The source is static: -1 is computed unless an SSA size is there."""
    if None in sizes:
        return [unknown() if size in (None, -1) else static(size) for size in sizes]
    if -1 not in sizes:
        if known != total:
            _raise_product(site, have, sizes, total, known)
        return [_dim(size) for size in sizes]
    if known == 0 or total % known:
        _raise_product(site, have, sizes, total, known)
    return [static(total // known) if size == -1 else _dim(size) for size in sizes]


def _raise_product(
    site: Site, have: Sequence[Dim], sizes: Sequence[Size], total: int, known: int
) -> None:
    how = (
        f"{total} is no multiple of {known}" if -1 in sizes else f"{total} and {known}"
    )
    site.error(
        "PTO130",
        f"reshape of {show_dims(have)} to {_show(sizes)} changes the number of "
        f"elements: {how}",
        operand=0,
    )


def _reshape_dynamic(
    site: Site, have: Sequence[Dim], sizes: Sequence[Size], known: int
) -> list[Dim]:
    """The source has a `?`: a -1 stays `?`, with a bound where one is known."""
    fixed = prod(dim.size for dim in have if dim.is_static)
    if -1 not in sizes:
        return [_dim(size) for size in sizes]
    dynamic = [dim for dim in have if not dim.is_static]
    if (
        len(dynamic) == 1
        and None not in sizes
        and known
        and fixed
        and fixed % known
        and known % fixed
    ):
        # ? * fixed = left * known; where known is a multiple of fixed, the run checks
        # that the ? divides.
        site.error(
            "PTO130",
            f"reshape of {show_dims(have)} to {_show(sizes)}: {fixed} and {known} "
            "do not divide",
            operand=0,
            rule="with one ? in and one -1 out, the rest of the old shape is a "
            "multiple of the rest of the new one, or the other way round",
            help="give the size as an operand: pypto.reshape %x[%n, ...]",
        )
    bounds = [dim.bound for dim in have]
    bound = None
    if None not in sizes and known and None not in bounds:
        bound = prod(b for b in bounds if b is not None) // known
    return [unknown(bound) if size == -1 else _dim(size) for size in sizes]


def _show(sizes: Sequence[Size]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in sizes) + "]"


def transpose(site: Site, source: Attribute, perm: Sequence[int]) -> Tensor:
    """`transpose %x perm [1, 0]`: result dimension i is dimension perm[i] of x."""
    source = want_tensor(site, source, 0)
    have = dims_of(source)
    if sorted(perm) != list(range(len(have))):
        site.error(
            "PTO139",
            f"perm {list(perm)} does not permute the {len(have)} dimensions "
            f"of {site.operand(0)}",
            operand=0,
            rule="perm names each dimension once, counted from 0",
        )
    return tensor(source.element_type, [have[axis] for axis in perm])


def expand(site: Site, source: Attribute, sizes: Sequence[Size]) -> Tensor:
    """`expand %x[4, -1]`: repeat dimensions of static size 1; -1 keeps a dimension."""
    source = want_tensor(site, source, 0)
    have = [static(1)] * (len(sizes) - source.get_num_dims()) + list(dims_of(source))
    if len(have) > len(sizes):
        site.error(
            "PTO139",
            f"expand of {show_dims(have)} to {_show(sizes)}: too few sizes",
            operand=0,
            rule="one size for each dimension, and more of them in front",
        )
    result: list[Dim] = []
    for dim, size in zip(have, sizes, strict=True):
        want = dim if size == -1 else _dim(size)
        merged = want if dim.size == 1 else equal_dim(dim, want)
        if merged is None:
            site.error(
                "PTO113",
                f"expand of {show_dims(have)} to {_show(sizes)}: {dim} against {want}",
                operand=0,
                notes=("only a static size of 1 is repeated",),
            )
        result.append(merged)
    return tensor(source.element_type, result)


def concat(site: Site, sources: Sequence[Attribute], axis: int) -> Tensor:
    """`concat %a, %b axis -1`: sizes add up along the axis; one `?` makes it `?`.

    There is at least one source.
    """
    types = [(i, want_tensor(site, type, i)) for i, type in enumerate(sources)]
    element = same_element(site, types)
    rank = types[0][1].get_num_dims()
    axis = want_axis(site, axis, rank)
    result = list(dims_of(types[0][1]))
    for position, type in types[1:]:
        want_rank(site, type, position, rank, least=False)
        for i, (a, b) in enumerate(zip(result, dims_of(type), strict=True)):
            merged = _sum(a, b) if i == axis else equal_dim(a, b)
            if merged is None:
                site.error(
                    "PTO139",
                    f"concat along axis {axis}: sizes {a} and {b} of dimension {i} "
                    "differ",
                    operand=position,
                    label=f"{site.operand(0)} is {show_dims(dims_of(types[0][1]))}, "
                    f"{site.operand(position)} is {show_dims(dims_of(type))}",
                )
            result[i] = merged
    return tensor(element, result)


def _sum(a: Dim, b: Dim) -> Dim:
    bound = None if a.bound is None or b.bound is None else a.bound + b.bound
    if a.is_static and b.is_static:
        return static(a.size + b.size)
    return unknown(bound)


def stretch(site: Site, type: Tensor, operand: int, to: Sequence[Dim]) -> None:
    """Require that operand `operand` broadcasts to `to` without changing it."""
    dims = dims_of(type)
    fits = len(dims) <= len(to) and all(
        dim.size == 1 or (want.size != 1 and broadcast_dim(dim, want) is not None)
        for dim, want in zip(reversed(dims), reversed(to), strict=False)
    )
    if not fits:
        site.error(
            "PTO113",
            f"{site.operand(operand)} of {show_dims(dims)} does not broadcast to "
            f"{show_dims(to)}",
            operand=operand,
            notes=("shapes align at the last dimension; only a static 1 is repeated",),
        )


def element_bytes(element: Attribute) -> int:
    """Bytes of one element; 0 for what has no bytes of its own (i1, index)."""
    if not isinstance(element, FixedBitwidthType) or element.bitwidth < 8:
        return 0
    return element.size


def reinterpret(
    site: Site, source: Tensor, target: Attribute, dims: Sequence[Dim]
) -> Tensor:
    """The bytes of the last of `dims`, a part of `source`, as elements of `target`.

    Rows start where an element of `target` may start, so rows of the source hold a
    whole number of them, unless there is only one row.
    """
    have, want = element_bytes(source.element_type), element_bytes(target)
    if not have or not want:
        site.error(
            "PTO111",
            f"{site.name} of {source.element_type} elements to {target}",
            operand=0,
            rule="only types of whole bytes are read in another way",
            help=f"pypto.cast {site.operand(0)} to {target} converts",
        )
    if not dims:
        site.error(
            "PTO131",
            f"{site.name} to {target} of a tensor without dimensions",
            operand=0,
            rule="the bytes of the last dimension are read in another way",
        )
    rows = dims_of(source)
    checked = {"a row": rows[-1]} if len(rows) > 1 else {}
    for what, dim in {**checked, "the last dimension": dims[-1]}.items():
        if dim.is_static and dim.size * have % want:
            site.error(
                "PTO134",
                f"{what} of {site.operand(0)} has "
                f"{counted(dim.size, 'element')} of {have} B: "
                f"{dim.size * have} B are no multiple of the {want} B of {target}",
                operand=0,
                label=show(source),
                rule=f"whole elements of {target} in each row",
            )
    return tensor(target, [*dims[:-1], dims[-1].map(lambda n: n * have // want)])
