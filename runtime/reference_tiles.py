"""
Indexing in task bodies, for the reference interpreter: one index after the other.

`npu.gather` and `npu.scatter` touch tensors or memory; `npu.topk` keeps the k best
elements so far, as lists in descending order.
"""

from __future__ import annotations

from collections.abc import Callable
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


class Places:
    """Where the indices of one execution of a gather or scatter lie in the memory."""

    def __init__(self, interp: Interpreter, op: Any) -> None:
        self.interp, self.op = interp, op
        self.limits = [interp.integer(limit) for limit in op.limits]
        self.missing = None if op.missing is None else op.missing.value.data
        self.paged = op.lookup is not None
        if self.paged:
            value, offsets, pages = op.lookup
            self.table, _ = storage(interp, value)
            self.first = [interp.integer(offset) for offset in offsets]
            self.page_rows, self.count = op.page.value.data, interp.integer(pages)
            self.axis = 0 if op.table_axis is None else op.table_axis.value.data

    def of(self, indices: list[int], at: tuple[int, ...]) -> list[int] | None:
        """The place along each axis, from the offset; None for a missing index."""
        if self.missing is not None and indices[0] == self.missing:
            return None
        if self.paged:
            return [self._in_pages(indices[0], at)]
        for number, (index, limit) in enumerate(zip(indices, self.limits, strict=True)):
            if not 0 <= index < limit:
                rule = f"valid indices are 0 to {limit - 1}"
                refuse(self.interp, self.op, index, at, rule, number=number)
        return indices

    def _in_pages(self, index: int, at: tuple[int, ...]) -> int:
        """The row that an index means through the page table."""
        page_rows, limit = self.page_rows, self.limits[0]
        last = self.count * page_rows - 1
        if not 0 <= index <= last:
            rule = f"valid indices are 0 to {last}"
            refuse(self.interp, self.op, index, at, rule)
        place = list(self.first)
        place[self.axis] += index // page_rows
        page = int(self.table[tuple(place)])
        row = page * page_rows + index % page_rows
        if page < 0 or row >= limit:
            rule = f"pages are 0 to {limit // page_rows - 1}"
            refuse(self.interp, self.op, index, at, rule, f" is in page {page}")
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
    axes: tuple[int, ...] = op.axes
    per: str = op.per.data
    shape = (rows, columns) if per == "element" else -1
    given = [interp.array(each, op).reshape(shape) for each in op.all_indices]
    places = Places(interp, op)
    all_rows, all_columns = slice(0, rows), slice(0, columns)
    first = [slice(offset, offset + 1) for offset in offsets]
    flat = zip(*(each.reshape(-1).tolist() for each in given), strict=True)
    for at, indices in zip(np.ndindex(given[0].shape), flat, strict=True):
        mine: tuple[Any, Any] = (
            at[0] if per in ("element", "row") else all_rows,
            at[-1] if per in ("element", "column") else all_columns,
        )
        found = places.of(list(indices), at)
        if found is None:
            yield mine, None
            continue
        box: list[Any] = list(first)
        for dim, part in zip(dims, mine, strict=True):
            if dim >= 0:
                box[dim] = _moved(part, offsets[dim])
        for axis, place in zip(axes, found, strict=True):
            box[axis] = _moved(place, offsets[axis])
        whole = zip(box, memory.shape, strict=True)
        if any(one.start < 0 or one.stop > size for one, size in whole):
            interp.fail(op, "PTO402", f"{op.name} beyond {list(memory.shape)}")
        yield mine, tuple(box)


def turner(op: Any) -> Callable[[Array], Array]:
    """What puts the rows of a part of the memory before its columns."""
    row_dim, column_dim = op.box_dims
    if row_dim > column_dim >= 0:
        return lambda part: np.swapaxes(part, row_dim, column_dim)
    return lambda part: part


@handles("npu.gather")
def gather(interp: Interpreter, op: Any) -> Tensor:
    memory, written = storage(interp, op.memory)
    rows, columns = (interp.integer(extent) for extent in op.extents)
    result = np.zeros((rows, columns), memory.dtype)
    marks = np.ones((rows, columns), np.bool_)
    turned = turner(op)
    for mine, box in boxes(interp, op, memory):
        if box is None:
            continue
        part = result[mine]
        result[mine] = turned(memory[box]).reshape(part.shape)
        if written is not None:
            marks[mine] = turned(written[box]).reshape(part.shape)
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
    turned = turner(op)
    for number, (mine, box) in enumerate(boxes(interp, op, memory)):
        if box is None:
            continue
        if op.unique is not None:
            first = seen.setdefault(int(given[number]), start + number)
            if first != start + number:
                rule = f"unique: no index repeats; position {first} has it too"
                refuse(interp, op, int(given[number]), (number,), rule)
        target = turned(memory[box])
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
