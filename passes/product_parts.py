"""
A product of which only some columns at a time are read, as a product for each of them.

    %y = pypto.matmul %a, %b                      ->   %bv = pypto.view %b[:, 0 +: 64]
    %v = pypto.view %y[:, 0 +: 64]                     %v = pypto.matmul %a, %bv
    %g = pypto.view %y[:, 64 +: 64]                    %bg = pypto.view %b[:, 64 +: 64]
                                                       %g = pypto.matmul %a, %bg

A task has the parts of such a product as tiles of their own: the value and the gate of
a SwiGLU. A product whose parts overlap, or start where only a run knows, or that has a
bias or scales for its columns, stays whole. Who only tries can undo it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.pypto.matmul import MatmulOp, Product, ScaledMmOp
from pyptoc.dialects.pypto.shape import TransposeOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.column_parts import Columns, column_parts, columns_of, part_of
from pyptoc.passes.structured import defined_in


@record(frozen=False)
class ProductParts:
    """The products in a loop that became several, so that it can be undone."""

    loop: scf.ForOp
    _made: list[tuple[Product, list[ViewOp], list[Operation]]] = field(
        default_factory=list[tuple[Product, list[ViewOp], list[Operation]]]
    )
    """Of each product its views, and what stands for them."""

    def split(self) -> None:
        """Split every product of which only parts are read."""
        for op in list(self.loop.walk()):
            if isinstance(op, MatmulOp | ScaledMmOp):
                views = self._parts(op)
                if views:
                    self._split(op, views)

    def undo(self) -> None:
        """Put the whole products back."""
        for product, views, new in reversed(self._made):
            first = new[0]
            block = first.parent
            assert block is not None
            block.insert_op_before(product, first)
            for view in views:
                block.insert_op_before(view, first)
            parts = {columns_of(op): op.result for op in views}
            made = [op for op in new if not isinstance(op, ViewOp)]
            for columns, part in zip(parts, made, strict=True):
                part.results[0].replace_all_uses_with(parts[columns])
            for op in reversed(new):
                op.detach()
                op.erase()
        self._made.clear()

    def _parts(self, op: Product) -> list[ViewOp]:
        """The views of a product, if nobody reads it otherwise and none overlap."""
        if isinstance(op, MatmulOp) and (op.bias or op.scale):
            return []
        if any(self._is_made(op.operands[index]) for index, _ in _column_axes(op)):
            return []
        return column_parts(op.result)

    def _is_made(self, value: SSAValue) -> bool:
        """Whether the loop computes `value`, so that a part of it is no window."""
        window = isinstance(value.owner, ViewOp | TransposeOp)
        return defined_in(value, self.loop) and not window

    def _split(self, op: Product, views: Sequence[ViewOp]) -> None:
        """Replace views by products of parts of the right side, which start at `op`."""
        build = Builder.before(op)
        new: list[Operation] = []
        parts: dict[Columns, SSAValue] = {}
        kept: list[ViewOp] = []
        for view in views:
            columns = columns_of(view)
            assert columns is not None
            if columns not in parts:
                operands = list(op.operands)
                for index, axis in _column_axes(op):
                    operands[index] = part_of(build, operands[index], axis, columns)
                    new.append(operands[index].owner)  # pyright: ignore
                part = type(op).create(
                    operands=operands,
                    result_types=[view.result.type],
                    properties=dict(op.properties),
                    attributes=dict(op.attributes),
                )
                parts[columns] = build.value(part, view.result.name_hint)
                new.append(part)
                kept.append(view)
            view.result.replace_all_uses_with(parts[columns])
            view.detach()
        op.detach()
        self._made.append((op, kept, new))


def _column_axes(op: Product) -> list[tuple[int, int]]:
    """The operands that have the columns of the result, by number, and along where."""
    names = [name for name, _ in op.get_irdl_definition().operands]
    given = [name for name in names if getattr(op, name) is not None]
    axes = [(given.index("rhs"), -1 if op.b_trans is None else -2)]
    if isinstance(op, ScaledMmOp):
        axis = -2 if op.scales_b_trans is None else -3
        axes.append((given.index("scale_rhs"), axis))
    return axes
