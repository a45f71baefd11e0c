"""
What the body of a task that runs on whole tiles keeps in each memory at once.

Ops have positions in program order. A tile lives from where it is made to its last use,
or to the end of the outermost loop that uses it again in each trip. What a loop carries
lives as long as the loop. An elementwise op works in place where its operand ends, as
`lower_mixed.py` does. What crosses between the cores has a slot of its own all the
time, since the other core fills it when it likes. All sizes are asked of `bytes_of`,
one slot each: plan-memory gives more where there is room.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field

from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, f32
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from pyptoc.dialects.expr import ONE, Expr
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.elementwise import CastOp
from pyptoc.dialects.pypto.matmul import MatmulOp, Product, ScaledMmOp
from pyptoc.dialects.pypto.shape import AssembleOp, FullOp, TransposeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_channel import HALVES
from pyptoc.dialects.tile_types import element_bits, tile_bytes
from pyptoc.dialects.words import counted
from pyptoc.passes.cube_tiles import MX_BLOCK, CubeTile
from pyptoc.passes.live_bytes import Kept, LiveBytes
from pyptoc.passes.lower_mixed import keeps_place
from pyptoc.passes.matmul_shape import scales_of
from pyptoc.passes.structured import (
    carried_number,
    is_reduction,
    is_scan,
    tensor_operands,
    unit_of,
)
from pyptoc.passes.typed import element_type
from pyptoc.passes.unfit import UnfitError
from pyptoc.passes.whole_nests import NestBody, Size

MOST_PIECES = 256
"""Pieces of a tile are ops of their own: with more of them a body would be too long."""


@record(frozen=False)
class WorkingSet:
    """What a body keeps, if its products have `tiles` and `widths` cut columns."""

    body: NestBody
    tiles: Mapping[Product, CubeTile]
    widths: Mapping[Expr, int]
    """The width of the pieces into which columns of a size are cut."""
    resident: Collection[SSAValue] = ()
    """The operands of products that stay in L1."""
    live: LiveBytes = field(default_factory=LiveBytes)
    _at: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _end: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def __post_init__(self) -> None:
        self.total = self._number(self.body.block, 0)
        for value in self.body.sizes:
            if not self.body.is_tile(value):
                self._window(value)
        for value, most in self.body.indices.items():
            self._indices(value, most)
        for value in self.resident:
            size = self.body.windows[value]
            shape = size.most_rows, size.most_columns
            held = tile_bytes(shape, element_type(value), "l1")
            owner = value.owner
            start = self._at.get(owner, 0) if isinstance(owner, Operation) else 0
            self.live.keep("l1", held, start, self._last(value))
        self._block(self.body.block)

    def peaks(self) -> dict[str, int]:
        """The most bytes of each memory that are kept at once."""
        return self.live.peaks()

    # -- positions

    def _number(self, block: Block, here: int) -> int:
        for op in block.ops:
            self._at[op] = here
            here += 1
            for region in op.regions:
                for inner in region.blocks:
                    here = self._number(inner, here)
            self._end[op] = here
        return here

    def _last(self, value: SSAValue) -> int:
        """The position of the last use of a value."""
        return max((self._used(value, use.operation) for use in value.uses), default=0)

    def _used(self, value: SSAValue, op: Operation) -> int:
        """Where a use ends: with the outermost loop around it that repeats it."""
        home = value.owner if isinstance(value.owner, Block) else value.owner.parent
        found = self._at.get(op, 0)
        passed_on = self.body.columns.passed_on(op)
        if passed_on is not None:
            found = max(found, self._last(passed_on))
        elif isinstance(op, ViewOp | TransposeOp):
            return max(found, self._last(op.results[0]))
        while op.parent is not home and op.parent_op() is not None:
            outer = op.parent_op()
            assert outer is not None
            if outer not in self._end:
                break
            op = outer
            if isinstance(op, scf.ForOp):
                found = self._end[op]
        return found

    # -- tiles

    def _bytes(self, size: Size, element: Attribute, space: str) -> list[int]:
        """Of each piece of a tile."""
        rows, columns = size.most_rows, size.most_columns
        if space == "ub" and self.body.unit == Unit.MIXED and size.rows != ONE:
            rows = -(-rows // HALVES)
        width = min(self.widths.get(size.columns, columns), columns)
        whole, rest = divmod(columns, width)
        if whole > MOST_PIECES:
            raise UnfitError(
                f"{counted(columns, 'column')} would be {whole} pieces of a tile"
            )
        parts = [width] * whole + [rest] * bool(rest)
        return [tile_bytes((rows, part), element, space) for part in parts]

    def _of(self, value: SSAValue, space: str = "ub") -> list[int]:
        return self._bytes(self.body.sizes[value], element_type(value), space)

    def _window(self, value: SSAValue) -> None:
        """A tile that is loaded for vector ops."""
        op = value.owner
        start = self._at.get(op, 0) if isinstance(op, Operation) else 0
        space = "l1" if self._only_crosses(value) else "ub"
        self.live.keep(space, sum(self._of(value, space)), start, self._last(value))

    def _indices(self, value: SSAValue, most: int) -> None:
        """One row of indices."""
        op = value.owner
        start, end = self._trip(op) if isinstance(op, Operation) else (0, 0)
        kept = tile_bytes((1, most), element_type(value), "ub")
        self.live.keep("ub", kept, start, max(end, self._last(value)))

    def _gather(self, op: Operation) -> None:
        """What is read in a loop has a place of its own all of that time."""
        start, end = self._trip(op)
        for result in op.results:
            self._cross(result)
            kept = sum(self._of(result))
            self.live.keep("ub", kept, start, max(end, self._last(result)))

    def _trip(self, op: Operation) -> tuple[int, int]:
        """The positions of the loop in which `op` stands, or only its own."""
        loop = op.parent_op()
        around = loop if loop in self._end and isinstance(loop, scf.ForOp) else op
        return self._at.get(around, 0), self._end.get(around, 0)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case MatmulOp() | ScaledMmOp():
                    self._product(op)
                case scf.ForOp():
                    self._loop(op)
                case scf.IfOp():
                    self._branch(op)
                case AssembleOp():
                    pass
                case _ if unit_of(op) == "vector":
                    self._compute(op)
                case _ if unit_of(op) == "index":
                    self._gather(op)
                case _:
                    pass

    def _compute(self, op: Operation) -> None:
        if self._is_of_sum(op):
            return
        here = self._at[op]
        for result in op.results:
            self._make(op, result)
        for extra in self._scratch(op):
            self.live.keep("ub", extra, here, here)

    def _is_of_sum(self, op: Operation) -> bool:
        """Whether a sum that L0C keeps spares an op, or its store does it."""
        sums = self.body.sums
        if op in sums.additions or isinstance(op, CastOp):
            return op in sums.additions or self.body.drains(op.operands[0])
        return isinstance(op, FullOp) and all(
            isinstance(loop := use.operation, scf.ForOp)
            and (number := carried_number(use)) >= 0
            and loop.body.block.args[1 + number] in sums.carried
            for use in op.result.uses
        )

    def _make(self, op: Operation, result: OpResult) -> None:
        here, sizes = self._at[op], self._of(result)
        self._cross(result)
        if self._only_crosses(result):
            self.live.keep("ub", max(sizes), here, here)
            return
        place = self._place(op, result)
        if place is None:
            place = self.live.keep("ub", sum(sizes), here, here)
        self.live.buffers[result] = place
        place.end = max(place.end, self._last(result))

    def _place(self, op: Operation, result: OpResult) -> Kept | None:
        """Where `op` can work in place: on an operand that ends here."""

        def ends(operand: SSAValue) -> bool:
            kinds = element_type(operand), element_type(result)
            return (
                self._last(operand) <= self._at[op]
                and keeps_place(operand, result)
                and self.body.sizes[operand] == self.body.sizes[result]
                and element_bits(kinds[1]) <= element_bits(kinds[0])
            )

        return self.live.taken(op, tensor_operands(op), ends)

    def _scratch(self, op: Operation) -> Iterator[int]:
        """What an instruction needs besides: wider sums, parts of a row value."""
        if not (is_reduction(op) or is_scan(op)):
            return
        source, result = op.operands[0], op.results[0]
        size = self.body.sizes[source]
        pieces = len(self._of(source))
        narrow = isinstance(element_type(source), AnyFloat) and pieces > 1
        wide = f32 if narrow else element_type(result)
        if wide != element_type(source):
            yield max(self._bytes(size, wide, "ub"))
        if pieces > 1:
            row = size._replace(columns=ONE, most_columns=1)
            yield 2 * sum(self._bytes(row, f32, "ub"))

    def _only_crosses(self, value: SSAValue) -> bool:
        return all(isinstance(op, MatmulOp) for op in self.body.columns.readers(value))

    def _cross(self, value: SSAValue) -> None:
        """A place in L1 for what products read of a vector result."""
        if any(isinstance(op, MatmulOp) for op in self.body.columns.readers(value)):
            self.live.keep("l1", sum(self._of(value, "l1")), 0, self.total)

    # -- products

    def _product(self, op: Product) -> None:
        here, tile = self._at[op], self.tiles[op]
        result, accumulator = op.result, self.body.contraction(op).accumulator
        sums = self._bytes(self.body.sizes[result], accumulator, "l0c")
        kept = self.body.sums.products.get(op)
        if kept is None:
            self.live.keep("l0c", max(sums), here, here)
        else:
            start, end = self._at[kept.loop], self._end[kept.loop]
            end = max(end, self._last(kept.result))
            self.live.keep("l0c", sum(sums), start, end)
        sides = ((op.lhs, (tile.m0, tile.k1)), (op.rhs, (tile.k1, tile.n0)))
        turned = (op.a_trans is not None, op.b_trans is not None)
        for (value, shape), turns in zip(sides, turned, strict=True):
            if self.body.is_tile(value) or value in self.resident:
                continue
            rows, columns = shape[::-1] if turns else shape
            size = tile_bytes((rows, columns), element_type(value), "l1")
            self.live.keep("l1", size, here, here)
        for size in _beside(op, tile):
            self.live.keep("l1", size, here, here)
        if op in self.body.drained or kept is not None:
            return
        moved = sum(self._bytes(self.body.sizes[result], accumulator, "ub"))
        self.live.buffers[result] = self.live.keep("ub", moved, 0, self.total)
        self._cross(result)
        if element_type(result) != accumulator:
            end = self._last(result)
            cast = self.live.keep("ub", sum(self._of(result)), here, end)
            self.live.buffers[result] = cast

    # -- regions

    def _loop(self, op: scf.ForOp) -> None:
        start, end = self._at[op], self._end[op]
        arguments = op.body.block.args[1:]
        last = op.body.block.last_op
        assert last is not None
        for initial, argument, value, result in zip(
            op.iter_args, arguments, last.operands, op.results, strict=True
        ):
            if argument in self.body.dests:
                continue
            size = sum(self._of(argument))
            if argument in self.body.sums.carried:
                if not self.body.drains(argument):
                    moved = self.live.keep("ub", size, 0, self.total)
                    self.live.buffers[result] = moved
                    self._cross(result)
                continue
            self._cross(argument)
            kept = self._carried(initial, op) or self.live.keep("ub", size, start, 0)
            kept.end = max(end, self._last(result))
            self.live.buffers[argument] = self.live.buffers[result] = kept
            if value in arguments and value is not argument:
                self.live.keep("ub", size, self._at[last], end)
        self._block(op.body.block)

    def _carried(self, initial: SSAValue, loop: scf.ForOp) -> Kept | None:
        """The place of what a constant fills for a loop that carries it from there."""
        filled = (
            isinstance(initial.owner, FullOp) and initial.owner.parent is loop.parent
        )
        return (
            self.live.buffers.get(initial) if filled and initial.has_one_use() else None
        )

    def _branch(self, op: scf.IfOp) -> None:
        for result in op.results:
            if result in self.body.dests:
                continue
            self._cross(result)
            size = sum(self._of(result))
            end = max(self._end[op], self._last(result))
            self.live.buffers[result] = self.live.keep("ub", size, self._at[op], end)
        for region in op.regions:
            for block in region.blocks:
                self._block(block)


def _beside(op: Product, tile: CubeTile) -> list[int]:
    """Bytes of what L1 holds beside the matrices of a product, one step at a time."""
    if not isinstance(op, ScaledMmOp):
        return [tile_bytes((1, tile.n0), element_type(v), "l1") for v in scales_of(op)]
    turned = op.scales_a_trans is not None, op.scales_b_trans is None
    sizes = (tile.m0, tile.ka1), (tile.n0, tile.kb1)
    found: list[int] = []
    for value, (side, depth), turns in zip(scales_of(op), sizes, turned, strict=True):
        blocks = -(-depth // MX_BLOCK)
        shape = (blocks, 2 * side) if turns else (side, 2 * blocks)
        found.append(tile_bytes(shape, element_type(value), "l1"))
    return found
