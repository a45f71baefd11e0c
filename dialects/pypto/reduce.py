"""Reductions over one axis, and the cumulative sum.

The axis is dropped, or stays with size 1 under `{keepdim}`. Everything computes in f32
for floats and rounds once, to the operand's type or to the type after `to`; integers
are exact. NaN propagates through all of them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i32
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer_elementwise import (
    Domain,
    cumsum,
    reduction,
    sum_element,
)
from pyptoc.dialects.pypto.properties import Int, Type
from pyptoc.dialects.pypto.structure import (
    GREATEST,
    LEAST,
    PRODUCT,
    SUM,
    Kind,
    Monoid,
    Structure,
    Structured,
    along,
)
from pyptoc.dialects.pypto.syntax import Clause, Operands


class ReductionOp(PyptoOp, Structured, ABC):
    """One number for each line along an axis; see the module."""

    DOMAIN: ClassVar[Domain] = Domain.NUMBER
    """The element types the op is defined on."""
    ELEMENT: ClassVar[Attribute | None] = None
    """The element type of the result, where it is not that of the operand."""
    MONOID: ClassVar[Monoid | None] = None
    """How parts of a line combine; None: only after it is decomposed."""

    source = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    keepdim = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    SYNTAX = (Operands("source"), Clause("axis", Int("axis")))
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [cls.reduced(call, cls.ELEMENT)]

    @classmethod
    def reduced(cls, call: Call, element: Attribute | None) -> Attribute:
        """The result type, with elements of type `element` (None: the operand's)."""
        return reduction(
            call.site,
            call.type("source"),
            call.int("axis"),
            call.has("keepdim"),
            cls.DOMAIN,
            element,
        )

    def _structure(self) -> Structure:
        """A point for each element of the operand, of which an axis is folded."""
        axis = self.axis.value.data
        return along(self.source, self.result, axis, Kind.FOLDED, self.MONOID)


class AccumulatingOp(ReductionOp, ABC):
    """A reduction whose result may need a wider type: `sum %x axis 0 to i32`."""

    target = opt_prop_def(TypeAttribute)
    SYNTAX = (
        Operands("source"),
        Clause("axis", Int("axis")),
        Clause("to", Type("target"), optional=True),
    )

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        target = call.properties.get("target")
        reduced = cls.reduced(call, None)
        element = sum_element(call.site, call.type("source"), target)
        return [reduced if target is None else cls.reduced(call, element)]


@op_definition
class SumOp(AccumulatingOp):
    """The sum of the elements; of none it is 0.

    f16 and bf16 add up in f32 and round once; the order of additions is free. i32 and
    i64 wrap. Sums of i8, ui8 and i16 would overflow at once: they need `to i32` or `to
    i64`. Floats take `to f32`.

    Example:
        %s = pypto.sum %x axis -1 : tensor<?x64xbf16> -> tensor<?xbf16>
        %s = pypto.sum %x axis -1 to i32 {keepdim} : tensor<?x64xi8> -> tensor<?x1xi32>
    """

    name = "pypto.sum"
    MONOID = SUM


@op_definition
class ProdOp(AccumulatingOp):
    """The product of the elements; of none it is 1.

    f16 and bf16 multiply in f32 and round once. i32 and i64 wrap; i8, ui8 and i16 need
    `to i32` or `to i64`. Floats take `to f32`.

    Example:
        %p = pypto.prod %x axis 0 : tensor<?x64xf32> -> tensor<64xf32>
        %p = pypto.prod %x axis 0 to i32 : tensor<?x64xi8> -> tensor<64xi32>
    """

    name = "pypto.prod"
    MONOID = PRODUCT


@op_definition
class MeanOp(AccumulatingOp):
    """The mean: the sum of x * (1/n); of no elements NaN.

    In f32, rounded once. 1/n multiplies before the sum, so that the sum does not
    overflow.

    Example:
        %m = pypto.mean %x axis -1 {keepdim} : tensor<?x64xbf16> -> tensor<?x1xbf16>
    """

    name = "pypto.mean"
    DOMAIN = Domain.FLOAT


@op_definition
class VarOp(AccumulatingOp):
    """The variance: the mean of (x - mean)^2, divided by n, not n - 1.

    In f32, rounded once. Of no elements NaN.

    Example:
        %v = pypto.var %x axis -1 to f32 : tensor<?x64xbf16> -> tensor<?xf32>
    """

    name = "pypto.var"
    DOMAIN = Domain.FLOAT


@op_definition
class LogsumexpOp(AccumulatingOp):
    """log(sum(exp(x))) without overflow.

    The greatest element is taken off before and added again after. Of no elements, or
    of -inf only, it is -inf; an inf or a NaN gives NaN.

    Example:
        %l = pypto.logsumexp %x axis -1 : tensor<?x64xf32> -> tensor<?xf32>
    """

    name = "pypto.logsumexp"
    DOMAIN = Domain.FLOAT


@op_definition
class AmaxOp(ReductionOp):
    """The greatest element.

    NaN if any element is NaN. Of no elements it is -inf, for integers the least value
    of their type.

    Example:
        %m = pypto.amax %x axis -1 {keepdim} : tensor<?x64xf32> -> tensor<?x1xf32>
    """

    name = "pypto.amax"
    MONOID = GREATEST


@op_definition
class AminOp(ReductionOp):
    """The least element.

    NaN if any element is NaN. Of no elements it is inf, for integers the greatest value
    of their type.

    Example:
        %m = pypto.amin %x axis -1 : tensor<?x64xf32> -> tensor<?xf32>
    """

    name = "pypto.amin"
    MONOID = LEAST


@op_definition
class ArgmaxOp(ReductionOp):
    """The index of the greatest element.

    Of equal elements it is the first; the first NaN wins over all. No elements are a
    run-time error (PTO404).

    Example:
        %i = pypto.argmax %x axis -1 : tensor<?x64xf32> -> tensor<?xi32>
    """

    name = "pypto.argmax"
    ELEMENT = i32


@op_definition
class ArgminOp(ReductionOp):
    """The index of the least element.

    Of equal elements it is the first; the first NaN wins over all. No elements are a
    run-time error (PTO404).

    Example:
        %i = pypto.argmin %x axis -1 : tensor<?x64xf32> -> tensor<?xi32>
    """

    name = "pypto.argmin"
    ELEMENT = i32


@op_definition
class CumsumOp(PyptoOp, Structured):
    """Running sums along an axis, each with its own element.

    The axis stays. Floats add up in f32, each sum is rounded once. An integer sum that
    its type cannot hold is a run-time error (PTO403), or wraps with `wraps`.

    Example:
        %c = pypto.cumsum %x axis 0 : tensor<2xi64> -> tensor<2xi64>
    """

    name = "pypto.cumsum"

    source = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    wraps = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    SYNTAX = (Operands("source"), Clause("axis", Int("axis")))
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        return [cumsum(call.site, call.type("source"), call.int("axis"))]

    def _structure(self) -> Structure:
        """A point for each element, in order along an axis."""
        axis = self.axis.value.data
        return along(self.source, self.result, axis, Kind.ORDERED, SUM)


REDUCTION_OPS: tuple[type[ReductionOp], ...] = (
    SumOp,
    ProdOp,
    MeanOp,
    VarOp,
    LogsumexpOp,
    AmaxOp,
    AminOp,
    ArgmaxOp,
    ArgminOp,
)
"""Every reduction of one axis."""

REDUCE_OPS = (*REDUCTION_OPS, CumsumOp)
"""The whole family."""
