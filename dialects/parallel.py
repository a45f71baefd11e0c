"""Loops of independent iterations: `pypto.forall`, and what the compiler makes so."""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

PARALLEL = "npu.parallel"
"""The attribute of such a loop."""


def is_parallel(op: Operation | None) -> TypeGuard[scf.ForOp]:
    """Whether `op` is a loop of independent iterations."""
    return isinstance(op, scf.ForOp) and PARALLEL in op.attributes


def mark_parallel(loop: scf.ForOp) -> None:
    """The iterations of `loop` are independent."""
    loop.attributes[PARALLEL] = UnitAttr()
