"""Small goldens from the definitions of operators, in f64, apart from the compiler."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np


def f64(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product over the last two dimensions; integers exactly, in i64."""
    if a.dtype.kind == "i":
        return np.einsum("...mk,...kn->...mn", a.astype(np.int64), b.astype(np.int64))
    return np.einsum("...mk,...kn->...mn", f64(a), f64(b))


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """exp(x) / sum(exp(x)); a row of -inf gives zeros."""
    x = f64(x)
    top = x.max(axis=axis, keepdims=True, initial=-np.inf)
    e = np.exp(x - np.where(np.isinf(top), 0, top))
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total != 0)


def rms_norm(x: np.ndarray, gamma: np.ndarray, eps: float) -> np.ndarray:
    """x over the root of the mean of its squares, along the last axis."""
    x = f64(x)
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * f64(gamma)


def layer_norm(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, eps: float
) -> np.ndarray:
    """x minus its mean over its deviation, along the last axis."""
    x = f64(x)
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    return centred / deviation * f64(gamma) + f64(beta)


def swiglu(value: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """value * sigmoid(value) * gate."""
    value = f64(value)
    return value / (1 + np.exp(-value)) * f64(gate)


def quantize(
    x: np.ndarray, axis: int = -1, group: int | None = None, *, by_scale: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """q = round(x * 127 / amax) and scale = amax / 127, of each line or group of it.

    Lines of zeros stay zeros, but 0 / 0 is NaN and q = 0 where x is divided `by_scale`.
    """
    lines = np.moveaxis(f64(x), axis, -1)
    size = lines.shape[-1] if group is None else group
    count = 1 if group is None else lines.shape[-1] // group
    blocks = lines.reshape(*lines.shape[:-1], count, size)
    amax = np.abs(blocks).max(axis=-1, keepdims=True, initial=-np.inf)
    if not by_scale:
        amax = np.where(size == 0, -np.inf, amax)
    ratio = np.divide(127.0, amax, out=np.zeros_like(amax), where=amax != 0)
    q = np.rint(blocks * ratio).reshape(lines.shape).astype(np.int8)
    scale = (amax / 127).astype(np.float32)[..., 0]
    return np.moveaxis(q, -1, axis), np.moveaxis(scale, -1, axis)


def quant_mx(x: np.ndarray, axis: int, to: type) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of 32 along the axis, element by element, from the definition of MX.

    The scale is 2^(floor(log2(amax)) - emax), at least 2^-127; values are x / scale,
    at most the greatest finite one. Scales lie in pairs behind the other dimensions.
    """
    emax, most = (8, 448.0) if "e4m3" in np.dtype(to).name else (15, 57344.0)
    lines = np.moveaxis(f64(x), axis, -1)
    size = lines.shape[-1]
    pairs = -(-size // 64)
    values = np.zeros(lines.shape)
    exponents = np.full((*lines.shape[:-1], pairs, 2), -127)
    for block in range(-(-size // 32)):
        part = lines[..., 32 * block : 32 * block + 32]
        _, exponent = np.frexp(np.abs(part).max(axis=-1))
        exponent = np.maximum(exponent - 1 - emax, -127)
        exponent = np.where(np.abs(part).max(axis=-1) == 0, -127, exponent)
        exponents[..., block // 2, block % 2] = exponent
        scaled = part / 2.0 ** exponent[..., None]
        values[..., 32 * block : 32 * block + 32] = np.clip(scaled, -most, most)
    codes = (exponents + 127).astype(np.uint8)
    scale = np.moveaxis(codes, -2, axis % x.ndim).view(ml_dtypes.float8_e8m0fnu)
    q = np.moveaxis(values, -1, axis).astype(np.float32).astype(to)
    return q, scale


def rope(
    x: np.ndarray,
    cos: np.ndarray,
    sin: np.ndarray,
    size: int | None = None,
    *,
    interleaved: bool = False,
) -> np.ndarray:
    """Rotates pairs of the first `size` elements (all) by the angle of each i.

    Pairs are (x[i], x[i + size/2]), interleaved (x[2i], x[2i + 1]).
    """
    x, half = f64(x), (x.shape[-1] if size is None else size) // 2
    result = x.copy()
    for i in range(half):
        j = i + half
        pair = (2 * i, 2 * i + 1) if interleaved else (i, j)
        first, second = (x[..., place] for place in pair)
        result[..., i] = first * f64(cos)[..., i] - second * f64(sin)[..., i]
        result[..., j] = second * f64(cos)[..., j] + first * f64(sin)[..., j]
    return result


def total(x: np.ndarray, axis: int, keep: bool) -> np.ndarray:
    """The sum of a line; integers exactly, in i64."""
    x = f64(x) if x.dtype.kind not in "iu" else x.astype(np.int64)
    return x.sum(axis=axis, keepdims=keep)


def product(x: np.ndarray, axis: int, keep: bool) -> np.ndarray:
    """The product of a line; integers exactly, in i64."""
    x = f64(x) if x.dtype.kind not in "iu" else x.astype(np.int64)
    return x.prod(axis=axis, keepdims=keep)


def mean(x: np.ndarray, axis: int, keep: bool) -> np.ndarray:
    """The mean of a line; of nothing NaN."""
    count = x.shape[axis]
    return total(x, axis, keep) / count if count else total(x, axis, keep) * np.nan


def variance(x: np.ndarray, axis: int, keep: bool) -> np.ndarray:
    """The mean of squares less the square of the mean."""
    return mean(f64(x) ** 2, axis, keep) - mean(x, axis, keep) ** 2


def logsumexp(x: np.ndarray, axis: int, keep: bool) -> np.ndarray:
    """log of the sum of exp; of nothing -inf."""
    with np.errstate(divide="ignore"):
        return np.log(np.exp(f64(x)).sum(axis=axis, keepdims=keep))


def extreme(x: np.ndarray, axis: int, *, greatest: bool) -> np.ndarray:
    """The greatest or least element of a line, one comparison after the other."""
    lines = np.moveaxis(x, axis, -1)
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        first: float = limits.min if greatest else limits.max
    else:
        first = -np.inf if greatest else np.inf
    best = np.full(lines.shape[:-1], first, x.dtype)
    for place in range(lines.shape[-1]):
        here = lines[..., place]
        better = here > best if greatest else here < best
        best = np.where(better | (here != here), here, best)  # NaN stays: not better
    return best


def first_extreme(x: np.ndarray, axis: int, *, greatest: bool) -> np.ndarray:
    """The position of the first extreme element of a line, or of its first NaN."""
    lines = np.moveaxis(x, axis, -1)
    best, index = lines[..., 0], np.zeros(lines.shape[:-1], np.int64)
    for place in range(1, lines.shape[-1]):
        here = lines[..., place]
        better = here > best if greatest else here < best
        better |= (here != here) & (best == best)
        better &= best == best
        best, index = np.where(better, here, best), np.where(better, place, index)
    return index


def running_sum(x: np.ndarray, axis: int) -> np.ndarray:
    """The sum of each element and those before it."""
    wide = f64(x) if x.dtype.kind not in "iu" else x.astype(np.int64)
    lines = np.moveaxis(wide, axis, -1)
    sums = np.zeros_like(lines)
    for place in range(lines.shape[-1]):
        sums[..., place] = lines[..., : place + 1].sum(axis=-1)
    return np.moveaxis(sums, -1, axis)


def online_softmax(
    s: np.ndarray, m: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, ...]:
    """The new maximum and sum, the weights, and what old sums are multiplied with."""
    s, m, total = f64(s), f64(m), f64(total)
    top = np.maximum(m, s.max(axis=-1, keepdims=True, initial=-np.inf))
    base = np.where(np.isinf(top), 0, top)
    p, alpha = np.exp(s - base), np.where(np.isinf(top), 1, np.exp(m - base))
    return top, total * alpha + p.sum(axis=-1, keepdims=True), p, alpha


def concat(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Parts one after the other, line by line."""
    lines = [np.moveaxis(part, axis, 0) for part in parts]
    rows = [row for part in lines for row in part]
    result = np.empty((len(rows), *lines[0].shape[1:]), parts[0].dtype)
    for place, row in enumerate(rows):
        result[place] = row
    return np.moveaxis(result, 0, axis)


def einsum(
    left: str,
    right: str,
    out: str,
    size: dict[str, int],
    a: np.ndarray,
    b: np.ndarray,
) -> np.ndarray:
    """Each element of the result as the sum over the letters that it lacks."""
    integer = a.dtype.kind == "i"
    result = np.zeros([size[x] for x in out], np.int64 if integer else np.float64)
    letters = list(dict.fromkeys(left + right))
    for place in np.ndindex(*(size[letter] for letter in letters)):
        at = dict(zip(letters, place, strict=True))
        x = a[tuple(at[letter] for letter in left)]
        y = b[tuple(at[letter] for letter in right)]
        result[tuple(at[letter] for letter in out)] += (
            int(x) * int(y) if integer else float(x) * float(y)
        )
    return result
