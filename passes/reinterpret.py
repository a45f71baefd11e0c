"""
Views that read bytes as another type become plain views of reinterpreted memory.

    %row = pypto.view %cache[%i, :]                     : tensor<656xi8>
    %r = pypto.view %row[512 +: 128] to bf16            : tensor<64xbf16>
    ->
    %c = pypto.reinterpret %cache to bf16               : tensor<?x328xbf16>, at the top
    %v = pypto.view %c[%i, :]                           : tensor<328xbf16>
    %r = pypto.view %v[256 +: 64]                       : tensor<64xbf16>

so that consumers look through views as ever, and read the bytes where they are. The
bytes are copied first only where they do not lie so: behind a transpose, or in a view
that does not certainly start at a multiple of the type's size.
"""

from __future__ import annotations

from dataclasses import field

from xdsl.dialects import func
from xdsl.ir import Attribute, Block, OpResult, SSAValue

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.brackets import element_of
from pyptoc.dialects.pypto.infer import Site, dims_of
from pyptoc.dialects.pypto.infer_shape import element_bytes, reinterpret
from pyptoc.dialects.pypto.scalars import DimOp
from pyptoc.dialects.pypto.shape import CloneOp, ReinterpretOp, TransposeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed
from pyptoc.passes.builder import Builder
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.structured import outside_tasks
from pyptoc.passes.task_form import replace_op
from pyptoc.passes.typed import as_expr, tensor_type


def split_views(function: func.FuncOp) -> None:
    """Rewrite every view and reinterpretation of one function."""
    views = Reinterpreting()
    for op in list(outside_tasks(function)):
        if isinstance(op, ViewOp) and op.target is not None:
            base = views.bytes_of(op.source, op.target)
            type_, build = op.results[0].type, Builder.before(op)
            replace_op(op, part_of(op, base, op.target, type_, build))
        elif isinstance(op, ReinterpretOp):
            op.results[0].replace_all_uses_with(views.bytes_of(op.source, op.target))
            op.detach()
            op.erase()


@record(frozen=False)
class Reinterpreting:
    """The values that were made of others so far, by the type of their elements."""

    shapes: Shapes = field(default_factory=Shapes)
    known: dict[tuple[SSAValue, Attribute], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Attribute], SSAValue]
    )

    def bytes_of(self, value: SSAValue, target: Attribute) -> SSAValue:
        """All of `value` as elements of `target`; it stands next to `value`."""
        found = self.known.get((value, target))
        if found is None:
            found = self.known[value, target] = self._make(value, target)
            found.name_hint = value.name_hint
        return found

    def _make(self, value: SSAValue, target: Attribute) -> SSAValue:
        owner = value.owner
        if isinstance(owner, ViewOp) and self._is_aligned(owner, target):
            base = self.bytes_of(owner.source, target)
            dims = dims_of(tensor_type(value))
            type_ = reinterpret(Site("view"), tensor_type(value), target, dims)
            build = Builder.after(owner)
            return build.value(part_of(owner, base, target, type_, build))
        build = place_behind(value)
        if isinstance(owner, ViewOp | TransposeOp):
            value = build.value(CloneOp.make(value), value.name_hint)
        return build.value(ReinterpretOp.make(value, target))

    def _is_aligned(self, view: ViewOp, target: Attribute) -> bool:
        """Whether rows of `view` surely start at elements of `target`."""
        rank = len(view.mixed_offsets)
        if view.target is not None or rank - 1 in view.dropped_dims:
            return False
        starts = [self.shapes.mixed(view.mixed_offsets[-1])]
        if rank > 1:
            starts.append(self.shapes.dims(view.source)[-1])
        have = element_bytes(element_of(view.source.type))
        want = element_bytes(target)
        return all((n * have).mod(want) == Expr.const(0) for n in starts)


def part_of(
    view: ViewOp,
    base: SSAValue,
    target: Attribute,
    type_: Attribute,
    build: Builder,
) -> ViewOp:
    """The bytes that `view` selects, as a view of `base`: its source as `target`."""
    have, want = element_bytes(element_of(view.source.type)), element_bytes(target)

    def scaled(item: Mixed) -> Mixed:
        return build.index_or_int((as_expr(item) * have).floordiv(want))

    dropped = set(view.dropped_dims)
    last = len(view.mixed_offsets) - 1
    subscripts: list[object] = []
    entries = zip(view.mixed_offsets, view.mixed_sizes, strict=True)
    for axis, (offset, size) in enumerate(entries):
        if axis in dropped:
            subscripts.append(offset)
        elif size is None:
            subscripts.append(None)
        elif axis == last:
            subscripts.append((scaled(offset), scaled(size)))
        else:
            subscripts.append((offset, size))
    new = ViewOp.make(base, subscripts, result_type=type_)
    new.location = view.location
    return new


def place_behind(value: SSAValue) -> Builder:
    """Right behind the definition of `value`; in a function behind its sizes."""
    if isinstance(value, OpResult):
        return Builder.after(value.op)
    block = value.owner
    assert isinstance(block, Block)
    first = next(op for op in block.ops if not isinstance(op, DimOp))
    return Builder.before(first)
