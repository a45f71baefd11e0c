"""
One box of a gather or scatter, as a task moves it.

    %y = pypto.gather_rows %x at %i              rows [64 * %t +: %m]
    ->
    %it = pypto.view %i[64 * %t +: %m]
    %b = npu.gather %x[0, 0] of %n at %it[64 * %t] [%m, 512] {per = "row", ..}
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from pyptoc.dialects.indexed import options_of
from pyptoc.dialects.npu_indexing import GatherOp, ScatterOp
from pyptoc.dialects.record import record
from pyptoc.dialects.subscripts import Mixed
from pyptoc.passes.index_shapes import Indexed, indexed, per_of
from pyptoc.passes.task_builder import SINGLE, BodyBuilder, Extent, bounded_type
from pyptoc.passes.typed import element_type
from pyptoc.passes.windows import window_of

Mixeds = list[Mixed]


@record
class IndexedBox:
    """The box `extents` of what `op` gathers, or of what it scatters."""

    body: BodyBuilder
    op: Operation
    access: Indexed
    extents: Sequence[Extent]

    @staticmethod
    def of(body: BodyBuilder, op: Operation, extents: Sequence[Extent]) -> IndexedBox:
        return IndexedBox(body, op, indexed(op), extents)

    def index_tiles(self) -> list[SSAValue]:
        """Views of the indices that go with the box."""
        extents = self._index_extents()
        return [self.body.tile(value, extents) for value in self.access.indices]

    def gather(self, indices: Sequence[SSAValue]) -> SSAValue:
        """Emit the gather by tiles of indices, and return what it reads."""
        access, body = self.access, self.body
        table, table_axis = self._table()
        common = self._common(None, indices)
        options = self._options(table_axis)
        type_ = bounded_type(self.extents[-2:], element_type(access.memory))
        new = GatherOp.of(*common, options, table=table, result_type=type_)
        return body.build.value(new)

    def scatter(
        self,
        indices: Sequence[SSAValue],
        data: SSAValue,
        dest: SSAValue | None,
        more: dict[str, Attribute],
    ) -> None:
        """Emit the scatter of a tile into `dest`, or into the memory of the op."""
        common = self._common(dest, indices)
        options = self._options(0) | more
        self.body.build.emit(ScatterOp.of(*common, options, data=data))

    def _common(
        self, base: SSAValue | None, indices: Sequence[SSAValue]
    ) -> tuple[SSAValue, Mixeds, Mixeds, Sequence[SSAValue], Mixeds, Mixeds]:
        """The memory, offsets, limits, indices, positions, and extents."""
        access, body = self.access, self.body
        window = window_of(access.memory, body.shapes)
        offsets = list(window.offsets)
        for extent, dim in zip(self.extents, access.memory_dims, strict=True):
            if dim is not None:
                offsets[window.dims[dim]] += extent.lo
        dims = body.shapes.dims(access.memory)
        box = [SINGLE] * (2 - len(self.extents)) + list(self.extents)
        return (
            window.base if base is None else base,
            [body.index(offset) for offset in offsets],
            [body.index(dims[axis]) for axis in access.axes],
            indices,
            [body.index(extent.lo) for extent in self._index_extents()],
            [body.index(extent.size) for extent in box[-2:]],
        )

    def _options(self, table_axis: int) -> dict[str, Attribute]:
        access = self.access
        window = window_of(access.memory, self.body.shapes)
        dims = [-1] * max(0, 2 - len(self.extents))
        dims += [-1 if dim is None else window.dims[dim] for dim in access.memory_dims]
        names = (f"%{value.name_hint or 'indices'}" for value in access.indices)
        return options_of(
            [window.dims[axis] for axis in access.axes],
            dims[-2:],
            per_of(access),
            missing=access.missing,
            asked_by=self.op.name.partition(".")[2],
            asked_at=", ".join(names),
            page=access.page,
            table_axis=table_axis,
        )

    def _index_extents(self) -> list[Extent]:
        """The part of the tensor of indices that the box needs."""
        rank = sum(own is not None for own in self.access.index_dims)
        found = [SINGLE] * rank
        for extent, own in zip(self.extents, self.access.index_dims, strict=True):
            if own is not None:
                found[own] = extent
        return found

    def _table(self) -> tuple[tuple[SSAValue, list[Mixed], Mixed] | None, int]:
        """The page table as it lies in its tensor, and the dimension of its pages."""
        value, body = self.access.table, self.body
        if value is None:
            return None, 0
        window = window_of(value, body.shapes)
        offsets = [body.index(offset) for offset in window.offsets]
        pages = body.index(body.shapes.dims(value)[0])
        return (window.base, offsets, pages), window.dims[0]
