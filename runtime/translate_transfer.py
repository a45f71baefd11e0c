"""Transfers between gm and buffers as numpy assignments (see `translate.py`).

A box of a gm array is one subscript: a range for the rows and the columns, a number in
every other dimension. It has its dimensions in the array's order, so it is transposed
if the columns come first, and it lacks a dimension that the box does not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Operation

from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_read import ReadOp
from pyptoc.dialects.tile_transfer import LoadOp, StoreOp, TransferOp
from pyptoc.dialects.tile_types import Space, buffer_type
from pyptoc.runtime import numerics
from pyptoc.runtime.codegen import Handler, Value
from pyptoc.runtime.decode import decoder
from pyptoc.runtime.failures import raise_out_of_bounds
from pyptoc.runtime.in_place import InPlace, in_place
from pyptoc.runtime.matmul import Scratch, unpack_pairs
from pyptoc.runtime.memory import Apart
from pyptoc.runtime.movers import Movers
from pyptoc.runtime.panels import Panels
from pyptoc.runtime.scalar_code import to_f32
from pyptoc.runtime.vector_math import Rounding

if TYPE_CHECKING:
    from pyptoc.runtime.translate import KernelTranslator
    from pyptoc.runtime.translate_repeated import RepeatedWork

_COMBINE = {"add": np.add, "max": np.maximum, "min": np.minimum}
_BY_ASSIGNMENT = ("f32", "f16", "bf16", "i32")
"""Types that an assignment converts an accumulator to, rounding once to even."""


def handlers(to: KernelTranslator) -> dict[str, Handler]:
    return {
        "tile.load": lambda op: _load(to, cast(LoadOp, op)),
        "tile.store": lambda op: _store(to, cast(StoreOp, op)),
        "tile.move": lambda op: _move(to, cast(MoveOp, op)),
        "tile.read": lambda op: _read(to, cast(ReadOp, op)),
    }


def _load(to: KernelTranslator, op: LoadOp) -> None:
    rows, columns = op.extents
    to.check_extents(op.dest, rows, columns)
    box = _checked_box(to, op)
    with to.instruction(op):
        row, column = op.box_dims
        if column == -1 and row != -1:
            source = f"{box}[:, None]"
        else:
            source = box
            if row > column != -1:
                source = _transposed(to, op, box)
        if not (to.cube.load(op, source) or to.in_place.load(op, source)):
            to.line(f"{to.corner(op.dest, rows, columns)}[...] = {source}")


def _transposed(to: KernelTranslator, op: LoadOp, box: str) -> str:
    """The text of a box [rows, columns] whose columns come first in the memory."""
    first, second = op.mixed_offsets[0], op.mixed_offsets[-1]
    number = to.kernel.buffer_args.index(op.memory)
    panels = Panels(
        Apart(number, frozenset(to.stored)),
        Movers(to.kernel).axes_of((second,), read=False) or frozenset(),
        to.core.scratch,
    )
    plain = to.core.is_plain
    if not plain or len(op.mixed_offsets) > 2 or number in to.stored:
        return f"{to.bind(panels.close)}({box}).T"
    to.at_launch.append(panels.clear)
    rows, columns = op.extents
    ends = f"{add(to, first, columns)}, {add(to, second, rows)}"
    corners = f"{to.ref(first)}, {to.ref(second)}, {ends}"
    return f"{to.bind(panels)}(memories, grid, {corners})"


def _read(to: KernelTranslator, op: ReadOp) -> None:
    """The scalar pipe issues to all others: it reads at once."""
    name = f"%{op.source.name_hint or 'memory'}"

    def fail(*place: int) -> NoReturn:
        shown = ", ".join(map(str, place))
        raise_out_of_bounds(op, f"read of {name}[{shown}] lies outside of it")

    offsets = [to.ref(offset) for offset in op.mixed_offsets]
    inside = " and ".join(
        f"0 <= {offset} < {to.size_of(op.source, dim)}"
        for dim, offset in enumerate(offsets)
    )
    place = ", ".join(offsets)
    to.line(f"if not ({inside}): {to.bind(fail)}({place})")
    convert = "int" if isinstance(op.results[0].type, IndexType) else to.bind(to_f32)
    element = f"{to.ref(op.source)}[{place}]"
    to.line(f"{to.define(op.results[0])} = {convert}({element})")


def _store(to: KernelTranslator, op: StoreOp) -> None:
    if to.in_place.store(op):
        return
    rows, columns = op.extents
    to.check_extents(op.source, rows, columns)
    box = _checked_box(to, op)
    with to.instruction(op):
        source = _oriented(op, _converted(to, op))
        if op.combine is not None:
            fold = to.bind(_COMBINE[op.combine.data])
            source = f"{fold}({box}, {source})"
        to.line(f"{box} = {source}")
        _mark(to, box)


def _mark(to: KernelTranslator, box: str) -> None:
    """Note that a box, given as its text, was stored."""
    name, _, key = box.partition("[")
    marks = "w" + name[1:]
    *leading, last = key[:-1].split(", ")
    start, colon, end = last.partition(":")
    if colon:
        key = f"{', '.join(leading) or '()'}]"
        kind = f"columns({start}, {end})" if end else "rows"
    else:
        kind = "elements"
    to.line(f"if {marks} is not None: {marks}.{kind}[{key} = True")


def _converted(to: KernelTranslator, op: StoreOp) -> str:
    """The box of the buffer; from l0c, in the element type of the memory."""
    source = to.corner(op.source, *op.extents)
    element = cast("MemRefType[Attribute]", op.dest.type).element_type
    if op.scale is not None or op.relu is not None:
        row = "None"
        if op.scale is not None:
            to.check_extents(op.scale, 1, op.extents[1])
            row = to.corner(op.scale, 1, op.extents[1])
        drain = _Drain(element, op.relu is not None, to.core.scratch)
        text = f"{to.bind(drain)}({source}, {row})"
        if op.combine is None or drain.assigned:
            return text
        return f"{text}.astype({to.bind(drain.dtype)}, copy=False)"
    kind = buffer_type(op.source)
    if kind.element_type == element or str(element) in _BY_ASSIGNMENT:
        return source

    def convert(box: np.ndarray) -> np.ndarray:
        return numerics.cast(box, element, "rint")

    return f"{to.bind(convert)}({source})"


class _Drain:
    """What a store from l0c does to the accumulator: scales by column, relu, a cast.

    At least one of the first two.
    """

    def __init__(self, element: Attribute, relu: bool, scratch: Scratch) -> None:
        self.element, self.relu, self.scratch = element, relu, scratch
        self.dtype = numerics.storage_dtype(element)
        self.assigned = str(element) in _BY_ASSIGNMENT
        self.rounding: Rounding | None = None
        if self.dtype.kind in "iu" and not self.assigned:
            self.rounding = Rounding.to("rint", self.dtype, saturate=True)

    def __call__(self, acc: np.ndarray, scale: np.ndarray | None) -> np.ndarray:
        """What to assign to the box in memory, which may have another type."""
        values = acc
        if scale is not None:
            flat = self.scratch.room("drained", acc.size)
            values = flat[: acc.size].reshape(acc.shape)
            if acc.dtype != np.float32:
                # A mixed i32 * f32 ufunc would go through f64 buffers.
                np.copyto(values, acc, casting="unsafe")
                acc = values
            np.multiply(acc, numerics.output_scale(scale), out=values)
        if self.relu:
            values = np.maximum(values, 0)
        if self.assigned:
            return values
        rounding = self.rounding if values.dtype == np.float32 else None
        if rounding is not None and rounding.rounds(values, values):
            return values
        # What was rounded before some did not fit is rounded again.
        return numerics.cast(values, self.element, "rint")


def _oriented(op: StoreOp, source: str) -> str:
    """The [rows, columns] box as the memory's box has its dimensions."""
    row, column = op.box_dims
    if row == -1 and column == -1:
        return f"{source}[0, 0]"
    if row == -1:
        return f"{source}[0]"
    if column == -1:
        return f"{source}[:, 0]"
    return f"{source}.T" if row > column else source


