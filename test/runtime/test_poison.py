"""What poisons the buffers of a core: everything that a kernel can see, no more."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import parse_kernel

from pyptoc.runtime.core import Core
from pyptoc.runtime.machine import load_machine
from pyptoc.runtime.matmul import Scratch
from pyptoc.runtime.memory import Buffers, Memory
from pyptoc.runtime.translate import KernelTranslator

LEAVES = """
npu.kernel @leaves (%i) (%x: memref<4x8xf32, "gm">) on vector {
  %a = tile.alloc {addr = 64} : !tile.buf<4x8xf32, ub>
  tile.fill 1.0 into %a [4, 8]
  tile.store %a [4, 8] into %x[0, 0]
}
"""

FINDS = """
npu.kernel @finds (%i) (%x: memref<4x8xf32, "gm">) on vector {
  BUFFERS
  tile.store %a [2, 8] into %x[0, 0]
  tile.store %b [2, 8] into %x[2, 0]
  tile.fill 1.0 into %a [2, 8]
  tile.fill 1.0 into %b [2, 8]
}
"""


def buffers(*attributes: str) -> str:
    """Two buffers, and what says where each lies."""
    lines = (
        f"%{name} = tile.alloc{text} : !tile.buf<2x8xf32, ub>"
        for name, text in zip("ab", attributes, strict=True)
    )
    return "\n  ".join(lines)


PLACES = [
    pytest.param(buffers(" {addr = 0}", " {addr = 64}"), id="ascending"),
    pytest.param(buffers(" {addr = 128}", " {addr = 64}"), id="descending"),
    pytest.param(buffers("", ""), id="no addresses"),
    pytest.param(
        """%s = tile.alloc {addr = 0, slots = 2} : !tile.buf<2x8xf32, ub>
  %a = tile.slot %s[0]
  %b = tile.slot %s[1]""",
        id="slots",
    ),
]


@pytest.mark.parametrize("places", PLACES)
def test_a_kernel_sees_nothing_of_those_before(places: str) -> None:
    """Neither of another kernel's tasks nor of its own, wherever its buffers lie."""
    core = Core(Buffers(load_machine("ascend950")), Scratch(), check=True)
    before = KernelTranslator(parse_kernel(LEAVES), core)
    kernel = KernelTranslator(parse_kernel(FINDS.replace("BUFFERS", places)), core)
    x = np.zeros((4, 8), np.float32)
    for _ in range(2):
        before.launch((1,), (Memory(x),), ())
        assert (x == 1).all()
        kernel.launch((2,), (Memory(x),), ())
        assert np.isnan(x).all()


@pytest.mark.parametrize("places", PLACES)
def test_buffers_begin_poisoned(places: str) -> None:
    """Also where nobody checks."""
    core = Core(Buffers(load_machine("ascend950")), Scratch())
    kernel = KernelTranslator(parse_kernel(FINDS.replace("BUFFERS", places)), core)
    x = np.zeros((4, 8), np.float32)
    kernel.launch((1,), (Memory(x),), ())
    assert np.isnan(x).all()


def test_what_no_kernel_sees_is_left_alone() -> None:
    """An arena has the size of the machine's memory; few bytes of it are used."""
    core = Core(Buffers(load_machine("ascend950")), Scratch(), check=True)
    kernel = KernelTranslator(parse_kernel(LEAVES), core)
    (arena,) = core.buffers.storage.values()
    used = 64 + 4 * 8 * 4
    arena[used:] = 7
    kernel.launch((1,), (Memory(np.zeros((4, 8), np.float32)),), ())
    assert (arena[used:] == 7).all()
