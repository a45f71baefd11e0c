"""
What a group does, as its cost depends on it: products, and how often loops repeat it.

Asked by partition, of groups that it may form, and by infer-tiles, of those that there
are. A dynamic size has a number that stands in (`tile_search.representative`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.parallel import is_parallel
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.pypto.matmul import Product
from pyptoc.dialects.pypto.shape import AssembleOp, ViewOp
from pyptoc.dialects.pypto.tiles import check_cube_tile
from pyptoc.passes import cube_tiles
from pyptoc.passes.cube_cost import CubeWork
from pyptoc.passes.cube_tiles import Contraction, CubeTile
from pyptoc.passes.form_tasks import obstacle, perfect_nest
from pyptoc.passes.groups import UNIT, Group, groups_in
from pyptoc.passes.matmul_shape import contraction_of, matmul_shape, may_split
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import defined_in, unit_of
from pyptoc.passes.tile_search import representative
from pyptoc.passes.tile_settings import nearest_tile
from pyptoc.passes.typed import element_type, tensor_rank
from pyptoc.runtime.machine import Machine

GroupsOf = Callable[[Block], Sequence[Group]]


def product_of(
    ops: Sequence[Operation], loops: Sequence[scf.ForOp], shapes: Shapes
) -> CubeWork:
    """The matmul of a cube group, under loops that are axes of its grid."""
    op = ops[0]
    assert isinstance(op, Product)
    shape = matmul_shape(op, shapes)
    result = element_type(op.results[0])
    contraction = contraction_of(op, shapes)
    inside = bool(loops) and defined_in(op.rhs, loops[0])
    # Parts are added before anything is done to the sum, a cast as well, in a tensor of
    # their own.
    extras = (getattr(op, name, None) for name in ("bias", "scale", "relu"))
    alone = len(ops) == 1 and all(extra is None for extra in extras)
    contraction = contraction_of(op, shapes)
    return CubeWork(
        contraction,
        representative(shape.m),
        representative(shape.n),
        representative(shape.k),
        prod(map(representative, shape.batch)) * trips_of(loops, shapes),
        result,
        shared_rhs=tensor_rank(op.rhs) == 2 and not inside,
        may_split=alone and result == contraction.accumulator,
        summed_by_reader=read_by_vectors(op.results[0]),
    )


def with_store(product: Product, shapes: Shapes) -> list[Operation]:
    """A product, and the assemble that is in its group: the only one that reads it."""
    result = product.results[0]
    user = next((use.operation for use in result.uses), None)
    if not result.has_one_use() or not isinstance(user, AssembleOp):
        return [product]
    together = user.source is result and user.parent is product.parent
    return [product, user] if together and not may_split(product, shapes) else [product]


def given_tile(op: Product, c: Contraction, machine: Machine) -> CubeTile | None:
    """The author's tile of a product, clamped; an error if it is not legal."""
    attribute = nearest_tile(op, CubeTileAttr, lambda tiles: tiles.cube)
    if attribute is None:
        return None
    check_cube_tile(attribute, op)
    tile = CubeTile.of(attribute).clamped(c)
    cube_tiles.check_fits(tile, c, machine, op)
    return tile


def grid_loops(first: Operation, groups: GroupsOf = groups_in) -> list[scf.ForOp]:
    """The loops around a group, here its first op, that will be axes of its grid."""
    around: list[scf.ForOp] = []
    loop = first.parent_op()
    while is_parallel(loop):
        around.insert(0, loop)
        loop = loop.parent_op()
    for start in range(len(around)):
        nest = perfect_nest(around[start])
        if nest[-1] is not around[-1]:
            continue
        if obstacle(nest, groups(nest[-1].body.block)) is None:
            return nest
    return []


def trips_of(loops: Sequence[scf.ForOp], shapes: Shapes) -> int:
    """How often the body of a nest of loops runs, by `representative` sizes."""
    trips = 1
    for loop in loops:
        step = representative(shapes.expr(loop.step))
        trips *= -(-representative(shapes.expr(loop.ub) - shapes.expr(loop.lb)) // step)
    return trips


def read_by_vectors(value: SSAValue) -> bool:
    """Whether only vector tasks read `value`, perhaps parts of it."""
    users = [use.operation for use in value.uses]
    return bool(users) and all(
        read_by_vectors(user.results[0])
        if isinstance(user, ViewOp)
        else is_of_vectors(user)
        for user in users
    )


def is_of_vectors(op: Operation) -> bool:
    """Whether an op is, or without groups would be, in a vector group."""
    unit = op.attributes.get(UNIT)
    return unit_of(op) == "vector" if unit is None else unit == StringAttr("vector")
