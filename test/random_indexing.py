"""
Indexing ops on random values: positions from arguments and from what was computed.

Each function adds one step to a program, or nothing; see `random_writer`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from random_composites import LARGEST_RESULT, any_axis
from random_ops import Step, combined, pick
from random_writer import FLOATS, INTEGERS, Array, Dim, Dims, Value, Writer, elements

NUMBERS = (*FLOATS, *INTEGERS)
INDEX_TYPES = ("i32", "i64")


def numbers(w: Writer, shape: tuple[int, ...], low: int, high: int) -> Array:
    """Random integers from `low` to `high`, both included."""
    rng = np.random.default_rng(w.random.getrandbits(32))
    return rng.integers(low, high, shape, endpoint=True)


def places(w: Writer, dims: Dims, size: int, *, low: int = 0) -> str:
    """The name of indices of the dims, below `size`: given, or computed now and then.

    `low` is -1 where that means nothing is there.
    """
    found = [
        value
        for value in w.pool
        if value.element in INDEX_TYPES and value.dims == dims and value.exact
    ]
    if found and w.chance(0.5):
        value = w.random.choice(found)
        text = f"pypto.clip %{value.name}, {low}, {size - 1}"
        return w.define(text, value, grain=1.0).name
    shape = tuple(dim.size for dim in dims)
    given = numbers(w, shape, low, size - 1)
    return w.argument(dims, w.random.choice(INDEX_TYPES), given).name


def new_dims(w: Writer, rank: int) -> Dims:
    """Small sizes, 0 and `?` among them."""
    dims: list[Dim] = []
    for _ in range(rank):
        size = w.random.choice([0, 1, 2, 3, 5, 9, 17])
        dims.append(Dim(size, w.fresh("q") if w.chance(0.3) else None))
    return tuple(dims)


def argmax(w: Writer) -> None:
    """argmax or argmin along any axis."""
    value = pick(w, *NUMBERS, exact=True)
    if value is None or not value.dims:
        return
    axis, written = any_axis(w, value)
    if value.dims[axis].size == 0 or value.dims[axis].varies:
        return
    keep = w.chance(0.5)
    dims = list(value.dims)
    dims[axis : axis + 1] = [Dim(1)] if keep else []
    name = w.random.choice(["argmax", "argmin"])
    text = f"pypto.{name} %{value.name} axis {written}"
    text += w.attributes("keepdim" if keep else "", rank=len(dims))
    w.define(text, value, element="i32", dims=tuple(dims), grain=1.0)


def topk(w: Writer) -> None:
    """Values and indices of the greatest, of whole rows or of parts of them."""
    value = pick(w, *NUMBERS, exact=True)
    if value is None or not value.dims or value.varies:
        return
    axis, written = any_axis(w, value)
    size = value.dims[axis].size
    k = w.random.choice([size, w.random.randint(0, size), w.random.randint(0, 9)])
    lengths = ""
    flags: list[str] = []
    if k > size or w.chance(0.4):
        flags = ["pad_index = -1", "pad_value = 0.5 : f32"]
        if not value.is_float:
            flags = ["pad_index = 3", "pad_value = 1.0 : f32"]
        rest = (*value.dims[:axis], *value.dims[axis + 1 :])
        if w.chance(0.6):
            given = numbers(w, tuple(dim.size for dim in rest), 0, size)
            lengths = f" lengths %{w.argument(rest, 'i32', given).name}"
    dims = list(value.dims)
    dims[axis] = Dim(k)
    names = w.fresh(), w.fresh()
    text = f"pypto.topk %{value.name} k {k} axis {written}{lengths}"
    w.emit(f"%{names[0]}, %{names[1]} = {text}{w.attributes(*flags)}")
    found = replace(value, name=names[0], dims=tuple(dims))
    if flags and value.is_float:
        grain = None if value.grain is None else min(value.grain, 0.5)
        found = replace(found, grain=grain, bound=max(value.bound, 0.5))
    w.pool += [found, replace(found, name=names[1], element="i32", grain=1.0)]


def gather(w: Writer) -> None:
    """Elements picked along an axis."""
    value = pick(w, *NUMBERS, "i1")
    if value is None or not value.dims or value.varies:
        return
    axis, written = any_axis(w, value)
    if value.dims[axis].size == 0:
        return
    dims = list(value.dims)
    dims[axis] = w.random.choice([dims[axis], *new_dims(w, 1)])
    at = places(w, tuple(dims), value.dims[axis].size)
    text = f"pypto.gather %{value.name}, %{at} axis {written}"
    w.define(text, value, dims=tuple(dims))


def gather_rows(w: Writer) -> None:
    """Rows by number, some of them zeros, or through a table of pages."""
    value = pick(w, *NUMBERS, "i1")
    if value is None or not value.dims or value.varies:
        return
    rows, *rest = value.dims
    if rows.size == 0:
        return
    dims = new_dims(w, w.random.choice([1, 1, 2]))
    if elements((*dims, *rest)) > LARGEST_RESULT:
        return
    size, through = rows.size, ""
    page = w.random.choice([1, 2, 4])
    if rows.size >= page and w.chance(0.5):
        pages = rows.size // page
        table = numbers(w, (w.random.randint(1, 4),), 0, pages - 1)
        size = table.size * page
        name = w.argument((Dim(table.size),), w.random.choice(INDEX_TYPES), table).name
        through = f" through %{name} page {page}"
    pad = value.element != "i1" and w.chance(0.3)
    at = places(w, dims, size, low=-1 if pad else 0)
    flag = w.attributes("pad = -1" if pad else "")
    text = f"pypto.gather_rows %{value.name} at %{at}{through}{flag}"
    w.define(text, value, dims=(*dims, *rest))


def index_select(w: Writer) -> None:
    """Slices along any axis."""
    value = w.random.choice(w.pool)
    if not value.dims or value.varies:
        return
    axis, written = any_axis(w, value)
    if value.dims[axis].size == 0:
        return
    (size,) = new_dims(w, 1)
    at = places(w, (size,), value.dims[axis].size)
    dims = (*value.dims[:axis], size, *value.dims[axis + 1 :])
    if elements(dims) > LARGEST_RESULT:
        return
    w.define(
        f"pypto.index_select %{value.name} at %{at} axis {written}", value, dims=dims
    )


def index_add(w: Writer) -> None:
    """Slices of an argument or of an own view added, some to the same place."""
    value = pick(w, *NUMBERS)
    if value is None or not value.dims or value.varies:
        return
    axis, written = any_axis(w, value)
    if value.dims[axis].size == 0:
        return
    source, count = _slices(w, value, axis)
    at = places(w, (Dim(count),), value.dims[axis].size)
    grain, bound = combined("add", value, source)
    bound = value.bound + count * source.bound
    text = f"pypto.index_add %{source.name} into %{value.name} at %{at} axis {written}"
    exact = value.exact and source.exact
    w.define(text, value, grain=grain, bound=bound, exact=exact)


def _slices(w: Writer, value: Value, axis: int) -> tuple[Value, int]:
    """Slices like those of a value along an axis, and how many."""
    size = value.dims[axis].size
    if w.chance(0.4):
        count = w.random.randint(1, size)
        parts = [":"] * len(value.dims)
        parts[axis] = f"{w.random.randint(0, size - count)} +: {count}"
        dims = (*value.dims[:axis], Dim(count), *value.dims[axis + 1 :])
        text = f"pypto.view %{value.name}[{', '.join(parts)}]"
        return w.define(text, value, dims=dims), count
    count = w.random.choice([0, 1, 2, 5, 9])
    dims = (*value.dims[:axis], Dim(count), *value.dims[axis + 1 :])
    return w.argument(dims, value.element), count


def scatter_rows(w: Writer) -> None:
    """Rows replaced: the last of equal ones wins, some are skipped."""
    value = pick(w, *NUMBERS, "i1")
    if value is None or not value.dims or value.varies or value.dims[0].size == 0:
        return
    axes = 2 if len(value.dims) > 1 and w.chance(0.3) else 1
    size = elements(value.dims[:axes])
    if size == 0:
        return
    flags = [f"rows = {list(range(axes))}"] if axes > 1 or w.chance(0.3) else []
    if axes == 1:
        source, count = _slices(w, value, 0)
    else:
        count = w.random.choice([0, 1, 3, 8])
        source = w.argument((Dim(count), *value.dims[axes:]), value.element)
    if count <= size and w.chance(0.3):
        order = np.random.default_rng(w.random.getrandbits(32)).permutation(size)
        at = w.argument((Dim(count),), w.random.choice(INDEX_TYPES), order[:count]).name
        flags.append("unique")
    else:
        skip = w.chance(0.4)
        flags += ["skip = -1"] if skip else []
        at = places(w, (Dim(count),), size, low=-1 if skip else 0)
    text = f"pypto.scatter_rows %{source.name} into %{value.name} at %{at}"
    grain, bound = combined("where", value, source)
    exact = value.exact and source.exact
    line = f"{text}{w.attributes(*flags)}"
    w.define(line, value, grain=grain, bound=bound, exact=exact)


def one_hot(w: Writer) -> None:
    """Truth values where an index is the column."""
    value = pick(w, *INDEX_TYPES, exact=True)
    if value is None or not value.dims or value.varies or w.chance(0.4):
        dims = new_dims(w, w.random.randint(1, 2))
        value = w.argument(dims, "i32", numbers(w, tuple(d.size for d in dims), 0, 5))
    size = w.random.choice([1, 4, 16, 40])
    text = f"pypto.clip %{value.name}, 0, {size - 1}"
    value = w.define(text, value, grain=1.0)
    dims = (*value.dims[:-1], Dim(size))
    if elements(dims) > LARGEST_RESULT:
        return
    text = f"pypto.one_hot %{value.name} {size}"
    w.define(text, value, element="i1", dims=dims)


INDEXING_STEPS: tuple[Step, ...] = (
    argmax,
    topk,
    gather,
    gather_rows,
    gather_rows,
    index_select,
    index_add,
    scatter_rows,
    one_hot,
)