def _checked_box(to: KernelTranslator, op: LoadOp | StoreOp) -> str:
    """The text of the box in gm, after a check that it lies in there."""
    ranges: list[str] = []
    memory = op.memory
    checks: list[str] = []
    numbers: list[str] = []
    for dim, offset in enumerate(op.mixed_offsets):
        extent = op.extents[op.box_dims.index(dim)] if dim in op.box_dims else 1
        start, size = to.ref(offset), to.size_of(memory, dim)
        end = add(to, offset, extent)
        whole = offset == 0 and str(extent) == size
        box = ":" if whole else f"{start}:{end}"
        ranges.append(box if dim in op.box_dims else start)
        numbers.append(f"({start}, {to.ref(extent)}, {size})")
        if not isinstance(offset, int):
            checks.append(f"{start} < 0")
        fixed = isinstance(offset, int) and isinstance(extent, int)
        if not whole and not (fixed and size.isdigit()):
            checks.append(f"{end} > {size}")
    if checks:
        fail = to.bind(_OutOfBounds(op))
        to.line(f"if {' or '.join(checks)}: {fail}({', '.join(numbers)})")
    return f"{to.ref(memory)}[{', '.join(ranges) or '()'}]"


def add(to: KernelTranslator, offset: Value, extent: Value) -> str:
    if isinstance(offset, int):
        if isinstance(extent, int):
            return str(offset + extent)
        return to.ref(extent) if offset == 0 else f"{offset} + {to.ref(extent)}"
    return f"{to.ref(offset)} + {to.ref(extent)}"


