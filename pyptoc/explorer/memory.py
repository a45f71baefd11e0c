"""Buffers of every kernel by address and life, once plan-memory has placed them."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp

from pyptoc.dialects.npu_kernel import KernelOp, kernels_of
from pyptoc.explorer.located import LocatedText
from pyptoc.passes.liveness import Lifetime, lifetimes
from pyptoc.runtime.machine import Machine

Data = dict[str, Any]


def memory_data(module: ModuleOp, machine: Machine, text: LocatedText) -> list[Data]:
    """
    Kernels with their spaces; of each its buffers.

    text: the module, printed. A life is a range of positions in program order
    (`passes/liveness.py`); addresses and sizes are bytes. Kernels whose buffers have no
    addresses yet are left out.
    """
    found: list[Data] = []
    for name, kernel in kernels_of(module).items():
        lives = lifetimes(kernel)
        if lives and all(life.alloc.address is not None for life in lives):
            found.append(_kernel(name, kernel, lives, machine, text))
    return found


def _kernel(
    name: str,
    kernel: KernelOp,
    lives: list[Lifetime],
    machine: Machine,
    text: LocatedText,
) -> Data:
    by_space: dict[str, list[Data]] = {}
    for life in lives:
        buffer = _buffer(life, text)
        by_space.setdefault(life.alloc.type.space.value, []).append(buffer)
    return {
        "name": name,
        "row": text.rows[kernel],
        "length": max(life.end for life in lives) + 1,
        "spaces": [
            {"name": space, "bytes": machine.space(space).bytes, "buffers": buffers}
            for space, buffers in by_space.items()
        ],
    }


def _buffer(life: Lifetime, text: LocatedText) -> Data:
    alloc, kind = life.alloc, life.alloc.type
    row = text.rows[alloc]
    return {
        "name": text.lines[row].partition("=")[0].strip(),
        "type": f"{kind.rows}x{kind.columns}x{kind.element_type}",
        "channel": alloc.name == "tile.channel",
        "address": alloc.address,
        "bytes": alloc.total_bytes,
        "slots": alloc.slot_count,
        "start": life.start,
        "end": life.end,
        "row": row,
        "pipes": sorted(pipe.value for pipe in life.pipes),
    }
