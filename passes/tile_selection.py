"""
Putting the elements of rows in order: the tasks of top-k and argsort.

    %v, %i = pypto.topk %x k 8 axis -1
    ->
    %v, %i = npu.tasks (%r) in (..) outs(%v0, %i0) on vector {
      %b, %p = scf.for %c = 0 to L step 2048 iter_args(%b0 = full 0, %p0 = full -1) {
        %t = pypto.view %x[.., %c +: %n]
        npu.topk %t from %c of %L into %b0, %p0
      }
      npu.assemble %b into %v0[..] ; npu.assemble %p into %i0[..]
    }

Lists that UB has no room for are made in parts, in a loop around that: each takes the
first elements `after` those of the part before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Attribute, SSAValue

from pyptoc.dialects.expr import ZERO, Expr
from pyptoc.dialects.npu_indexing import TopkOp as MergeOp
from pyptoc.dialects.pypto.elementwise import LtOp, WhereOp
from pyptoc.dialects.pypto.indexing import ArgsortOp, TopkOp
from pyptoc.dialects.pypto.shape import ExpandOp, FullOp
from pyptoc.dialects.record import record
from pyptoc.dialects.selection import NOTHING_BEFORE, options_of
from pyptoc.dialects.subscripts import Mixed
from pyptoc.passes.index_shapes import Selection, selected
from pyptoc.passes.index_tiles import kept_at_once
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import is_one
from pyptoc.passes.task_builder import (
    SINGLE,
    BodyBuilder,
    Extent,
    bounded_type,
    cut,
)
from pyptoc.passes.typed import constant, element_type

Store = Callable[[BodyBuilder, SSAValue, SSAValue, Sequence[Extent]], None]
Lists = tuple[SSAValue, SSAValue]
"""Values and indices."""


@record(frozen=False)
class SelectionBody:
    """The body of the tasks of a selection: lists merged with tile after tile."""

    op: Selection
    shapes: Shapes
    used: Sequence[SSAValue]
    """The results that somebody uses."""
    store: Store
    """Stores a tile of a result at extents."""
    outer: Sequence[Extent]
    """The extents of all dimensions but the last."""
    columns: int
    """How many columns are merged at once."""

    def __post_init__(self) -> None:
        self.element = element_type(self.op.source)
        self.total = self.shapes.dims(self.op.source)[-1]
        self.rows = self.outer[-1] if self.outer else SINGLE

    def run(self, body: BodyBuilder) -> None:
        """The lists of the rows of one task."""
        count = selected(self.shapes, self.op)[-1]
        step = kept_at_once(self.op, self.shapes)
        if count.is_const and count.value <= step:
            if count.value:
                self._part(body, Extent(ZERO, count, count.value))
            return
        divides = count.is_const and count.value % step == 0
        size = Expr.const(step) if divides else Expr.sym("the size of a part")
        first = Extent(ZERO, size, step)
        before = self._lists(body, first, step, NOTHING_BEFORE)
        loop, inner = body.loop(ZERO, count, step, before, name="p")
        start, *lists = loop.body.block.args
        made = self._part(inner, cut(Expr.sym(start), step, count), lists)
        inner.build.yield_(*made)

    def _part(
        self, body: BodyBuilder, kept: Extent, after: Sequence[SSAValue] = ()
    ) -> Lists:
        """Make and store the lists of the elements `kept`."""
        lists = self._merged(body, kept, after)
        extents = [*self.outer, kept]
        values, indices = self._padded(body, *lists)
        if isinstance(self.op, TopkOp):
            self.store(body, self.op.values, values, extents)
            self.store(body, self.op.indices, indices, extents)
        else:
            self.store(body, self.op.result, indices, extents)
        return lists

    def _lists(self, body: BodyBuilder, kept: Extent, size: Mixed, index: int) -> Lists:
        """Lists of one index in all places."""
        box = [*self.outer, kept][-2:]
        sizes = [body.index(self.rows.size), size]
        values = full(
            body, constant(0, self.element), bounded_type(box, self.element), sizes
        )
        return values, full(body, constant(index, i32), bounded_type(box, i32), sizes)

    def _merged(
        self, body: BodyBuilder, kept: Extent, after: Sequence[SSAValue]
    ) -> Lists:
        """The lists of the elements `kept`, of the whole row."""
        lists = self._lists(body, kept, body.index(kept.size), -1)
        lengths, total = self._lengths(body), self.total
        if total.is_const and 0 < total.value <= self.columns:
            whole = Extent(ZERO, total, total.value)
            return self._merge(body, whole, lists, lengths, after)
        loop, inner = body.loop(ZERO, total, self.columns, lists, name="c")
        start, held, places = loop.body.block.args
        part = cut(Expr.sym(start), self.columns, total)
        merged = self._merge(inner, part, (held, places), lengths, after)
        inner.build.yield_(*merged)
        return loop.results[0], loop.results[1]

    def _merge(
        self,
        body: BodyBuilder,
        part: Extent,
        lists: Lists,
        lengths: SSAValue | None,
        after: Sequence[SSAValue],
    ) -> Lists:
        """The lists with a tile of columns."""
        op = self.op
        tile = body.tile(op.source, [*self.outer, part])
        least = 0
        if isinstance(op, TopkOp) and op.pad_index is None and lengths is not None:
            least = op.k.value.data
        ascending = isinstance(op, ArgsortOp) and op.descending is None
        merge = MergeOp.of(
            tile,
            [body.index(part.lo), body.index(self.total)],
            lists,
            options_of(ascending=ascending, at_least=least),
            lengths=lengths,
            after=after,
            result_types=[value.type for value in lists],
        )
        values, indices = body.build.emit(merge)
        return values, indices

    def _lengths(self, body: BodyBuilder) -> SSAValue | None:
        """The lengths of the rows of a tile, one for each row."""
        op = self.op
        if not isinstance(op, TopkOp) or op.lengths is None:
            return None
        dims = self.shapes.dims(op.lengths)
        aligned = list(self.outer)[len(self.outer) - len(dims) :]
        extents = [
            SINGLE if is_one(dims, axis) else extent
            for axis, extent in enumerate(aligned)
        ]
        lengths = body.tile(op.lengths, extents)
        if self.rows.bound == 1 or (extents and extents[-1] is self.rows):
            return lengths
        type_ = bounded_type([self.rows], element_type(op.lengths))
        return body.build.value(
            ExpandOp.make(lengths, [body.index(self.rows.size)], result_type=type_)
        )

    def _padded(self, body: BodyBuilder, values: SSAValue, indices: SSAValue) -> Lists:
        """Places without an element get the pad's value and index."""
        op = self.op
        if not isinstance(op, TopkOp) or op.pad_index is None:
            return values, indices
        pad = op.pad_index.value.data
        needs_values = op.values in self.used
        if not needs_values and pad == -1:
            return values, indices
        none = body.build.value(LtOp.make(indices, 0))
        if needs_values:
            value = float("-inf") if op.pad_value is None else op.pad_value.value.data
            chosen = WhereOp.make(none, constant(value, self.element), values)
            values = body.build.value(chosen)
        if pad != -1:
            indices = body.build.value(WhereOp.make(none, pad, indices))
        return values, indices


def full(
    body: BodyBuilder,
    value: Attribute,
    type_: TensorType[Attribute],
    sizes: Sequence[Mixed],
) -> SSAValue:
    """A tile of one value."""
    shape = type_.get_shape()
    given = list(sizes)[len(sizes) - len(shape) :]
    mixed = [
        static if static >= 0 else size
        for static, size in zip(shape, given, strict=True)
    ]
    return body.build.value(FullOp.make(value, mixed, result_type=type_))
