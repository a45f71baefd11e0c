"""Result types of the matmul family: contraction, batches, scales, groups."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, NoReturn

from xdsl.dialects.builtin import bf16, f16, f32, i8, i32, i64
from xdsl.ir import Attribute

from pyptoc.dialects.pypto.infer import (
    E8M0,
    F8,
    ONE,
    Dim,
    Site,
    Tensor,
    broadcast_dim,
    dims_of,
    equal_dim,
    is_compute_float,
    same_element,
    show,
    show_dims,
    static,
    tensor,
    want_element,
    want_rank,
    want_tensor,
)
from pyptoc.dialects.pypto.infer_elementwise import want_target
from pyptoc.dialects.words import counted

MX_PAIR = 64
"""Elements of K that share the two scales stored side by side."""


class Sides(NamedTuple):
    """A product A @ B read the right way round: A is [.., M, K], B is [.., K, N]."""

    batch_a: tuple[Dim, ...]
    batch_b: tuple[Dim, ...]
    m: Dim
    k: Dim
    n: Dim


# -- element types ------------------------------------------------------------


def accumulator(site: Site, a: Tensor, b: Tensor) -> Attribute:
    """The type a product accumulates in: f32 for floats, i32 for i8.

    The two f8 types may be mixed; nothing else is.
    """
    if isinstance(a.element_type, F8) and isinstance(b.element_type, F8):
        return f32
    element = same_element(site, [(0, a), (1, b)])
    fits = is_compute_float(element) or element == i8
    want_element(site, a, 0, fits, "f8, bf16, f16, f32 or i8")
    return i32 if element == i8 else f32


def product_element(
    site: Site, accumulated: Attribute, target: Attribute | None
) -> Attribute:
    """The element type of a product, rounded once from the accumulator."""
    if target is None:
        return accumulated
    floats = (f32, bf16, f16)
    want_target(site, target, floats if accumulated == f32 else (i32, *floats))
    return target


# -- contraction --------------------------------------------------------------


def sides(
    site: Site, a: Tensor, b: Tensor, a_trans: bool, b_trans: bool, at: int = 0
) -> Sides:
    """Split the shapes of A and B (operands `at` and `at + 1`); check that K agrees."""
    want_rank(site, a, at, 2, least=True)
    want_rank(site, b, at + 1, 2, least=True)
    *batch_a, m, ka = dims_of(a)
    *batch_b, kb, n = dims_of(b)
    if a_trans:
        m, ka = ka, m
    if b_trans:
        kb, n = n, kb
    k = equal_dim(ka, kb)
    if k is None:
        _raise_contraction(site, (a, b), (a_trans, b_trans), (ka, kb), at)
    return Sides(tuple(batch_a), tuple(batch_b), m, k, n)


def _raise_contraction(
    site: Site,
    types: tuple[Tensor, Tensor],
    trans: tuple[bool, bool],
    k: tuple[Dim, Dim],
    at: int,
) -> NoReturn:
    read = [
        f"{letter} is {show_dims(dims_of(type))}" + " read transposed" * flag
        for letter, type, flag in zip("AB", types, trans, strict=True)
    ]
    *_, rows, columns = dims_of(types[1])
    other = rows if trans[1] else columns
    help = ""
    if equal_dim(k[0], other) is not None and other.is_static:
        how = "without b_trans" if trans[1] else "with {b_trans}"
        help = f"{how} B contracts {other}"
    site.error(
        "PTO120",
        f"{site.name} contracts {_size(k[0])} with {_size(k[1])}",
        operand=at,
        label=f"{read[0]}, {read[1]}: K is {_size(k[0])} on the left, "
        f"{_size(k[1])} on the right",
        help=help,
    )


def _size(dim: Dim) -> str:
    return f"? (at most {dim.bound})" if not dim.is_static and dim.bound else str(dim)


def batch_dims(site: Site, parts: Sides) -> list[Dim]:
    """The leading dimensions of the product.

    A B of rank 2 serves all leading dimensions of A; else they broadcast as in numpy.
    """
    a, b = list(parts.batch_a), list(parts.batch_b)
    width = max(len(a), len(b))
    left = [ONE] * (width - len(a)) + a
    right = [ONE] * (width - len(b)) + b
    merged = [broadcast_dim(x, y) for x, y in zip(left, right, strict=True)]
    if None in merged:
        axis = merged.index(None)
        site.error(
            "PTO121",
            f"batch sizes {left[axis]} and {right[axis]} do not broadcast",
            operand=0,
            label=f"the batch of A is {show_dims(a)}, of B {show_dims(b)}",
        )
    return [dim for dim in merged if dim is not None]


def matmul(
    site: Site,
    lhs: Attribute,
    rhs: Attribute,
    target: Attribute | None,
    a_trans: bool,
    b_trans: bool,
    bias: Sequence[Attribute],
    scale: Sequence[Attribute],
) -> Tensor:
    """`matmul %a, %b [bias %c] [scale %s] [to T]`: [.., M, K] x [.., K, N]."""
    a, b = want_tensor(site, lhs, 0), want_tensor(site, rhs, 1)
    accumulated = accumulator(site, a, b)
    parts = sides(site, a, b, a_trans, b_trans)
    acc = tensor(accumulated, [*batch_dims(site, parts), parts.m, parts.n])
    if bias:
        _want_bias(site, want_tensor(site, bias[0], 2), acc)
    if scale:
        return epilogue(site, acc, target or f32, 2 + len(bias), *scale)
    return tensor(product_element(site, accumulated, target), dims_of(acc))


def _want_bias(site: Site, bias: Tensor, acc: Tensor) -> None:
    """One number of the accumulator's type for each column (operand 2)."""
    want_element(
        site, bias, 2, bias.element_type == acc.element_type, str(acc.element_type)
    )
    want_rank(site, bias, 2, 1, least=False)
    (size,), columns = dims_of(bias), dims_of(acc)[-1]
    if equal_dim(size, columns) is None:
        site.error(
            "PTO122",
            f"a bias of {size} for {counted(columns, 'column')}",
            operand=2,
            label=show(bias),
            rule="one number for each column",
        )


