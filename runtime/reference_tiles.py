"""
Indexing in task bodies, for the reference interpreter: one index after the other.

`npu.gather` and `npu.scatter` touch tensors or memory; `npu.topk` keeps the k best
elements so far, as lists in descending order.
"""

from __future__ import annotations

from typing import Any, NoReturn, cast

import numpy as np

from pyptoc.dialects.words import counted
from pyptoc.runtime.numerics import Array
from pyptoc.runtime.reference_boxes import store_text
from pyptoc.runtime.reference_core import Interpreter, handles
from pyptoc.runtime.reference_values import Destination, Mask, Memory, Tensor
from pyptoc.runtime.reference_wide import wide


def storage(interp: Interpreter, value: Any) -> tuple[Array, Mask | None]:
    """The elements of a tensor, destination or memory, and which were written."""
    found = interp.env[value]
    if isinstance(found, Destination):
        found = found.tensor
    assert isinstance(found, Tensor | Memory)
    return found.array, found.written


def refuse(
    interp: Interpreter,
    op: Any,
    index: int,
    at: tuple[int, ...],
    rule: str,
    why: str = "",
    number: int = 0,
) -> NoReturn:
    """PTO408, with the position in the tensor of indices of axis `number`."""
    position = [interp.integer(value) for value in op.mixed_positions]
    for back in range(1, min(len(at), len(position)) + 1):
        position[-back] += at[-back]
    shown = position[0] if len(position) == 1 else position
    by = op.name if op.asked_by is None else op.asked_by.data
    names = "the indices" if op.asked_at is None else op.asked_at.data
    of = names.split(", ")[number]
    message = f"{by}: index {index} at position {shown} of {of}{why}"
    interp.fail(op, "PTO408", message, rule=rule)


def places_of_indices(
    interp: Interpreter, op: Any, indices: list[int], at: tuple[int, ...]
) -> list[int] | None:
    """The place along each axis, counted from the offset; None for a missing index."""
    if op.missing is not None and indices[0] == op.missing.value.data:
        return None
    limits = [interp.integer(limit) for limit in op.limits]
    if op.lookup is not None:
        return [_place_in_pages(interp, op, indices[0], limits[0], at)]
    for number, (index, limit) in enumerate(zip(indices, limits, strict=True)):
        if not 0 <= index < limit:
            rule = f"valid indices are 0 to {limit - 1}"
            refuse(interp, op, index, at, rule, number=number)
    return indices


def _place_in_pages(
    interp: Interpreter, op: Any, index: int, limit: int, at: tuple[int, ...]
) -> int:
    """The row that an index means through the page table."""
    value, offsets, pages = op.lookup
    table, _ = storage(interp, value)
    page_rows, count = op.page.value.data, interp.integer(pages)
    if not 0 <= index < count * page_rows:
        last = count * page_rows - 1
        refuse(interp, op, index, at, f"valid indices are 0 to {last}")
    place = [interp.integer(offset) for offset in offsets]
    axis = 0 if op.table_axis is None else op.table_axis.value.data
    place[axis] += index // page_rows
    page = int(table[tuple(place)])
    row = page * page_rows + index % page_rows
    if page < 0 or row >= limit:
        rule = f"pages are 0 to {limit // page_rows - 1}"
        refuse(interp, op, index, at, rule, f" is in page {page}")
    return row


def _moved(part: int | slice, by: int) -> slice:
    """An index or a range, as a range `by` elements on."""
    if isinstance(part, int):
        return slice(by + part, by + part + 1)
    whole = cast("slice[int, int, None]", part)
    return slice(by + whole.start, by + whole.stop)


def boxes(interp: Interpreter, op: Any, memory: Array) -> Any:
    """For each index, in order: its part of the box, and of the memory (or None)."""
    rows, columns = (interp.integer(extent) for extent in op.extents)
    offsets: list[int] = [interp.integer(each) for each in op.mixed_offsets]
    dims: tuple[int, int] = op.box_dims
    per: str = op.per.data
    shape = (rows, columns) if per == "element" else -1
    given = [interp.array(each, op).reshape(shape) for each in op.all_indices]
    for at in np.ndindex(given[0].shape):
        indices = [int(each[at]) for each in given]
        parts: dict[str, tuple[Any, Any]] = {
            "element": (at[0], at[-1]),
            "row": (at[0], slice(0, columns)),
            "column": (slice(0, rows), at[0]),
            "box": (slice(0, rows), slice(0, columns)),
        }
        mine = parts[per]
        places = places_of_indices(interp, op, indices, at)
        if places is None:
            yield mine, None
            continue
        box: list[Any] = [slice(offset, offset + 1) for offset in offsets]
        for dim, part in zip(dims, mine, strict=True):
            if dim >= 0:
                box[dim] = _moved(part, offsets[dim])
        axes: tuple[int, ...] = op.axes
        for axis, place in zip(axes, places, strict=True):
            box[axis] = _moved(place, offsets[axis])
        whole = zip(box, memory.shape, strict=True)
        if any(one.start < 0 or one.stop > size for one, size in whole):
            interp.fail(op, "PTO402", f"{op.name} beyond {list(memory.shape)}")
        yield mine, tuple(box)


