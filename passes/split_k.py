"""
The K loop of a matmul task becomes a grid axis; consumers add the partial sums.

    %y = npu.tasks (%i, %j) in (..) outs(%o = %y0 : tensor<?x512xf32>) on cube {
      %acc = scf.for %k = 0 to 512 step 256 ... ; npu.assemble %acc into %o[..] }
    npu.tasks .. on vector { %v = pypto.view %y[..] ... }
    ->
    %p = npu.tasks (%i, %j, %s) in (.., 2) outs(%o = %p0) on cube {
      %acc = scf.for %k = 256 * %s to min(512, 256 * %s + 256) step 256 ... ;
      npu.assemble %acc into %o[%s, ..] }
    npu.tasks .. on vector {
      %v0 = pypto.view %p[0, ..]
      %v = pypto.add %v0, (pypto.view %p[1, ..]) ... }   (more parts: a loop)

The sum runs from the first part to the last, so a result does not depend on which task
finished first. Where the result is used by anything but the views of vector tasks, a
task that adds the parts comes in between. That is the strategy `workspace`; with
`atomic` (`split_k = 2 atomic` in the tile, or the option) the parts are added where the
result is, in any order: a result in f32 may differ from run to run.

    %z = npu.tasks .. outs(%o = %y0) on vector { npu.assemble (zeros) into %o[..] }
    %y = npu.tasks (%i, %j, %s) in (.., 2) outs(%o = %z) on cube {
      .. ; npu.assemble %acc into %o[..] {combine = "add"} }

The factor is the one in `npu.tile`, or the option's, or less where that would leave a
part without a step (4 steps in 3 parts are 2, 2 and none). The pass refuses, with a
remark, where the matmul adds onto a given tensor, or where one task has no loop over K.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.expr import Expr, minimum
from pyptoc.dialects.npu import AssembleOp, TasksOp
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.pypto.attrs import CubeTileAttr, VecTileAttr
from pyptoc.dialects.pypto.elementwise import AddOp
from pyptoc.dialects.pypto.shape import CloneOp, EmptyOp, FullOp, TransposeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.dialects.words import counted
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.builder import Builder
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.groups import Group, domain_of
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import enclosing
from pyptoc.passes.task_builder import Roots
from pyptoc.passes.task_form import replace_op
from pyptoc.passes.tile_settings import TILE
from pyptoc.passes.typed import constant, element_type

ATOMIC = "atomic"
STRATEGIES = ("workspace", ATOMIC)


@dataclass(frozen=True)
class SplitKPass(PyptocPass):
    """Split the K loops of the cube tasks that ask for it."""

    name = "split-k"
    anchor: ClassVar[str] = "func.func"
    summary: ClassVar[str] = "spread the K loop of a matmul over tasks, sum the parts"
    counters: ClassVar[Mapping[str, str]] = {
        "split": "products whose K is spread over tasks",
    }
    reorders_float_sums: ClassVar[bool] = True

    factor: int | None = None
    """Split every matmul into so many parts instead (1: none)."""

    strategy: str | None = None
    """How parts become a sum: `workspace` or `atomic`; by default as the tile says."""

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        if self.factor is not None and self.factor < 1:
            error(
                None,
                "PTO504",
                f"split-k{{factor={self.factor}}}: K has at least one part",
                rule="a split factor is a whole number of at least 1",
                help="split-k{factor=2}; without a factor the tiles decide",
            )
        if self.strategy not in (None, *STRATEGIES):
            error(
                None,
                "PTO504",
                f"split-k{{strategy={self.strategy}}}: there is no such strategy",
                rule=f"a strategy is one of {', '.join(STRATEGIES)}",
                help=f"split-k{{strategy={ATOMIC}}}; without one the tiles decide",
            )
        errors = ErrorList()
        for function in list(module.walk()):
            if not isinstance(function, func.FuncOp):
                continue
            roots = Roots(function)
            for tasks in list(function.walk()):
                if isinstance(tasks, TasksOp) and not tasks.is_memory_form:
                    with errors.kept():
                        self._split(ctx, tasks, roots)
            erase_dead(function)
        errors.check()

    def _split(self, ctx: PyptocContext, tasks: TasksOp, roots: Roots) -> None:
        if tasks.unit.data == Unit.CUBE:
            factor = self.factor or factor_of(tasks)
            if factor > 1:
                atomic = self.strategy == ATOMIC or (
                    self.strategy is None and is_atomic(tasks)
                )
                SplitK(ctx, tasks, factor, roots, atomic).run()
        elif tasks.unit.data == Unit.MIXED and (self.factor or 1) > 1:
            ctx.remark(tasks, "not split over K: its sums are read on chip", "PTO327")


def factor_of(tasks: TasksOp) -> int:
    """The split factor that infer-tiles decided."""
    tile = tasks.attributes.get(TILE)
    return tile.split_k if isinstance(tile, CubeTileAttr) else 1


def is_atomic(tasks: TasksOp) -> bool:
    """Whether the tile says that parts are added where the result is."""
    tile = tasks.attributes.get(TILE)
    return isinstance(tile, CubeTileAttr) and tile.atomic


@record(frozen=False)
class SplitK:
    """Splits one cube tasks op."""

    context: PyptocContext
    tasks: TasksOp
    factor: int
    roots: Roots
    atomic: bool = False

    def __post_init__(self) -> None:
        self.shapes = Shapes()

    def run(self) -> None:
        """Split, unless the destination or the element type forbids it."""
        if self._k_loop() is None:
            self.context.remark(
                self.tasks, "not split over K: a task has it in L1", "PTO327"
            )
            return
        start = self.shapes.expr(self._loop().lb)
        if not start.is_const or start.value:
            return  # it is split already
        initial = self.tasks.outs[0]
        fresh = isinstance(initial, OpResult) and isinstance(initial.op, EmptyOp)
        if not fresh or not initial.has_one_use():
            self.context.remark(
                self.tasks,
                "not split over K: the result goes into a given tensor",
                "PTO327",
            )
            return
        if not self._drop_empty_parts():
            return
        self._check_type()
        self._check_result()
        self.context.count("split")
        if self.atomic:
            filled = self._fill(initial)
            index = self._split_loop()
            replace_op(self.tasks, self._with_parts(filled, ()))
            return
        self._combine_for_others()
        parts = self._parts_destination(initial)
        index = self._split_loop()
        self._replace(self._with_parts(parts, (index,)))

    def _drop_empty_parts(self) -> bool:
        """Reduce the factor until each part has a step; whether two are left."""
        total = self.shapes.expr(self._loop().ub)
        if not total.is_const:
            return True  # the bounds of a part are clamped, an empty one reads nothing
        steps = -(-total.value // self.shapes.expr(self._loop().step).value)
        longest = -(-steps // self.factor)
        parts = -(-steps // longest) if longest else 0
        if parts < self.factor:
            self.context.remark(
                self.tasks,
                f"split over K in {parts}, not {self.factor}: K is "
                f"{counted(steps, 'step')}, "
                f"and the longest part has {longest} either way",
                "PTO327",
            )
        self.factor = parts
        return parts > 1

    def _k_loop(self) -> scf.ForOp | None:
        """The K loop of the tasks, the outermost one; None if there is none."""
        loops = (op for op in self.tasks.body.walk() if isinstance(op, scf.ForOp))
        return next((loop for loop in loops if loop.iter_args), None)

    def _loop(self) -> scf.ForOp:
        loop = self._k_loop()
        assert loop is not None
        return loop

    def _check_result(self) -> None:
        """What is done to a sum once is not done to each of its parts."""
        loop = self._loop()
        stored = next(op for op in self.tasks.body.walk() if isinstance(op, AssembleOp))
        starts = loop.iter_args[0].owner
        if stored.source in loop.results and isinstance(starts, FullOp):
            return
        error(
            self.tasks,
            "PTO214",
            "split-k of a product with a bias, an output scale, relu or a cast",
            rule="with split_k the parts are added before anything is done to the sum",
            help="leave out the factor: the tiles decide for each product",
        )

    def _fill(self, initial: SSAValue) -> SSAValue:
        """The destination, filled with zeros by tasks before these."""
        type_ = initial.type
        dims = self.shapes.dims(initial)
        build = Builder.before(self.tasks)
        sizes = [build.index_or_int(self.roots.concrete(dim)) for dim in dims]
        zero = constant(0, element_type(initial))
        fill = FullOp.make(zero, sizes, result_type=type_)
        filled = build.value(fill, self.tasks.results[0].name_hint)
        self.tasks.operands[self.tasks.operands.index(initial)] = filled
        self._as_tasks(fill)
        return self.tasks.outs[0]

    def _check_type(self) -> None:
        name = str(element_type(self.tasks.outs[0]))
        if name not in ("f32", "i32"):
            error(
                self.tasks,
                "PTO214",
                f"split-k with a result of {name}",
                rule="partial sums over K are added in f32 or i32",
                help=f"cast to {name} in an op of its own, and leave out the pass "
                "fuse-epilogue, which lets the store do it",
            )

    def _parts_destination(self, initial: SSAValue) -> SSAValue:
        """`empty[factor, ..]` in place of the tasks' destination."""
        empty = initial.owner
        assert isinstance(empty, EmptyOp)
        type_ = cast("TensorType[Attribute]", empty.results[0].type)
        shape = [self.factor, *type_.get_shape()]
        build = Builder.before(self.tasks)
        new = EmptyOp.make(
            [self.factor, *empty.mixed_sizes],
            result_type=TensorType(type_.element_type, shape),
        )
        return build.value(new)

    def _split_loop(self) -> SSAValue:
        """Bound the K loop by the part's index, a new last grid axis."""
        tasks = self.tasks
        index = tasks.block.insert_arg(IndexType(), tasks.rank)
        index.name_hint = "part"
        loop = self._loop()
        build = Builder.before(loop)
        total = self.roots.concrete(self.shapes.expr(loop.ub))
        step = self.shapes.expr(loop.step).value
        chunk = total.ceildiv(step).ceildiv(self.factor) * step
        start = Expr.sym(index) * chunk
        loop.operands[0] = build.index(minimum(total, start))
        loop.operands[1] = build.index(minimum(total, start + chunk))
        return index

    def _with_parts(self, parts: SSAValue, leading: Sequence[SSAValue]) -> TasksOp:
        """
        The tasks with one more axis.

        A part is assembled into `parts` at `leading`, or added to what is there.
        """
        tasks = self.tasks
        out = tasks.block.args[-1]
        combine = None if leading else "add"
        for op in list(tasks.body.walk()):
            if isinstance(op, AssembleOp):
                offsets = [*leading, *op.mixed_offsets]
                new = AssembleOp.make(op.source, out, offsets, combine)
                new.location = op.location
                replace_op(op, new)
        out._type = parts.type  # pyright: ignore[reportPrivateUsage]
        return TasksOp.make(
            [*tasks.grid, self.factor],
            Unit.CUBE,
            outs=[parts],
            body=tasks.detach_region(tasks.body),
            attributes=dict(tasks.attributes),
            location=tasks.location,
        )

    def _replace(self, split: TasksOp) -> None:
        """Put the split tasks in place and sum the parts where the result is read."""
        replace_op(self.tasks, split)
        for use in list(split.results[0].uses):
            view = use.operation
            assert isinstance(view, ViewOp)
            self._sum_of_views(view)

    def _sum_of_views(self, view: ViewOp) -> None:
        build = Builder.before(view)
        type_ = view.results[0].type
        first = build.value(self._part(view, 0))
        if self.factor == 2:
            second = build.value(self._part(view, 1))
            total = build.value(AddOp.make(first, second, result_type=type_))
        else:
            loop, inner = build.loop(1, self.factor, 1, [first])
            part = inner.value(self._part(view, loop.body.block.args[0]))
            add = AddOp.make(loop.body.block.args[1], part, result_type=type_)
            inner.yield_(inner.value(add))
            total = loop.results[0]
        view.results[0].replace_all_uses_with(total)
        view.detach()
        view.erase()

    def _part(self, view: ViewOp, index: int | SSAValue) -> ViewOp:
        subscripts: list[object] = [index]
        sizes = view.mixed_sizes
        for axis, offset in enumerate(view.mixed_offsets):
            dropped = axis in view.dropped_dims
            subscripts.append(offset if dropped else (offset, sizes[axis]))
        return ViewOp.make(view.source, subscripts, result_type=view.results[0].type)

    def _combine_for_others(self) -> None:
        """Put a task that copies the result between it and uses that are no views."""
        result = self.tasks.results[0]
        others = [use for use in result.uses if not reads_in_task(use.operation)]
        if not others:
            return
        build = Builder.after(self.tasks)
        clone = CloneOp.make(result)
        copy = build.value(clone)
        copy.name_hint = result.name_hint
        for use in others:
            use.operation.operands[use.index] = copy
        self._as_tasks(clone)

    def _as_tasks(self, op: CloneOp | FullOp) -> None:
        """Vector tasks in the place of one op."""
        from pyptoc.passes.tile_vector import VectorTiler
        from pyptoc.passes.vector_tiles import VectorChooser

        group = Group(0, "vector", [op])
        domain = domain_of([op], self.shapes)
        assert domain is not None
        machine = self.context.machine
        tile = VectorChooser(group, domain, self.shapes, machine).choose(None)
        assert tile is not None
        op.attributes[TILE] = VecTileAttr([tile.rows, tile.columns])
        tiler = VectorTiler(group, self.shapes, self.roots, Builder.after(op))
        frame = tiler.run()
        frame.op.attributes["tag"] = StringAttr("split_k")
        op.detach()
        op.erase()


def reads_in_task(op: Operation) -> bool:
    """Whether `op` is a view in the body of a vector task, and is not transposed."""
    tasks = enclosing(op, TasksOp)
    if not isinstance(op, ViewOp) or tasks is None or tasks.unit.data != Unit.VECTOR:
        return False
    users = (use.operation for use in op.results[0].uses)
    return not any(isinstance(user, TransposeOp) for user in users)
