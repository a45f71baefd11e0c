"""Moves between buffers.

    tile.move %l1[%r, %c] [%m, %k] into %l0 {trans}               l1 -> l0       mte1
    tile.move %acc[0, 0] [%m, %n] into %x                         l0c -> ub      fix
    tile.move %p[0, 0] [%m, %n] into %b                           ub -> l1       mte3

The last two cross between a cube core and its vector cores. Only a mixed kernel without
sections has them: it is written as if one core had all memories, in program order, and
`split-mixed` makes sections and channels of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import opt_prop_def
from xdsl.utils.exceptions import VerifyException

from pyptoc.dialects.assembly import (
    UNIT,
    Mixed,
)
from pyptoc.dialects.npu_attrs import UNITS, Unit
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.tile_transfer import TransferOp
from pyptoc.dialects.tile_types import (
    BufType,
    Pipe,
    Space,
    buffer_type,
    check_extent,
    check_space,
)

_LEVEL_0 = (Space.L0A, Space.L0B, Space.SCALE_A, Space.SCALE_B, Space.BIAS, Space.FB)
CROSSINGS = {
    (Space.L0C, Space.UB): Pipe.FIX,
    (Space.UB, Space.L1): Pipe.MTE3,
}
"""The ways between a cube core and its vector cores, and the pipes that move."""


@op_definition
class MoveOp(TransferOp):
    """Moves a box of a buffer into the top left corner of another one.

    From l1 to level 0: offsets and extents are those of the box in l1. `trans` reads
    it transposed: a box [n, k] becomes [k, n]. `pairs` regroups MX scales of
    [kb, 2 * n] to [n, 2 * kb], keeping the two scales of a pair side by side.

        tile.move %a[0, %k] [%m, 64] into %l : !tile.buf<..l1>, !tile.buf<..l0a>

    In a mixed kernel without sections, which is written as if one core had all
    memories, also from l0c to ub and from ub to l1:

        tile.move %c[0, 0] [%m, %n] into %x : !tile.buf<..l0c>, !tile.buf<..ub>
    """

    name = "tile.move"
    OPTIONS: ClassVar[tuple[str, ...]] = ("trans", "pairs")

    trans = opt_prop_def(UnitAttr)
    pairs = opt_prop_def(UnitAttr)

    @classmethod
    def make(
        cls,
        source: SSAValue,
        offsets: Sequence[Mixed],
        extents: Sequence[Mixed],
        dest: SSAValue,
        trans: bool = False,
        pairs: bool = False,
    ) -> Self:
        properties: dict[str, Attribute] = {}
        if trans:
            properties["trans"] = UNIT
        if pairs:
            properties["pairs"] = UNIT
        return cls._make(source, offsets, extents, dest, properties)

    @property
    def pipe(self) -> Pipe:
        return CROSSINGS.get(self.way, Pipe.MTE1)

    @property
    def way(self) -> tuple[Space, Space]:
        """From and to which memory."""
        return buffer_type(self.source).space, buffer_type(self.dest).space

    @property
    def crosses(self) -> bool:
        """Whether it goes from the cube core to its vector cores, or back."""
        return self.way in CROSSINGS

    @property
    def is_transposed(self) -> bool:
        return self.trans is not None

    @property
    def regroups_pairs(self) -> bool:
        return self.pairs is not None

    def verify_(self) -> None:
        for value in (self.source, self.dest):
            if not isinstance(value.type, BufType):
                raise VerifyException(f"expected a buffer, got {value.type}")
        if self.crosses:
            self._verify_crossing()
        else:
            check_space("the source", self.source, Space.L1)
            check_space("the destination", self.dest, *_LEVEL_0)
        self._check_counts(2)
        source, dest = buffer_type(self.source), buffer_type(self.dest)
        if source.element_type != dest.element_type:
            raise VerifyException(
                f"moves {source.element_type} into a buffer of {dest.element_type}"
            )
        if self.is_transposed and self.regroups_pairs:
            raise VerifyException("trans and pairs exclude each other")
        if self.regroups_pairs and dest.space not in (Space.SCALE_A, Space.SCALE_B):
            raise VerifyException("pairs is for scale_a and scale_b")
        self._verify_box(source, dest)

    def _verify_crossing(self) -> None:
        """It stands in a mixed kernel that has no sections, and moves plainly."""
        way = " -> ".join(self.way)
        if not _is_flat(self):
            raise VerifyException(
                f"moves {way}, but not in a mixed kernel without sections"
            )
        if self.is_transposed or self.regroups_pairs:
            raise VerifyException(f"moves {way} without trans and pairs")

    def _verify_box(self, source: BufType, dest: BufType) -> None:
        rows, columns = self.extents
        for name, offset, extent, limit in zip(
            ("rows", "columns"),
            self.mixed_offsets,
            (rows, columns),
            source.shape,
            strict=True,
        ):
            check_extent(f"the offset of {name}", offset, limit)
            if isinstance(offset, int) and isinstance(extent, int):
                check_extent(f"the end of {name}", offset + extent, limit)
        if self.is_transposed:
            rows, columns = columns, rows
        elif self.regroups_pairs:
            rows, columns = _regrouped(rows, columns)
        check_extent("the number of rows", rows, dest.rows)
        check_extent("the number of columns", columns, dest.columns)


def _is_flat(op: Operation) -> bool:
    """Whether `op` stands in a kernel on mixed that has no sections."""
    kernel = op.parent_op()
    while kernel is not None and kernel.name != "npu.kernel":
        kernel = kernel.parent_op()
    if kernel is None or kernel.properties["unit"] != UNITS[Unit.MIXED]:
        return False
    return all(inner.name != "tile.section" for inner in kernel.regions[0].block.ops)


def _regrouped(rows: Mixed, columns: Mixed) -> tuple[Mixed, Mixed]:
    """[kb, 2 * n] as [n, 2 * kb], as far as it is static."""
    if isinstance(columns, int) and columns % 2:
        raise VerifyException(f"pairs need an even number of columns, got {columns}")
    return (
        columns // 2 if isinstance(columns, int) else columns,
        2 * rows if isinstance(rows, int) else rows,
    )