def turned(op: Any, part: Array) -> Array:
    """A part of the memory with the dimension of rows before that of columns."""
    row_dim, column_dim = op.box_dims
    return np.swapaxes(part, row_dim, column_dim) if row_dim > column_dim >= 0 else part


@handles("npu.gather")
def gather(interp: Interpreter, op: Any) -> Tensor:
    memory, written = storage(interp, op.memory)
    rows, columns = (interp.integer(extent) for extent in op.extents)
    result = np.zeros((rows, columns), memory.dtype)
    marks = np.ones((rows, columns), np.bool_)
    for mine, box in boxes(interp, op, memory):
        if box is None:
            continue
        result[mine] = turned(op, memory[box]).reshape(result[mine].shape)
        if written is not None:
            marks[mine] = turned(op, written[box]).reshape(result[mine].shape)
    rank = len(op.results[0].type.get_shape())
    shape = (rows, columns)[2 - rank :]
    done = None if marks.all() else marks.reshape(shape)
    return Tensor(result.reshape(shape), done)


@handles("npu.scatter")
def scatter(interp: Interpreter, op: Any) -> None:
    memory, written = storage(interp, op.memory)
    rows, columns = (interp.integer(extent) for extent in op.extents)
    source = interp.array(op.data, op).reshape(rows, columns)
    tasks = [loop.execution for loop in interp.loops if loop.kind == "task"]
    seen = interp.used.setdefault((op, tasks[-1]), {})
    start = interp.integer(op.mixed_positions[-1])
    given = interp.array(op.indices, op).reshape(-1)
    for number, (mine, box) in enumerate(boxes(interp, op, memory)):
        if box is None:
            continue
        if op.unique is not None:
            first = seen.setdefault(int(given[number]), start + number)
            if first != start + number:
                rule = f"unique: no index repeats; position {first} has it too"
                refuse(interp, op, int(given[number]), (number,), rule)
        target = turned(op, memory[box])
        part = source[mine].reshape(target.shape)
        target[...] = target + part if op.combine is not None else part
        if written is not None:
            written[box] = True
    found = interp.env[op.memory]
    if isinstance(found, Destination):
        found.tensor.last_store = store_text(interp, op, ())


@handles("npu.topk")
def topk(interp: Interpreter, op: Any) -> tuple[Tensor, Tensor]:
    source = interp.array(op.source, op)
    values, indices = (interp.array(value, op).copy() for value in op.lists)
    first, size = (interp.integer(bound) for bound in op.mixed_bounds)
    k, count = values.shape[-1], int(np.prod(values.shape[:-1]))
    rows = source.reshape(count, source.shape[-1])
    best, places = values.reshape(count, k), indices.reshape(count, k)
    lengths = [size] * count
    if op.lengths is not None:
        lengths = interp.array(op.lengths, op).reshape(-1).tolist()
    before = [interp.array(value, op) for value in op.after]
    ascending = op.ascending is not None
    for row, length in enumerate(lengths):
        if not 0 <= length <= size:
            message = f"topk: length {length} of a row of {counted(size, 'element')}"
            interp.fail(op, "PTO404", message)
        if length < op.least:
            message = f"topk of {counted(length, 'element')} has no {op.least} greatest"
            interp.fail(op, "PTO404", message)
        new = rows[row, : max(length - first, 0)]
        kept = places[row] >= 0
        elements = np.concatenate([new, best[row, kept]])
        indices_of = [*range(first, first + len(new)), *places[row, kept].tolist()]
        keys = list(zip(_ranks(elements, ascending), indices_of, strict=True))
        chosen = list(range(len(keys)))
        if before:
            value, index = (each.reshape(count, -1)[row, -1:] for each in before)
            last = int(index[0])
            bound = (*_ranks(value, ascending), last)
            if last >= -1:
                after = (last >= 0 and key > bound for key in keys[: len(new)])
                chosen = [n for n, is_after in enumerate(after) if is_after]
                chosen += range(len(new), len(keys))
        chosen = sorted(chosen, key=keys.__getitem__)[:k]
        best[row, : len(chosen)] = elements[chosen]
        places[row] = -1
        places[row, : len(chosen)] = [indices_of[n] for n in chosen]
    return Tensor(values), Tensor(indices)


def _ranks(elements: Array, ascending: bool) -> list[tuple[bool, Any]]:
    """What ascends as the lists go on, NaN being the least value."""
    numbers = wide(elements)
    sign = 1 if ascending else -1
    if numbers.dtype.kind != "f":
        return [(False, sign * number) for number in numbers.tolist()]
    nan = np.isnan(numbers)
    keys = np.where(nan, 0, sign * numbers)
    return list(zip((nan != ascending).tolist(), keys.tolist(), strict=True))


@handles("npu.one_hot")
def one_hot(interp: Interpreter, op: Any) -> Tensor:
    source = interp.array(op.source, op).astype(np.int64)
    first = interp.integer(op.first)
    rows, columns = (interp.integer(extent) for extent in op.extents)
    result = np.zeros((rows, columns), np.bool_)
    for row, indices in enumerate(source.reshape(rows, -1)):
        for index in indices.tolist():
            if first <= index < first + columns:
                result[row, index - first] = True
    rank = len(op.results[0].type.get_shape())
    return Tensor(result.reshape((rows, columns)[2 - rank :]))
