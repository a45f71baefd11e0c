"""
Selections along another axis than the last: along the last, between two transposes.

    %v, %i = pypto.topk %x k 8 axis 0          : tensor<?x64xf32> -> ..
    ->
    %t = pypto.transpose %x perm [1, 0]
    %0, %1 = pypto.topk %t k 8 axis -1
    %v = pypto.transpose %0 perm [1, 0]
    %i = pypto.transpose %1 perm [1, 0]
"""

from __future__ import annotations

from typing import Any

from pyptoc.dialects.pypto.indexing import TopkOp
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps, axis_of, is_last_axis


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
