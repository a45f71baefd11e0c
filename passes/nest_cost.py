"""
What a nest whose body is one task costs on a machine, by the same cost functions.

    product   as `cube_cost.estimate` has it, without the loads of operands that other
              ops of the body make, or that L1 keeps
    vector    instructions and transfers as `vector_cost` has them, of a core's rows
    loop      trips * the longer side + the shorter one, since the next trip's products
              are made while this one's are read; outside, one after the other
    time      launch + waves of tasks * the body
    stages    what it takes apart: a launch for each trip of all loops and each stage,
              which is a run of ops of one kind of core; the work spread over all cores

The most that each size can be counts, the trips of loops by `representative` sizes. How
many of the operands L2 holds is not asked: the model is for comparing tiles of a nest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import groupby
from math import ceil

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from pyptoc.dialects.expr import ONE, Expr
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.matmul import MatmulOp, Product, ScaledMmOp
from pyptoc.dialects.pypto.shape import AssembleOp
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_channel import HALVES
from pyptoc.dialects.tile_types import element_bits
from pyptoc.dialects.walk import ROW
from pyptoc.passes.cube_cost import CubeWork, Tiles, estimate
from pyptoc.passes.cube_tiles import CubeTile
from pyptoc.passes.group_work import trips_of
from pyptoc.passes.structured import costed_as, tensor_operands, unit_of
from pyptoc.passes.tile_search import UNKNOWN_SIZE
from pyptoc.passes.typed import element_type
from pyptoc.passes.vector_cost import op_cycles, transfer_cycles
from pyptoc.passes.whole_nests import NestBody


@record
class NestCost:
    """The modelled time of a nest, in seconds, and what it is made of."""

    seconds: float
    cube: float
    """Of the cube cores, without the launch."""
    vector: float
    """Of the vector cores, without the launch."""
    tasks: int
    waves: int
    in_stages: float
    """Seconds of the same work with a launch for each stage of each trip."""


@record
class Sides:
    """Seconds of the two sides of a part of a body, and of both together."""

    cube: float = 0.0
    vector: float = 0.0
    both: float = 0.0

    def then(self, other: Sides) -> Sides:
        """This part, then another."""
        sums = (self.cube + other.cube, self.vector + other.vector)
        return Sides(*sums, self.both + other.both)

    def repeated(self, trips: int) -> Sides:
        """This part in each trip of a loop: the sides overlap from trip to trip."""
        cube, vector = trips * self.cube, trips * self.vector
        overlapped = max(cube, vector) + min(self.cube, self.vector)
        return Sides(cube, vector, min(trips * self.both, overlapped))


@record(frozen=False)
class NestModel:
    """The cost of a body with some tiles of its products."""

    body: NestBody
    tiles: Mapping[Product, CubeTile]
    widths: Mapping[Expr, int]
    kept: Collection[SSAValue]

    def cost(self) -> NestCost:
        """The time of all tasks."""
        body = self.body
        machine = body.machine
        tasks = trips_of(body.loops, body.shapes)
        only_vector = body.unit == Unit.VECTOR
        cores = machine.vector_cores if only_vector else machine.cube_cores
        waves = ceil(tasks / cores)
        sides = self._windows().then(self._block(body.block))
        seconds = machine.launch_seconds + waves * sides.both
        apart = tasks * (
            self._stages(body.block) * machine.launch_seconds
            + (sides.cube + sides.vector) / cores
        )
        return NestCost(
            seconds, waves * sides.cube, waves * sides.vector, tasks, waves, apart
        )

    def _stages(self, block: Block) -> int:
        """How often the kind of core changes, inner trips counted."""
        units = [unit_of(op) for op in block.ops if runs(op)]
        inner = [op for op in block.ops if isinstance(op, scf.ForOp)]
        here = sum(1 for _ in groupby(units))
        return here + sum(self._trips(op) * self._stages(op.body.block) for op in inner)

    def _block(self, block: Block) -> Sides:
        found = Sides()
        for op in block.ops:
            found = found.then(self._op(op))
        return found

    def _op(self, op: Operation) -> Sides:
        match op:
            case MatmulOp() | ScaledMmOp():
                return self._product(op).then(self._around(op))
            case scf.ForOp():
                return self._block(op.body.block).repeated(self._trips(op))
            case scf.IfOp():
                blocks = [block for region in op.regions for block in region.blocks]
                return max(map(self._block, blocks), key=lambda sides: sides.both)
            case AssembleOp():
                if op.source.owner in self.body.drained:
                    return Sides()
                return self._vector(
                    transfer_cycles(
                        self.body.machine, "ub", "gm", [self._bytes(op.source)]
                    )
                )
            case _ if op in self.body.sums.additions:
                return Sides()
            case _ if unit_of(op) == "vector":
                return self._compute(op)
            case _ if unit_of(op) == "index":
                return self._gather(op)
            case _:
                return Sides()

    def _vector(self, cycles: float) -> Sides:
        seconds = cycles / self.body.machine.clock_hz
        return Sides(vector=seconds, both=seconds)

    def _trips(self, loop: scf.ForOp) -> int:
        """How often a loop runs; as often as a dynamic size asks that stands in."""
        shapes = self.body.shapes
        bounds = [shapes.expr(bound) for bound in (loop.lb, loop.ub, loop.step)]
        lower, upper, step = (standing_in(bound) for bound in bounds)
        return max(ceil((upper - lower) / max(step, 1)), 1)

    def _product(self, op: Product) -> Sides:
        """A product in one task: of one wave."""
        body, tile = self.body, self.tiles[op]
        machine, size = body.machine, body.sizes[op.result]
        c = body.contraction(op)
        work = CubeWork(
            c,
            size.most_rows,
            size.most_columns,
            UNKNOWN_SIZE if c.k is None else max(c.k, 1),
            result=c.accumulator,
            on_chip=op not in body.drained and machine.has_route("l0c", "ub"),
        )
        costs = estimate(Tiles.all_of([tile], ROW), work, machine)
        whole = float(costs.core_seconds[0])
        loads = float(costs.mte2[0]) / machine.clock_hz
        near = [body.is_tile(v) or v in self.kept for v in (op.lhs, op.rhs)]
        others = max(float(costs.mte1[0]), float(costs.m[0])) + float(costs.fix[0])
        if all(near):
            return of_cube(min(whole, others / machine.clock_hz))
        shares = [work.m * element_bits(c.lhs), work.n * element_bits(c.rhs)]
        loaded = sum(s for s, is_near in zip(shares, near, strict=True) if not is_near)
        spared = loads * (1 - loaded / sum(shares))
        return of_cube(max(whole - spared, others / machine.clock_hz))

    def _around(self, op: Product) -> Sides:
        """What a product hands over through memory, where cores meet only there."""
        machine, found = self.body.machine, Sides()
        crossing: list[tuple[SSAValue, str, str]] = []
        if not machine.has_route("ub", "l1"):
            made = [value for value in (op.lhs, op.rhs) if self.body.is_tile(value)]
            crossing += [(value, "ub", "gm") for value in made]
            crossing += [(value, "gm", "l1") for value in made]
        leaves = op not in {*self.body.drained, *self.body.sums.products}
        if leaves and not machine.has_route("l0c", "ub"):
            crossing.append((op.result, "gm", "ub"))  # the product stores it
        for value, source, dest in crossing:
            size, bits = self.body.sizes[value], element_bits(element_type(value))
            whole = size.most_rows * size.most_columns * bits / 8
            cycles = transfer_cycles(machine, source, dest, [whole])
            found = found.then(of_cube(cycles / machine.clock_hz))
        return found

    # -- vector ops

    def _windows(self) -> Sides:
        """What vector ops load."""
        body = self.body
        sizes = [self._bytes(value) for value in body.sizes if not body.is_tile(value)]
        return self._vector(transfer_cycles(body.machine, "gm", "ub", sizes))

    def _compute(self, op: Operation) -> Sides:
        body = self.body
        values = [v for v in (*tensor_operands(op), *op.results) if v in body.sizes]
        widest = max(map(self._bytes, values), default=0.0)
        pieces = max((self._pieces(value) for value in values), default=1)
        name = costed_as(op)
        cycles = pieces * op_cycles(body.machine, name, widest / pieces)
        return self._vector(cycles + self._crossing(op))

    def _crossing(self, op: Operation) -> float:
        """Cycles until what products read of the results is in L1."""
        body = self.body
        crossing = [
            self._bytes(result)
            for result in op.results
            if any(isinstance(by, Product) for by in body.columns.readers(result))
        ]
        if not crossing or not body.machine.has_route("ub", "l1"):
            return 0.0
        return transfer_cycles(body.machine, "ub", "l1", crossing)

    def _gather(self, op: Operation) -> Sides:
        """Reading rows that lie apart, a row of each piece at a time."""
        (result,) = op.results
        machine, pieces = self.body.machine, self._pieces(result)
        rows = ceil(self.body.sizes[result].most_rows / HALVES)
        apart = rows * machine.memory.row_overhead_bytes
        sizes = [self._bytes(result) / pieces + apart] * pieces
        cycles = transfer_cycles(machine, "gm", "ub", sizes)
        return self._vector(cycles + self._crossing(op))

    def _pieces(self, value: SSAValue) -> int:
        size = self.body.sizes[value]
        width = self.widths.get(size.columns, size.most_columns)
        return ceil(size.most_columns / width)

    def _bytes(self, value: SSAValue) -> float:
        """Of a core's share of a tile."""
        size = self.body.sizes[value]
        rows = size.most_rows
        if self.body.unit == Unit.MIXED and size.rows != ONE:
            rows = ceil(rows / HALVES)
        return rows * size.most_columns * element_bits(element_type(value)) / 8


def of_cube(seconds: float) -> Sides:
    """Work of the cube core alone."""
    return Sides(cube=seconds, both=seconds)


def runs(op: Operation) -> bool:
    """Whether an op is work of a core."""
    return unit_of(op) is not None and not isinstance(op, AssembleOp)


def standing_in(size: Expr) -> int:
    """A bound of a loop as a number: what is not known is `UNKNOWN_SIZE`."""
    if size.is_const:
        return size.value
    try:
        return size.evaluate(dict.fromkeys(size.symbols(), UNKNOWN_SIZE))
    except (OverflowError, ZeroDivisionError):
        return UNKNOWN_SIZE
