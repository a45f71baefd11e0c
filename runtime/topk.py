"""
Top-k and one-hot of the executor, on the rows of a tile.

A list holds the k best elements so far: values in descending order, and their indices,
-1 where there is no element yet. Merging concatenates a list and a tile and sorts
stably: what comes first has the lower index, so it stays first among equals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import Diagnostic, RunError
from pyptoc.runtime import numerics
from pyptoc.runtime.memory import Array


def merge(
    source: Array,
    first: int,
    values: Array,
    indices: Array,
    lengths: Array | None,
) -> None:
    """
    Merge the rows of `source` [m, n], whose columns count from `first`, into lists.

    values, indices: [m, k], changed in place. lengths: [m]; None where all of a row
    counts.
    """
    rows, columns = source.shape
    count = values.shape[1]
    positions = np.arange(first, first + columns, dtype=np.int32)
    places = np.concatenate(
        [indices, np.broadcast_to(positions, (rows, columns))], axis=1
    )
    both = np.concatenate([values, source], axis=1)
    absent = np.zeros(both.shape, np.bool_)
    absent[:, :count] = indices < 0
    if lengths is not None:
        absent[:, count:] = positions[None, :] >= lengths[:, None]
    order = np.argsort(_descending(both), axis=1, kind="stable")
    if absent.any():
        late = np.take_along_axis(absent, order, 1)
        order = np.take_along_axis(order, np.argsort(late, axis=1, kind="stable"), 1)
    best = order[:, :count]
    gone = np.take_along_axis(absent, best, 1)
    values[...] = np.take_along_axis(both, best, 1)
    indices[...] = np.where(gone, np.int32(-1), np.take_along_axis(places, best, 1))


def _descending(keys: Array) -> Array:
    """Keys whose ascending order is the descending order of values, NaN last."""
    if numerics.is_float(keys.dtype):
        return -keys.astype(np.float32)
    return ~keys


def check_lengths(
    op: Operation, lengths: Array, size: int, k: int, strict: bool
) -> None:
    """Lengths lie in 0 .. size and, if `strict`, reach k: PTO404 for the first."""
    bad = (lengths < 0) | (lengths > size)
    message = f"of a row of {size} elements"
    if not bad.any() and strict:
        bad = lengths < k
        message = f"elements, which have no {k} greatest"
    if bad.any():
        text = f"topk: length {int(lengths[bad][0])} {message}"
        raise RunError([Diagnostic("PTO404", text, op.location)])


def one_hot(source: Array, first: int, out: Array) -> None:
    """out[i, j] = whether any element of source[i] is first + j."""
    columns = np.arange(first, first + out.shape[1], dtype=np.int64)
    out[...] = False
    for number in range(source.shape[1]):
        index = source[:, number : number + 1].astype(np.int64)
        matches: Any = index == columns
        out |= matches
