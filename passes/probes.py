"""
Probed values become results of the operator, after its own.

    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = pypto.exp %x
      pypto.probe %y "mid"
      %z = pypto.add %y, 1.0
      func.return %z
    }
    ->
    func.func @f(%x: tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32> {pypto.name = "mid"}) {
      %y = pypto.exp %x
      %z = pypto.add %y, 1.0
      func.return %z, %y
    }

A probe inside loops or branches gives the last value that it saw, or zeros if it saw
none: the value is stored into a tensor of zeros that the loops carry (`desugar` writes
that out, as for the stores of a forall). Of several probes with one name the last wins.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.literals import i64_array
from pyptoc.dialects.pypto.debug import ProbeOp
from pyptoc.dialects.pypto.shape import FullOp, StoreOp
from pyptoc.passes.builder import Builder
from pyptoc.passes.typed import constant, tensor_type


def probes_to_results(function: FuncOp) -> None:
    """Replace the probes of a function by results; those inside by stores."""
    named: dict[str, list[ProbeOp]] = {}
    for op in function.walk():
        if isinstance(op, ProbeOp):
            named.setdefault(op.label.data, []).append(op)
    for name, probes in named.items():
        outside = all(probe.parent_op() is function for probe in probes)
        value = probes[-1].source if outside else _stored(function, probes)
        _add_result(function, name, value)
        for probe in probes:
            probe.detach()
            probe.erase()


def _stored(function: FuncOp, probes: Sequence[ProbeOp]) -> SSAValue:
    """The tensor that the probes store into, one after the other."""
    type_ = tensor_type(probes[0].source)
    for probe in probes:
        if probe.source.type != type_:
            name = f'"{probe.label.data}"'
            error(
                probe,
                "PTO184",
                f"{name} is {probe.source.type} here and {type_} elsewhere",
                rule="probes of one name in loops or branches have one type",
                help="give this one a name of its own",
            )
    first = function.body.block.first_op
    assert first is not None
    zero = constant(0, type_.element_type)
    full = FullOp.make(zero, list(type_.get_shape()), result_type=type_)
    kept = Builder.before(first).value(full, probes[0].label.data)
    origin: dict[str, Attribute] = {
        "static_offsets": i64_array([0] * type_.get_num_dims())
    }
    for probe in probes:
        store = StoreOp.create(operands=[probe.source, kept], properties=origin)
        Builder.before(probe, probe.attributes).emit(store)
    return kept


def _add_result(function: FuncOp, name: str, value: SSAValue) -> None:
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    last.operands = [*last.operands, value]
    type_ = function.function_type
    outputs = [*type_.outputs.data, value.type]
    given = function.res_attrs
    attributes = (
        list(given.data) if given else [DictionaryAttr({})] * len(type_.outputs)
    )
    attributes.append(DictionaryAttr({"pypto.name": StringAttr(name)}))
    function.properties["res_attrs"] = ArrayAttr(attributes)
    function.properties["function_type"] = FunctionType.from_lists(
        list(type_.inputs.data), outputs
    )
