"""
Top-k, sorting and one-hot of the executor, on the rows of a tile.

A list holds the k first elements so far: values in order, and their indices, -1 where
there is no element yet. Merging concatenates a list and a tile and sorts stably: what
comes first has the lower index, so it stays first among equals.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.dialects.words import counted
from pyptoc.runtime import numerics
from pyptoc.runtime.memory import Array

MANY = 512
"""So many keys are worth more calls."""


def merge(
    source: Array,
    first: int,
    lists: tuple[Array, Array],
    lengths: Array | None = None,
    last: tuple[Array, Array] | None = None,
    ascending: bool = False,
) -> None:
    """
    Merge the rows of `source` [m, n], whose columns count from `first`, into lists.

    lists: values and indices [m, k], changed in place. lengths: [m]; None where all of
    a row counts. last: value and index [m] after which an element must come to count.
    """
    values, indices = lists
    rows, columns = source.shape
    count = values.shape[1]
    row = np.arange(rows, dtype=np.intp)[:, None]
    if lengths is None and last is None and columns >= count and (indices < 0).all():
        # The first tile of a row, as in most rows the only one.
        best = _first(_ranked(source, ascending), count)
        values[...], indices[...] = source[row, best], best + first
        return
    positions = np.arange(first, first + columns, dtype=np.int32)
    places = np.concatenate(
        [indices, np.broadcast_to(positions, (rows, columns))], axis=1
    )
    both = np.concatenate([values, source], axis=1)
    absent = np.zeros(both.shape, np.bool_)
    absent[:, :count] = indices < 0
    if lengths is not None:
        absent[:, count:] = positions[None, :] >= lengths[:, None]
    keys = _ranked(both, ascending)
    if last is not None:
        bounds = _ranked(last[0], ascending)[:, None], last[1][:, None]
        absent[:, count:] |= ~_comes_after(keys[:, count:], positions, *bounds)
    # Plain indexing: np.take_along_axis takes longer than all else on small tiles.
    if not absent.any():
        best = _first(keys, count)
        values[...], indices[...] = both[row, best], places[row, best]
        return
    order = np.argsort(keys, axis=1, kind="stable")
    late = absent[row, order]
    best = order[row, np.argsort(late, axis=1, kind="stable")[:, :count]]
    gone = absent[row, best]
    values[...] = both[row, best]
    indices[...] = np.where(gone, np.int32(-1), places[row, best])


def _first(keys: Array, count: int) -> Array:
    """The columns of the `count` least keys of each row, in order; stable.

    numpy sorts integers of 64 bits far faster than it sorts stably: a key of 32 bits
    and its column are one, and no two of them are equal.
    """
    found = _as_integers(keys) if keys.size >= MANY else None
    if found is None:
        return np.argsort(keys, axis=1, kind="stable")[:, :count]
    pairs = found.astype(np.int64)
    np.left_shift(pairs, 32, out=pairs)
    columns = np.arange(keys.shape[1], dtype=np.int64)
    np.bitwise_or(pairs, columns, out=pairs)
    pairs.sort(axis=1)
    return np.bitwise_and(pairs[:, :count], 2**32 - 1)


def _as_integers(keys: Array) -> Array | None:
    """Integers of 32 bits in the order of the keys; None if they need more, or for NaN.

    The bits of a float are in its order, but backwards for those below 0.
    """
    if keys.dtype.kind == "i" and keys.dtype.itemsize <= 4:
        return keys
    if keys.dtype != np.float32 or np.isnan(keys).any():
        return None
    bits: Array = np.add(keys, np.float32(0)).view(np.int32)  # -0.0 is 0.0
    below = np.where(bits < 0, np.int32(2**31 - 1), np.int32(0))
    return np.bitwise_xor(bits, below, out=bits)


def _ranked(keys: Array, ascending: bool) -> Array:
    """Keys whose ascending order is that of the lists, NaN being the least value."""
    if not numerics.is_float(keys.dtype):
        return keys if ascending else ~keys
    keys = keys.astype(np.float32)
    if not ascending:
        return -keys
    # As sorting puts NaN last, the keys go one step up to make room for it in front.
    bits = keys.view(np.int32).astype(np.int64)
    ordered = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    return np.where(np.isnan(keys), np.iinfo(np.int64).min, ordered)


def _comes_after(keys: Array, positions: Array, key: Array, index: Array) -> Array:
    """Whether elements come after the one of `key` and `index` of their row."""
    equal = keys == key
    later = keys > key
    if numerics.is_float(keys.dtype):
        # NaN comes last.
        nan, last = np.isnan(keys), np.isnan(key)
        equal |= nan & last
        later |= nan & ~last
    found = later | (equal & (positions[None, :] > index))
    return np.where(index == -1, False, found | (index < -1))


def check_lengths(op: Operation, lengths: Array, size: int, least: int) -> None:
    """Lengths lie in 0 .. size and reach `least`: PTO404 for the first."""
    bad = (lengths < 0) | (lengths > size)
    message = f"of a row of {counted(size, 'element')}"
    if not bad.any():
        bad = lengths < least
        message = f"elements, which have no {least} greatest"
    if bad.any():
        text = f"topk: length {int(lengths[bad][0])} {message}"
        raise RunError([Diagnostic("PTO404", text, op.location)])


def one_hot(source: Array, first: int, out: Array) -> None:
    """out[i, j] = whether any element of source[i] is first + j."""
    out[...] = False
    places = source.astype(np.int64) - first
    rows, numbers = np.nonzero((places >= 0) & (places < out.shape[1]))
    out[rows, places[rows, numbers]] = True
