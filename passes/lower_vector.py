"""
A vector task's body becomes vector instructions on UB buffers.

    %x = npu.load %a[%r +: %m, 0 +: 256] ; %e = pypto.exp %x
    npu.store %e into %y[%r, 0]
    ->
    %b = tile.alloc : !tile.buf<16x256xf32, ub>
    tile.load %a[%r, 0] [%m, 256] into %b
    %d = tile.alloc : !tile.buf<16x256xf32, ub>
    tile.exp %b into %d [%m, 256]
    tile.store %d [%m, 256] into %y[%r, 0]

A tile that a loop carries is one buffer, updated in place by the op that makes the
yielded value; where that op cannot write there, a copy at the end of the trip does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Operation,
    OpResult,
    Region,
    SSAValue,
)

from pyptoc.dialects.npu import LoadOp, StoreOp
from pyptoc.dialects.pypto.base import LiteralOp
from pyptoc.dialects.pypto.composite import MaskCausalOp
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.quantising import MulGroupsOp
from pyptoc.dialects.pypto.reduce import (
    AmaxOp,
    AminOp,
    CumsumOp,
    ProdOp,
    ReductionOp,
    SumOp,
)
from pyptoc.dialects.pypto.shape import (
    ArangeOp,
    CloneOp,
    ExpandOp,
    FullOp,
    TransposeOp,
)
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed
from pyptoc.dialects.tile_types import buffer_type
from pyptoc.dialects.tile_vector import VECTOR_FAMILIES, Form, vector_op
from pyptoc.passes.builder import Builder
from pyptoc.passes.kernel_body import (
    KernelBody,
    Tile,
    buffer_type_of,
    static_or,
)
from pyptoc.passes.lower_index import lower_index
from pyptoc.passes.typed import constant, element_type

ROW_NAMES: dict[type[Operation], str] = {
    SumOp: "row_sum",
    AmaxOp: "row_max",
    AminOp: "row_min",
    ProdOp: "row_prod",
    CumsumOp: "row_cumsum",
}
"""The instruction of each row reduction and scan."""


@record(frozen=False)
class VectorBody(KernelBody):
    """Lowers the body of a vector kernel."""

    def lower(self, op: Operation) -> bool:
        match op:
            case LoadOp():
                self.load(op, "ub")
            case TransposeOp():
                assert op.results[0] in self.tiles, "only loads are transposed"
            case StoreOp():
                self.store(op)
            case scf.ForOp() if op.iter_args:
                self._loop(op)
            case scf.ForOp():
                self.block(op.body.block)
                return False
            case CloneOp():
                self.tiles[op.results[0]] = self.tiles[op.source]
            case FullOp():
                self._fill(op)
            case CastOp():
                self._cast(op)
            case ReductionOp() | CumsumOp():
                self._fold(op)
            case MulGroupsOp():
                self._mul_groups(op)
            case LiteralOp():
                self._elementwise(op)
            case ArangeOp():
                self._arange(op)
            case MaskCausalOp():
                dest = self.result_tile(op, self._extents(op.results[0], op.source))
                offset = op.mixed_offset
                if isinstance(offset, int):
                    offset = Builder.before(op).constant(offset)
                inputs = [self.tiles[op.source].buffer, offset]
                self._emit(op, "mask_causal", inputs, dest)
            case ExpandOp():
                self._expand(op)
            case _:
                return lower_index(self, op)
        return True

    # -- results

    def result_tile(self, op: Operation, extents: tuple[Mixed, Mixed]) -> Tile:
        """The tile of the result: a carried buffer, a slot to store, or a new one."""
        value = op.results[0]
        buffer = self._carried_buffer(value)
        if buffer is None:
            type_ = buffer_type_of(value.type, "ub")
            stored = any(isinstance(use.operation, StoreOp) for use in value.uses)
            place = self.slotted if stored else self.allocate
            buffer = place(op, type_)
        found = self.tiles[value] = Tile(buffer, *extents)
        return found

    def _extents(self, value: SSAValue, *sources: SSAValue) -> tuple[Mixed, Mixed]:
        """The extents of a result: static sizes, else those of its operands."""
        rows, columns = shape_of(value.type)
        tiles = [self.tiles[source] for source in sources if source in self.tiles]
        return (
            static_or(rows, [t.rows for t in tiles]),
            static_or(columns, [t.columns for t in tiles]),
        )

    # -- ops

    def _fill(self, op: FullOp) -> None:
        sizes = list(op.mixed_sizes)
        rows, columns = [1] * (2 - len(sizes)) + sizes
        dest = self.result_tile(op, (rows, columns))
        self._emit(op, "fill", [op.fill], dest)

    def _arange(self, op: ArangeOp) -> None:
        sizes = list(op.mixed_sizes)
        rows, columns = [1] * (2 - len(sizes)) + sizes
        dest = self.result_tile(op, (rows, columns))
        zero = constant(0, element_type(op.results[0]))
        self._emit(op, "arange", [zero], dest)

    def _cast(self, op: CastOp) -> None:
        dest = self.result_tile(op, self._extents(op.results[0], op.source))
        options = {
            k: op.properties[k] for k in ("mode", "saturate") if k in op.properties
        }
        self._emit(op, "cvt", [self.tiles[op.source].buffer], dest, **options)

    def _fold(self, op: ReductionOp | CumsumOp) -> None:
        source = self.tiles[op.source]
        element = element_type(op.results[0])
        if element != element_type(op.source):
            source = self._widened(op, source, element)
        name = ROW_NAMES[type(op)]
        reduces = name != "row_cumsum"
        dest = self.result_tile(op, (source.rows, 1 if reduces else source.columns))
        build = Builder.before(op)
        build.emit(vector_op(name, [source.buffer], dest.buffer, source.extents))

    def _widened(self, op: Operation, source: Tile, element: Attribute) -> Tile:
        """The source converted to the type in which a reduction adds."""
        tensor = cast("TensorType[Attribute]", op.operands[0].type)
        wide = TensorType(element, tensor.get_shape(), tensor.encoding)
        buffer = self.allocate(op, buffer_type_of(wide, "ub"))
        found = Tile(buffer, source.rows, source.columns)
        self._emit(op, "cvt", [source.buffer], found)
        return found

    def _expand(self, op: ExpandOp) -> None:
        sizes = list(op.mixed_sizes)
        kept = self.tiles[op.source].extents
        given = [1] * (2 - len(sizes)) + sizes
        rows, columns = (
            k if size == -1 else size for k, size in zip(kept, given, strict=True)
        )
        dest = self.result_tile(op, (rows, columns))
        self._emit(op, "copy", [self._input(op.source, op.results[0])], dest)

    def _elementwise(self, op: LiteralOp) -> None:
        result = op.results[0]
        tensors = [a for a in op.args if isinstance(a, SSAValue) and a in self.tiles]
        extents = self._extents(result, *tensors)
        inputs = [self._input(argument, result) for argument in op.args]
        dest = self.result_tile(op, extents)
        name = op.name.partition(".")[2]
        options = {
            key: op.properties[key]
            for key in VECTOR_FAMILIES[name].options
            if key in op.properties
        }
        self._emit(op, name, inputs, dest, **options)

    def _mul_groups(self, op: MulGroupsOp) -> None:
        dest = self.result_tile(op, self._extents(op.result, op.source))
        inputs = [self.tiles[op.source].buffer, self.tiles[op.scale].buffer]
        forms = [(inputs[0], Form.FULL), (inputs[1], Form.GROUP)]
        self._emit(op, "mul", forms, dest, group=op.group, first=op.first)

    def _input(
        self, argument: SSAValue | Attribute, result: SSAValue
    ) -> SSAValue | tuple[SSAValue, Form] | Attribute:
        if not isinstance(argument, SSAValue) or argument not in self.tiles:
            return argument
        return self.tiles[argument].buffer, form_of(argument.type, result.type)

    def _emit(
        self,
        op: Operation,
        name: str,
        inputs: Sequence[SSAValue | tuple[SSAValue, Form] | Attribute],
        dest: Tile,
        **options: Attribute,
    ) -> None:
        new = vector_op(name, inputs, dest.buffer, dest.extents, **options)
        Builder.before(op).emit(new)

    # -- loops that carry tiles

    def _loop(self, op: scf.ForOp) -> None:
        """Carried tiles become buffers; the loop keeps no tensor values."""
        here = self.carried(op)
        arguments = [op.body.block.args[1 + number] for number in here]
        for argument, number in zip(arguments, here, strict=True):
            self.tiles[argument] = self._initial(op, op.iter_args[number])
        self.block(op.body.block)
        last = op.body.block.ops.last
        assert isinstance(last, scf.YieldOp)
        yielded = [self.tiles[last.operands[number]] for number in here]
        self._hand_on(last, yielded, [self.tiles[argument] for argument in arguments])
        for argument, number in zip(arguments, here, strict=True):
            self.tiles[op.results[number]] = self.tiles[argument]
        self._drop_carried(op, last)

    def carried(self, op: scf.ForOp) -> Sequence[int]:
        """Which of the values that a loop carries lie in UB."""
        return range(len(op.iter_args))

    def _hand_on(
        self, last: scf.YieldOp, made: Sequence[Tile], held: Sequence[Tile]
    ) -> None:
        """Copy what a trip yields into the carried buffers, all as if at once."""
        carried = {tile_.buffer for tile_ in held}
        copies = [
            (source, dest)
            for source, dest in zip(made, held, strict=True)
            if source.buffer is not dest.buffer
        ]
        for index, (source, dest) in enumerate(copies):
            if source.buffer in carried:  # Its place is taken by another one.
                buffer = self.allocate(last, buffer_type(source.buffer))
                kept = Tile(buffer, source.rows, source.columns)
                self._emit(last, "copy", [source.buffer], kept)
                copies[index] = kept, dest
        for source, dest in copies:
            target = Tile(dest.buffer, source.rows, source.columns)
            self._emit(last, "copy", [source.buffer], target)

    def _initial(self, op: scf.ForOp, initial: SSAValue) -> Tile:
        """The carried buffer: the initial tile's own if nobody else uses it."""
        tile = self.tiles[initial]
        owner = initial.owner
        shared = isinstance(owner, LoadOp | CloneOp | scf.ForOp | scf.IfOp | Block)
        if initial.has_one_use() and not shared and owner.parent is op.parent:
            return tile
        buffer = self.allocate(op, buffer_type_of(initial.type, "ub"))
        held = Tile(buffer, tile.rows, tile.columns)
        self._emit(op, "copy", [tile.buffer], held)
        return held

    def _carried_buffer(self, value: SSAValue) -> SSAValue | None:
        """Where a yielded value may be made in place of what the loop carries."""
        assert isinstance(value, OpResult)
        block = value.op.parent
        loop = value.op.parent_op()
        last = None if block is None else block.ops.last
        if not isinstance(loop, scf.ForOp) or last is None or not value.has_one_use():
            return None
        if value.first_use is None or value.first_use.operation is not last:
            return None
        argument = loop.body.block.args[1 + value.first_use.index]
        if argument.type != value.type or not only_before(argument, value.op):
            return None
        return self.tiles[argument].buffer

    def _drop_carried(self, op: scf.ForOp, last: scf.YieldOp) -> None:
        new = scf.ForOp.create(
            operands=list(op.operands[:3]),
            regions=[op.detach_region(op.body)],
            attributes=op.attributes,
        )
        last.operands = []
        for argument in list(new.body.block.args[1:]):
            new.body.block.erase_arg(argument, safe_erase=False)
        Builder.before(op).emit(new)
        op.add_region(Region(Block()))


def only_before(argument: BlockArgument, op: Operation) -> bool:
    """Whether all uses of `argument` are in `op`, read in full, or before it."""
    block = op.parent
    assert block is not None
    order = {inner: position for position, inner in enumerate(block.ops)}
    here = order[op]
    return all(order.get(use.operation, here + 1) <= here for use in argument.uses)


def shape_of(type_: Attribute) -> tuple[int, int]:
    """Rows and columns of a tile's type; negative where dynamic."""
    assert isinstance(type_, TensorType)
    sizes = list(type_.get_shape())
    rows, columns = [1] * (2 - len(sizes)) + sizes
    return rows, columns


def form_of(operand: Attribute, result: Attribute) -> Form:
    """How an operand's tile meets the result's: in full, by row, column or once."""
    rows, columns = shape_of(operand)
    narrow_rows = rows == 1 and shape_of(result)[0] != 1
    narrow_columns = columns == 1 and shape_of(result)[1] != 1
    if narrow_rows:
        return Form.ONE if narrow_columns else Form.COL
    return Form.ROW if narrow_columns else Form.FULL
