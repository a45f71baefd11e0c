"""Sums that are read where they were found, not in their accumulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_harness import translate

from pyptoc.runtime.fused_matmul import FusedMatmul
from pyptoc.runtime.memory import Memory

Array = np.ndarray[Any, np.dtype[Any]]

KERNEL = """
npu.kernel @k (%i) (%a: memref<128x512xf16, "gm">, %b: memref<512x192xf16, "gm">,
    %c: memref<2x128x192xf32, "gm">) on cube {{
  %acc = tile.alloc {{addr = 0}} : !tile.buf<64x64xf32, l0c>
  %slots = tile.alloc {{addr = {slots}, slots = 2}} : !tile.buf<64x64xf32, l0c>
  %slot = tile.slot %slots[0] : !tile.buf<64x64xf32, l0c>
  %slot2 = tile.slot %slots[1] : !tile.buf<64x64xf32, l0c>
  %acc2 = tile.alloc {{addr = {address}}} : !tile.buf<64x64xf32, l0c>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %step = arith.constant 64 : index
  %end = arith.constant 192 : index
  %row = pypto.index 64 * %i
  scf.for %n = %zero to %end step %step {{
    {first}
    {second}
  }}
}}
"""
PRODUCT = """
    %la{n} = tile.alloc : !tile.buf<64x512xf16, l1>
    %lb{n} = tile.alloc : !tile.buf<512x64xf16, l1>
    %za{n} = tile.alloc : !tile.buf<64x512xf16, l0a>
    %zb{n} = tile.alloc : !tile.buf<512x64xf16, l0b>
    tile.load %a[%row, 0] [64, 512] into %la{n}
    tile.load %b[0, %n] [512, 64] into %lb{n}
    tile.move %la{n}[0, 0] [64, 512] into %za{n}
    tile.move %lb{n}[0, 0] [512, 64] into %zb{n}
    tile.matmul %za{n}, %zb{n} into %acc{n} [64, 64, 512] {more}
"""
STORE = "tile.store %acc{n} [{rows}, 64] into %c[{at}, %row, %n] {{dims = [1, 2]}}\n"


def product(n: str = "", more: str = "") -> str:
    return PRODUCT.format(n=n, more=more)


def store(n: str = "", at: int = 0, rows: int = 64) -> str:
    return STORE.format(n=n, at=at, rows=rows)


def kernel(first: str, second: str = "", address: int = 2**15) -> str:
    slots = 2**16
    return KERNEL.format(first=first, second=second, address=address, slots=slots)


def results(text: str, check: bool) -> tuple[Array, int]:
    """What is stored, and of how many matmuls sums may be read elsewhere."""
    c = np.zeros((2, 128, 192), np.float32)
    translated = translate(text, check=check)
    translated.launch((2,), tuple(map(Memory, (*numbers(), c))), ())
    return c, len(translated.cube.sums)


def numbers() -> tuple[Array, Array]:
    draw = np.random.default_rng(0)
    a, b = draw.integers(-8, 9, (128, 512)), draw.integers(-8, 9, (512, 192))
    return a.astype(np.float16), b.astype(np.float16)


IN_A_LOOP = """
    %two = arith.constant 2 : index
    %la = tile.alloc : !tile.buf<64x256xf16, l1>
    %lb = tile.alloc : !tile.buf<256x64xf16, l1>
    %other = tile.alloc : !tile.buf<64x256xf16, l0a>
    %za = tile.alloc : !tile.buf<64x256xf16, l0a>
    %zb = tile.alloc : !tile.buf<256x64xf16, l0b>
    scf.for %t = %zero to %two step %one {
      %k = pypto.index 256 * %t
      %more = pypto.index %t > 0
      tile.load %a[%row, %k] [64, 256] into %la
      tile.load %b[%k, %n] [256, 64] into %lb
      {more}
      tile.move %la[0, 0] [64, 256] into %za
      tile.move %lb[0, 0] [256, 64] into %zb
      tile.matmul %za, %zb into %acc [64, 64, 256] accumulate %more
    }
"""
OTHER = "tile.move %la[0, 0] [64, 256] into %other"
"""In a loop that moves what nothing multiplies, products are not put off."""


def in_a_loop(more: str = "") -> str:
    return IN_A_LOOP.replace("{more}", more)


LOOP = f"scf.for %t = %zero to %one step %one {{\n{store()}}}"
SLOT = product().replace("%acc", "%slot")
TWICE = f"{product()}{product('2')}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (kernel(product(), store()), 1),
        (kernel(product(), store() + store(at=1)), 1),
        # One after the other, or both before what reads them.
        (kernel(product() + store(), product("2") + store("2", 1)), 2),
        (kernel(TWICE, store() + store("2", 1)), 1),
        # Their bytes are one another's.
        (kernel(TWICE, store("2", 1), address=2**13), 0),
        # It is read in part, in a loop, or not at all.
        (kernel(product(), store(rows=32)), 0),
        (kernel(product(), LOOP), 0),
        (kernel(product(), store() + LOOP), 0),
        (kernel(product()), 0),
        # It may be that of another slot.
        (kernel(SLOT, store().replace("%acc", "%slot")), 1),
        (kernel(SLOT, store().replace("%acc", "%slot2")), 0),
        # It is a sum of several.
        (kernel(in_a_loop(), store()), 1),
        (kernel(in_a_loop(OTHER), store()), 0),
        # Another matmul adds to it.
        (
            kernel(
                product() + product("2", "accumulate").replace("%acc2", "%acc"),
                store(),
            ),
            0,
        ),
    ],
)
def test_what_is_read_elsewhere(text: str, found: int) -> None:
    """With `check` each product is put into its accumulator."""
    (got, number), (want, none) = results(text, False), results(text, True)
    assert (number, none) == (found, 0)
    assert np.array_equal(got, want, equal_nan=True)
    assert want.any() == ("tile.store" in text)


def test_what_the_trip_before_left_is_read() -> None:
    text = kernel(store(), product())
    assert not translate(text, check=False).cube.sums


def test_loads_that_are_made() -> None:
    """Where a launch may store to the memory that it loads, sums are in their
    accumulator, trip by trip."""
    a, b = numbers()
    memory = np.zeros((512, 192 + 96), np.float32)
    c = memory[:256, :192].reshape(2, 128, 192)
    beside = memory[:, 192:].view(np.float16)
    beside[...] = b
    translated = translate(kernel(in_a_loop(), store()), check=False)
    assert translated.cube.sums
    translated.launch((2,), tuple(map(Memory, (a, beside, c))), ())
    assert np.array_equal(c[0], a.astype(np.float32) @ b.astype(np.float32))


def test_no_copy_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what was computed ahead nothing is put into the accumulator."""
    returned: list[tuple[Array, Array]] = []
    run = FusedMatmul.run

    def recorded(self: FusedMatmul, *args: Any) -> Array:
        found = run(self, *args)
        returned.append((found, args[2]))
        return found

    monkeypatch.setattr(FusedMatmul, "run", recorded)
    results(kernel(product(), store()), False)
    assert len(returned) == 6
    assert not any(np.may_share_memory(*each) for each in returned)
    # More than what is read is asked for: it is put there.
    returned.clear()
    results(kernel(product(), store(rows=32)), False)
    assert all(np.may_share_memory(*each) for each in returned)
