"""
Row-wise readers of a product that a loop makes move into the loop.

    %y = scf.for %e = .. iter_args(%o = empty[M, N]) {          {npu.parallel}
      %p = pypto.matmul %x, %w                   rows [begin, begin + rows) of %y
      yield (pypto.assemble %p into %o[%begin, 0])
    }
    %z = pypto.exp %y
    ->
    %z = scf.for %e = .. iter_args(%o = empty[M, N]) {
      %p = pypto.matmul %x, %w
      %q = pypto.exp %p
      yield (pypto.assemble %q into %o[%begin, 0])
    }

An op of a row needs nothing of other rows, so it may run where its rows are made. The
iterations are independent: what they store is apart, as it was. An element that no
iteration stores is undefined before and after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.parallel import is_parallel
from pyptoc.dialects.pypto.matmul import Product
from pyptoc.dialects.pypto.shape import AssembleOp, EmptyOp, ReshapeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.groups import NARROW, PARTIAL, Group
from pyptoc.passes.repeat import REPEATS
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import defined_before, is_one, tensor_operands
from pyptoc.passes.typed import element_type, tensor_type, values_in
from pyptoc.passes.windows import Window, erase_views, window_of


@record
class Made:
    """What an iteration of a loop makes of a tensor: a product, stored at its rows."""

    loop: scf.ForOp
    index: int
    """Of the result, and of the carried value."""
    store: AssembleOp
    product: Product


def made_in_loop(base: SSAValue, shapes: Shapes) -> Made | None:
    """How a parallel loop makes `base` of a product's rows; None if it does not."""
    if not isinstance(base, OpResult) or not isinstance(base.op, scf.ForOp):
        return None
    loop, index = base.op, base.index
    end = loop.body.block.last_op
    assert end is not None
    store = end.operands[index].owner
    argument = loop.body.block.args[index + 1]
    if not is_parallel(loop) or not isinstance(store, AssembleOp):
        return None
    initial, product = loop.iter_args[index], store.source.owner
    good = (
        store.dest is argument
        and argument.has_one_use()
        and store.result.has_one_use()
        and isinstance(initial.owner, EmptyOp)
        and initial.has_one_use()
        and isinstance(product, Product)
        and store.source.has_one_use()
        and product.parent is loop.body.block
    )
    if not good or not isinstance(product, Product):
        return None
    offsets = list(map(shapes.mixed, store.mixed_offsets))
    whole = shapes.dims(store.source)[1:] == shapes.dims(store.dest)[1:]
    if len(offsets) != 2 or not whole or offsets[1] != Expr.const(0):
        return None
    return Made(loop, index, store, product)


def made_by_loops(group: Group, shapes: Shapes) -> dict[SSAValue, Made]:
    """What `group` reads that loops make of products."""
    found: dict[SSAValue, Made] = {}
    for op in group.ops:
        for value in tensor_operands(op):
            base = window_of(value, shapes).base
            made = made_in_loop(base, shapes)
            if made is not None:
                found[base] = made
    return found


