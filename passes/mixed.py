"""Mixed kernels in the passes that plan the kernels of one core."""

from __future__ import annotations

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.npu import KernelOp, Unit


def refuse_mixed(kernel: KernelOp, what: str) -> None:
    """An error if `kernel` is mixed: its author plans `what`."""
    if kernel.unit.data == Unit.MIXED:
        error(
            kernel,
            "PTO504",
            f"{what} of the mixed kernel @{kernel.sym_name.data} are not planned",
            rule="in a mixed kernel the author writes addr and flags",
            help="--pipeline=schedule goes on from a mixed kernel that has both",
        )
