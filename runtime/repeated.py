"""
Work of a kernel that several of its tasks repeat: what loads and gathers give.

    %r = pypto.index 128 * %j                  The tasks (0, 0), (0, 1), .. gather the
    tile.load %idx[%i] [1, 64] into %a         same rows and scale them the same way,
    tile.gather %x[0, 0] .. at %a into %b  ->  since nothing of it depends on the second
    tile.cvt %b into %c [64, 128]              axis of the grid. All but the first may
    tile.mul %c, %s row into %c                take what is left of it: %c.
    tile.push %c into %d

A *piece* of work is instructions of one block, the *members*: loads and gathers from
memory that the kernel does not store to, and vector instructions on what members have
written in the same pass through the block. So all that they write follows from the
numbers that they use, the *key*. Members that nothing but them comes between are a
*run*; what of a run others read is its *outputs*. Two pieces that are alike, say in two
loops of a kernel, have the same *signature*.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.pypto.scalars import DimOp, IndexOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile import AllocOp, SlotOp, allocation_of, uses_of
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_flags import BarrierOp, FlagOp
from pyptoc.dialects.tile_indexing import GatherOp
from pyptoc.dialects.tile_mixed import PushOp
from pyptoc.dialects.tile_transfer import LoadOp, StoreOp
from pyptoc.dialects.tile_types import BufType, Instruction, Space, buffer_type
from pyptoc.dialects.tile_vector import Form, VectorOp
from pyptoc.runtime.codegen import Value
from pyptoc.runtime.movers import Movers

Box = tuple[Value, Value]
Member = LoadOp | GatherOp | VectorOp

_TRANSPARENT = (AllocOp, SlotOp, IndexOp, DimOp, arith.ConstantOp, FlagOp, BarrierOp)
"""What may stand between the members of a run: it can as well come before them."""
_GATHER_COST = 10
"""What a gather costs, in vector instructions."""
_ONLY_MESSAGES = ("asked_by", "asked_at")


@record
class Output:
    """What a run leaves for others: the corner of a buffer."""

    buffer: SSAValue
    box: Box
    stands_in: bool
    """Whether all others read just this corner, in this block, after the run."""
    is_only_stored: bool


@record
class Run:
    """Members that nothing but them comes between."""

    members: tuple[Member, ...]
    between: tuple[Operation, ...]
    """What stands between them all the same, and can come before them."""
    outputs: tuple[Output, ...]


@record
class Piece:
    """What the tasks may take from each other of one block."""

    runs: tuple[Run, ...]
    early: tuple[Operation, ...]
    """Numbers of the block that the key needs before they are computed."""
    key: tuple[SSAValue, ...]
    memories: frozenset[int]
    """The numbers of the buffer arguments that it reads."""
    free_axes: tuple[int, ...]
    """The axes of the grid that the key does not depend on."""
    signature: Hashable


def pieces_of(kernel: KernelOp, stored: set[int]) -> list[Piece]:
    """The pieces of a kernel that are worth it; stored: the numbers of the buffer
    arguments that the kernel stores to."""
    movers = Movers(kernel)
    scans = [_Scan(kernel, stored, block, movers) for block in _blocks(kernel)]
    members = {op for scan in scans for op in scan.members}
    found = [piece for scan in scans if (piece := scan.piece(members)) is not None]
    alike = [piece.signature for piece in found]
    return [
        piece for piece in found if piece.free_axes or alike.count(piece.signature) > 1
    ]


def _blocks(kernel: KernelOp) -> Iterator[Block]:
    yield kernel.body.block
    for op in kernel.body.walk():
        for region in op.regions:
            yield from region.blocks


class _Scan:
    """The members of one block, found in their order."""

    def __init__(
        self, kernel: KernelOp, stored: set[int], block: Block, movers: Movers
    ) -> None:
        self.kernel, self.block, self.movers = kernel, block, movers
        arguments = list[SSAValue](kernel.buffer_args)
        self.numbers = {value: n for n, value in enumerate(arguments)}
        self.stored = stored
        self.members: list[Member] = []
        self.written: dict[Allocation, tuple[SSAValue, Box, Member]] = {}
        """What members have written last of a buffer, if nothing else did after it."""
        self.axes: dict[Member, frozenset[int]] = {}
        """The axes of the grid that what a member writes depends on."""
        for op in block.ops:
            if isinstance(op, Member) and self._is_member(op):
                self.axes[op] = self._axes_of(op)
                self.members.append(op)
                dest = op.writes()[0]
                self.written[allocation_of(dest)] = dest, written_box(op), op
            else:
                self._forget(op)
        self._leave_out()

    @cached_property
    def order(self) -> dict[Operation, int]:
        """Where each operation stands in the block."""
        return {op: n for n, op in enumerate(self.block.ops)}

    # Members.

    def _axes_of(self, op: Member) -> frozenset[int]:
        axes = self.movers.axes_of(_numbers_of(op))
        found = frozenset(range(len(self.kernel.grid_args))) if axes is None else axes
        for buffer, _ in _boxes_read(op):
            found = found | self.axes[self.written[allocation_of(buffer)][2]]
        return found

    def _leave_out(self) -> None:
        """Members that depend on the axis along which most of the work repeats."""
        if not self.members:
            return
        grid = range(len(self.kernel.grid_args))
        along = [
            [op for op in self.members if axis not in self.axes[op]] for axis in grid
        ]
        most = max(along, key=_cost) if along else []
        if most:
            self.members = most
        members = set(self.members)
        for run, _ in self._runs():
            outputs = self._outputs(run, members)
            if outputs is None or _cost(run) < 2 * len(outputs):
                members -= set(run) - self._needed(members - set(run))
        self.members = [op for op in self.members if op in members]

    def _needed(self, members: set[Member]) -> set[Member]:
        """What writes the buffers that some members read."""
        read = {allocation_of(value) for op in members for value, _ in _boxes_read(op)}
        return {op for op in self.members if allocation_of(op.writes()[0]) in read}

    def _is_member(self, op: Member) -> bool:
        dest = op.writes()[0]
        if buffer_type(dest).space != Space.UB:
            return False
        if not isinstance(allocation_of(dest), AllocOp):
            return False
        for value in op.operands:
            if isinstance(value.type, MemRefType):
                if self.numbers.get(value, -1) in self.stored | {-1}:
                    return False
            elif not isinstance(value.type, BufType) and not self._is_early(value):
                return False
        return all(self._has(buffer, box) for buffer, box in _boxes_read(op))

    def _has(self, buffer: SSAValue, box: Box) -> bool:
        """Whether members have written all of a corner of a buffer."""
        last = self.written.get(allocation_of(buffer))
        if last is None or last[0] is not buffer:
            return False
        pairs = zip(box, last[1], strict=True)
        return all(_is_within(one, other) for one, other in pairs)

    def _is_early(self, value: SSAValue) -> bool:
        """Whether a number is known, or can be, before the first member."""
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not self.block:
            return True
        if not self.members or self.order[owner] < self.order[self.members[0]]:
            return True
        if not isinstance(owner, IndexOp):
            return isinstance(owner, arith.ConstantOp | DimOp)
        return all(map(self._is_early, owner.operands))

    def _early(self, key: Sequence[SSAValue]) -> tuple[Operation, ...]:
        """What computes the key, or is needed for it, after the first member."""
        first = self.order[self.members[0]]
        found: set[Operation] = set()
        values = list(key)
        while values:
            owner = values.pop().owner
            if isinstance(owner, Operation) and self.order.get(owner, -1) > first:
                found.add(owner)
                values += owner.operands
        return tuple(sorted(found, key=self.order.__getitem__))

    def _forget(self, op: Operation) -> None:
        """What something else writes is not members' any more."""
        if not self.written:
            return
        for inner in op.walk():
            if isinstance(inner, Instruction):
                for value in inner.writes():
                    if isinstance(value.type, BufType):
                        self.written.pop(allocation_of(value), None)

    # The piece.

    def piece(self, members: set[Member]) -> Piece | None:
        """What the block's members are; members: of all blocks."""
        if not self.members:
            return None
        groups = self._runs()
        outputs = [self._outputs(run, members) for run, _ in groups]
        found = [output for some in outputs if some is not None for output in some]
        if not found or None in outputs or _cost(self.members) < 2 * len(found) + 2:
            return None
        # Tasks hardly store the same to several places.
        if all(output.is_only_stored for output in found):
            return None
        runs = tuple(
            Run(tuple(run), tuple(between), some or ())
            for (run, between), some in zip(groups, outputs, strict=True)
        )
        numbers = _Numbers(self.kernel)
        signature = (
            tuple(map(numbers.of_member, self.members)),
            tuple(tuple(map(numbers.of_output, run.outputs)) for run in runs),
        )
        axes = self.movers.axes_of(numbers.key)
        grid = range(len(self.kernel.grid_args))
        free = () if axes is None else tuple(n for n in grid if n not in axes)
        memories = frozenset(
            self.numbers[value]
            for op in self.members
            for value in op.operands
            if value in self.numbers
        )
        key = tuple(numbers.key)
        return Piece(runs, self._early(key), key, memories, free, signature)

    def _runs(self) -> list[tuple[list[Member], list[Operation]]]:
        """The members of each run, and what stands between them."""
        members = set[Operation](self.members)
        runs: list[tuple[list[Member], list[Operation]]] = []
        between: list[Operation] | None = None
        for op in self.block.ops:
            if isinstance(op, Member) and op in members:
                if between is None:
                    runs.append(([], []))
                    between = []
                runs[-1][0].append(op)
                runs[-1][1].extend(between)
                between = []
            elif between is not None:
                between = [*between, op] if isinstance(op, _TRANSPARENT) else None
        return runs

    def _outputs(
        self, run: Sequence[Member], members: set[Member]
    ) -> tuple[Output, ...] | None:
        """What others read of it; None if that is no corner."""
        boxes: dict[SSAValue, Box] = {}
        for op in run:
            dest, box = op.writes()[0], written_box(op)
            if boxes.setdefault(dest, box) != box:
                return None
        last = self.order[run[-1]]
        found: list[Output] = []
        for dest, box in boxes.items():
            alloc = allocation_of(dest)
            uses = list(uses_of(alloc))
            others = [(op, value) for op, value in uses if op not in members]
            if not any(value in _read_by(op) for op, value in others):
                continue
            inside = {op for op, _ in uses if op in members}
            stands_in = inside <= set(run) and all(
                value is dest
                and op.parent is self.block
                and self.order[op] > last
                and _reads_just(op, dest, box)
                for op, value in others
            )
            is_only_stored = all(isinstance(op, StoreOp) for op, _ in others)
            found.append(Output(dest, box, stands_in, is_only_stored))
        return tuple(found)


