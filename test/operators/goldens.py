"""Small goldens from the definitions of operators, in f64, apart from the compiler."""

from __future__ import annotations

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
    top = x.max(axis=axis, keepdims=True)
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


def quantize(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per row: q = round(x * 127 / amax) and scale = amax / 127; zeros stay zeros."""
    x = f64(x)
    amax = np.abs(x).max(axis=-1, keepdims=True)
    ratio = np.divide(127.0, amax, out=np.zeros_like(amax), where=amax != 0)
    return np.rint(x * ratio).astype(np.int8), (amax / 127).astype(np.float32)


def rope(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """Rotates the pairs (x[i], x[i + d/2]) by the angle of each i."""
    x, half = f64(x), x.shape[-1] // 2
    result = np.empty_like(x)
    for i in range(half):
        first, second = x[..., i], x[..., i + half]
        result[..., i] = first * f64(cos)[..., i] - second * f64(sin)[..., i]
        j = i + half
        result[..., j] = second * f64(cos)[..., j] + first * f64(sin)[..., j]
    return result
