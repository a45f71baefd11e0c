"""
A body of cube and vector stages becomes one flat kernel, as if one core did all of it.

    %s = scf.for %k .. iter_args(%c = full 0) { yield (pypto.mma %c, %q, %k) }
    %p = pypto.exp %s
    %o = scf.for %k .. iter_args(%c = full 0) { yield (pypto.mma %c, %p.., %v) }
    ->
    tile.matmul .. into %c [%m, %n, %k]                        as in `lower_cube.py`
    tile.move %c[0, 0] [%m, %n] into %x                        l0c -> ub
    tile.exp %x into %x [%m, %n]                               as in `lower_vector.py`
    tile.move %x[0, 0] [%m, %n] into %b                        ub -> l1
    tile.matmul .. into %d [%m, %d, %n]

What vector ops read of a product crosses to UB once it is whole, what products read of
a vector result crosses to L1 once it is made. A load goes to where it is read, to both
if need be. Elementwise ops work in place on what nobody reads any more, since the tiles
of such a body are as large as memory allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum

from xdsl.dialects import scf
from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.ir import Use as IRUse
from xdsl.rewriter import InsertPoint

from pyptoc.dialects import tile
from pyptoc.dialects.expr import ONE
from pyptoc.dialects.npu import LoadOp, StoreOp
from pyptoc.dialects.pypto.base import LiteralOp
from pyptoc.dialects.pypto.composite import MaskCausalOp
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.matmul import EpilogueOp, MmaOp
from pyptoc.dialects.pypto.quantising import MulGroupsOp
from pyptoc.dialects.pypto.scalars import DimOp, IndexOp
from pyptoc.dialects.pypto.shape import CloneOp, ExpandOp, FullOp, TransposeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed
from pyptoc.dialects.tile_in_place import IN_PLACE, InPlace
from pyptoc.dialects.tile_types import Space
from pyptoc.passes.builder import Builder
from pyptoc.passes.fuse_epilogue import is_drain
from pyptoc.passes.kernel_body import Tile, bounds_of, buffer_type_of
from pyptoc.passes.lower_cube import CubeBody
from pyptoc.passes.lower_vector import Form, VectorBody, form_of
from pyptoc.passes.structured import carried_number
from pyptoc.passes.typed import element_type

FRACTAL = 32
"""Columns of whole fractals, of any type."""


def works_in_place(op: Operation) -> bool:
    """Whether the instruction of an op may write over its full input."""
    if isinstance(op, LiteralOp):
        return IN_PLACE.get(op.name.removeprefix("pypto.")) is InPlace.FULL
    return isinstance(op, CastOp | MaskCausalOp | MulGroupsOp)


@record(frozen=False)
class MixedBody(VectorBody):
    """Lowers a body that cube and vector cores share; `tiles` are those in UB."""

    cube: CubePart = field(init=False)
    _values: dict[SSAValue, list[SSAValue]] = field(
        default_factory=dict[SSAValue, list[SSAValue]], repr=False
    )
    """The values that a buffer in UB holds, one after the other."""
    _done: set[Operation] = field(default_factory=set[Operation], repr=False)
    _by_vector: set[SSAValue] = field(default_factory=set[SSAValue], repr=False)
    """The memories that vector cores store into."""

    def __post_init__(self) -> None:
        self.cube = CubePart(self.kernel, self.shapes, _slots=self._slots)
        self.cube.mixed = self
        self._by_vector = {
            op.dest
            for op in self.kernel.walk()
            if isinstance(op, StoreOp) and not is_accumulated(op.source)
        }

    def block(self, block: Block) -> None:
        for argument in block.args:
            if argument in self.tiles:
                self._note(argument)
                start = Builder(InsertPoint.at_start(block), argument.location)
                self._to_cube(argument, start)
        for op in list(block.ops):
            if self.lower(op):
                self._lowered.append(op)
            self._done.add(op)

    def lower(self, op: Operation) -> bool:
        match op:
            case LoadOp():
                self._load(op)
            case FullOp():
                used = uses_of(op.result)
                if Use.SUM in used:
                    self.cube.lower(op)
                if not used <= {Use.SUM, Use.START}:
                    self._vector(op)
            case ExpandOp() if uses_of(op.result) == {Use.SUM}:
                self.cube.lower(op)
            case CloneOp() if op.source in self.tiles and not self._is_free(
                op.source, op
            ):
                self._copy(op)
            case scf.ForOp() if is_sum(op):
                self.cube.lower(op)
                self._to_vector(op.results[0])
            case scf.ForOp() if op.iter_args:
                self._mixed_loop(op)
            case MmaOp():
                self.cube.lower(op)
                self._to_vector(op.result)
            case CastOp() | EpilogueOp() if self._drains(op):
                self.cube.lower(op)
            case StoreOp() if op.source not in self.tiles:
                self.cube.lower(op)
            case ViewOp():
                self.cube.lower(op)
            case TransposeOp():
                assert op.result in self.tiles or op.result in self.cube.tiles
            case scf.IfOp() if op.results:
                self._branch(op)
            case scf.IfOp():
                self._branches(op)
                return False
            case _:
                return self._vector(op)
        return True

    def home(self, loop: scf.ForOp) -> InsertPoint:
        """
        In front of the loop, and of the sum it is part of.

        What stages one product can share its place with what stages the next one.
        """
        while (outer := loop.parent_op()) in self.cube.products:
            assert isinstance(outer, scf.ForOp)
            loop = outer
        return InsertPoint.before(loop)

    # -- where values are

    def _vector(self, op: Operation) -> bool:
        """Lower a vector op; what products read of it moves on to L1."""
        lowered = super().lower(op)
        for result in op.results:
            if result in self.tiles:
                self._note(result)
                self._to_cube(result, Builder.after(op))
        return lowered

    def _note(self, value: SSAValue) -> None:
        self._values.setdefault(self.tiles[value].buffer, []).append(value)

    def _load(self, op: LoadOp) -> None:
        used = uses_of(op.results[0])
        if Use.PRODUCT in used:
            self.cube.load(op, "l1")
        if used != {Use.PRODUCT}:
            self.load(op, "ub")
            turned = [v for u in op.results[0].uses for v in u.operation.results]
            for value in (op.results[0], *turned):
                if value in self.tiles:
                    self._note(value)

    def _to_vector(self, value: SSAValue) -> None:
        """Move an accumulator to UB if a vector op, or a product, reads it."""
        assert isinstance(value, OpResult)
        rest = [use for use in value.uses if Use.SUM not in kinds_of(use)]
        if all(self._leaves(use.operation) for use in rest):
            return
        source = self.cube.tiles[value]
        build = Builder.after(value.op)
        found = self.tiles[value] = self._moved(value, source, "ub", build)
        self._note(value)
        if Use.PRODUCT in uses_of(value):
            self.cube.tiles[value] = self._moved(value, found, "l1", build)

    def _moved(self, value: SSAValue, source: Tile, space: str, build: Builder) -> Tile:
        """The same tile in another memory."""
        kind = buffer_type_of(value.type, space)
        buffer = build.value(tile.AllocOp.make(kind), value.name_hint)
        build.emit(tile.MoveOp.make(source.buffer, [0, 0], source.extents, buffer))
        return Tile(buffer, source.rows, source.columns)

    def _drains(self, op: CastOp | EpilogueOp) -> bool:
        """Whether the store of an accumulator does what `op` does."""
        return op.operands[0] not in self.tiles and self._leaves(op)

    def _leaves(self, op: Operation) -> bool:
        """
        Whether `op` takes an accumulator straight to memory.

        Nothing orders stores of both kinds of cores: the vector cores do them all.
        """
        if isinstance(op, EpilogueOp) or (isinstance(op, CastOp) and is_drain(op)):
            return all(self._stores(use.operation) for use in op.results[0].uses)
        return self._stores(op)

    def _stores(self, op: Operation) -> bool:
        return isinstance(op, StoreOp) and op.dest not in self._by_vector

    def _to_cube(self, value: SSAValue, build: Builder) -> None:
        """Move a tile in UB to L1 if a product reads it."""
        if value not in self.cube.tiles and Use.PRODUCT in uses_of(value):
            source = self.tiles[value]
            self.cube.tiles[value] = self._moved(value, source, "l1", build)

    # -- sums that a loop carries

    def carried(self, op: scf.ForOp) -> Sequence[int]:
        return [n for n in range(len(op.iter_args)) if not carries_sum(op, n)]

    def _mixed_loop(self, op: scf.ForOp) -> None:
        """A loop that carries tiles, some of them sums in L0C."""
        here = self.carried(op)
        sums = [n for n in range(len(op.iter_args)) if n not in here]
        arguments = [op.body.block.args[1 + n] for n in sums]
        for argument, n in zip(arguments, sums, strict=True):
            self.cube.start_at_zero(op, argument, op.iter_args[n])
        self._vector(op)
        for argument, n in zip(arguments, sums, strict=True):
            self.cube.tiles[op.results[n]] = self.cube.tiles[argument]
            self._to_vector(op.results[n])

    # -- in place

    def _copy(self, op: CloneOp) -> None:
        source = self.tiles[op.source]
        dest = self.result_tile(op, (source.rows, source.columns))
        self._emit(op, "copy", [source.buffer], dest)
        self._note(op.results[0])
        self._to_cube(op.results[0], Builder.after(op))

    def result_tile(self, op: Operation, extents: tuple[Mixed, Mixed]) -> Tile:
        value = op.results[0]
        if works_in_place(op) and self._carried_buffer(value) is None:
            for operand in op.operands:
                if self._is_free(operand, op):
                    found = self.tiles[value] = Tile(
                        self.tiles[operand].buffer, *extents
                    )
                    return found
        return super().result_tile(op, extents)

    def _is_free(self, value: SSAValue, op: Operation) -> bool:
        """Whether the result of `op` may take the place of `value`."""
        if value not in self.tiles:
            return False
        result = op.results[0]
        same = (
            form_of(value.type, result.type) is Form.FULL
            and bounds_of(value.type) == bounds_of(result.type)
            and element_type(value) == element_type(result)
        )
        if not same or not keeps_place(value, result):
            return False
        return self._is_vacant(self.tiles[value].buffer, op)

    def _is_vacant(self, buffer: SSAValue, op: Operation) -> bool:
        """Whether nobody but `op` still reads what the buffer holds."""
        return all(
            use.operation in (op, op.parent_op()) or use.operation in self._done
            for holder in self._values[buffer]
            for use in holder.uses
        )

    def _carried_buffer(self, value: SSAValue) -> SSAValue | None:
        buffer = super()._carried_buffer(value)
        if buffer is None or not isinstance(value, OpResult):
            return buffer
        return buffer if self._is_vacant(buffer, value.op) else None

    # -- branches

    def _branches(self, op: scf.IfOp) -> None:
        for region in op.regions:
            for block in region.blocks:
                self.block(block)

    def _branch(self, op: scf.IfOp) -> None:
        """Both branches leave their results in the same buffers."""
        build = Builder.before(op)
        dests: list[Tile] = []
        for result in op.results:
            rows, columns = (ONE, *self.shapes.dims(result))[-2:]
            buffer = self.allocate(op, buffer_type_of(result.type, "ub"))
            sizes = build.index_or_int(rows), build.index_or_int(columns)
            dests.append(Tile(buffer, *sizes))
        self._branches(op)
        for region in op.regions:
            last = region.block.ops.last
            assert isinstance(last, scf.YieldOp)
            for value, dest in zip(last.operands, dests, strict=True):
                self._emit(last, "copy", [self.tiles[value].buffer], dest)
            last.operands = []
        build.emit(
            scf.IfOp.create(
                operands=list(op.operands),
                regions=[op.detach_region(region) for region in list(op.regions)],
                attributes=op.attributes,
            )
        )
        op.add_region(Region(Block()))
        op.add_region(Region(Block()))
        for result, dest in zip(op.results, dests, strict=True):
            self.tiles[result] = dest
            self._note(result)
            self._to_cube(result, Builder.after(op))


@record(frozen=False)
class CubePart(CubeBody):
    """The cube's side of a mixed body; `tiles` are those in L1 and L0C."""

    mixed: MixedBody = field(init=False, repr=False)

    def block(self, block: Block) -> None:
        self.mixed.block(block)

    def home(self, loop: scf.ForOp) -> InsertPoint:
        return self.mixed.home(loop)

    def start_at_zero(
        self, loop: scf.ForOp, argument: SSAValue, initial: SSAValue
    ) -> None:
        """An accumulator of its own for a sum that a loop carries: perhaps of no trip,
        so that a product over nothing makes the zeros."""
        full = initial.owner
        assert isinstance(full, FullOp)
        rows, columns = full.mixed_sizes
        buffer = self.allocate(loop, buffer_type_of(argument.type, "l0c"))
        product = first_product(argument)
        (m, n), sides = bounds_of(argument.type), (product.lhs, product.rhs)
        left, right = (
            self.allocate(loop, tile.BufType(shape, element_type(side), space))
            for shape, side, space in zip(
                ((m, FRACTAL), (FRACTAL, n)), sides, ("l0a", "l0b"), strict=True
            )
        )
        extents = [rows, columns, 0]
        zeros = tile.MatmulOp.make(left, right, buffer, extents, False)
        Builder.before(loop).emit(zeros)
        self.tiles[argument] = Tile(buffer, rows, columns)

    def slotted(self, at: Operation, type_: tile.BufType) -> SSAValue:
        """Level 0 is for one product at a time; its slots are for steps along K."""
        staged = type_.space == Space.L1 or at.parent_op() in self.products
        return super().slotted(at, type_) if staged else self.allocate(at, type_)


