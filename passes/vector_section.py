"""
Writing the section of the vector cores: each instruction on a core's own half.

    tile.exp %x into %x [%m, 128]                    %m rows, at most 128
    tile.store %x [%m, 128] into %y[%row, 0]
    ->
    %mine = pypto.index min(max(%m - 64 * %half, 0), 64)
    %start = pypto.index %row + min(64 * %half, %m)
    tile.exp %x into %x [%mine, 128]
    tile.store %x [%mine, 128] into %y[%start, 0]

Buffers shrink to what one core has. What only the first core does stands under a
condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TypeAlias, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from pyptoc.dialects.expr import Compare, Expr, maximum, minimum
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed
from pyptoc.dialects.tile import (
    AllocOp,
    BufType,
    GatherOp,
    Instruction,
    LoadOp,
    MoveOp,
    OneHotOp,
    ScatterOp,
    SlotOp,
    StoreOp,
    TopkOp,
    VectorOp,
)
from pyptoc.dialects.tile_channel import HALVES
from pyptoc.dialects.tile_vector import Form, vector_op
from pyptoc.passes.builder import Builder
from pyptoc.passes.sections import SectionWriter
from pyptoc.passes.share import Halves, Share
from pyptoc.passes.typed import as_expr


@record(frozen=False, kw_only=True)
class VectorSectionWriter(SectionWriter):
    """Clones what the vector cores need; `half` is the number of the core."""

    halves: Halves
    half: BlockArgument
    _parts: dict[tuple[Mixed, int], Mixed] = field(
        default_factory=dict[tuple[Mixed, int], Mixed], repr=False
    )
    _alone: set[Operation] = field(default_factory=set[Operation], repr=False)

    def write(self, source: Block, dest: Block) -> None:
        """As for any section; what the first core does alone gets a condition."""
        super().write(source, dest)
        self._wrap_alone(dest)

    def _wrap_alone(self, block: Block) -> None:
        """Put what only the first core does under conditions, as few as can be."""
        branch: scf.IfOp | None = None
        for op in list(block.ops):
            if op in self._alone:
                if branch is None:
                    branch = self._branch_before(op)
                op.detach()
                last = branch.true_region.block.last_op
                assert last is not None
                branch.true_region.block.insert_op_before(op, last)
            elif op.regions or isinstance(op, Instruction):
                branch = None
            elif branch is not None:
                # Index arithmetic and buffers: what comes later may need them too.
                op.detach()
                block.insert_op_before(op, branch)

    def _branch_before(self, op: Operation) -> scf.IfOp:
        build = Builder.before(op)
        first = build.compare(Compare("==", Expr.sym(self.half), Expr.const(0)))
        first.name_hint = "first"
        branch = scf.IfOp.create(
            operands=[first],
            regions=[Region(Block([scf.YieldOp.create()])), Region()],
        )
        build.emit(branch)
        return branch

    # -- parts of extents

    def _part(self, size: Mixed, share: Share) -> Mixed:
        """How much of `size` elements along a shared dimension this core has."""
        if size == share.whole == HALVES * share.half:
            return share.half
        if (size, share.whole) not in self._parts:
            rest = maximum(as_expr(size) - share.half * Expr.sym(self.half), 0)
            mine = minimum(rest, share.half)
            built = self._where_known(size).index_or_int(mine)
            if isinstance(built, SSAValue):
                built.name_hint = "mine"
            self._parts[size, share.whole] = built
        return self._parts[size, share.whole]

    def _box(self, sizes: Sequence[Mixed], share: Share | None) -> list[Mixed]:
        """The extents of this core, of those [rows, columns, ..] of the whole."""
        mine = self.mixed(sizes)
        if share is not None:
            mine[share.axis] = self._part(mine[share.axis], share)
        return mine

    def _where_known(self, size: Mixed) -> Builder:
        """Behind what makes a value; at the section's start if that is outside."""
        section, around = self.half.block, self.half.block.parent_op()
        owner = None if isinstance(size, int) else size.owner
        if isinstance(owner, Operation) and section.is_ancestor(owner):
            return Builder.after(owner)
        if isinstance(owner, Block) and section.is_ancestor(owner):
            section = owner
        assert around is not None
        return Builder(InsertPoint.at_start(section), around.location)

    def _moved(
        self, offset: Mixed, begin: Expr, place: LocationAttr, dest: Block
    ) -> Mixed:
        """`offset` plus `begin`, computed at the end of `dest`."""
        build = Builder(InsertPoint.at_end(dest), place)
        return build.index_or_int(as_expr(offset) + begin)

    def _begin(self, size: Mixed, share: Share) -> Expr:
        """Where this core's part starts, of `size` elements: not behind the last."""
        begin = share.half * Expr.sym(self.half)
        if isinstance(size, int) and size >= share.half:
            return begin
        return minimum(begin, as_expr(size))

    # -- operations

    def plain(self, op: Operation, dest: Block) -> Operation:
        match op:
            case AllocOp() if op in self.halves.shares:
                share = self.halves.shares[op]
                shape = share.of(op.type.shape, share.half)
                type_ = BufType(shape, op.type.element_type, op.type.space)
                new = AllocOp.make(type_, op.slot_count)
            case SlotOp():
                new = SlotOp.make(self.value(op.source), self.mixed([op.slot])[0])
            case Instruction() if op in self.halves.alone:
                new = op.clone(self.values)
                self._alone.add(new)
            case VectorOp():
                new = self._vector(op, dest)
            case LoadOp() | StoreOp():
                new = self._transfer(op, dest)
            case GatherOp() | ScatterOp():
                new = self._indexed(op, dest)
            case OneHotOp():
                new = self._one_hot(op, dest)
            case TopkOp():
                new = self._topk(op)
            case _:
                return super().plain(op, dest)
        return self.add(op, new, dest)

    def pushed_extents(self, move: MoveOp) -> list[Mixed]:
        return self._box(move.extents, self.halves.share(move.source))

    def copy(self, move: MoveOp, popped: SSAValue, dest: Block) -> None:
        extents = self._box(move.extents, self.halves.share(move.dest))
        new = vector_op("copy", [popped], self.value(move.dest), extents)
        self.add(move, new, dest)

    def _vector(self, op: VectorOp, dest: Block) -> Operation:
        share = self.halves.share(op.dest)
        inputs: list[tuple[SSAValue, Form] | Attribute] = [
            (self.value(arg[0]), arg[1]) if isinstance(arg, tuple) else arg
            for arg in op.args
        ]
        if op.family.name == "mask_causal" and share is not None:
            # Element (i, j) of a part is (i + begin, j) or (i, j + begin) of the whole.
            begin = share.half * Expr.sym(self.half)
            begin = begin if share.axis == 0 else -begin
            position = cast("tuple[SSAValue, Form]", inputs[1])[0]
            moved = self._moved(position, begin, op.location, dest)
            assert isinstance(moved, SSAValue)
            inputs[1] = (moved, Form.SCALAR)
        options = {n: op.properties[n] for n in op.family.options if n in op.properties}
        extents = self._box(op.extents, share)
        return type(op).make(inputs, self.value(op.dest), extents, **options)

    def _offsets(self, op: Transfer, share: Share | None, dest: Block) -> list[Mixed]:
        """The offsets of this core's part of a box in memory."""
        offsets = self.mixed(op.mixed_offsets)
        if share is not None and op.box_dims[share.axis] >= 0:
            dim = op.box_dims[share.axis]
            begin = self._begin(self.mixed(op.extents)[share.axis], share)
            offsets[dim] = self._moved(offsets[dim], begin, op.location, dest)
        return offsets

    def _transfer(self, op: LoadOp | StoreOp, dest: Block) -> Operation:
        share = self.halves.share(op.buffer)
        offsets = self._offsets(op, share, dest)
        extents = self._box(op.extents, share)
        source, target = self.value(op.source), self.value(op.dest)
        dims = None if op.dims is None else op.box_dims
        if isinstance(op, LoadOp):
            return LoadOp.make(source, offsets, extents, target, dims)
        combine = None if op.combine is None else op.combine.data
        return StoreOp.make(source, extents, target, offsets, dims, combine)

    def _indexed(self, op: GatherOp | ScatterOp, dest: Block) -> Operation:
        share = self.halves.share(op.buffer)
        positions = self.mixed(op.mixed_positions)
        place = _index_place(op.per.data, share)
        if share is not None and place is not None and len(positions) >= -place:
            begin = self._begin(self.mixed(op.extents)[share.axis], share)
            positions[place] = self._moved(positions[place], begin, op.location, dest)
        table = op.lookup
        if table is not None:
            value, offsets, pages = table
            (pages,) = self.mixed([pages])
            table = self.value(value), self.mixed(offsets), pages
        return type(op).of(
            self.value(op.memory),
            self._offsets(op, share, dest),
            self.mixed(op.limits),
            [self.value(indices) for indices in op.all_indices],
            positions,
            self._box(op.extents, share),
            op.copied_properties(),
            table=table,
            data=self.value(op.buffer),
        )

    def _one_hot(self, op: OneHotOp, dest: Block) -> Operation:
        share = self.halves.share(op.dest)
        (first,) = self.mixed([op.first])
        if share is not None and share.axis == 1:
            begin = share.half * Expr.sym(self.half)
            first = self._moved(first, begin, op.location, dest)
        extents = self._box(op.extents, share)
        return OneHotOp.make(self.value(op.source), first, self.value(op.dest), extents)

    def _topk(self, op: TopkOp) -> Operation:
        assert op.scratch is not None
        return TopkOp.of(
            self.value(op.source),
            self.mixed(op.mixed_bounds),
            [self.value(held) for held in op.lists],
            op.copied_properties(),
            lengths=None if op.lengths is None else self.value(op.lengths),
            after=[self.value(held) for held in op.after],
            scratch=self.value(op.scratch),
            extents=self._box(op.extents, self.halves.share(op.source)),
        )


Transfer: TypeAlias = LoadOp | StoreOp | GatherOp | ScatterOp


def _index_place(per: str, share: Share | None) -> int | None:
    """The dimension of the indices, from the last, that the shared one runs along."""
    if share is None:
        return None
    return {
        ("element", 0): -2,
        ("element", 1): -1,
        ("row", 0): -1,
        ("column", 1): -1,
    }.get((per, share.axis))