def epilogue(
    site: Site, acc: Tensor, target: Attribute, at: int, *scale: Attribute
) -> Tensor:
    """An accumulator times the scale of its column (operand `at`), as `target`."""
    accumulated = acc.element_type
    if not scale:
        return tensor(product_element(site, accumulated, target), dims_of(acc))
    want_target(site, target, (f32, bf16, f16, i8))
    factor = want_tensor(site, scale[0], at)
    want_element(site, factor, at, factor.element_type == f32, "f32")
    want_rank(site, factor, at, 1, least=False)
    (size,), columns = dims_of(factor), dims_of(acc)[-1]
    if size != ONE and equal_dim(size, columns) is None:
        site.error(
            "PTO122",
            f"{counted(size, 'output scale')} for {counted(columns, 'column')}",
            operand=at,
            label=show(factor),
            rule="one scale for each column, or one for all",
        )
    return tensor(target, dims_of(acc))


def mma(
    site: Site,
    types: Sequence[Attribute],
    trans: tuple[bool, bool],
    scales: Sequence[Attribute],
    scales_trans: tuple[bool, bool],
) -> Tensor:
    """`mma %acc, %a, %b [scales %sa, %sb]` on rank-2 tiles: the type of the result.

    Scales are rank 2 here: sa [m, 2*kb], sb [kb, 2*n]; transposed [kb, 2*m] and
    [n, 2*kb], with kb = ceil(k / 64).
    """
    acc, a, b = (want_tensor(site, type, i) for i, type in enumerate(types))
    for position, type in enumerate((acc, a, b)):
        want_rank(site, type, position, 2, least=False)
    element = accumulator(site, a, b)
    if acc.element_type != element:
        site.error(
            "PTO112",
            f"{a.element_type} accumulates in {element}, not {acc.element_type}",
            operand=0,
            label=f"{site.operand(0)} is {show(acc)}",
        )
    parts = sides(site, a, b, *trans, at=1)
    if scales:
        sides_of = (("a", parts.m), ("b", parts.n))
        for index, (side, rows) in enumerate(sides_of):
            flag = f"scales_{side}_trans"
            is_transposed = scales_trans[index]
            scale = Scale(side, rows, parts.k, is_transposed, (), True, flag)
            want_scale(site, scales[index], 3 + index, scale)
    rows, columns = dims_of(acc)
    m, n = equal_dim(rows, parts.m), equal_dim(columns, parts.n)
    if m is None or n is None:
        site.error(
            "PTO120",
            f"the accumulator is {show_dims((rows, columns))}, "
            f"the product {show_dims((parts.m, parts.n))}",
            operand=0,
        )
    return tensor(element, (m, n))


