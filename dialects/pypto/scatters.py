"""Scatters: ops that write where data says.

Each gives the destination as a new value, with its source put or added at the indices,
which are i32 or i64. One outside the destination is an error at run time, unless an
attribute says what it means.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, TensorType, UnitAttr
from xdsl.ir import Attribute
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto import infer_indexing as inference
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import shape_of
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.properties import Int
from pyptoc.dialects.pypto.structure import Structure, Structured, scattering
from pyptoc.dialects.pypto.syntax import Clause, Operands
from pyptoc.dialects.pypto.values import Values


@op_definition
class ScatterRowsOp(PyptoOp, Structured):
    """The destination with some of its rows replaced; the last of equal indices wins.

    `rows = [0, 1, 2]` flattens these leading dimensions of the destination to one row
    number (default [0]). The source has the shape of slot and then that of a row;
    dimensions of size 1 may be left out. Index `skip` is left out.

    `unique` asserts that no index repeats, which the run checks. A repeated one, or one
    outside the rows, is a run-time error (PTO408).

    Example:
        %c = pypto.scatter_rows %x into %cache at %slot {rows = [0, 1, 2], skip = -1}
            : tensor<?x512xi8>, tensor<?x128x1x512xi8>, tensor<?xi64>
            -> tensor<?x128x1x512xi8>
    """

    name = "pypto.scatter_rows"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    indices = operand_def(TensorType)
    rows = opt_prop_def(ArrayAttr)
    skip = opt_prop_def(IntegerAttr)
    unique = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("into", Operands("dest")),
        Clause("at", Operands("indices")),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        rows = call.ints("rows") if call.has("rows") else (0,)
        source, dest, indices = map(call.type, ("source", "dest", "indices"))
        return [inference.scatter_rows(call.site, source, dest, indices, rows)]

    def _structure(self) -> Structure:
        """A point for each element of the rows, in the order of the indices."""
        axes = range(len(shape_of(self.indices.type)))
        count = 1 if self.rows is None else len(self.rows)
        return scattering(self.source, 0, [self.indices], axes, self.result, count)


@op_definition
class IndexAddOp(PyptoOp, Structured):
    """The destination with slices added along an axis, in index order.

    Equal indices accumulate; f16 and bf16 accumulate in f32 and round once, integers
    wrap. An index outside the axis is a run-time error (PTO408).

    Example:
        %y = pypto.index_add %x into %y0 at %idx axis 0
            : tensor<?x64xf32>, tensor<100x64xf32>, tensor<?xi64> -> tensor<100x64xf32>
    """

    name = "pypto.index_add"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("into", Operands("dest")),
        Clause("at", Operands("indices")),
        Clause("axis", Int("axis")),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source, dest, indices = map(call.type, ("source", "dest", "indices"))
        axis = call.int("axis")
        return [inference.index_add(call.site, source, dest, indices, axis)]

    def _structure(self) -> Structure:
        """A point for each element, in the order of the indices."""
        axis = self.axis.value.data % len(shape_of(self.source.type))
        return scattering(self.source, axis, [self.indices], [axis], self.result)


@op_definition
class ScatterOp(PyptoOp, Structured):
    """dst[.., idx[.., j, ..], ..] = src[.., j, ..]: puts elements along an axis.

    src and idx have one shape, which is the destination's but for the axis. The last of
    equal indices wins; `add` adds onto what is there, in index order (f16 and bf16 in
    f32, rounded once; integers wrap). What has no index keeps its value. An index
    outside of the axis is a run-time error (PTO408).

    Example:
        %y = pypto.scatter %x into %y0 at %idx axis -1 {add}
            : tensor<?x8xf32>, tensor<?x256xf32>, tensor<?x8xi32> -> tensor<?x256xf32>
    """

    name = "pypto.scatter"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    add = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("into", Operands("dest")),
        Clause("at", Operands("indices")),
        Clause("axis", Int("axis")),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source, dest, indices = map(call.type, ("source", "dest", "indices"))
        axis, adds = call.int("axis"), call.has("add")
        return [inference.scatter(call.site, source, dest, indices, axis, adds)]

    def _structure(self) -> Structure:
        """A point for each element, in order along the axis."""
        rank = len(shape_of(self.source.type))
        axis = self.axis.value.data % rank
        return scattering(self.source, axis, [self.indices], range(rank), self.result)


@op_definition
class IndexPutOp(PyptoOp, Structured):
    """dst[i0[n], i1[n], ..] = values[n]: an index for each leading dimension.

    A value is what the dimensions without indices hold: an element if all have them.
    The last of equal places wins; `accumulate` adds onto what is there, in index order
    (f16 and bf16 in f32, rounded once; integers wrap). What has no index keeps its
    value. An index outside of its dimension is a run-time error (PTO408).

    Example:
        %y = pypto.index_put %v into %y0 at %i, %j
            : tensor<?x64xf32>, tensor<4x9x64xf32>, tensor<?xi32>, tensor<?xi32>
            -> tensor<4x9x64xf32>
    """

    name = "pypto.index_put"

    source = operand_def(TensorType)
    dest = operand_def(TensorType)
    indices = var_operand_def(TensorType)
    accumulate = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    SYNTAX = (
        Operands("source"),
        Clause("into", Operands("dest")),
        Clause("at", Values("indices", 1, None)),
    )
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        source, dest = map(call.type, ("source", "dest"))
        indices, adds = call.types("indices"), call.has("accumulate")
        return [inference.index_put(call.site, source, dest, indices, adds)]

    def _structure(self) -> Structure:
        """A point for each element of the values, in the order of the indices."""
        indices = list(self.indices)
        return scattering(self.source, 0, indices, [0], self.result, len(indices))
