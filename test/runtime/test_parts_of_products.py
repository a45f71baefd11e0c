"""
What is told of a product for several tasks: which part of it a tile is, how much of it
is of use, and what was computed in vain.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from pyptoc.runtime import ahead
from pyptoc.runtime.decode import decoder
from pyptoc.runtime.images import Box, Source
from pyptoc.runtime.operand import Operand, Side


@pytest.mark.parametrize(
    ("extents", "others", "waiting", "useless"),
    [
        # Tall and wide: rows, columns, both or neither were taken.
        ((128, 128), (False, True), 90, (True, False)),
        ((128, 128), (True, False), 90, (False, True)),
        ((128, 128), (True, True), 90, (True, False)),
        ((128, 128), (False, False), 90, (True, True)),
        # Just one of them; most was of use.
        ((128, 64), (False, False), 90, (True, False)),
        ((64, 128), (False, True), 90, (False, True)),
        ((128, 128), (False, True), 40, (False, False)),
    ],
)
def test_what_was_computed_in_vain(
    extents: tuple[int, int],
    others: tuple[bool, bool],
    waiting: int,
    useless: tuple[bool, bool],
) -> None:
    left, right, tile = (
        cast(Operand, SimpleNamespace(extent=n)) for n in (*extents, 64)
    )
    room = np.empty(0, np.float32)
    whole = ahead.Whole(left, right, room, room, (tile, tile), 100, waiting, *others)
    assert whole.useless() == useless


def test_what_is_of_use() -> None:
    """The last rows and columns are few: their tiles are left alone."""
    array = np.empty((150, 330), np.float32)
    assert ahead._wanted(array, (64, 64), 520) == 128 * 320
    assert ahead._wanted(array.view(np.int32), (64, 64), 520) == 150 * 330
    for rows, columns in ((1, 2**12), (2**12, 1)):
        assert ahead.is_left_alone(rows, columns, 2**12, array.dtype)
        assert not ahead.is_left_alone(rows, columns, 1, np.dtype(np.int32))


@pytest.mark.parametrize(
    ("at", "shape", "k_axis", "scale", "found"),
    [
        (32 * 8, (8, 16), 1, 8, 8),
        (32 * 8, (32, 16), 1, 8, 8),
        # Too far down, or before it; other columns; less of K, or K the other way.
        (32 * 8, (33, 16), 1, 8, None),
        (32 * -1, (8, 16), 1, -1, None),
        (32 * 8 + 4, (8, 16), 1, 8, None),
        (32 * 8, (8, 8), 1, 8, None),
        (8, (40, 8), 0, 8, None),
        # Its scales lie elsewhere.
        (32 * 8, (8, 16), 1, 9, None),
    ],
)
def test_the_place_of_a_tile(
    at: int, shape: tuple[int, int], k_axis: int, scale: int, found: int | None
) -> None:
    """In 40 rows of 16: with scales, as an operand of MX has, and without."""
    source, scales, other, strange = (
        Source.of(np.zeros((64, columns), np.int8)) for columns in (32, 2, 32, 2)
    )

    def operand(k_axis: int, *boxes: Box) -> Operand:
        return Operand(Side(decoder(np.dtype(np.int8)), k_axis), boxes)

    whole = Box(source, 0, (40, 16)), Box(scales, 0, (40, 2))
    tile = Box(source, at, shape), Box(scales, 2 * scale, (shape[0], 2))
    assert operand(k_axis, *tile).place_in(operand(1, *whole)) == found
    if scale == 8:
        assert operand(k_axis, tile[0]).place_in(operand(1, whole[0])) == found
    assert operand(k_axis, tile[0]).place_in(operand(1, *whole)) is None
    mixed = operand(k_axis, tile[0], tile[1]._replace(source=strange))
    assert mixed.place_in(operand(1, *whole)) is None
    elsewhere = operand(1, Box(other, at, shape))
    assert elsewhere.place_in(operand(1, whole[0])) is None