class _OutOfBounds:
    """Raises the error of a transfer; called with (offset, extent, size) by dim."""

    def __init__(self, op: LoadOp | StoreOp) -> None:
        self.op = op

    def __call__(self, *boxes: tuple[int, int, int]) -> NoReturn:
        op = self.op
        what = "load of" if isinstance(op, LoadOp) else "store to"
        name = f"%{op.memory.name_hint or 'memory'}"
        box_dims = op.box_dims
        names = {-1: "", box_dims[1]: "columns ", box_dims[0]: "rows "}
        for dim, (offset, extent, size) in enumerate(boxes):
            kind = names.get(dim, f"dimension {dim}, ")
            if offset < 0:
                message = f"{what} {name} {kind}{offset} +: {extent} starts before 0"
            elif offset + extent > size:
                message = (
                    f"{what} {name} {kind}{offset} +: {extent} ends at "
                    f"{offset + extent}, {name} has {size} "
                    f"{kind.strip() if dim in box_dims else 'there'}"
                )
            else:
                continue
            raise_out_of_bounds(op, message)
        raise AssertionError("no dimension is out of bounds")


# In place ----------------------------------------------------------------------------


class InPlaceTransfers:
    """The transfers of a kernel that need not be made (`in_place.py`)."""

    def __init__(self, to: KernelTranslator) -> None:
        self.to = to
        self.found = InPlace({}, {}, {})
        self.apart: dict[Operation, str] = {}
        """The local that says whether a transfer need not be made."""
        self.boxes: dict[StoreOp, str] = {}
        if to.core.is_plain:
            self.found = in_place(to.kernel, to.stored)
            self._leave_to(to.repeated)

    def _leave_to(self, repeated: RepeatedWork) -> None:
        """Buffers that repeated work has to fill are filled."""
        outputs = repeated.outputs()
        for first, store in list(self.found.first.items()):
            users = [use.operation for use in store.source.uses]
            if any(user in repeated.runs for user in users):
                del self.found.first[first], self.found.stores[store]
                if isinstance(first, LoadOp):
                    del self.found.loads[first]
        for load in [op for op in self.found.loads if op.dest in outputs]:
            del self.found.loads[load]
            if load in self.found.first:
                del self.found.stores[self.found.first.pop(load)]

    def begin_launch(self) -> None:
        """Write what comes before the tasks."""
        to = self.to
        for op, apart in (*self.found.loads.items(), *self.found.stores.items()):
            self.apart[op] = name = to.fresh()
            to.line(f"{name} = {to.bind(apart)}(memories)")

    def load(self, op: LoadOp, box: str) -> bool:
        """Let a buffer stand for the box that is loaded. False: it must be loaded."""
        to = self.to
        if op not in self.found.loads:
            return False
        name = to.fresh()
        to.line(f"{name} = {box}")
        buffer = to.slice(op.dest, *op.extents)
        to.line(f"if not {self.apart[op]}: {buffer}[...] = {name}; {name} = {buffer}")
        to.stand_ins[op.dest] = name
        if op in self.found.first:
            self.boxes[self.found.first[op]] = box
        return True

    def before(self, op: Operation) -> None:
        """Before a stored buffer is computed: let it stand for its box."""
        to, store = self.to, self.found.first.get(op)
        if store is None or isinstance(op, LoadOp):
            return
        to.op = store
        to.check_extents(store.source, *store.extents)
        box = self.boxes[store] = _checked_box(to, store)
        name, buffer = to.fresh(), to.slice(store.source, *store.extents)
        to.line(f"{name} = {box} if {self.apart[store]} else {buffer}")
        to.stand_ins[store.source] = name

    def store(self, op: StoreOp) -> bool:
        """A store of such a buffer. False: it is none."""
        to = self.to
        if op not in self.boxes:
            return False
        box, name = self.boxes[op], to.stand_ins[op.source]
        to.line(f"if not {self.apart[op]}: {box} = {name}")
        _mark(to, box)
        return True