# -- MX scales ----------------------------------------------------------------


def _pairs(k: int) -> int:
    """How many pairs of scales K elements need."""
    return -(-k // MX_PAIR)


class Scale(NamedTuple):
    """The scales that one side of a product needs."""

    side: str
    """"a" or "b"."""
    rows: Dim
    """M for the left side, N for the right."""
    k: Dim
    is_transposed: bool
    lead: tuple[Dim, ...] = ()
    """Batch or expert dimensions in front."""
    is_flat: bool = False
    """Rank 2 in the body of a task: the pairs lie in the columns."""
    flag: str = ""
    """The flag that says the scales are stored transposed, if the op has one."""

    def dims(self, is_transposed: bool) -> tuple[Dim, ...]:
        """The shape in which the scales are stored."""
        pairs = self.k.map(_pairs)
        rows, columns = self.rows, pairs
        if (self.side == "b") != is_transposed:
            rows, columns = columns, rows
        if self.is_flat:
            return rows, columns.map(lambda size: 2 * size)
        return *self.lead, rows, columns, static(2)

    @property
    def rule(self) -> str:
        """The two ways of storing, in words."""
        m, k = ("m" if self.side == "a" else "n"), "k"
        if not self.is_flat:
            m, k = m.upper(), k.upper()
        pairs = f"ceil({k}/{MX_PAIR})"
        long, wide = f"[{m}, {pairs}, 2]", f"[{pairs}, {m}, 2]"
        if self.is_flat:
            long, wide = f"[{m}, 2*{pairs}]", f"[{pairs}, 2*{m}]"
        elif self.lead:
            long, wide = f"[.., {long[1:]}", f"[.., {wide[1:]}"
        straight, transposed = (long, wide) if self.side == "a" else (wide, long)
        return (
            f"{straight}, transposed {transposed}: "
            f"two scales side by side for each {MX_PAIR} elements of K"
        )

    @property
    def here(self) -> str:
        """The rule with numbers."""
        name = "M" if self.side == "a" else "N"
        count = self.k.map(_pairs)
        return (
            f"{name} = {self.rows}, K = {self.k}, ceil({self.k}/{MX_PAIR}) = {count}: "
            f"{show_dims(self.dims(self.is_transposed))}"
        )


def want_scale(site: Site, type: Attribute, operand: int, scale: Scale) -> None:
    """Check one scale operand: f8E8M0FNU, of the shape that its matrix asks for."""
    tensor = want_tensor(site, type, operand)
    is_scale = isinstance(tensor.element_type, E8M0)
    want_element(site, tensor, operand, is_scale, "f8E8M0FNU")
    have, want = dims_of(tensor), scale.dims(scale.is_transposed)
    if _same(have, want):
        return
    site.error(
        "PTO122",
        f"{site.operand(operand)} is {show_dims(have)}, "
        f"{site.name} needs {show_dims(want)}",
        operand=operand,
        label=f"{site.operand(operand)} is {show(tensor)}",
        rule=scale.rule,
        here=scale.here,
        help=_scale_help(site.operand(operand), have, scale),
    )


def _scale_help(name: str, have: Sequence[Dim], scale: Scale) -> str:
    """A fix for scales of the wrong shape: a flag, or a reshape."""
    other = scale.dims(not scale.is_transposed)
    # The 2 at the end says nothing, and neither does a `?`.
    telling = any(a.is_static and a == b for a, b in zip(have[:-1], other[:-1]))
    if scale.flag and telling and _same(have, other):
        verb = "leave out" if scale.is_transposed else "add"
        return f"{name} is stored the other way round: {verb} {{{scale.flag}}}"
    want = scale.dims(scale.is_transposed)
    if not all(dim.is_static for dim in (*have, *want)):
        return ""
    if prod(dim.size for dim in have) != prod(dim.size for dim in want):
        return ""
    return f"{name}_pairs = pypto.reshape {name}{show_dims(want)}"


def _same(have: Sequence[Dim], want: Sequence[Dim]) -> bool:
    return len(have) == len(want) and all(
        equal_dim(a, b) is not None for a, b in zip(have, want, strict=True)
    )


def want_mx(site: Site, a: Tensor, b: Tensor, help: str) -> None:
    """Scaled products take f8 matrices; `help` says what others can do."""
    for position, type in enumerate((a, b)):
        fits = isinstance(type.element_type, F8)
        want_element(
            site,
            type,
            position,
            fits,
            "f8E4M3FN or f8E5M2",
            help=help,
        )


class MxFlags(NamedTuple):
    """Which of A, B and their scales are stored transposed."""

    a: bool = False
    b: bool = False
    scales_a: bool = False
    scales_b: bool = False


def scaled_mm(
    site: Site, types: Sequence[Attribute], target: Attribute | None, flags: MxFlags
) -> Tensor:
    """`scaled_mm %a, %b scales %sa, %sb`: (a * sa) @ (b * sb), f32 unless `to`."""
    a, b = want_tensor(site, types[0], 0), want_tensor(site, types[1], 1)
    want_mx(site, a, b, "without scales: pypto.matmul")
    element = product_element(site, f32, target)
    parts = sides(site, a, b, flags.a, flags.b)
    scale_a = Scale("a", parts.m, parts.k, flags.scales_a, parts.batch_a)
    scale_b = Scale("b", parts.n, parts.k, flags.scales_b, parts.batch_b)
    want_scale(site, types[2], 2, scale_a._replace(flag="scales_a_trans"))
    want_scale(site, types[3], 3, scale_b._replace(flag="scales_b_trans"))
    return tensor(element, [*batch_dims(site, parts), parts.m, parts.n])


def grouped_matmul(
    site: Site,
    types: Sequence[Attribute],
    scales: Sequence[Attribute],
    b_trans: bool,
    scales_b_trans: bool,
) -> Tensor:
    """`grouped_matmul %a, %b groups %g [scales %sa, %sb]` -> [M, N] in f32 or i32.

    a is [M, K], b is [E, K, N] (with b_trans [E, N, K]), g is [E] integers.
    """
    a, b = want_tensor(site, types[0], 0), want_tensor(site, types[1], 1)
    want_rank(site, a, 0, 2, least=False)
    want_rank(site, b, 1, 3, least=False)
    if scales:
        want_mx(site, a, b, "leave out the scales")
    element = accumulator(site, a, b)
    parts = sides(site, a, b, False, b_trans)
    experts = dims_of(b)[0]
    groups = want_tensor(site, types[2], 2)
    want_element(site, groups, 2, groups.element_type in (i32, i64), "i32 or i64")
    want_rank(site, groups, 2, 1, least=False)
    if equal_dim(experts, dims_of(groups)[0]) is None:
        site.error(
            "PTO123",
            f"{site.operand(2)} has {counted(dims_of(groups)[0], 'group')}, "
            f"{site.operand(1)} has {experts} experts",
            operand=2,
            label=f"{site.operand(1)} is {show(b)}",
        )
    if scales:
        scale_a = Scale("a", parts.m, parts.k, False)
        scale_b = Scale("b", parts.n, parts.k, scales_b_trans, (experts,))
        want_scale(site, scales[0], 3, scale_a)
        want_scale(site, scales[1], 4, scale_b._replace(flag="scales_b_trans"))
    return tensor(element, (parts.m, parts.n))
