"""Casts in a row that are one rounding: bit for bit what they are one by one."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import Array, parse_kernel, run_kernel

from pyptoc.runtime import numerics, vector_math
from pyptoc.runtime.cast_chains import cast_chains

CHAIN = """
npu.kernel @k () (%x: memref<8x64xf32, "gm">, %y: memref<8x64x{out}, "gm">) on vector {{
  %a = tile.alloc {{addr = 0}} : !tile.buf<8x64xf32, ub>
  tile.load %x[0, 0] [8, 64] into %a
  %b = tile.alloc {{addr = 0}} : !tile.buf<8x64xi32, ub>
  tile.cvt %a into %b [8, 64] {{mode = "{mode}"}}
  {clip}
  %c = tile.alloc {{addr = 8192}} : !tile.buf<8x64xf16, ub>
  tile.cvt %b into %c [8, 64]
  %d = tile.alloc {{addr = 16384}} : !tile.buf<8x64x{out}, ub>
  tile.cvt %c into %d [8, 64]
  {after}
  tile.store %d [8, 64] into %y[0, 0]
}}
"""
FAR = [1e9, -1e9, 2.5, 3.5, -0.3, 127.5, 128.5, -128.5, -129.0, 2047.5, 2049.0, 3e4]
VALUES = {
    "small": [0.5, 1.5, -0.4, 127.4, -128.0],
    "far": FAR,
    "wide": [1e10, -1e10, *FAR],
    "inf": [np.inf, -np.inf, *FAR],
    "nan": [np.nan, *FAR],
}


def both(text: str, x: Array, out: str) -> tuple[Array, Array]:
    dtype = {"i8": np.int8, "i16": np.int16, "i32": np.int32}[out]
    results = [np.zeros(x.shape, dtype) for _ in range(2)]
    for check, y in zip((False, True), results, strict=True):
        run_kernel(text, (), [x, y], check=check)
    return results[0], results[1]


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("mode", ["rint", "floor", "ceil", "trunc", "round"])
@pytest.mark.parametrize("out", ["i8", "i16"])
@pytest.mark.parametrize("low", [None, -128, 3])
def test_values(values: str, mode: str, out: str, low: int | None) -> None:
    clip = "" if low is None else f"tile.clip %b, {low}, 127 into %b [8, 64]"
    text = CHAIN.format(out=out, mode=mode, clip=clip, after="")
    x = np.resize(np.array(VALUES[values], np.float32), (8, 64))
    got, want = both(text, x, out)
    assert np.array_equal(got, want)


@pytest.mark.parametrize(("values", "done"), [("small", True), ("far", False)])
def test_what_fits_is_done_at_once(
    values: str, done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    results: list[bool] = []
    call = vector_math.Rounding.__call__

    def noted(*args: Array) -> bool:
        results.append(call(*args))  # pyright: ignore[reportArgumentType]
        return results[-1]

    monkeypatch.setattr(vector_math.Rounding, "__call__", noted)
    text = CHAIN.format(out="i8", mode="rint", clip="", after="")
    x = np.resize(np.array(VALUES[values], np.float32), (8, 64))
    run_kernel(text, (), [x, np.zeros((8, 64), np.int8)], check=False)
    assert results[0] is done


def test_what_somebody_else_reads_is_written() -> None:
    plain = CHAIN.format(out="i8", mode="rint", clip="", after="")
    assert cast_chains(parse_kernel(plain))
    read = "tile.cvt %c into %a [8, 64]"
    assert not cast_chains(
        parse_kernel(CHAIN.format(out="i8", mode="rint", clip="", after=read))
    )


def test_a_clip_that_never_fits_what_follows() -> None:
    text = CHAIN.format(
        out="i8", mode="rint", clip="tile.clip %b, 300, 400 into %b [8, 64]", after=""
    )
    got, want = both(text, np.full((8, 64), 2.0, np.float32), "i8")
    assert np.array_equal(got, want)
    assert (want == 127).all()


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.int64])
def test_limits(kind: type[np.integer]) -> None:
    """The limits of wide types are no f32: what is next to them does not fit."""
    limits = np.iinfo(kind)
    rounding = vector_math.Rounding.to("trunc", np.dtype(kind))
    top = np.float32(limits.max)
    too_large = top if int(top) > limits.max else np.float32(float(top) + 1)
    below = np.nextafter(too_large, np.float32(0), dtype=np.float32)
    for value, fits in ((too_large, False), (below, True), (limits.min, True)):
        x = np.full((1, 1), value, np.float32)
        out = np.zeros((1, 1), kind)
        assert rounding(x, np.empty_like(x), out) is fits
        assert int(out[0, 0]) == (int(x[0, 0]) if fits else 0)


@pytest.mark.parametrize("mode", ["rint", "floor", "ceil", "trunc"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
def test_saturating(kind: type[np.integer], mode: str) -> None:
    rounding = vector_math.Rounding.to(mode, np.dtype(kind), saturate=True)
    x = np.array([[*FAR, 1e30, -1e30, np.inf, -np.inf]], np.float32)
    out = np.zeros(x.shape, kind)
    assert rounding(x, np.empty_like(x), out)
    assert np.array_equal(out, numerics.cast(x, np.dtype(kind), mode, True))
    x[0, 3], out[...] = np.nan, 77
    assert not rounding(x, np.empty_like(x), out)
    assert (out == 77).all()