@record(frozen=False)
class Sink:
    """Moves a group of row-wise ops into the loop that makes what it reads."""

    group: Group
    made: Mapping[SSAValue, Made]
    shapes: Shapes
    copies: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    moved: list[Operation] = field(default_factory=list[Operation])
    """The ops in the loop."""

    def __post_init__(self) -> None:
        first = next(iter(self.made.values()))
        self.loop, self.store = first.loop, first.store
        self.total = self.shapes.dims(next(iter(self.made)))[0]

    # -- whether it may

    def obstacle(self) -> str | None:
        """Why the ops cannot move into the loop; None if they can."""
        if any(made.loop is not self.loop for made in self.made.values()):
            return "it reads what several loops make"
        stores = [made.store for made in self.made.values()]
        offsets = {self.shapes.mixed(store.mixed_offsets[0]) for store in stores}
        rows = {self.shapes.dims(store.source)[0] for store in stores}
        if len(offsets) > 1 or len(rows) > 1:
            return "the products have different rows"
        if is_one((self.total,), 0):
            return "there is one row only"
        for op in self.group.ops:
            reason = self._op_obstacle(op)
            if reason is not None:
                return f"'{op.name}' {reason}"
        return None

    def _op_obstacle(self, op: Operation) -> str | None:
        partial = PARTIAL in op.attributes
        if type(op) in REPEATS and not partial:
            return "depends on where its rows lie"
        if op.regions:
            return "has a body"
        for value in [op.operands[0]] if partial else op.operands:
            reason = self._operand_obstacle(value)
            if reason is not None:
                return reason
        return None

    def _operand_obstacle(self, value: SSAValue) -> str | None:
        if value.owner in self.group.ops:
            return None
        window = self._window(value)
        if window is not None and window.base in self.made:
            whole = window.offsets[0] == Expr.const(0) and window.dims == (0, 1)
            if not whole or self.shapes.dims(value)[0] != self.total:
                return "reads other rows than its own"
            known = all(
                defined_before(v, self.loop) for v in values_in(window.offsets[1])
            )
            return None if known else "reads columns that are chosen behind the loop"
        if not defined_before(value, self.loop) and not self._rises(value):
            return "reads what is made behind the loop"
        if isinstance(value.type, TensorType) and self._row_axis(value) is None:
            return "reads a tensor of other rows"
        return None

    def _rises(self, value: SSAValue) -> bool:
        """Whether it is a reshape that can stand in front of the loop.

        One that only adds or drops dimensions of 1 has nothing that must be checked.
        """
        op = value.owner
        if not isinstance(op, ReshapeOp) or op.parent is not self.loop.parent:
            return False
        source, result = (
            [dim for dim in self.shapes.dims(v) if dim != Expr.const(1)]
            for v in (op.source, value)
        )
        return source == result and all(
            defined_before(v, self.loop) for v in op.operands
        )

    def _window(self, value: SSAValue) -> Window | None:
        if not isinstance(value.type, TensorType):
            return None
        return window_of(value, self.shapes)

    def _row_axis(self, value: SSAValue) -> bool | None:
        """Whether `value` has the rows of the group; None if it has other ones."""
        dims = self.shapes.dims(value)
        if len(dims) < 2 or is_one(dims, -2):
            return False
        return True if len(dims) == 2 and dims[0] == self.total else None

    # -- the rewrite

    def apply(self) -> list[Operation]:
        """Move; the ops as they are in the loop."""
        block = self.loop.body.block
        end = block.last_op
        assert end is not None
        build = Builder.before(end)
        for op in self.group.ops:
            self._raise_operands(op)
            if PARTIAL not in op.attributes:
                self._copy(op, build)
        gone = {made.index for made in self.made.values()}
        inits = [v for i, v in enumerate(self.loop.iter_args) if i not in gone]
        yields = [v for i, v in enumerate(end.operands) if i not in gone]
        ends: list[SSAValue] = []
        for value, source, marks in self._outputs():
            inits.append(self._empty(value))
            argument = block.insert_arg(inits[-1].type, len(block.args))
            argument.name_hint = value.name_hint
            yields.append(self._stored(source, argument, build, marks))
            ends.append(value)
        end.operands = yields
        self._drop(gone, block)
        self._rebuild(inits, gone, ends)
        return self.moved

    def _raise_operands(self, op: Operation) -> None:
        """Put the reshapes that it reads in front of the loop."""
        block = self.loop.parent
        assert block is not None
        for value in op.operands:
            if self._rises(value) and not defined_before(value, self.loop):
                assert isinstance(value.owner, ReshapeOp)
                value.owner.detach()
                block.insert_op_before(value.owner, self.loop)

    def _copy(self, op: Operation, build: Builder) -> None:
        for value in op.operands:
            self._bring(value, build)
        copy = op.clone(value_mapper=self.copies)
        build.emit(copy)
        copy.location = op.location
        for old, new in zip(op.results, copy.results, strict=True):
            self.copies[old] = new
            if NARROW not in op.attributes:
                new._type = self._in_loop(old)  # pyright: ignore[reportPrivateUsage]
        self.moved.append(copy)

    def _in_loop(self, value: SSAValue) -> TensorType[Attribute]:
        """The type of `value` with the rows of one iteration."""
        if not self._row_axis(value):
            return tensor_type(value)
        rows = tensor_type(self.store.source).get_shape()[0]
        return TensorType(
            element_type(value), [rows, *tensor_type(value).get_shape()[1:]]
        )

    def _bring(self, value: SSAValue, build: Builder) -> None:
        """The rows of `value` that the iteration works on."""
        window = self._window(value)
        if value in self.copies or window is None:
            return
        rows = self.shapes.dims(self.store.source)[0]
        count = build.index_or_int(rows)
        columns = self.shapes.dims(value)
        if window.base in self.made:
            product = self.made[window.base].product.results[0]
            place: object = (
                build.index_or_int(window.offsets[1]),
                build.index_or_int(columns[1]),
            )
            source, subscripts = product, [None, place]
            if columns == self.shapes.dims(window.base):
                self.copies[value] = product
                return
        elif self._row_axis(value):
            source = value
            subscripts = [(self.store.mixed_offsets[0], count), None]
        else:
            return
        view = ViewOp.make(source, subscripts, result_type=self._in_loop(value))
        self.copies[value] = build.value(view, value.name_hint)

    def _outputs(self) -> list[tuple[SSAValue, SSAValue, Operation | None]]:
        """What leaves the group: as users see it, its source in the loop, its store."""
        found: list[tuple[SSAValue, SSAValue, Operation | None]] = []
        for value in self.group.outputs:
            op = value.owner
            if isinstance(op, AssembleOp):
                found.append((value, self.copies[op.source], op))
            else:
                found.append((value, self.copies[value], None))
        return found

    def _empty(self, value: SSAValue) -> SSAValue:
        build = Builder.before(self.loop)
        sizes = [build.index_or_int(dim) for dim in self.shapes.dims(value)]
        return build.value(EmptyOp.make(sizes, result_type=value.type), value.name_hint)

    def _stored(
        self,
        source: SSAValue,
        argument: BlockArgument,
        build: Builder,
        marks: Operation | None,
    ) -> SSAValue:
        offset = self.store.mixed_offsets[0]
        store = AssembleOp.make(source, argument, [offset, 0])
        if marks is not None:
            store.attributes.update(marks.attributes)
        self.moved.append(store)
        return build.value(store, argument.name_hint)

    def _drop(self, gone: set[int], block: Block) -> None:
        """Remove the stores of the products, and what carried them."""
        for made in self.made.values():
            made.store.detach()
            made.store.erase()
        for index in sorted(gone, reverse=True):
            block.erase_arg(block.args[index + 1])

    def _rebuild(
        self, inits: list[SSAValue], gone: set[int], ends: list[SSAValue]
    ) -> None:
        """The loop with other carried values."""
        old = self.loop
        new = scf.ForOp.create(
            operands=[old.lb, old.ub, old.step, *inits],
            result_types=[value.type for value in inits],
            regions=[old.detach_region(old.body)],
            attributes=dict(old.attributes),
        )
        new.location = old.location
        block = old.parent
        assert block is not None
        block.insert_op_before(new, old)
        kept = [r for i, r in enumerate(old.results) if i not in gone]
        for before, after in zip([*kept, *ends], new.results, strict=True):
            after.name_hint = before.name_hint
            before.replace_all_uses_with(after)
        for op in reversed(self.group.ops):
            op.detach()
            op.erase()
        erase_views(old)
        old.detach()
        old.erase()
