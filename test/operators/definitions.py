"""Definitions that several goldens share, in plain numpy."""

from __future__ import annotations

import zlib

import ml_dtypes
import numpy as np

from .checking import Array

BF16 = ml_dtypes.bfloat16
F8 = ml_dtypes.float8_e4m3fn
E8M0 = ml_dtypes.float8_e8m0fnu


def generator(name: str) -> np.random.Generator:
    """Random numbers; the same for the same name."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def tokens(
    rng: np.random.Generator, count: int, hidden: int, rounded: bool = False
) -> Array:
    """Rows of multiples of 2^-4 from -1 to 1, or of any values; in f32."""
    x = rng.integers(-16, 17, (count, hidden)).astype(np.float32) / 16
    return rng.uniform(-1, 1, x.shape).astype(np.float32) if rounded else x


def small_weights(rng: np.random.Generator, *shape: int) -> Array:
    """Multiples of 2^-7 from -2^-4 to 2^-4, in bf16.

    With `tokens` that are not rounded their sums are exact in f32, in every order.
    """
    whole = rng.integers(-8, 9, shape, np.int8)
    return (whole.astype(np.float32) / 128).astype(BF16)


def bf16(x: Array) -> Array:
    """x rounded to bf16, once."""
    return x.astype(np.float32).astype(BF16)


def product(a: Array, b: Array) -> Array:
    """The product of bf16 matrices in f32, rounded to bf16."""
    return bf16(a.astype(np.float32) @ b.astype(np.float32))


def whole_product(a: Array, b: Array) -> Array:
    """The product of i8 matrices as f32: 1024 products of i8 are exact in f32."""
    parts = [
        a[:, k : k + 1024].astype(np.float32) @ b[k : k + 1024].astype(np.float32)
        for k in range(0, a.shape[1], 1024)
    ]
    return np.sum(parts, axis=0, dtype=np.float64).astype(np.float32)


def rms_norm(x: Array, gamma: Array, eps: float = 1e-5) -> Array:
    """Rows over the root of the mean of their squares, in bf16."""
    wide = x.astype(np.float64)
    square = np.square(wide).mean(axis=-1, keepdims=True)
    return bf16(wide / np.sqrt(square + eps) * gamma.astype(np.float64))


def layer_norm(x: Array, gamma: Array, beta: Array, eps: float = 1e-6) -> Array:
    """Rows less their mean, over the root of their variance, in bf16."""
    wide = x.astype(np.float64)
    off = wide - wide.mean(axis=-1, keepdims=True)
    square = np.square(off).mean(axis=-1, keepdims=True)
    scaled = off / np.sqrt(square + eps) * gamma.astype(np.float64)
    return bf16(scaled + beta.astype(np.float64))


def quantized(x: Array) -> tuple[Array, Array]:
    """Rows in i8, and their scale; 0 for zeros, inf or NaN where the row has one."""
    wide = x.astype(np.float32)
    greatest = np.abs(wide).max(axis=-1, keepdims=True, initial=0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        r = np.float32(127) / greatest
        q = np.rint(wide * r)
        scale = np.where(np.isinf(r), np.float32(0), np.float32(1) / r)
    q = np.where(np.isfinite(q) & np.isfinite(r), q, 0).astype(np.int8)
    return q, scale


def rope_interleaved(x: Array, cos: Array, sin: Array) -> Array:
    """Pairs (x[2i], x[2i + 1]) turned; the result holds their first elements first."""
    first, second = (x[..., start::2].astype(np.float64) for start in (0, 1))
    pairs = np.concatenate([first, second], axis=-1)
    turned = np.concatenate([-second, first], axis=-1)
    return bf16(pairs * cos.astype(np.float64) + turned * sin.astype(np.float64))


def mx_rows(x: Array, scales: Array) -> Array:
    """x [.., R, K] of f8 times scales [.., R, ceil(K/64), 2], in f32.

    There is one scale for each 32 elements of a row, two side by side for each 64.
    """
    factors = scales.astype(np.float32)
    factors = factors.reshape(*scales.shape[:-2], 2 * scales.shape[-2])
    return x.astype(np.float32) * np.repeat(factors, 32, axis=-1)[..., : x.shape[-1]]


def mx_columns(x: Array, scales: Array) -> Array:
    """x [.., K, C] of f8 times scales [.., ceil(K/64), C, 2], in f32."""
    pairs = np.moveaxis(scales.astype(np.float32), -1, -2)
    factors = pairs.reshape(*pairs.shape[:-3], 2 * pairs.shape[-3], pairs.shape[-1])
    return x.astype(np.float32) * np.repeat(factors, 32, axis=-2)[..., : x.shape[-2], :]


def some_f8(rng: np.random.Generator, *shape: int) -> Array:
    """Numbers from -1 to 1 in f8E4M3FN, all steps of 1/128 as often."""
    steps = (np.arange(-128, 128) / 128).astype(np.float32).astype(F8)
    return steps.view(np.uint8)[rng.integers(0, 256, shape, np.uint8)].view(F8)


def some_scales(rng: np.random.Generator, *shape: int) -> Array:
    """E8M0 numbers: 2^-4 to 1."""
    return rng.integers(123, 128, shape, np.uint8).view(E8M0)


def rope_halves(x: Array, cos: Array, sin: Array) -> Array:
    """Pairs (x[i], x[i + d/2]) turned in the first d elements; cos and sin have d."""
    d = cos.shape[-1]
    wide = x[..., :d].astype(np.float64)
    turned = np.concatenate([-wide[..., d // 2 :], wide[..., : d // 2]], axis=-1)
    wide = wide * cos.astype(np.float64) + turned * sin.astype(np.float64)
    return np.concatenate([bf16(wide), x[..., d:]], axis=-1)


def with_rows(cache: Array, rows: Array, slots: Array) -> Array:
    """A copy of the cache [pages, rows of a page, 1, ..] with rows replaced.

    A slot counts rows through the pages, -1 is a row that goes nowhere, and the last of
    equal slots wins.
    """
    new = cache.copy()
    page = cache.shape[1]
    for row, slot in zip(rows, slots.tolist()):
        if slot != -1:
            new[slot // page, slot % page, 0] = row
    return new


def changed_rows(
    given: dict[str, Array], got: dict[str, Array], names: tuple[str, ...]
) -> list[str]:
    """Caches in which rows have changed that no `cache_index` names."""
    slots = given["cache_index"]
    named = slots[slots >= 0]
    found: list[str] = []
    for name in names:
        before, after = (
            np.delete(cache.reshape(-1, *cache.shape[3:]), named, axis=0)
            for cache in (given[name], got[name])
        )
        if before.tobytes() != after.tobytes():
            found.append(f"{name} has changed where no token is")
    return found