class _Numbers:
    """Numbers for values in the order of their use: equal for pieces that are alike."""

    def __init__(self, kernel: KernelOp) -> None:
        arguments = list[SSAValue](kernel.buffer_args)
        self.memories = {value: n for n, value in enumerate(arguments)}
        self.fixed = set[SSAValue](kernel.scalar_args)
        self.buffers: dict[SSAValue, int] = {}
        self.values: dict[Hashable, int] = {}
        self.key: list[SSAValue] = []

    def of_member(self, op: Member) -> Hashable:
        """What an instruction does, whatever its values are called."""
        properties = tuple(
            (name, value)
            for name, value in sorted(op.properties.items())
            if name not in _ONLY_MESSAGES
        )
        return op.name, properties, tuple(map(self.of, op.operands))

    def of_output(self, output: Output) -> Hashable:
        """The corner of which buffer it is."""
        return self.of(output.buffer), tuple(map(self.of, output.box))

    def of(self, value: Value) -> Hashable:
        if isinstance(value, int):
            return value
        if value in self.memories:
            return "memory", self.memories[value]
        if isinstance(value.type, BufType):
            number = self.buffers.setdefault(value, len(self.buffers))
            return value.type, number
        if isinstance(value.owner, arith.ConstantOp):
            return "constant", value.owner.value
        if value in self.fixed:
            return "fixed", value
        name = self._name(value)
        if name not in self.values:
            self.values[name] = len(self.values)
            self.key.append(value)
        return "key", self.values[name]

    def _name(self, value: SSAValue) -> Hashable:
        """The same for values that are computed alike."""
        owner = value.owner
        if isinstance(owner, IndexOp):
            return owner.expr.data, tuple(map(self._name, owner.operands))
        return value