def first_product(argument: SSAValue) -> MmaOp:
    """The first op that adds onto a sum."""
    use = next(iter(argument.uses))
    op = use.operation
    if isinstance(op, MmaOp):
        return op
    assert isinstance(op, scf.ForOp)
    return first_product(op.body.block.args[1 + carried_number(use)])


class Use(Enum):
    """What a value of a mixed body is for."""

    SUM = "the start of a sum over K"
    START = "the start of sums over K that a loop carries"
    PRODUCT = "an operand of a product"
    OTHER = "anything else"


def uses_of(value: SSAValue) -> set[Use]:
    """What a value is for."""
    return {kind for use in value.uses for kind in kinds_of(use)}


def kinds_of(use: IRUse) -> set[Use]:
    """What one use is; a transpose and a part are for what theirs is for."""
    op = use.operation
    match op:
        case MmaOp():
            return {Use.PRODUCT if use.index else Use.SUM}
        case EpilogueOp():
            return {Use.PRODUCT if use.index else Use.OTHER}
        case TransposeOp() | ViewOp():
            return uses_of(op.results[0])
        case ExpandOp() if uses_of(op.result) == {Use.SUM}:
            return {Use.PRODUCT}
        case scf.ForOp() if is_sum(op):
            return {Use.SUM}
        case scf.YieldOp() if is_sum(op.parent_op()):
            return {Use.SUM}
        case scf.YieldOp() if carries_sum(op.parent_op(), use.index):
            return {Use.SUM}
        case scf.ForOp() if carries_sum(op, carried_number(use)):
            return {Use.START}
        case _:
            return {Use.OTHER}


