"""Result types of the ops whose positions come from data: top-k, gathers, scatters."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute

from pyptoc.dialects.pypto.infer import (
    Dim,
    Site,
    Tensor,
    dims_of,
    equal_dim,
    is_compute_float,
    is_integer,
    same_element,
    show_dims,
    static,
    tensor,
    want_axis,
    want_element,
    want_rank,
    want_tensor,
)
from pyptoc.dialects.pypto.infer_shape import stretch
from pyptoc.dialects.words import counted


def index_tensor(site: Site, type: Attribute, operand: int) -> Tensor:
    """The operand as a tensor of i32 or i64."""
    result = want_tensor(site, type, operand)
    want_element(site, result, operand, result.element_type in (i32, i64), "i32 or i64")
    return result


def _number_tensor(site: Site, type: Attribute, operand: int) -> Tensor:
    """The operand as a tensor of numbers that can be added and compared."""
    data = want_tensor(site, type, operand)
    fits = is_compute_float(data.element_type) or is_integer(data.element_type)
    want_element(site, data, operand, fits, "f32, f16, bf16 or an integer")
    return data


def topk(
    site: Site,
    source: Attribute,
    lengths: Attribute | None,
    k: int,
    axis: int,
    is_padded: bool,
) -> tuple[Tensor, Tensor]:
    """`topk %x k 8 axis -1` -> (values, i32 indices), `k` of them along the axis."""
    data = _number_tensor(site, source, 0)
    dims = list(dims_of(data))
    axis = want_axis(site, axis, len(dims))
    size = dims[axis]
    if k < 0 or (not is_padded and size.bound is not None and size.bound < k):
        most = str(size) if size.is_static else f"at most {size.bound}"
        site.error(
            "PTO138",
            f"topk of {k} among {most}",
            operand=0,
            rule="" if k >= 0 else "k is at least 0",
            help="add {pad_index = -1} to fill the places that are left"
            if k >= 0
            else "",
        )
    if lengths is not None:
        count = index_tensor(site, lengths, 1)
        stretch(site, count, 1, [*dims[:axis], *dims[axis + 1 :]])
    dims[axis] = static(k)
    return tensor(data.element_type, dims), tensor(i32, dims)


def gather_rows(
    site: Site, rows: Attribute, indices: Attribute, table: Attribute | None
) -> Tensor:
    """`gather_rows %rows at %idx [through %table page P]`.

    rows [R, ...], idx any shape: the result is idx's shape and a row.
    """
    source = want_tensor(site, rows, 0)
    want_rank(site, source, 0, 1, least=True)
    at = index_tensor(site, indices, 1)
    if table is not None:
        want_rank(site, index_tensor(site, table, 2), 2, 1, least=False)
    return tensor(source.element_type, [*dims_of(at), *dims_of(source)[1:]])


def scatter_rows(
    site: Site,
    rows: Attribute,
    into: Attribute,
    indices: Attribute,
    axes: Sequence[int],
) -> Tensor:
    """`scatter_rows %rows into %dst at %slot {rows = [0, 1, 2]}`: the type of dst.

    The listed leading dimensions of dst are flattened to one row number. rows are
    idx's shape and a row, whose dimensions of size 1 may be left out.
    """
    source, dest = want_tensor(site, rows, 0), want_tensor(site, into, 1)
    same_element(site, [(0, source), (1, dest)])
    at = index_tensor(site, indices, 2)
    if list(axes) != list(range(len(axes))) or not axes:
        site.error(
            "PTO138",
            f"rows = {list(axes)} are not the leading dimensions of {site.operand(1)}",
            operand=1,
            rule="rows lists 0, 1, ... in order",
        )
    want_rank(site, dest, 1, len(axes), least=True)
    want = [*dims_of(at), *dims_of(dest)[len(axes) :]]
    if not _same_row(dims_of(source), want):
        site.error(
            "PTO138",
            f"rows of {show_dims(dims_of(source))} into {show_dims(dims_of(dest))}: "
            f"wanted {show_dims(want)}",
            operand=0,
            rule="a row for each index, of the dimensions that rows = [..] leaves",
        )
    return dest


def _same_row(have: Sequence[Dim], want: Sequence[Dim]) -> bool:
    """Equal shapes, dimensions of static size 1 aside."""
    have = [dim for dim in have if dim.size != 1]
    want = [dim for dim in want if dim.size != 1]
    return len(have) == len(want) and all(map(equal_dim, have, want))


def gather(site: Site, source: Attribute, indices: Attribute, axis: int) -> Tensor:
    """`gather %x, %idx axis -1`: same rank; the result has the shape of idx."""
    data, at = want_tensor(site, source, 0), index_tensor(site, indices, 1)
    rank = data.get_num_dims()
    axis = want_axis(site, axis, rank)
    want_rank(site, at, 1, rank, least=False)
    result: list[Dim] = []
    for i, (a, b) in enumerate(zip(dims_of(data), dims_of(at), strict=True)):
        merged = b if i == axis else equal_dim(a, b)
        if merged is None:
            site.error(
                "PTO138",
                f"gather along axis {axis}: dimension {i} is {a} and {b}",
                operand=1,
                rule="tensor and indices have equal sizes, but along the axis",
            )
        result.append(merged)
    return tensor(data.element_type, result)


def index_select(
    site: Site, source: Attribute, indices: Attribute, axis: int
) -> Tensor:
    """`index_select %x at %idx axis 0`: whole slices; idx is rank 1."""
    data, at = want_tensor(site, source, 0), index_tensor(site, indices, 1)
    want_rank(site, at, 1, 1, least=False)
    dims = list(dims_of(data))
    dims[want_axis(site, axis, len(dims))] = dims_of(at)[0]
    return tensor(data.element_type, dims)


def index_add(
    site: Site, source: Attribute, into: Attribute, indices: Attribute, axis: int
) -> Tensor:
    """`index_add %src into %dst at %idx axis 0`: the type of dst; duplicates add up."""
    data, dest = _source_and_dest(site, source, into, adds=True)
    at = index_tensor(site, indices, 2)
    want_rank(site, at, 2, 1, least=False)
    want = list(dims_of(dest))
    want[want_axis(site, axis, len(want), operand=1)] = dims_of(at)[0]
    rule = "one slice for each index, the other dimensions as in the destination"
    _want_dims(site, "index_add", data, dest, want, rule)
    return dest


def _source_and_dest(
    site: Site, source: Attribute, into: Attribute, *, adds: bool
) -> tuple[Tensor, Tensor]:
    """What a scatter writes and where: of one element type, numbers if it adds."""
    data, dest = want_tensor(site, source, 0), want_tensor(site, into, 1)
    same_element(site, [(0, data), (1, dest)])
    return (_number_tensor(site, source, 0) if adds else data), dest


def _want_dims(
    site: Site, name: str, data: Tensor, dest: Tensor, want: Sequence[Dim], rule: str
) -> None:
    """The source of a scatter has these dimensions."""
    have = dims_of(data)
    if len(have) != len(want) or not all(map(equal_dim, have, want)):
        site.error(
            "PTO138",
            f"{name} of {show_dims(have)} into {show_dims(dims_of(dest))}: "
            f"wanted {show_dims(want)}",
            operand=0,
            rule=rule,
        )


def scatter(
    site: Site,
    source: Attribute,
    into: Attribute,
    indices: Attribute,
    axis: int,
    adds: bool,
) -> Tensor:
    """`scatter %x into %y at %idx axis -1`: one rank; x has the shape of idx."""
    data, dest = _source_and_dest(site, source, into, adds=adds)
    at = index_tensor(site, indices, 2)
    want = list(dims_of(dest))
    axis = want_axis(site, axis, len(want), operand=1)
    want_rank(site, at, 2, len(want), least=False)
    own = dims_of(at)
    want[axis] = own[axis]
    for dim, (a, b) in enumerate(zip(want, own, strict=True)):
        if equal_dim(a, b) is None:
            site.error(
                "PTO138",
                f"scatter along axis {axis}: dimension {dim} is {a} and {b}",
                operand=2,
                rule="destination and indices have equal sizes, but along the axis",
            )
    rule = "an element for each index, the other dimensions as in the destination"
    _want_dims(site, "scatter", data, dest, want, rule)
    return dest


def index_put(
    site: Site,
    source: Attribute,
    into: Attribute,
    indices: Sequence[Attribute],
    adds: bool,
) -> Tensor:
    """`index_put %v into %y at %i, %j`: vectors of indices for leading dimensions."""
    data, dest = _source_and_dest(site, source, into, adds=adds)
    want_rank(site, dest, 1, len(indices), least=True)
    count: Dim | None = None
    for operand, type in enumerate(indices, 2):
        at = index_tensor(site, type, operand)
        want_rank(site, at, operand, 1, least=False)
        own = dims_of(at)[0]
        merged = own if count is None else equal_dim(count, own)
        if merged is None:
            site.error(
                "PTO138",
                f"index_put at {count} and {own} indices",
                operand=operand,
                rule="as many indices for each leading dimension",
            )
        count = merged
    assert count is not None
    want = [count, *dims_of(dest)[len(indices) :]]
    rule = "a value for each index, of the dimensions that have no indices"
    _want_dims(site, "index_put", data, dest, want, rule)
    return dest


def argsort(site: Site, source: Attribute, axis: int) -> Tensor:
    """`argsort %x axis -1`: i32 indices in the shape of x."""
    data = _number_tensor(site, source, 0)
    want_axis(site, axis, data.get_num_dims())
    return tensor(i32, dims_of(data))


def gather_mask(site: Site, source: Attribute, step: int, first: int) -> Tensor:
    """`gather_mask %x pattern P0101`: of the last axis one of `step` elements."""
    data = want_tensor(site, source, 0)
    want_rank(site, data, 0, 1, least=True)
    *outer, last = dims_of(data)
    return tensor(
        data.element_type,
        [*outer, last.map(lambda size: masked_count(size, step, first))],
    )


def masked_count(size: int, step: int, first: int) -> int:
    """How many of `size` elements are number `first` of each `step`."""
    return (size + step - 1 - first) // step


def one_hot(site: Site, indices: Attribute, size: int) -> Tensor:
    """`one_hot %idx n`: i1 [.., n], true where any index of the row is the column."""
    at = index_tensor(site, indices, 0)
    want_rank(site, at, 0, 1, least=True)
    if size < 0:
        rule = "the number of columns is at least 0"
        site.error("PTO138", f"one_hot of {counted(size, 'column')}", rule=rule)
    return tensor(i1, [*dims_of(at)[:-1], static(size)])