def _cost(members: Sequence[Member]) -> int:
    """In vector instructions."""
    return sum(_GATHER_COST if isinstance(op, GatherOp) else 1 for op in members)


def _numbers_of(op: Member) -> list[SSAValue]:
    others = BufType | MemRefType
    return [value for value in op.operands if not isinstance(value.type, others)]


def written_box(op: Member) -> Box:
    """Rows and columns of what a member writes."""
    rows, columns = op.extents
    if isinstance(op, VectorOp) and op.family.name.startswith("row_"):
        return rows, columns if op.family.name == "row_cumsum" else 1
    return rows, columns


def _boxes_read(op: Member) -> Iterator[tuple[SSAValue, Box]]:
    """The corners of buffers that a member reads."""
    if isinstance(op, LoadOp):
        return
    rows, columns = op.extents
    if isinstance(op, GatherOp):
        boxes: dict[str, Box] = {
            "element": (rows, columns),
            "row": (1, rows),
            "column": (1, columns),
        }
        for indices in op.all_indices:
            yield indices, boxes.get(op.per.data, (1, 1))
        return
    for arg in op.args:
        if isinstance(arg, tuple) and arg[1] is not Form.SCALAR:
            first, rows, columns = op.box_of(arg[1])
            end = first + columns if isinstance(columns, int) else columns
            yield arg[0], (rows, end)


def _is_within(one: Value, other: Value) -> bool:
    if isinstance(one, int) and isinstance(other, int):
        return one <= other
    return one == other


def _read_by(op: Operation) -> Sequence[SSAValue]:
    return op.reads() if isinstance(op, Instruction) else op.operands


def _reads_just(op: Operation, buffer: SSAValue, box: Box) -> bool:
    """Whether all that it does with a buffer is to read this corner."""
    if isinstance(op, PushOp):
        return tuple(op.extents) == box
    if isinstance(op, StoreOp):
        return op.source is buffer and tuple(op.extents) == box
    if not isinstance(op, VectorOp) or op.dest is buffer:
        return False
    forms = {arg[1] for arg in op.args if isinstance(arg, tuple) and arg[0] is buffer}
    return forms == {Form.FULL} and tuple(op.extents) == box
