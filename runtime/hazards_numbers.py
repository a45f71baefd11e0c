"""
The first instruction that makes a NaN or an infinity, or that saturates.

    --run --check=nan         out of finite numbers; constants are meant (fill -inf)
    --run --check=overflow    a cast of a number beyond what its type holds

Instructions are looked at in program order, each before and after it runs. Loads and
stores make no numbers, and masks are made to write -inf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute

from pyptoc.dialects.record import record
from pyptoc.dialects.tile_transfer import LoadOp, StoreOp
from pyptoc.dialects.tile_types import Instruction, buffer_type
from pyptoc.dialects.tile_vector import VectorOp
from pyptoc.runtime.hazards_boxes import Box, boxes_of
from pyptoc.runtime.hazards_text import fail
from pyptoc.runtime.numerics import storage_dtype

Array = NDArray[Any]

MEANT = ("tile.fill", "tile.mask_causal", "tile.arange", "tile.topk")
"""What writes infinities on purpose, or only moves numbers."""


@record(frozen=False)
class Watched:
    """One instruction."""

    op: Instruction
    kind: str
    """nan or overflow."""

    def __post_init__(self) -> None:
        self.boxes = boxes_of(self.op)
        self.finite = True

    def before(self, arrays: Sequence[Array], numbers: Sequence[int]) -> None:
        """Before it runs. arrays: what it reads, then what it writes."""
        reads, _ = self.boxes(numbers)
        if self.kind == "overflow":
            self._check_cast(arrays[0], cast(Box, reads[0]))
            return
        given = zip(arrays, reads, strict=False)
        # The maximum of no numbers is -inf.
        some = not reads or any(box is None or 0 not in box[2:] for box in reads)
        self.finite = some and all(_finite(array, box) for array, box in given)

    def after(self, arrays: Sequence[Array], numbers: Sequence[int]) -> None:
        """After it ran."""
        if self.kind == "overflow" or not self.finite:
            return
        reads, writes = self.boxes(numbers)
        for array, box in zip(arrays[len(reads) :], writes, strict=True):
            if not _finite(array, box):
                assert box is not None
                part = _part(array, box)
                row, column = np.argwhere(~np.isfinite(part))[0].tolist()
                fail(
                    "PTO427",
                    f"{self.op.name} makes {part[row, column]} at [{row}, {column}] "
                    "of finite numbers",
                    self.op,
                    help="look at what it reads: tile sizes and order do not matter",
                )

    def _check_cast(self, array: Array, box: Box) -> None:
        part = _part(array, box)
        op = cast(VectorOp, self.op)
        ends = ends_of_type(op)
        low, high = ends or limits(buffer_type(op.dest).element_type, _mode(op))
        beyond = (part < low) | (part > high)
        if beyond.any():
            row, column = np.argwhere(beyond)[0].tolist()
            fail(
                "PTO428",
                f"{op.name} saturates {part[row, column]} at [{row}, {column}]",
                op,
                rule=f"{low:g} to {high:g} fit, what rounds to the ends of the type "
                "included",
            )


def watched(op: Instruction, kind: str) -> Watched | None:
    """How to look at an instruction; None: it makes nothing that counts."""
    if kind == "nan":
        literals = isinstance(op, VectorOp) and any(
            isinstance(arg, FloatAttr) and not np.isfinite(arg.value.data)
            for arg in op.args
        )
        meant = op.name in MEANT or isinstance(op, LoadOp | StoreOp) or literals
        return None if meant else Watched(op, kind)
    if isinstance(op, VectorOp) and ends_of_type(op) is not None:
        return Watched(op, kind)
    if op.name != "tile.cvt":
        return None
    dest = storage_dtype(buffer_type(cast(VectorOp, op).dest).element_type)
    off = op.properties.get("saturate")
    narrow = dest.kind in "iu" or dest.itemsize == 1
    return Watched(op, kind) if narrow and str(off) not in ("false", "0 : i1") else None


def ends_of_type(op: VectorOp) -> tuple[int, int] | None:
    """The bounds of a clip of integers to what a narrower type holds.

    That is how a cast is done which the machine has in two steps only.
    """
    if op.name != "tile.clip":
        return None
    ends = tuple(
        cast("IntegerAttr[Any]", arg).value.data
        for arg in op.args
        if isinstance(arg, IntegerAttr)
    )
    narrow = [(-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16)]
    return next((pair for pair in narrow if pair == ends), None)


def _mode(op: VectorOp) -> str:
    mode = op.properties.get("mode")
    return "" if mode is None else str(mode).strip('"')


def limits(element: Attribute, mode: str) -> tuple[float, float]:
    """Numbers that still round to one of the type, from and to."""
    dtype = storage_dtype(element)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        slack = 0.5 if mode in ("rint", "round") else 0.999999
        return info.min - slack, info.max + slack
    codes = np.arange(128, dtype=np.uint8).view(dtype).astype(np.float64)
    below, most = (float(value) for value in codes[np.isfinite(codes)][-2:])
    slack = (most - below) / 2
    return -most - slack, most + slack


def _part(array: Array, box: Box) -> Array:
    row, column, rows, columns = box
    part = array[row : row + rows, column : column + columns]
    return part if part.dtype.kind in "iub" else part.astype(np.float64)


def _finite(array: Array, box: Box | None) -> bool:
    if box is None or array.dtype.kind in "iub":
        return True
    return bool(np.isfinite(_part(array, box)).all())
