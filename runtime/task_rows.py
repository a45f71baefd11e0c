"""
Whether the tasks along an axis of a grid go through rows (see `merged_tasks.py`).

A buffer is *tall* if it holds rows of the task, so that one for several tasks has as
many times the rows; all tasks have the same in any other one. Loads and stores whose
boxes go down with the task tell, and what is computed row by row passes it on
(`_tied`). Then every operation must fit: tall ones have all rows of a task and depend
on it by nothing else, all others not at all.

In a mixed kernel each vector core has one half of these rows, and of several tasks
another half than before. So what is tall there must not depend on the half
(`_Halves`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Expr, slope_of
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.pypto.scalars import DimOp, IndexOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import AllocOp, SlotOp, allocation_of
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import (
    HALVES,
    ChannelOp,
    ChannelType,
    channel_type,
)
from pyptoc.dialects.tile_flags import BarrierOp, FlagOp
from pyptoc.dialects.tile_indexing import GatherOp, OneHotOp, TopkOp
from pyptoc.dialects.tile_matmul import MatmulOp
from pyptoc.dialects.tile_mixed import FreeOp, PopOp, PushOp, SectionOp, section_of
from pyptoc.dialects.tile_move import MoveOp
from pyptoc.dialects.tile_read import ReadOp
from pyptoc.dialects.tile_transfer import LoadOp, StoreOp
from pyptoc.dialects.tile_types import BufType, Instruction
from pyptoc.dialects.tile_vector import Form, VectorOp
from pyptoc.runtime.codegen import Value
from pyptoc.runtime.memory import Apart
from pyptoc.runtime.number_exprs import expr_of

_PLAIN = (
    AllocOp
    | ChannelOp
    | SectionOp
    | PopOp
    | FreeOp
    | FlagOp
    | BarrierOp
    | DimOp
    | arith.ConstantOp
    | scf.YieldOp
)


_BY_ROW = Form.FULL, Form.ROW, Form.GROUP
"""The forms of inputs that have something for each row."""


class NotRowsError(Exception):
    """The tasks along an axis do not go through rows: only raised in here."""


@record
class TaskRows:
    """The rows that the tasks along an axis go through."""

    rows: int
    """Of a task."""
    extents: tuple[Expr, ...]
    """What has to be `rows` for a task to be merged, over values of the kernel."""
    tall: frozenset[Allocation]
    """The buffers that hold rows of a task."""
    apart: tuple[Apart, ...]
    """For each buffer argument that is stored to: from all others that are used."""


def rows_of_tasks(kernel: KernelOp, axis: int) -> TaskRows | None:
    """What the tasks along an axis go through; None: they go through no rows."""
    try:
        return _Search(kernel, axis).found()
    except NotRowsError:
        return None


def row_extent(op: Operation) -> Value | None:
    """The rows of the box of an instruction."""
    if isinstance(op, VectorOp | LoadOp | StoreOp | TopkOp | OneHotOp):
        return op.extents[0]
    return op.extents[0] if isinstance(op, MatmulOp | MoveOp | PushOp) else None


def rows_here(op: Operation, rows: int) -> int:
    """How many of the rows of a task the core has that executes `op`."""
    return rows // HALVES if _has_half(op) else rows


def _has_half(op: Operation) -> bool:
    """Whether a core executes `op` that has one half of the rows."""
    section = section_of(op)
    return section is not None and section.unit.data == Unit.VECTOR


def is_tall(op: Operation, tall: frozenset[Allocation]) -> bool:
    """Whether an instruction is on buffers that hold rows of a task."""
    kinds = BufType | ChannelType
    return any(
        allocation_of(value) in tall
        for value in (*op.operands, *op.results)
        if isinstance(value.type, kinds)
    )


def _tied(op: Operation) -> Sequence[SSAValue]:
    """The buffers and channels of an instruction that have the same rows."""
    if isinstance(op, VectorOp):
        given = [arg for arg in op.args if isinstance(arg, tuple)]
        return op.dest, *(value for value, form in given if form in _BY_ROW)
    if isinstance(op, TopkOp):
        return op.source, *op.lists
    if isinstance(op, OneHotOp | MoveOp):
        return op.source, op.dest
    if isinstance(op, MatmulOp):
        return op.lhs, op.dest
    return (op.source, op.channel) if isinstance(op, PushOp) else ()


class _Search:
    """Looks for rows that the tasks along an axis go through."""

    def __init__(self, kernel: KernelOp, axis: int) -> None:
        self.kernel, self.axis = kernel, axis
        self.index = kernel.grid_args[axis]
        self.rows = 0
        self.tall: frozenset[Allocation] = frozenset()
        self.extents: dict[Expr, None] = {}
        self.exprs: dict[SSAValue, Expr | None] = {}

    def found(self) -> TaskRows:
        """Raises NotRowsError."""
        ops = list(self.kernel.body.block.walk())
        # What moves with the task tells how many rows it has.
        moving = [op for op in ops if isinstance(op, LoadOp | StoreOp)]
        moving = [op for op in moving if self._row_offset(op)]
        self._need(bool(moving))
        self.tall = _spread(ops, [allocation_of(op.buffer) for op in moving])
        for op in ops:
            self._operation(op)
        for op in ops:
            if isinstance(op, SectionOp) and op.unit.data == Unit.VECTOR:
                self._need(not _Halves(op, self.tall).touch_rows())
        extents, apart = tuple(self.extents), self._apart(ops)
        return TaskRows(self.rows, extents, self.tall, apart)

    def _apart(self, ops: Sequence[Operation]) -> tuple[Apart, ...]:
        """What must share no bytes: all that is stored to, with all that is used."""
        places: dict[int, set[object]] = {}
        stored: set[int] = set()
        arguments = self.kernel.buffer_args
        numbers = {SSAValue.get(value): n for n, value in enumerate(arguments)}
        for op in ops:
            if isinstance(op, LoadOp | StoreOp):
                box = (*op.mixed_offsets, *op.extents)
                place = (op.box_dims, *(self._expr(value) for value in box))
                places.setdefault(numbers[op.memory], set()).add(place)
                if isinstance(op, StoreOp):
                    stored.add(numbers[op.memory])
            elif isinstance(op, GatherOp | ReadOp):
                for value in op.operands:
                    if isinstance(value.type, MemRefType):
                        places.setdefault(numbers[value], set()).add(op)
        # What is stored to is used in one place alone, which is that of the task.
        self._need(all(len(places[number]) == 1 for number in stored))
        used = frozenset(places)
        return tuple(Apart(number, used - {number}) for number in sorted(stored))

    # Numbers.

    def _expr(self, value: Value) -> Expr:
        """A number over arguments of the kernel, sizes and counters of loops."""
        found = expr_of(value, self._other, self.exprs)
        assert found is not None
        return found

    def _other(self, value: SSAValue) -> Expr:
        """One that is no constant and not computed, or a comparison."""
        if isinstance(value.owner, IndexOp):
            self._need(self.index not in self._symbols(value.owner.inputs))
        return Expr.sym(value)

    def _symbols(self, values: Sequence[SSAValue]) -> set[Any]:
        return {key for value in values for key in self._expr(value).symbols()}

    def _moves(self, value: Value) -> bool:
        """Whether a number depends on the task."""
        return self.index in self._expr(value).symbols()

    def _need(self, holds: bool) -> None:
        if not holds:
            raise NotRowsError

    def _fixed(self, *values: Value) -> None:
        self._need(not any(map(self._moves, values)))

    def _step(self, value: Value) -> int | None:
        """How far a number goes with each task, if that is the same everywhere."""
        slope = slope_of(self._expr(value), self.index)
        return slope.value if slope is not None and slope.is_const else None

    def _is_height(self, op: Operation) -> bool:
        """Whether a box has all rows of a task; notes what must hold."""
        value = row_extent(op)
        assert value is not None
        if not self._moves(value):
            return value == rows_here(op, self.rows)
        self._need(not _has_half(op))
        expr = self._expr(value)
        known = {*self.kernel.grid_args, *self.kernel.scalar_args}
        for key in expr.symbols():
            owner = cast("SSAValue", key).owner
            is_size = isinstance(owner, DimOp) and owner.source in (
                self.kernel.buffer_args
            )
            self._need(key in known or is_size)
        self.extents[expr] = None
        return True

    # Operations.

    def _row_offset(self, op: LoadOp | StoreOp) -> bool:
        """Whether a box goes down with the task; notes how far."""
        row = op.box_dims[0]
        if row < 0 or not self._moves(op.mixed_offsets[row]):
            return False
        step = self._step(op.mixed_offsets[row])
        self._need(step is not None and step > 0 and self.rows in (0, step))
        self.rows = step or 0
        return True

    def _operation(self, op: Operation) -> None:
        if isinstance(op, LoadOp | StoreOp):
            self._transfer(op)
        elif isinstance(op, VectorOp):
            self._vector(op)
        elif isinstance(op, TopkOp | OneHotOp):
            self._selection(op)
        elif isinstance(op, MatmulOp):
            self._matmul(op)
        elif isinstance(op, MoveOp):
            self._move(op)
        elif isinstance(op, PushOp):
            self._push(op)
        elif isinstance(op, GatherOp | ReadOp):
            self._need(not is_tall(op, self.tall))
            self._fixed(*_numbers_of(op))
        elif isinstance(op, SlotOp):
            self._fixed(op.slot)
        elif isinstance(op, scf.ForOp | scf.IfOp):
            self._need(not op.results)
            self._fixed(*op.operands)
        elif isinstance(op, IndexOp):
            self._expr(op.results[0])
        else:
            self._need(isinstance(op, _PLAIN))

    def _transfer(self, op: LoadOp | StoreOp) -> None:
        row = op.box_dims[0]
        offsets = op.mixed_offsets
        height, columns = op.extents
        moves = row >= 0 and self._moves(offsets[row])
        self._fixed(columns, *(o for dim, o in enumerate(offsets) if dim != row))
        self._need(self._kind(op.buffer) is moves)
        if moves:
            self._need(self._is_height(op) and not _has_half(op))
        else:
            self._fixed(height)
        if isinstance(op, StoreOp):
            self._need(moves and op.combine is None)
            self._whole(op.scale)

    def _kind(self, buffer: SSAValue) -> bool:
        return allocation_of(buffer) in self.tall

    def _whole(self, *buffers: SSAValue | None) -> None:
        """All tasks have the same in these."""
        self._need(not any(b is not None and self._kind(b) for b in buffers))

    def _vector(self, op: VectorOp) -> None:
        tall = self._all_or_none(op)
        for number, arg in enumerate(op.args):
            if not isinstance(arg, tuple):
                continue
            value, form = arg
            if form is Form.SCALAR:
                if op.family.name != "mask_causal" or number != 1:
                    self._fixed(value)
            elif form not in _BY_ROW:
                self._whole(value)
        if op.family.name == "mask_causal":
            self._mask(op, tall)

    def _all_or_none(self, op: Instruction) -> bool:
        """Whether an instruction on rows is on those of the task."""
        kinds = {self._kind(value) for value in _tied(op)}
        self._need(len(kinds) == 1)
        tall = True in kinds
        extents: Sequence[Value] = cast("Any", op).extents
        self._fixed(*extents[1:])
        if tall:
            self._need(self._is_height(op))
        else:
            self._fixed(extents[0])
        return tall

    def _mask(self, op: VectorOp, tall: bool) -> None:
        """What the first row hides, the next hides one element later."""
        offset = op.args[1]
        value = offset[0] if isinstance(offset, tuple) else 0
        self._need(self._step(value) == (self.rows if tall else 0))
        self._need(not (tall and _has_half(op)))

    def _selection(self, op: TopkOp | OneHotOp) -> None:
        self._need(self._all_or_none(op))
        if isinstance(op, OneHotOp):
            self._fixed(op.first)
            return
        self._need(op.lengths is None and not op.after)
        self._fixed(*op.mixed_bounds)

    def _matmul(self, op: MatmulOp) -> None:
        self._all_or_none(op)
        self._whole(op.rhs, op.bias)
        if isinstance(op.accumulate, SSAValue):
            self._fixed(op.accumulate)

    def _move(self, op: MoveOp) -> None:
        tall = self._all_or_none(op)
        self._fixed(*op.mixed_offsets)
        if tall:
            turned = op.is_transposed or op.regroups_pairs
            self._need(not turned and op.mixed_offsets[0] == 0)

    def _push(self, op: PushOp) -> None:
        if self._all_or_none(op):
            # Each core has as many of the rows.
            half, _ = channel_type(op.channel).half_shape
            self._need(half * HALVES == self.rows)


def _spread(
    ops: Sequence[Operation], seeds: Sequence[Allocation]
) -> frozenset[Allocation]:
    """What has the same rows as these, by any number of instructions."""
    groups = [set(map(allocation_of, tied)) for op in ops if (tied := _tied(op))]
    found, size = set(seeds), 0
    while len(found) > size:
        size = len(found)
        for group in groups:
            if not found.isdisjoint(group):
                found |= group
    return frozenset(found)


def _numbers_of(op: Operation) -> list[SSAValue]:
    others = BufType | MemRefType | ChannelType
    return [value for value in op.operands if not isinstance(value.type, others)]


class _Halves:
    """What depends on which half of the rows a vector core has."""

    def __init__(self, section: SectionOp, tall: frozenset[Allocation]) -> None:
        self.ops = [op for op in section.walk() if isinstance(op, Instruction)]
        self.section, self.tall = section, tall
        self.values = _computed_from(section.body.block.args[0])
        self.buffers: set[Allocation] = set()
        """Those in which the two cores have something else."""
        size = -1
        while len(self.buffers) > size:
            size = len(self.buffers)
            for op in self.ops:
                if not is_tall(op, tall) and self._differs(op):
                    written = [v for v in op.writes() if isinstance(v.type, BufType)]
                    self.buffers.update(map(allocation_of, written))

    def touch_rows(self) -> bool:
        """Whether anything that depends on it is done to rows of a task."""
        return any(is_tall(op, self.tall) and self._differs(op) for op in self.ops)

    def _differs(self, op: Instruction) -> bool:
        """Whether an instruction is not the same on both cores, but for its rows."""
        if isinstance(op, PopOp) and not is_tall(op, self.tall):
            return True
        used = {*op.operands, *self._control(op)}
        if not self.values.isdisjoint(used):
            return True
        read = [value for value in op.operands if isinstance(value.type, BufType)]
        return not self.buffers.isdisjoint(map(allocation_of, read))

    def _control(self, op: Operation) -> Iterator[SSAValue]:
        """What decides whether and how often an operation is executed."""
        parent = op.parent_op()
        while parent is not None and parent is not self.section:
            yield from parent.operands
            parent = parent.parent_op()


def _computed_from(value: SSAValue) -> set[SSAValue]:
    """The numbers and slots that depend on a number, but for those in loops that do."""
    found, values = {value}, [value]
    while values:
        for use in values.pop().uses:
            new = [each for each in use.operation.results if each not in found]
            found.update(new)
            values += new
    return found