STEPS = (
    ConstantOp,
    DimOp,
    IndexOp,
    LoadOp,
    MmaOp,
    TransposeOp,
    ViewOp,
    scf.ForOp,
    scf.YieldOp,
)
"""What a loop over K consists of."""


def is_sum(op: Operation | None) -> bool:
    """Whether `op` is the loop over K of a product."""
    if not isinstance(op, scf.ForOp) or len(op.results) != 1:
        return False
    last = op.body.block.ops.last
    made = last.operands[0].owner if isinstance(last, scf.YieldOp) else None
    adds = isinstance(made, MmaOp) or (isinstance(made, scf.ForOp) and is_sum(made))
    return adds and all(isinstance(inner, STEPS) for inner in op.body.block.ops)


def carries_sum(op: Operation | None, number: int) -> bool:
    """Whether what a loop carries in place `number` is a sum that each trip adds to."""
    if not isinstance(op, scf.ForOp) or is_sum(op) or number < 0:
        return False
    last, argument = op.body.block.ops.last, op.body.block.args[1 + number]
    if not isinstance(last, scf.YieldOp) or number >= len(last.operands):
        return False
    added = last.operands[number].owner
    adds = isinstance(added, MmaOp) or (isinstance(added, scf.ForOp) and is_sum(added))
    return adds and uses_of(argument) == {Use.SUM}


def keeps_place(value: SSAValue, result: OpResult) -> bool:
    """
    Whether an op may put its result where `value` is, once nobody else reads that.

    What was made outside of a loop is read again in its next trip. The place of what a
    loop carries is for what it carries next: anything else there would tie together
    stages of the loop that could overlap.
    """
    block = result.op.parent
    if isinstance(value, OpResult):
        return value.op.parent is block
    if value.owner is not block:
        return False
    at: SSAValue = result
    while at.has_one_use():
        use = next(iter(at.uses))
        op = use.operation
        if isinstance(op, scf.YieldOp):
            return isinstance(value, BlockArgument) and use.index + 1 == value.index
        if not works_in_place(op) or op.parent is not block:
            return False
        at = op.results[0]
    return False


def is_accumulated(value: SSAValue) -> bool:
    """Whether `value` is a sum over K, perhaps cast."""
    owner = value.owner
    if isinstance(owner, CastOp | EpilogueOp):
        return is_accumulated(owner.operands[0])
    if isinstance(owner, scf.ForOp) and isinstance(value, OpResult):
        return is_sum(owner) or carries_sum(owner, value.index)
    return isinstance(owner, MmaOp)
