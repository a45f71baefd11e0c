"""
Tasks of a vector kernel that go through the rows of arrays, several at once.

A task of a vector core handles what fits into its memory, which may be four rows: then
a numpy call takes longer to begin than to compute. Vector instructions work row by row,
so tasks whose boxes lie below each other can be one task with taller boxes:

    (%i = 8)   load %x[32, 0] [4, 512]             (%i = 8)  load %x[32, 0] [16, 512]
    (%i = 9)   load %x[36, 0] [4, 512]      ->
    (%i = 10)  load %x[40, 0] [4, 512] ..

`merging` finds an axis of the grid along which that holds: every load, store and
instruction either has boxes that go down by their own height with each task, or does
not depend on the task. Buffers then have as many times the rows, at as many times the
address, so two that overlap still spoil each other. Tasks with fewer rows, and those
left over, are run as they are. With `check` and out of program order all of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.assembly import int_array, unpack
from pyptoc.dialects.expr import Expr, slope_of, to_python
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.pypto.scalars import DimOp, IndexOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import AllocOp, SlotOp, allocation_of
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_flags import BarrierOp, FlagOp
from pyptoc.dialects.tile_indexing import OneHotOp, TopkOp
from pyptoc.dialects.tile_transfer import LoadOp, StoreOp
from pyptoc.dialects.tile_types import BufType, buffer_type
from pyptoc.dialects.tile_vector import Form, VectorOp
from pyptoc.runtime.codegen import Value
from pyptoc.runtime.memory import Apart, Memory

MOST_ELEMENTS = 2**14
"""Of a buffer of tasks that are one."""
MOST_TASKS = 32
Task = tuple[int, ...]


class _NotRowsError(Exception):
    """The tasks along an axis do not go through rows."""


@record
class Merging:
    """How the tasks along one axis of a grid are merged."""

    kernel: KernelOp
    axis: int
    rows: int
    """Of a task."""
    most: int
    """Tasks in one."""
    extents: tuple[Expr, ...]
    """What has to be `rows` for a task to be merged, over values of the kernel."""
    growing: frozenset[Allocation]
    """The buffers that hold rows of a task."""
    apart: tuple[Apart, ...]
    """For each buffer argument that is stored to: from all others that are used."""

    def is_safe(self, memories: Sequence[Memory]) -> bool:
        """Whether no task uses what another one stores."""
        return all(apart(memories) for apart in self.apart)

    def factor(self, count: int) -> int:
        """How many of `count` tasks become one: a power of 2.

        The last task may have fewer rows than the others.
        """
        whole = count - 1 if self.extents else count
        return min(self.most, 1 << (whole.bit_length() - 1)) if whole > 0 else 1

    def whole(self) -> Callable[..., bool] | None:
        """`f(task, memories, scalars)`: whether it has all its rows. None: all have."""
        if not self.extents:
            return None
        kernel = self.kernel
        names: dict[Any, str] = {}
        for number, value in enumerate(kernel.grid_args):
            names[value] = f"task[{number}]"
        for number, value in enumerate(kernel.scalar_args):
            names[value] = f"scalars[{number}]"
        for op in kernel.walk():
            if isinstance(op, DimOp) and op.source in kernel.buffer_args:
                number = kernel.buffer_args.index(op.source)
                axis = op.axis.value.data
                names[op.results[0]] = f"memories[{number}].array.shape[{axis}]"
        texts = [to_python(extent, lambda key: names[key]) for extent in self.extents]
        tests = " and ".join(f"{text} == {self.rows}" for text in texts)
        return eval(f"lambda task, memories, scalars: {tests}")

    def merged(self, factor: int) -> KernelOp:
        """The kernel of `factor` tasks at once: its index is that of the first."""
        kernel = self.kernel.clone()
        rows = self.rows * factor
        height = arith.ConstantOp(IntegerAttr(rows, IndexType()))
        first = kernel.body.block.first_op
        assert first is not None
        kernel.body.block.insert_op_before(height, first)
        pairs = list(zip(self.kernel.walk(), _but(kernel, height), strict=True))
        for old, new in pairs:
            if isinstance(new, AllocOp):
                if new.address is not None:
                    new.set_address(new.address * factor)
                if old in self.growing:
                    _grow(new.results[0], factor)
            elif _row_extent(old) is not None and self._is_tall(old):
                _set_rows(new, height.result, rows)
        return kernel

    def _is_tall(self, op: Operation) -> bool:
        return any(
            allocation_of(value) in self.growing
            for value in op.operands
            if isinstance(value.type, BufType)
        )

    def groups(
        self, grid: Sequence[int], factor: int, is_whole: Callable[[Task], bool] | None
    ) -> tuple[list[Task], list[Task]]:
        """The first tasks of groups of `factor`, and the tasks that are left."""
        firsts: list[Task] = []
        others: list[Task] = []
        sides = list(product(*map(range, grid[self.axis + 1 :])))
        for left in product(*map(range, grid[: self.axis])):
            for right in sides:
                for start in range(0, grid[self.axis], factor):
                    end = min(start + factor, grid[self.axis])
                    tasks = [(*left, i, *right) for i in range(start, end)]
                    tall = len(tasks) == factor
                    if tall and (is_whole is None or all(map(is_whole, tasks))):
                        firsts.append(tasks[0])
                    else:
                        others += tasks
        return firsts, others


def _but(kernel: KernelOp, op: Operation) -> Iterator[Operation]:
    return (other for other in kernel.walk() if other is not op)


def _grow(value: SSAValue, factor: int) -> None:
    """Give a buffer and its slots more rows."""
    kind = buffer_type(value)
    shape = kind.rows * factor, kind.columns
    value._type = BufType(shape, kind.element_type, kind.space)  # pyright: ignore[reportPrivateUsage]
    for use in value.uses:
        if isinstance(use.operation, SlotOp):
            _grow(use.operation.results[0], factor)


def _row_extent(op: Operation) -> Value | None:
    """The rows of the box of an instruction."""
    if isinstance(op, VectorOp | LoadOp | StoreOp | TopkOp | OneHotOp):
        return op.extents[0]
    return None


def _set_rows(op: Operation, height: SSAValue, rows: int) -> None:
    """Let an instruction have so many rows."""
    name, at = (
        ("static_bounds", 1) if isinstance(op, OneHotOp) else ("static_extents", 0)
    )
    old = cast("Any", op).extents[0]
    if isinstance(old, int):
        static = list(unpack(cast("Any", op.properties[name]).data.data))
        static[at] = rows
        op.properties[name] = int_array(tuple(static))
        return
    for number, value in enumerate(op.operands):
        if value is old:
            op.operands[number] = height


def merging(kernel: KernelOp) -> Merging | None:
    """How tasks of a kernel are merged; None: they are not."""
    if kernel.unit.data != Unit.VECTOR.value:
        return None
    for axis in range(kernel.grid_rank):
        try:
            found = _Rows(kernel, axis).merging()
        except _NotRowsError:
            continue
        if found is not None:
            return found
    return None


class _Rows:
    """Looks for rows that the tasks along an axis go through."""

    def __init__(self, kernel: KernelOp, axis: int) -> None:
        self.kernel, self.axis = kernel, axis
        self.index = kernel.grid_args[axis]
        self.rows: int | None = None
        self.tall: dict[Allocation, bool] = {}
        """Whether a buffer holds rows of the task; else what all tasks have."""
        self.extents: dict[Expr, None] = {}
        self.exprs: dict[SSAValue, Expr] = {}

    def merging(self) -> Merging | None:
        """Raises _NotRowsError."""
        ops = list(self.kernel.body.block.walk())
        # What moves with the task tells how many rows it has.
        for op in ops:
            if isinstance(op, LoadOp | StoreOp):
                self._row_offset(op)
        if self.rows is None:
            return None
        for op in ops:
            self._operation(op)
        growing = frozenset(alloc for alloc, tall in self.tall.items() if tall)
        columns = max((alloc.type.columns for alloc in growing), default=1)
        most = min(MOST_TASKS, MOST_ELEMENTS // (self.rows * columns))
        extents = tuple(self.extents)
        if most < 2:
            return None
        most = 1 << (most.bit_length() - 1)
        apart = self._apart([op for op in ops if isinstance(op, LoadOp | StoreOp)])
        return Merging(self.kernel, self.axis, self.rows, most, extents, growing, apart)

    def _apart(self, ops: Sequence[LoadOp | StoreOp]) -> tuple[Apart, ...]:
        """What must share no bytes: all that is stored to, with all that is used."""
        places: dict[int, set[object]] = {}
        stored: set[int] = set()
        for op in ops:
            number = self.kernel.buffer_args.index(op.memory)
            box = (*op.mixed_offsets, *op.extents)
            place = (op.box_dims, *(self._expr(value) for value in box))
            places.setdefault(number, set()).add(place)
            if isinstance(op, StoreOp):
                stored.add(number)
        # What is stored to is used in one place alone, which is that of the task.
        self._need(all(len(places[number]) == 1 for number in stored))
        used = frozenset(places)
        return tuple(Apart(number, used - {number}) for number in sorted(stored))

    # Numbers.

    def _expr(self, value: Value) -> Expr:
        """A number over arguments of the kernel, sizes and counters of loops."""
        if isinstance(value, int):
            return Expr.const(value)
        if value not in self.exprs:
            owner = value.owner
            expr = Expr.sym(value)
            if isinstance(owner, IndexOp):
                found = owner.value_expr
                if not isinstance(found, Expr):
                    self._need(self.index not in self._symbols(owner.inputs))
                else:
                    expr = found.subs({v: self._expr(v) for v in owner.inputs})
            elif isinstance(owner, arith.ConstantOp) and isinstance(
                owner.value, IntegerAttr
            ):
                expr = Expr.const(cast("IntegerAttr[Any]", owner.value).value.data)
            self.exprs[value] = expr
        return self.exprs[value]

    def _symbols(self, values: Sequence[SSAValue]) -> set[Any]:
        return {key for value in values for key in self._expr(value).symbols()}

    def _moves(self, value: Value) -> bool:
        """Whether a number depends on the task."""
        return self.index in self._expr(value).symbols()

    def _need(self, holds: bool) -> None:
        if not holds:
            raise _NotRowsError

    def _fixed(self, *values: Value) -> None:
        self._need(not any(map(self._moves, values)))

    def _step(self, value: Value) -> int | None:
        """How far a number goes with each task, if that is the same everywhere."""
        slope = slope_of(self._expr(value), self.index)
        return slope.value if slope is not None and slope.is_const else None

    def _is_height(self, value: Value) -> bool:
        """Whether an extent is that of the rows of a task; notes what must hold."""
        if not self._moves(value):
            return isinstance(value, int) and value == self.rows
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

    def _row_offset(self, op: LoadOp | StoreOp) -> None:
        row = op.box_dims[0]
        if row < 0 or not self._moves(op.mixed_offsets[row]):
            return
        step = self._step(op.mixed_offsets[row])
        self._need(step is not None and step > 0 and self.rows in (None, step))
        self.rows = step

    def _operation(self, op: Operation) -> None:
        if isinstance(op, LoadOp | StoreOp):
            self._transfer(op)
        elif isinstance(op, VectorOp):
            self._vector(op)
        elif isinstance(op, TopkOp | OneHotOp):
            self._selection(op)
        elif isinstance(op, SlotOp):
            self._fixed(op.slot)
        elif isinstance(op, scf.ForOp):
            self._need(not op.iter_args)
            self._fixed(op.lb, op.ub, op.step)
        elif isinstance(op, IndexOp):
            self._expr(op.results[0])
        else:
            plain = (
                AllocOp | FlagOp | BarrierOp | DimOp | arith.ConstantOp | scf.YieldOp
            )
            self._need(isinstance(op, plain))

    def _transfer(self, op: LoadOp | StoreOp) -> None:
        row = op.box_dims[0]
        offsets = op.mixed_offsets
        height, columns = op.extents
        moves = row >= 0 and self._moves(offsets[row])
        self._fixed(columns, *(o for dim, o in enumerate(offsets) if dim != row))
        if moves:
            self._need(self._is_height(height))
        else:
            self._need(isinstance(op, LoadOp))
            self._fixed(height)
        if isinstance(op, StoreOp):
            self._need(op.combine is None and self._kind(op.buffer) is True)
        else:
            self._write(op.buffer, moves)

    def _kind(self, buffer: SSAValue) -> bool | None:
        return self.tall.get(allocation_of(buffer))

    def _write(self, buffer: SSAValue, tall: bool) -> None:
        self._need(self.tall.setdefault(allocation_of(buffer), tall) is tall)

    def _vector(self, op: VectorOp) -> None:
        height, columns = op.extents
        self._fixed(columns)
        tall: list[bool | None] = []
        shared: list[bool | None] = []
        for number, arg in enumerate(op.args):
            if not isinstance(arg, tuple):
                continue
            value, form = arg
            if form is Form.SCALAR:
                if op.family.name == "mask_causal" and number == 1:
                    continue
                self._fixed(value)
            elif form in (Form.FULL, Form.ROW, Form.GROUP):
                tall.append(self._kind(value))
            else:
                shared.append(self._kind(value))
        self._need(all(kind is False for kind in shared))
        is_tall = any(tall) or not (tall or shared)
        if is_tall:
            self._need(all(tall) and self._is_height(height))
        else:
            self._fixed(height)
            self._need(all(kind is False for kind in tall))
        if op.family.name == "mask_causal":
            self._mask(op, is_tall)
        self._write(op.dest, is_tall)

    def _mask(self, op: VectorOp, tall: bool) -> None:
        """What the first row hides, the next hides one element later."""
        offset = op.args[1]
        value = offset[0] if isinstance(offset, tuple) else 0
        self._need(self._step(value) == (self.rows if tall else 0))

    def _selection(self, op: TopkOp | OneHotOp) -> None:
        height, *others = op.extents
        self._need(self._is_height(height) and self._kind(op.source) is True)
        self._fixed(*others)
        if isinstance(op, OneHotOp):
            self._fixed(op.first)
            self._write(op.dest, True)
            return
        self._need(op.lengths is None and not op.after)
        self._fixed(*op.mixed_bounds)
        for value in op.lists:
            self._write(value, True)