# Within a core -----------------------------------------------------------------------


def source_box(to: KernelTranslator, op: TransferOp) -> str:
    """The text of the box in L1, after a check that it lies in there."""
    check_source_box(to, op)
    rows, columns = (
        f"{to.ref(offset)}:{add(to, offset, extent)}"
        for offset, extent in zip(op.mixed_offsets, op.extents, strict=True)
    )
    return f"{to.ref(op.source)}[{rows}, {columns}]"


def check_source_box(to: KernelTranslator, op: TransferOp) -> None:
    """Write the check that the box lies in its L1 buffer."""
    kind = buffer_type(op.source)
    boxes = zip(op.mixed_offsets, op.extents, kind.shape, strict=True)
    for what, (offset, extent, size) in zip(("rows", "columns"), boxes, strict=True):
        to.check_limit(f"the extent in {what}", extent, size)
        if offset == 0 or (isinstance(offset, int) and isinstance(extent, int)):
            continue
        to.check_limit(f"the offset in {what}", offset, size)
        fail = to.bind(_BeyondBuffer(op, what, size))
        end = add(to, offset, extent)
        to.line(f"if {end} > {size}: {fail}({end})")


class _BeyondBuffer:
    def __init__(self, op: Operation, what: str, size: int) -> None:
        self.op, self.what, self.size = op, what, size

    def __call__(self, end: int) -> NoReturn:
        message = f"{self.what} end at {end}, the buffer has {self.size}"
        raise_out_of_bounds(self.op, message)


def _move(to: KernelTranslator, op: MoveOp) -> None:
    kind = buffer_type(op.dest)
    rows, columns = op.extents
    box = source_box(to, op)
    if op.is_transposed:
        rows, columns = columns, rows
    if not op.regroups_pairs:
        to.check_extents(op.dest, rows, columns)
    if to.moves.takes(op, box):
        return
    with to.instruction(op):
        if op.regroups_pairs:
            to.line(f"x = {to.bind(unpack_pairs)}({box})")
            to.line(f"{to.ref(op.dest)}[:x.shape[0], :x.shape[1]] = x")
            return
        target = to.corner(op.dest, rows, columns)
        if kind.space in (Space.L0A, Space.L0B):
            size = buffer_type(op.source)
            dtype = numerics.storage_dtype(kind.element_type)
            room = f'S.room("a", {size.rows * size.columns})'
            box = f"{to.bind(decoder(dtype))}({box}, {room})"
        to.line(f"{target}[...] = {box}{'.T' if op.is_transposed else ''}")
