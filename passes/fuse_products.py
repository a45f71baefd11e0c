"""
Products whose results vector ops read from the accumulators: mixed groups.

    %y = pypto.matmul %a, %b                        {npu.group = 0, npu.unit = "cube"}
    %z = pypto.gelu %y                              {npu.group = 1, npu.unit = "vector"}
    ->
    both                                            {npu.group = 0, npu.unit = "mixed"}

A product joins the group that reads it where the machine has a way from L0C to UB, no
one else reads the product, what is read are whole tiles, L0C and UB hold all that is
live, and the modelled time is shorter than with a launch each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import inf

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.parallel import is_parallel
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.matmul import MatmulOp, Product
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.record import record
from pyptoc.passes.choices import Choices, given_sizes
from pyptoc.passes.group_work import with_store
from pyptoc.passes.groups import (
    NARROW,
    PARTIAL,
    Group,
    domain_of,
    has_scan,
    is_row_fold,
)
from pyptoc.passes.matmul_shape import contraction_of
from pyptoc.passes.mixed_tiles import MixedChooser, Read
from pyptoc.passes.ownership import root_of
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import is_one, tensor_operands
from pyptoc.passes.tile_settings import nearest_tile
from pyptoc.passes.typed import element_type
from pyptoc.passes.windows import readers, window_of
from pyptoc.runtime.machine import Machine


@record
class Fusing:
    """Whether products can join the vector ops that read them."""

    chooser: MixedChooser

    @property
    def bases(self) -> Mapping[SSAValue, Product]:
        return self.chooser.bases

    @property
    def part(self) -> Group:
        return self.chooser.part

    @property
    def shapes(self) -> Shapes:
        return self.chooser.shapes

    @property
    def machine(self) -> Machine:
        return self.chooser.machine

    def obstacle(self) -> str | None:
        """Why not; None if they can, whatever it costs."""
        return (
            self._vector_obstacle()
            or next(iter(self.unfit().values()), None)
            or self._window_obstacle()
            or self._tile_obstacle()
        )

    def unfit(self) -> dict[SSAValue, str]:
        """The products that no one can read on chip, and why."""
        reasons = {base: self._product_obstacle(base) for base in self.bases}
        return {base: reason for base, reason in reasons.items() if reason is not None}

    def _vector_obstacle(self) -> str | None:
        """What the ops do that needs whole rows."""
        ops = self.part.ops
        domain = domain_of(ops, self.shapes)
        if domain is None or domain.rows is None:
            return "the ops that read it have no rows and columns in common"
        if has_scan(ops):
            return "a scan needs whole rows"
        if is_one((domain.columns,), 0):
            return None
        members = set(ops)
        for op in ops:
            if is_row_fold(op) or NARROW in op.attributes or PARTIAL in op.attributes:
                continue
            value = op.source if isinstance(op, AssembleOp) else op.results[0]
            leaves = any(use.operation not in members for use in op.results[0].uses)
            dims = self.shapes.dims(value)
            if leaves and dims and is_one(dims, -1):
                return f"'{op.name}' stores one element a row, in every column tile"
        return None

    def _product_obstacle(self, base: SSAValue) -> str | None:
        product = self.bases[base]
        if not self.machine.has_route("l0c", "ub"):
            return f"{self.machine.name} has no way from L0C to UB"
        members = set(self.part.ops)
        for op in readers(base):
            if op not in members or (isinstance(op, AssembleOp) and op.dest is base):
                return f"its result is read by '{op.name}' as well"
        if any(self._may_change(value) for value in (product.lhs, product.rhs)):
            return "what it multiplies may lie where the result is stored"
        if isinstance(product, MatmulOp) and product.scale is not None:
            return "its scale is applied on the way to memory"
        tile = nearest_tile(product, CubeTileAttr, lambda tiles: tiles.cube)
        if tile is not None and tile.split_k > 1:
            return f"K is split in {tile.split_k} parts, which meet in memory"
        made = str(contraction_of(product, self.shapes).accumulator)
        wanted = str(element_type(product.results[0]))
        if made != wanted and not self.machine.can_cast(made, wanted):
            return f"vector cores do not cast {made} to {wanted}"
        return None

    def _may_change(self, value: SSAValue) -> bool:
        """Whether tasks of the group might store into what a product reads."""
        base = window_of(value, self.shapes).base
        loop = base.owner.parent_op() if isinstance(base, BlockArgument) else None
        stores = [op for op in self.part.ops if isinstance(op, AssembleOp)]
        is_carried = isinstance(loop, scf.ForOp) and not is_parallel(loop)
        return is_carried or any(root_of(s.dest) is root_of(base) for s in stores)

    def _window_obstacle(self) -> str | None:
        """Each window is a tile of the domain, no two of one product overlap."""
        domain = domain_of(self.part.ops, self.shapes)
        assert domain is not None
        space = (*domain.leading, domain.rows, domain.columns)
        reads = self.chooser.reads
        for read in reads:
            if self.shapes.dims(read.values[0]) != space:
                return "a part of it is repeated along rows or columns"
            if list(read.window.dims) != sorted(read.window.dims):
                return "its dimensions are read in another order than its tiles have"
        for one, other in combinations(reads, 2):
            if one.window.base is other.window.base and not are_apart(
                one, other, space
            ):
                return "two of the parts that are read overlap"
        return None

    def _tile_obstacle(self) -> str | None:
        if self.chooser.best is None:
            return "no tile of what is live at once fits L0C and UB"
        return None

    # -- times

    @property
    def together(self) -> float:
        """Modelled seconds in one launch."""
        best = self.chooser.best
        return inf if best is None else best.cost.seconds

    def apart(self, choices: Choices) -> list[float]:
        """Modelled seconds of the products and of the vector ops, a launch each."""
        part = self.part
        given = given_sizes(part.ops, self.chooser.domain.rank)
        alone = choices.vector(part, given)
        return [
            *(
                choices.cube(with_store(op, self.shapes)).seconds
                for op in self.chooser.products
            ),
            inf if alone is None else alone.cost.seconds,
        ]


def are_apart(one: Read, other: Read, sizes: Sequence[Expr | None]) -> bool:
    """Whether two windows of one product have no element in common."""
    for axis, dim in enumerate(one.window.dims):
        if dim not in other.window.dims:
            continue
        between = other.window.offsets[dim] - one.window.offsets[dim]
        size = sizes[axis]
        if size is None:
            continue
        if between == size or between == size * -1:
            return True
        if between.is_const and size.is_const and abs(between.value) >= size.value:
            return True
    return False


def products_of(group: Group, shapes: Shapes) -> dict[SSAValue, Product]:
    """The products of the same block whose results a vector group reads."""
    found: dict[SSAValue, Product] = {}
    block = group.ops[0].parent
    for op in group.ops:
        for value in tensor_operands(op):
            base = window_of(value, shapes).base
            product = base.owner
            if isinstance(product, Product) and product.parent is block:
                found[base] = product
    return found
