"""
Values of a body that is one task and that lie in pieces because others are made so.

    %e = pypto.empty[%n, 576]
    %1 = pypto.assemble %d into %e[0, 0]           %d [%n, 128] .. : joined side by side
    ..
    %k = pypto.assemble %r into %4[0, 512]         %r [%n, 64]
    %v = pypto.view %k[:, 0 +: 512]                a part of what the body makes

No tile is copied for that: the pieces of %k are those of %d .. and %r, those of %v are
some of them. So columns are cut where tiles are joined, and where parts begin and end:
%k in pieces of 128 and a last one of 64. All tiles with as many columns are cut alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from math import gcd

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import ZERO, Expr
from pyptoc.dialects.pypto.shape import AssembleOp, EmptyOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.passes.column_parts import columns_of
from pyptoc.passes.shapes import Shapes


@record(frozen=False)
class ColumnPieces:
    """What is joined of tiles, and the parts of tiles."""

    shapes: Shapes
    joined: dict[SSAValue, tuple[SSAValue, ...]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, ...]]
    )
    """The tiles of which a tensor is made so far, from the left to the right."""
    parts: dict[SSAValue, tuple[SSAValue, int]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, int]]
    )
    """Views of columns: of which tile, and the first column."""

    def begin(self, op: EmptyOp) -> None:
        """Note a tensor that tiles will fill."""
        self.joined[op.result] = ()

    def join(self, op: AssembleOp) -> bool:
        """Note a tile that goes behind the last one; False if it goes elsewhere."""
        filled = self.joined[op.dest]
        dims, have = self.shapes.dims(op.source), self.shapes.dims(op.dest)
        *lead, first = map(self.shapes.mixed, op.mixed_offsets)
        good = (
            len(dims) == len(have)
            and dims[:-1] == have[:-1]
            and dims[-1].is_const
            and all(offset == ZERO for offset in lead)
            and first == Expr.const(sum(map(self._columns, filled)))
        )
        if good:
            self.joined[op.result] = (*filled, op.source)
        return good

    def is_whole(self, value: SSAValue) -> bool:
        """Whether the tiles of a joined tensor fill it."""
        total = sum(map(self._columns, self.joined[value]))
        return self.shapes.dims(value)[-1] == Expr.const(total)

    def part(self, view: ViewOp) -> bool:
        """Note a view of columns of a tile; False if it is something else."""
        columns = columns_of(view)
        if columns is None or not self.shapes.dims(view.source)[-1].is_const:
            return False
        self.parts[view.result] = (view.source, columns[0])
        return True

    def readers(self, value: SSAValue) -> Iterator[Operation]:
        """The ops that read a tile, or one that has it as a piece."""
        for use in value.uses:
            result = self.passed_on(use.operation)
            if result is None:
                yield use.operation
            else:
                yield from self.readers(result)

    def passed_on(self, op: Operation) -> SSAValue | None:
        """What stands for the tiles that `op` reads, if it computes nothing."""
        result = op.results[0] if op.results else None
        known = result is not None and (result in self.parts or result in self.joined)
        return result if known else None

    def widths(self) -> dict[Expr, int]:
        """
        The widths of the pieces into which columns are cut, by how many they are.

        Joined tiles but the last have whole pieces; parts begin with a piece.
        """
        found: dict[int, int] = {}
        ties: list[tuple[int, int]] = []
        for result, sources in self.joined.items():
            if not sources or not self.is_whole(result):
                continue
            total, start = self._columns(result), 0
            for source in sources:
                ties.append((total, self._columns(source)))
                found[total] = gcd(found.get(total, 0), start)
                start += self._columns(source)
        for result, (source, first) in self.parts.items():
            total, size = self._columns(source), self._columns(result)
            ties.append((total, size))
            ends = 0 if first + size == total else first + size
            found[total] = gcd(found.get(total, 0), first, ends)
        for columns in {size for tie in ties for size in tie}:
            found[columns] = min(found.get(columns, 0) or columns, columns)
        changed = True
        while changed:
            changed = False
            for total, size in ties:
                if size == found[size] <= found[total]:
                    continue  # one piece of the whole, perhaps its short last one
                width = gcd(found[total], found[size])
                changed = changed or {found[total], found[size]} != {width}
                found[total] = found[size] = width
        return {Expr.const(columns): width for columns, width in found.items()}

    def _columns(self, value: SSAValue) -> int:
        size = self.shapes.dims(value)[-1]
        return size.value if size.is_const else 0
