"""Which of the arrays outside the cores a kernel stores to, and which it reads."""

from __future__ import annotations

from xdsl.ir import SSAValue

from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.tile_indexing import ScatterOp
from pyptoc.dialects.tile_transfer import StoreOp


def stored_buffers(kernel: KernelOp) -> set[int]:
    """The numbers of the buffer arguments that some instruction stores to."""
    numbers: dict[SSAValue, int] = {
        value: number for number, value in enumerate(kernel.buffer_args)
    }
    return {
        numbers[op.dest if isinstance(op, StoreOp) else op.memory]
        for op in kernel.body.walk()
        if isinstance(op, StoreOp | ScatterOp)
    }


def read_buffers(kernel: KernelOp) -> set[int]:
    """The numbers of the buffer arguments that anything but a plain store uses."""
    return {
        number
        for number, value in enumerate(kernel.buffer_args)
        for use in value.uses
        if not isinstance(use.operation, StoreOp) or use.operation.combine
    }
