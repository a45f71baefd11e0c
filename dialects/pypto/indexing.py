"""Top-k, sorting and gathers: ops whose positions come from data.

Indices are i32 or i64 tensors. One outside the tensor it points into is an error at
run time, unless an attribute says what it means.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute
from xdsl.irdl import (
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto import infer_indexing as inference
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import shape_of
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.properties import Int, Word
from pyptoc.dialects.pypto.scatters import (
    IndexAddOp,
    IndexPutOp,
    ScatterOp,
    ScatterRowsOp,
)
from pyptoc.dialects.pypto.structure import (
    Access,
    Kind,
    Runs,
    Structure,
    Structured,
    gathering,
    selecting,
)
from pyptoc.dialects.pypto.syntax import Clause, Operands
from pyptoc.dialects.words import counted


@op_definition
class TopkOp(PyptoOp, Structured):
    """The k greatest elements along an axis and their indices, in descending order.

    Equal elements come by lower index, NaN is the least. `lengths` says how much of
    each row counts: 0 to its size, else it is a run-time error (PTO404).

    Of fewer than k elements the rest is `pad_value` (-inf; for integers the least
    value) and `pad_index`. Without `pad_index` fewer than k are an error: PTO138, or
    PTO404 where only the run knows it.

    Example:
        %v, %i = pypto.topk %x k 2048 axis -1 {pad_index = -1}
            : tensor<?xf32> -> (tensor<2048xf32>, tensor<2048xi32>)
        %v, %i = pypto.topk %x k 8 axis -1 lengths %n {pad_index = -1}
            : tensor<4x?xf32>, tensor<4xi32> -> (tensor<4x8xf32>, tensor<4x8xi32>)
    """

    name = "pypto.topk"

    source = operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    k = prop_def(IntegerAttr)
    axis = prop_def(IntegerAttr)
    pad_index = opt_prop_def(IntegerAttr)
    pad_value = opt_prop_def(FloatAttr)
    values = result_def(TensorType)
    indices = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("k", Int("k")),
        Clause("axis", Int("axis")),
        Clause("lengths", Operands("lengths"), optional=True),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        lengths = call.type("lengths") if call.has("lengths") else None
        return inference.topk(
            call.site,
            call.type("source"),
            lengths,
            call.int("k"),
            call.int("axis"),
            call.has("pad_index"),
        )

    def _structure(self) -> Structure:
        """A point for each element; the axis is put in order."""
        axis = self.axis.value.data
        return selecting(self.source, axis, self.results, self.lengths)


@op_definition
class GatherRowsOp(PyptoOp, Structured):
    """Rows of a tensor by number, or through a page table.

    The result has the shape of idx and then that of a row. Through a table of pages of
    P rows, index i means row table[i floordiv P] * P + i mod P. `{pad = -1}` makes rows
    of zeros for index -1.

    An index below 0 or beyond the rows, or one in a page that the pool does not have,
    is a run-time error (PTO408) that names the position, the index and the page.

    Example:
        %y = pypto.gather_rows %rows at %idx
            : tensor<?x512xi8>, tensor<?xi32> -> tensor<?x512xi8>
        %y = pypto.gather_rows %rows at %idx through %table page 128
            : tensor<?x512xi8>, tensor<?xi32>, tensor<?xi32> -> tensor<?x512xi8>
    """

    name = "pypto.gather_rows"

    source = operand_def(TensorType)
    indices = operand_def(TensorType)
    table = opt_operand_def(TensorType)
    page = opt_prop_def(IntegerAttr)
    pad = opt_prop_def(IntegerAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("at", Operands("indices")),
        Clause(
            "through", Operands("table"), Clause("page", Int("page")), optional=True
        ),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        table = call.type("table") if call.has("table") else None
        page = call.int("page") if call.has("page") else 1
        if page <= 0:
            rule = "a page has at least 1 row"
            call.error(
                "PTO138", f"pages of {counted(page, 'row')}", at="page", rule=rule
            )
        source, indices = call.type("source"), call.type("indices")
        return [inference.gather_rows(call.site, source, indices, table)]

    def _structure(self) -> Structure:
        """A point for each element of the rows."""
        axes = range(len(shape_of(self.indices.type)))
        rest = [] if self.table is None else [self.table]
        return gathering(self.source, 0, self.indices, axes, self.result, rest)


@op_definition
class GatherOp(PyptoOp, Structured):
    """x[.., idx[.., j, ..], ..]: picks along an axis; x and idx have one rank.

    The result has the shape of idx, which has the sizes of x but along the axis. An
    index outside the axis is a run-time error (PTO408).

    Example:
        %y = pypto.gather %x, %idx axis -1
            : tensor<?x256xf32>, tensor<?x8xi32> -> tensor<?x8xf32>
    """

    name = "pypto.gather"

    source = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    result = result_def(TensorType)
    SYNTAX = (Operands("source", "indices"), Clause("axis", Int("axis")))
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source, indices = map(call.type, ("source", "indices"))
        return [inference.gather(call.site, source, indices, call.int("axis"))]

    def _structure(self) -> Structure:
        """A point for each element; an index for each of them."""
        rank = len(shape_of(self.source.type))
        axis = self.axis.value.data % rank
        return gathering(self.source, axis, self.indices, range(rank), self.result)


@op_definition
class IndexSelectOp(PyptoOp, Structured):
    """Whole slices of a tensor along an axis, by number.

    idx has rank 1 and may repeat. An index outside the axis is a run-time error
    (PTO408).

    Example:
        %y = pypto.index_select %x at %idx axis 0
            : tensor<100x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
    """

    name = "pypto.index_select"

    source = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("at", Operands("indices")),
        Clause("axis", Int("axis")),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source, indices = map(call.type, ("source", "indices"))
        return [inference.index_select(call.site, source, indices, call.int("axis"))]

    def _structure(self) -> Structure:
        """A point for each element; an index for each slice."""
        axis = self.axis.value.data % len(shape_of(self.source.type))
        return gathering(self.source, axis, self.indices, [axis], self.result)


@op_definition
class ArgsortOp(PyptoOp, Structured):
    """The i32 indices that sort an axis, ascending or `descending`; stable.

    NaN is the least element: first, or last with `descending`. Equal elements, as -0.0
    and 0.0 are, keep their order in both directions.

    Example:
        %i = pypto.argsort %x axis -1 {descending}
            : tensor<?x100xf32> -> tensor<?x100xi32>
    """

    name = "pypto.argsort"

    source = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    descending = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    SYNTAX = (Operands("source"), Clause("axis", Int("axis")))
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [inference.argsort(call.site, call.type("source"), call.int("axis"))]

    def _structure(self) -> Structure:
        """A point for each element; the axis is put in order."""
        return selecting(self.source, self.axis.value.data, self.results, None)


MASK_PATTERNS: dict[str, tuple[int, int]] = {
    "P0101": (2, 0),
    "P1010": (2, 1),
    "P0001": (4, 0),
    "P0010": (4, 1),
    "P0100": (4, 2),
    "P1000": (4, 3),
    "P1111": (1, 0),
}
"""The patterns of `gather_mask`: one of how many elements, and which one."""


@op_definition
class GatherMaskOp(PyptoOp):
    """The elements of the last axis that a repeated bit pattern selects.

    Its bits are read from the right: P0101 takes elements 0, 2, .. , P1010 takes
    1, 3, .. , P0001 takes 0, 4, .. and so on to P1000; P1111 takes all. The last group
    may be cut short: P1000 of 7 elements takes 1. Bits are copied.

    Example:
        %y = pypto.gather_mask %x pattern P1010 : tensor<?x9xf32> -> tensor<?x4xf32>
    """

    name = "pypto.gather_mask"

    source = operand_def(TensorType)
    pattern = prop_def(StringAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("pattern", Word("pattern", tuple(MASK_PATTERNS))),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        step, first = MASK_PATTERNS[call.text("pattern")]
        return [inference.gather_mask(call.site, call.type("source"), step, first)]


@op_definition
class OneHotOp(PyptoOp, Structured):
    """True in column c of a row where any index of the row is c; n columns.

    [.., m] gives [.., n]. An index that is no column sets nothing, which is how -1
    pads; a row without indices is all false.

    Example:
        %m = pypto.one_hot %idx 8 : tensor<?x4xi32> -> tensor<?x8xi1>
    """

    name = "pypto.one_hot"

    source = operand_def(TensorType)
    size = prop_def(IntegerAttr)
    result = result_def(TensorType)
    SYNTAX = (Operands("source"), Int("size"))
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [inference.one_hot(call.site, call.type("source"), call.int("size"))]

    def _structure(self) -> Structure:
        """Axes (outer.., columns, indices): any of the indices of a row marks it."""
        rank = len(shape_of(self.source.type))
        outer = range(rank - 1)
        kinds = (*[Kind.INDEPENDENT] * rank, Kind.FOLDED)
        reads = (Access(self.source, (*outer, rank)),)
        writes = (Access(self.result, tuple(range(rank))),)
        return Structure(Runs.INDEX, kinds, reads, writes)


INDEXING_OPS = (
    TopkOp,
    GatherRowsOp,
    ScatterRowsOp,
    GatherOp,
    IndexSelectOp,
    IndexAddOp,
    ScatterOp,
    IndexPutOp,
    ArgsortOp,
    GatherMaskOp,
    OneHotOp,
)
"""The whole family."""
