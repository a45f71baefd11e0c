"""
Tasks of a vector or mixed kernel that go through the rows of arrays, several at once.

A task of a vector core handles what fits into its memory, which may be four rows: then
a numpy call takes longer to begin than to compute. Vector instructions work row by row,
so tasks whose boxes lie below each other can be one task with taller boxes:

    (%i = 8)   load %x[32, 0] [4, 512]             (%i = 8)  load %x[32, 0] [16, 512]
    (%i = 9)   load %x[36, 0] [4, 512]      ->
    (%i = 10)  load %x[40, 0] [4, 512] ..

`merging` finds an axis of the grid along which that holds: every load, store and
instruction either has boxes that go down by their own height with each task, or does
not depend on the task (`task_rows.py`). Buffers then have as many times the rows, at as
many times the address, so two that overlap still spoil each other. Tasks with fewer
rows, and those left over, are run as they are. With `check` and out of program order
all of them are.

In a mixed kernel that is so of an attention whose tasks have some of the heads each and
keys in common: one task then has more heads, and gathers and scales the keys once.
Rows are rows of A in products, and each vector core has half of all of them. Floats are
still multiplied task by task, since a library adds up in an order that depends on how
many rows it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.assembly import int_array, unpack
from pyptoc.dialects.expr import to_python
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.pypto.scalars import DimOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import SlotOp
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_channel import ChannelType
from pyptoc.dialects.tile_indexing import OneHotOp
from pyptoc.dialects.tile_matmul import MatmulOp
from pyptoc.dialects.tile_mixed import PopOp
from pyptoc.dialects.tile_types import BufType, Space, buffer_type
from pyptoc.runtime.memory import Memory
from pyptoc.runtime.task_rows import (
    TaskRows,
    is_tall,
    row_extent,
    rows_here,
    rows_of_tasks,
)

MOST_ELEMENTS = 2**14
"""Of a buffer of tasks that are one."""
MOST_OF_PRODUCTS = 2**16
"""Of such a buffer of a cube core."""
MOST_TASKS = 32
Task = tuple[int, ...]


@record
class Merged:
    """A kernel whose tasks are several of another one."""

    kernel: KernelOp
    products: dict[Operation, int]
    """Of its matmuls those of rows of tasks, and how many rows are of one."""


@record
class Merging:
    """How the tasks along one axis of a grid are merged."""

    kernel: KernelOp
    axis: int
    found: TaskRows
    most: int
    """Tasks in one."""

    def is_safe(self, memories: Sequence[Memory]) -> bool:
        """Whether no task uses what another one stores."""
        return all(apart(memories) for apart in self.found.apart)

    def factor(self, count: int) -> int:
        """How many of `count` tasks become one: a power of 2.

        The last task may have fewer rows than the others.
        """
        whole = count - 1 if self.found.extents else count
        return min(self.most, 1 << (whole.bit_length() - 1)) if whole > 0 else 1

    def whole(self) -> Callable[..., bool] | None:
        """`f(task, memories, scalars)`: whether it has all its rows. None: all have."""
        if not self.found.extents:
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
        found = self.found
        texts = [to_python(extent, lambda key: names[key]) for extent in found.extents]
        tests = " and ".join(f"{text} == {found.rows}" for text in texts)
        return eval(f"lambda task, memories, scalars: {tests}")

    def merged(self, factor: int) -> Merged:
        """The kernel of `factor` tasks at once: its index is that of the first."""
        kernel, tall = self.kernel.clone(), self.found.tall
        products: dict[Operation, int] = {}
        heights: dict[int, SSAValue] = {}
        pairs = list(zip(self.kernel.walk(), kernel.walk(), strict=True))
        for old, new in pairs:
            if isinstance(new, Allocation):
                if new.address is not None:
                    new.set_address(new.address * factor)
                if old in tall:
                    _grow(new.results[0], factor)
            elif row_extent(old) is not None and is_tall(old, tall):
                rows = rows_here(old, self.found.rows) * factor
                if not isinstance(row_extent(new), int) and rows not in heights:
                    # The same number, or equal boxes would not be known to be equal.
                    heights[rows] = _constant_of(kernel, rows)
                _set_rows(new, rows, heights.get(rows))
                if isinstance(new, MatmulOp):
                    products[new] = self.found.rows
        return Merged(kernel, products)

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


def _grow(value: SSAValue, factor: int) -> None:
    """Give a buffer, or a channel, and what is of it more rows."""
    kind = value.type
    if isinstance(kind, ChannelType):
        source, target = (_higher(end, factor) for end in (kind.source, kind.target))
        kind = ChannelType(source, target, kind.split, kind.stop)
    else:
        kind = _higher(buffer_type(value), factor)
    value._type = kind  # pyright: ignore[reportPrivateUsage]
    for use in value.uses:
        if isinstance(use.operation, SlotOp | PopOp):
            _grow(use.operation.results[0], factor)


def _higher(kind: BufType, factor: int) -> BufType:
    shape = kind.rows * factor, kind.columns
    return BufType(shape, kind.element_type, kind.space)


def _constant_of(kernel: KernelOp, number: int) -> SSAValue:
    """A number at the start of a kernel."""
    constant = arith.ConstantOp(IntegerAttr(number, IndexType()))
    block = kernel.body.block
    assert block.first_op is not None
    block.insert_op_before(constant, block.first_op)
    return constant.result


def _set_rows(op: Operation, rows: int, height: SSAValue | None) -> None:
    """Let an instruction have so many rows. height: a value of that number."""
    name, at = (
        ("static_bounds", 1) if isinstance(op, OneHotOp) else ("static_extents", 0)
    )
    old = row_extent(op)
    if isinstance(old, int):
        static = list(unpack(cast("Any", op.properties[name]).data.data))
        static[at] = rows
        op.properties[name] = int_array(tuple(static))
        return
    assert height is not None
    for number, value in enumerate(op.operands):
        if value is old:
            op.operands[number] = height


def merging(kernel: KernelOp) -> Merging | None:
    """How tasks of a kernel are merged; None: they are not."""
    if kernel.unit.data == Unit.CUBE:
        return None
    for axis in range(kernel.grid_rank):
        found = rows_of_tasks(kernel, axis)
        if found is None:
            continue
        most = min([MOST_TASKS, *map(_most, found.tall)])
        if most > 1:
            return Merging(kernel, axis, found, 1 << (most.bit_length() - 1))
    return None


def _most(alloc: Allocation) -> int:
    """Of how many tasks there should be the rows in a buffer."""
    kind = alloc.type
    elements = MOST_ELEMENTS if kind.space == Space.UB else MOST_OF_PRODUCTS
    return elements // (kind.rows * kind.columns)
