"""Views and stores in the reference interpreter: boxes, bounds, and who wrote what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import Note, place_of
from pyptoc.dialects.words import counted
from pyptoc.runtime.claims import Claims, conflict_text
from pyptoc.runtime.numerics import Array
from pyptoc.runtime.reference_core import (
    Interpreter,
    dtype_of,
    handles,
    hint,
    last_use,
)
from pyptoc.runtime.reference_values import (
    Box,
    Destination,
    Mask,
    Memory,
    Tensor,
    axis_word,
    marks_of_bytes,
    reinterpreted,
)
from pyptoc.runtime.reference_wide import narrow, wide


def short_name(op: Operation) -> str:
    """`view` of `pypto.view`."""
    return op.name.partition(".")[2]


def bounded_box(
    interp: Interpreter,
    op: Operation,
    name: str,
    shape: Sequence[int],
    offsets: Sequence[int],
    sizes: Sequence[int | None],
) -> tuple[Box, tuple[int, ...]]:
    """The slices of a box and its extents; a size of None is the whole dimension."""
    slices: list[slice] = []
    extents: list[int] = []
    rank = len(shape)
    for axis, (dim, lo, size) in enumerate(zip(shape, offsets, sizes, strict=True)):
        extent = dim if size is None else size
        if lo < 0 or extent < 0 or lo + extent > dim:
            word = axis_word(axis, rank)
            what = f"{short_name(op)} of {name} {word} {lo} +: {extent}"
            if extent < 0:
                message = f"{what} has a negative size"
            elif lo < 0:
                message = f"{what} begins before 0"
            else:
                noun = word.rstrip(":") if rank < 3 else f"elements in {word[:-1]}"
                message = f"{what} ends at {lo + extent}, {name} has {dim} {noun}"
            interp.fail(op, "PTO402", message, rule="0 <= offset, offset + size <= dim")
        slices.append(slice(lo, lo + extent))
        extents.append(extent)
    return tuple(slices), tuple(extents)


def subscripted_box(
    interp: Interpreter, op: Any, name: str, shape: Sequence[int]
) -> tuple[Box, tuple[int, ...]]:
    """The box of `%x[...]` and the shape of what it selects."""
    offsets = [interp.integer(value) for value in op.mixed_offsets]
    sizes = [None if size is None else interp.integer(size) for size in op.mixed_sizes]
    box, extents = bounded_box(interp, op, name, shape, offsets, sizes)
    dropped = op.dropped_dims
    kept = (extent for axis, extent in enumerate(extents) if axis not in dropped)
    return box, tuple(kept)


@handles("pypto.view")
def view(interp: Interpreter, op: Any) -> Tensor:
    source = interp.tensor(op.source, op)
    name = hint(op.source)
    box, shape = subscripted_box(interp, op, name, source.array.shape)
    written = source.written
    interp.check_limits(op, shape)
    part = source.array[box].reshape(shape)
    marks = None if written is None else written[box].reshape(shape)
    if op.target is not None:
        _check_view_bytes(interp, op, source.array, box[-1].start)
        return as_elements(part, marks, source, dtype_of(op.result))
    return source.like(part, marks)


def _check_view_bytes(interp: Interpreter, op: Any, source: Array, offset: int) -> None:
    """A view to another type starts at one of its elements, as do all rows."""
    extent = op.mixed_sizes[-1]
    lengths = {
        "offset": offset,
        "size": source.shape[-1] if extent is None else interp.integer(extent),
        "row": source.shape[-1] if source.ndim > 1 else 0,
    }
    _check_bytes(interp, op, source, lengths)


def _check_bytes(
    interp: Interpreter, op: Any, source: Array, lengths: Mapping[str, int]
) -> None:
    """So many elements of the source are whole elements of the result."""
    size = dtype_of(op.result).itemsize
    for what, length in lengths.items():
        if length * source.itemsize % size:
            name = f"{short_name(op)} of {hint(op.source)}"
            message = (
                f"{name}: {what} of {counted(length, 'element')} of "
                f"{source.itemsize} B is "
            )
            message += f"no multiple of {size} B"
            rule = f"whole elements of {op.target}"
            interp.fail(op, "PTO402", message, rule=rule)


@handles("pypto.reinterpret")
def reinterpret(interp: Interpreter, op: Any) -> Tensor:
    source, dtype = interp.tensor(op.source, op), dtype_of(op.result)
    _check_bytes(interp, op, source.array, {"size": source.array.shape[-1]})
    return as_elements(source.array, source.written, source, dtype)


def as_elements(
    array: Array, written: Mask | None, source: Tensor, dtype: np.dtype[Any]
) -> Tensor:
    """The bytes of a part of `source` as elements of `dtype`."""
    sizes = array.itemsize, dtype.itemsize
    marks = None if written is None else marks_of_bytes(written, *sizes)
    return source.like(reinterpreted(array, dtype), marks)


@handles("npu.load")
def load(interp: Interpreter, op: Any) -> Tensor:
    memory = interp.memory(op.source)
    name = hint(op.source)
    box, shape = subscripted_box(interp, op, name, memory.array.shape)
    part = memory.array[box].reshape(shape).copy()
    written = memory.written[box].reshape(shape)
    return Tensor(part, None if written.all() else written.copy(), None, f"into {name}")


def read_element(
    interp: Interpreter, op: Any, array: Array, written: Mask | None
) -> Any:
    """One element, as `read` gives it: an index, or f32."""
    offsets = [interp.integer(value) for value in op.mixed_offsets]
    name = hint(op.operands[0])
    box, _ = bounded_box(interp, op, name, array.shape, offsets, [1] * len(offsets))
    if written is not None and not written[box].all():
        message = f"read of {name}{offsets}, which no store wrote"
        interp.fail(op, "PTO405", message)
    value = array[box].reshape(())[()]
    if str(op.results[0].type) == "f32":
        return np.float32(value)
    return int(value)


@handles("pypto.read")
def read(interp: Interpreter, op: Any) -> Any:
    source = op.operands[0]
    if isinstance(interp.env[source], Memory):
        return read_memory(interp, op)
    found = interp.tensor(source, op)
    return read_element(interp, op, found.array, found.written)


@handles("npu.read")
def read_memory(interp: Interpreter, op: Any) -> Any:
    memory = interp.memory(op.operands[0])
    return read_element(interp, op, memory.array, memory.written)


def trailing_box(
    interp: Interpreter, op: Any, shape: Sequence[int], part: Sequence[int]
) -> Box:
    """The box that a source of shape `part` covers in a destination."""
    offsets = [interp.integer(value) for value in op.mixed_offsets]
    sizes = [1] * (len(shape) - len(part)) + list(part)
    box, _ = bounded_box(interp, op, hint(op.dest), shape, offsets, sizes)
    return box


def put(into: Tensor, box: Box, source: Tensor) -> None:
    """Writes a source into a box of an owned tensor."""
    target = into.array[(*box, ...)]  # a view at rank 0, too
    target[...] = source.array.reshape(target.shape)
    if source.written is None:
        if into.written is not None:
            into.written[box] = True
        return
    if into.written is None:
        into.written = np.ones(into.array.shape, np.bool_)
    into.written[box] = source.written.reshape(target.shape)
    into.origin = into.origin or source.origin


@handles("pypto.assemble")
def assemble(interp: Interpreter, op: Any) -> Tensor:
    source, dest = interp.tensor(op.source, op), interp.tensor(op.dest, op)
    box = trailing_box(interp, op, dest.array.shape, source.array.shape)
    if not (dest.owned and last_use(op.dest, op)):
        dest = dest.copy()
    put(dest, box, source)
    dest.last_store = store_text(interp, op, box)
    return dest


def store_text(interp: Interpreter, op: Operation, box: Box) -> str:
    """`a.mlir:33:5 (%e = 1, rows 7 +: 8)`"""
    words = [axis_word(0, len(box))] if box else []
    first = [f"{word} {s.start} +: {s.stop - s.start}" for word, s in zip(words, box)]
    loops = [
        f"{name} = {value}"
        for loop in interp.loops
        for name, value in zip(loop.names, loop.values, strict=True)
    ]
    place = place_of(op.location) or short_name(op)
    return f"{place} ({', '.join(loops + first)})"


@handles("pypto.store", "npu.assemble")
def store(interp: Interpreter, op: Any) -> None:
    dest = interp.env[op.dest]
    assert isinstance(dest, Destination)
    source = interp.tensor(op.source, op)
    box = trailing_box(interp, op, dest.tensor.array.shape, source.array.shape)
    combine = getattr(op, "combine", None)
    if combine is None:
        _claim(interp, op, dest, box)
        put(dest.tensor, box, source)
    else:
        fold(interp, op, combine.data, dest.tensor, box)
    dest.tensor.last_store = store_text(interp, op, box)


def _claim(interp: Interpreter, op: Any, dest: Destination, box: Box) -> None:
    """No two independent iterations store to one element."""
    pair = dest.conflict(box, tuple(interp.loops[dest.depth :]))
    if pair is None:
        return
    first, second = pair
    name = hint(op.dest)
    message, note = conflict_text(second.kind, name, str(first), str(second), box)
    interp.fail(op, "PTO406", message, notes=[Note(note)])


@handles("pypto.claims")
def claims(interp: Interpreter, op: Any) -> Claims:
    return Claims(op.label.data, [interp.integer(size) for size in op.mixed_sizes])


@handles("pypto.claim")
def claim(interp: Interpreter, op: Any) -> None:
    """A box that an iteration stores, which no other may."""
    offsets, sizes = (
        [interp.integer(value) for value in mixed]
        for mixed in (op.mixed_offsets, op.mixed_sizes)
    )
    value = interp.integer(op.iteration)
    claimed: Claims = interp.env[op.claims]
    found = claimed.conflict(hint(op.iteration), value, offsets, sizes)
    if found is not None:
        interp.fail(op, "PTO406", found[0], notes=[Note(found[1])])


def fold(interp: Interpreter, op: Any, kind: str, into: Tensor, box: Box) -> None:
    """`into[box] = combine(into[box], source)`, rounded once."""
    source = interp.array(op.source, op)
    if into.written is not None and not into.written[box].all():
        message = f"combine onto elements of {hint(op.dest)} that no store wrote"
        interp.fail(op, "PTO405", message, notes=interp.origin_notes(into))
    target = into.array[(*box, ...)]  # a view at rank 0, too
    combine = {"add": np.add, "max": np.maximum, "min": np.minimum}[kind]
    value = combine(wide(target), wide(source).reshape(target.shape))
    target[...] = narrow(value, target.dtype)


@handles("npu.store")
def store_memory(interp: Interpreter, op: Any) -> None:
    memory = interp.memory(op.dest)
    source = interp.tensor(op.source, op)
    box = trailing_box(interp, op, memory.array.shape, source.array.shape)
    into = Tensor(memory.array, memory.written, owned=True)
    combine = getattr(op, "combine", None)
    if combine is None:
        put(into, box, source)
    else:
        fold(interp, op, combine.data, into, box)


# Memory of the orchestration.


@handles("npu.alloc")
def alloc(interp: Interpreter, op: Any) -> Memory:
    shape = tuple(interp.integer(size) for size in op.mixed_sizes)
    return Memory.empty(shape, dtype_of(op.results[0]))


@handles("npu.place")
def place(interp: Interpreter, op: Any) -> Memory:
    """A part of an arena. Nothing in it counts as written until it is stored."""
    arena = interp.memory(op.arena)
    dtype = dtype_of(op.results[0])
    shape = tuple(interp.integer(size) for size in op.mixed_sizes)
    start = interp.integer(op.offset)
    end = start + int(np.prod(shape)) * dtype.itemsize
    if start < 0 or end > arena.array.size:
        message = f"bytes {start} to {end} of an arena of {arena.array.size}"
        interp.fail(op, "PTO404", message)
    array = arena.array[start:end].view(dtype).reshape(shape)
    return Memory(array, np.zeros(shape, np.bool_))


@handles("npu.reshape")
def reshape_memory(interp: Interpreter, op: Any) -> Memory:
    memory = interp.memory(op.operands[0])
    shape = tuple(interp.integer(size) for size in op.mixed_sizes)
    if int(np.prod(shape)) != memory.array.size:
        message = f"{list(shape)} of {counted(memory.array.size, 'element')}"
        interp.fail(op, "PTO404", message)
    return Memory(memory.array.reshape(shape), memory.written.reshape(shape))


@handles("npu.reinterpret")
def reinterpret_memory(interp: Interpreter, op: Any) -> Memory:
    memory, dtype = interp.memory(op.source), dtype_of(op.result)
    sizes = memory.array.itemsize, dtype.itemsize
    marks = marks_of_bytes(memory.written, *sizes)
    return Memory(reinterpreted(memory.array, dtype), marks)


@handles("npu.no_events", "npu.join")
def events(interp: Interpreter, op: Any) -> None:
    """Tasks run one after the other here: there is nothing to wait for."""
