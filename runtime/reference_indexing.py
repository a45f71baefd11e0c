"""Top-k, gathers and scatters of the reference interpreter: positions from data."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyptoc.dialects.pypto.indexing import MASK_PATTERNS
from pyptoc.dialects.words import counted
from pyptoc.runtime import numerics
from pyptoc.runtime.numerics import Array
from pyptoc.runtime.reference_boxes import store_text
from pyptoc.runtime.reference_core import Interpreter, handles, hint
from pyptoc.runtime.reference_math import check_pairs
from pyptoc.runtime.reference_values import Tensor
from pyptoc.runtime.reference_wide import narrow, wide


def checked_indices(
    interp: Interpreter,
    op: Any,
    size: int,
    allowed: int | None = None,
    value: Any = None,
) -> Array:
    """Indices of an operation, all in [0, size) or equal to `allowed`."""
    value = op.indices if value is None else value
    indices = interp.array(value, op).astype(np.int64)
    bad = (indices < 0) | (indices >= size)
    if allowed is not None:
        bad &= indices != allowed
    if bad.any():
        place = np.argwhere(bad)[0].tolist()
        position = place[0] if len(place) == 1 else place
        name = op.name.partition(".")[2]
        message = (
            f"{name}: index {int(indices[tuple(place)])} at position {position} of "
            f"{hint(value)}"
        )
        interp.fail(op, "PTO408", message, rule=f"valid indices are 0 to {size - 1}")
    return indices


@handles("pypto.topk")
def topk(interp: Interpreter, op: Any) -> tuple[Tensor, Tensor]:
    source = np.moveaxis(interp.array(op.source, op), op.axis.value.data, -1)
    k, length = op.k.value.data, source.shape[-1]
    count = int(np.prod(source.shape[:-1], dtype=np.int64))
    rows = source.reshape(count, length)
    lengths = np.full(count, length)
    if op.lengths is not None:
        rank = source.ndim
        others = [i for i in range(rank) if i != op.axis.value.data % rank]
        same = [(op.source, i, op.lengths, j) for j, i in enumerate(others)]
        check_pairs(interp, op, same)
        lengths = interp.array(op.lengths, op).reshape(count).astype(np.int64)
    for given in lengths[(lengths < 0) | (lengths > length)].tolist():
        interp.fail(
            op,
            "PTO404",
            f"topk: length {given} of a row of {counted(length, 'element')}",
        )
    if op.pad_index is None and count and int(lengths.min()) < k:
        message = (
            f"topk of {counted(int(lengths.min()), 'element')} has no {k} greatest"
        )
        help = "add {pad_index = -1} to fill the rest"
        interp.fail(op, "PTO404", message, help=help)
    pad_index = -1 if op.pad_index is None else op.pad_index.value.data
    pad_value = -np.inf if op.pad_value is None else op.pad_value.value.data
    fill = numerics.cast(np.array(pad_value, np.float32), source.dtype)
    values = np.full((count, k), fill)
    indices = np.full((count, k), pad_index, np.int32)
    for row in range(count):
        keys = wide(rows[row, : lengths[row]])
        best = _descending(keys)[:k]
        values[row, : len(best)] = rows[row][best]
        indices[row, : len(best)] = best
    shape = (*source.shape[:-1], k)
    axis = op.axis.value.data
    return (
        Tensor(np.ascontiguousarray(np.moveaxis(values.reshape(shape), -1, axis))),
        Tensor(np.ascontiguousarray(np.moveaxis(indices.reshape(shape), -1, axis))),
    )


def _descending(keys: Array) -> Array:
    """Positions by descending value, equal ones by position, NaN last."""
    if keys.dtype.kind == "f":
        is_nan = np.isnan(keys)
        return np.lexsort((np.arange(len(keys)), -np.where(is_nan, 0, keys), is_nan))
    return np.lexsort((np.arange(len(keys)), ~keys))


@handles("pypto.gather_rows")
def gather_rows(interp: Interpreter, op: Any) -> Tensor:
    source = interp.array(op.source, op)
    pad = None if op.pad is None else op.pad.value.data
    if op.table is None:
        indices = checked_indices(interp, op, source.shape[0], pad)
        rows = indices
    else:
        page = op.page.value.data
        table = interp.array(op.table, op).astype(np.int64)
        indices = checked_indices(interp, op, len(table) * page, pad)
        pages = table[np.clip(indices // page, 0, None)]
        rows = pages * page + indices % page
        bad = (indices != pad) & ((pages < 0) | (rows >= source.shape[0]))
        if bad.any():
            place = tuple(np.argwhere(bad)[0].tolist())
            message = (
                f"gather_rows: index {int(indices[place])} at position "
                f"{place[0] if len(place) == 1 else list(place)} of "
                f"{hint(op.indices)} is in page {int(pages[place])}"
            )
            last = source.shape[0] // page - 1
            interp.fail(op, "PTO408", message, rule=f"pages are 0 to {last}")
    result = source[np.where(indices == pad, 0, rows)] if len(source) else None
    if result is None:
        result = np.zeros((*indices.shape, *source.shape[1:]), source.dtype)
    result[indices == pad] = 0
    return Tensor(result)


@handles("pypto.scatter_rows")
def scatter_rows(interp: Interpreter, op: Any) -> Tensor:
    source, dest = interp.array(op.source, op), interp.tensor(op.dest, op).copy()
    leading = 1 if op.rows is None else len(op.rows.data)
    shape = dest.array.shape
    wanted = [*_long_dims(op.indices), *_long_dims(op.dest, leading)]
    paired = zip(wanted, _long_dims(op.source), strict=True)
    check_pairs(interp, op, [(*other, *own) for other, own in paired])
    count = int(np.prod(shape[:leading], dtype=np.int64))
    skip = None if op.skip is None else op.skip.value.data
    indices = checked_indices(interp, op, count, skip).reshape(-1)
    used = indices[indices != skip] if skip is not None else indices
    if op.unique is not None and len(np.unique(used)) != len(used):
        interp.fail(op, "PTO408", f"{hint(op.indices)} repeats an index")
    flat = dest.array.reshape(count, *shape[leading:])
    rows = source.reshape(len(indices), *shape[leading:])
    marks = None
    if dest.written is not None:
        marks = dest.written.reshape(count, *shape[leading:])
    for row, index in enumerate(indices.tolist()):
        if index != skip:
            flat[index] = rows[row]
            if marks is not None:
                marks[index] = True
    dest.last_store = store_text(interp, op, ())
    return dest


def _long_dims(value: Any, first: int = 0) -> list[tuple[Any, int]]:
    """The dimensions from `first` on whose static size is not 1."""
    sizes = value.type.get_shape()
    return [(value, dim) for dim in range(first, len(sizes)) if sizes[dim] != 1]


@handles("pypto.scatter")
def scatter(interp: Interpreter, op: Any) -> Tensor:
    source, dest = interp.array(op.source, op), interp.tensor(op.dest, op).copy()
    axis, rank = op.axis.value.data % source.ndim, source.ndim
    check_pairs(interp, op, [(op.indices, i, op.source, i) for i in range(rank)])
    others = [i for i in range(rank) if i != axis]
    check_pairs(interp, op, [(op.dest, i, op.source, i) for i in others])
    indices = checked_indices(interp, op, dest.array.shape[axis])
    places = np.indices(indices.shape).reshape(source.ndim, -1)
    places[axis] = indices.reshape(-1)
    return _put(interp, op, dest, places.T, source.reshape(-1), op.add)


@handles("pypto.index_put")
def index_put(interp: Interpreter, op: Any) -> Tensor:
    source, dest = interp.array(op.source, op), interp.tensor(op.dest, op).copy()
    check_pairs(interp, op, [(value, 0, op.source, 0) for value in op.indices])
    leading = len(op.indices) - 1
    tails = [(op.dest, leading + i, op.source, i) for i in range(1, source.ndim)]
    check_pairs(interp, op, tails)
    columns = [
        checked_indices(interp, op, size, value=value)
        for value, size in zip(op.indices, dest.array.shape, strict=False)
    ]
    return _put(interp, op, dest, np.stack(columns, 1), source, op.accumulate)


def _put(
    interp: Interpreter,
    op: Any,
    dest: Tensor,
    places: Array,
    parts: Array,
    accumulate: Any,
) -> Tensor:
    """`dest` with parts written to places, one after the other; a sum rounds once."""
    array, written = dest.array, dest.written
    if accumulate is not None:
        array, written = wide(interp.array(op.dest, op)).copy(), None
        parts = wide(parts)
    for row, part in zip(places, parts, strict=True):
        place: tuple[Any, ...] = tuple(row)
        array[place] = array[place] + part if accumulate is not None else part
        if written is not None:
            written[place] = True
    if accumulate is not None:
        return Tensor(narrow(array, dest.array.dtype))
    dest.last_store = store_text(interp, op, ())
    return dest


@handles("pypto.argsort")
def argsort(interp: Interpreter, op: Any) -> Tensor:
    axis = op.axis.value.data
    source = np.moveaxis(interp.array(op.source, op), axis, -1)
    keys = wide(source).reshape(int(np.prod(source.shape[:-1])), source.shape[-1])
    order = _descending if op.descending is not None else _ascending
    rows = [order(row).astype(np.int32) for row in keys]
    found = np.stack(rows) if rows else np.zeros(source.shape, np.int32)
    moved = np.moveaxis(found.reshape(source.shape), -1, axis)
    return Tensor(np.ascontiguousarray(moved))


def _ascending(keys: Array) -> Array:
    """Positions by value, equal ones by position, NaN first."""
    places = np.arange(len(keys))
    if keys.dtype.kind != "f":
        return np.lexsort((places, keys))
    is_nan = np.isnan(keys)
    return np.lexsort((places, np.where(is_nan, 0, keys), ~is_nan))


@handles("pypto.gather_mask")
def gather_mask(interp: Interpreter, op: Any) -> Tensor:
    every, first = MASK_PATTERNS[op.pattern.data]
    source = interp.array(op.source, op)
    return Tensor(np.ascontiguousarray(source[..., first::every]))


@handles("pypto.gather")
def gather(interp: Interpreter, op: Any) -> Tensor:
    source = interp.array(op.source, op)
    axis = op.axis.value.data % source.ndim
    others = [i for i in range(source.ndim) if i != axis]
    check_pairs(interp, op, [(op.source, i, op.indices, i) for i in others])
    indices = checked_indices(interp, op, source.shape[axis])
    return Tensor(np.take_along_axis(source, indices, axis))


@handles("pypto.index_select")
def index_select(interp: Interpreter, op: Any) -> Tensor:
    source = interp.array(op.source, op)
    axis = op.axis.value.data % source.ndim
    indices = checked_indices(interp, op, source.shape[axis])
    return Tensor(np.take(source, indices, axis))


@handles("pypto.index_add")
def index_add(interp: Interpreter, op: Any) -> Tensor:
    source, dest = interp.array(op.source, op), interp.array(op.dest, op)
    axis = op.axis.value.data % dest.ndim
    for i in range(dest.ndim):
        value, dim = (op.indices, 0) if i == axis else (op.dest, i)
        check_pairs(interp, op, [(value, dim, op.source, i)])
    indices = checked_indices(interp, op, dest.shape[axis])
    sums = np.moveaxis(wide(dest).copy(), axis, 0)
    parts = np.moveaxis(wide(source), axis, 0)
    for position, index in enumerate(indices.tolist()):
        sums[index] += parts[position]
    result = np.ascontiguousarray(np.moveaxis(sums, 0, axis))
    return Tensor(narrow(result, dest.dtype))


@handles("pypto.one_hot")
def one_hot(interp: Interpreter, op: Any) -> Tensor:
    source = interp.array(op.source, op).astype(np.int64)
    columns = np.arange(op.size.value.data, dtype=np.int64)
    return Tensor(np.any(np.equal(source[..., None], columns), axis=-2))
