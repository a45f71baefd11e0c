"""
Orders along another axis than the last, and selections by a pattern of bits.

    %v, %i = pypto.topk %x k 8 axis 0          : tensor<?x64xf32> -> ..
    ->
    %t = pypto.transpose %x perm [1, 0]
    %0, %1 = pypto.topk %t k 8 axis -1
    %v = pypto.transpose %0 perm [1, 0]
    %i = pypto.transpose %1 perm [1, 0]

    %y = pypto.gather_mask %x pattern P1010    : tensor<4x64xf32> -> tensor<4x32xf32>
    ->
    %0 = pypto.reshape %x[4, 32, 2]
    %y = pypto.view %0[:, :, 1]

Where the last axis is no multiple of 2 (or 4), or may be none, the elements are
selected by their numbers: index_select at 1, 3, ..
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i32

from pyptoc.dialects.expr import Expr
from pyptoc.dialects.pypto.indexing import (
    MASK_PATTERNS,
    ArgsortOp,
    GatherMaskOp,
    IndexSelectOp,
    TopkOp,
)
from pyptoc.dialects.pypto.shape import ArangeOp, ViewOp
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps, axis_of, is_last_axis
from pyptoc.passes.typed import tensor_rank
from pyptoc.passes.windows import is_view


def topk(op: TopkOp, shapes: Shapes) -> None:
    """The greatest elements of each line of the last axis."""
    if is_last_axis(op):
        return
    step = Steps.replacing(op, shapes, op.source)
    fields: dict[str, Any] = {"pad_index": op.pad_index, "pad_value": op.pad_value}
    fields = {key: value for key, value in fields.items() if value is not None}
    if op.lengths is not None:
        fields["lengths"] = op.lengths
    x = step.to_last(op.source, axis_of(op))
    found = step.build.emit(TopkOp.make(x, op.k, -1, **fields))
    step.finish([step.from_last(value, axis_of(op)) for value in found])


def argsort(op: ArgsortOp, shapes: Shapes) -> None:
    """The order of each line of the last axis."""
    if is_last_axis(op):
        return
    step = Steps.replacing(op, shapes, op.source)
    x = step.to_last(op.source, axis_of(op))
    found = step.emit(ArgsortOp.make(x, -1, descending=op.descending))
    step.finish([step.from_last(found, axis_of(op))])


def gather_mask(op: GatherMaskOp, shapes: Shapes) -> None:
    """A view of each 2 or 4 elements; where they do not come out even, by numbers."""
    every, first = MASK_PATTERNS[op.pattern.data]
    source, step = op.source, Steps.replacing(op, shapes, op.results[0])
    *outer, size = shapes.dims(source)
    if every == 1:
        whole: list[object] = [None] * tensor_rank(source)
        step.finish([step.build.value(ViewOp.make(source, whole))])
        return
    if size.mod(every) == Expr.const(0) and not is_view(source):
        pairs = step.reshape(source, [*outer, size.floordiv(every), every])
        box: list[object] = [*[None] * tensor_rank(source), first]
        step.finish([step.build.value(ViewOp.make(pairs, box))])
        return
    count = step.build.index_or_int((size + (every - 1 - first)).floordiv(every))
    numbers = step.build.value(ArangeOp.make([count], result_type=i32))
    places = step.add(step.mul(numbers, every), first)
    step.finish([step.emit(IndexSelectOp.make(source, places, -1))])
