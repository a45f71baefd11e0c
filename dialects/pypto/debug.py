"""What shows intermediate values: `probe` among the results, `print` on the terminal.

Neither changes any other value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    DictionaryAttr,
    Float32Type,
    IndexType,
    IntegerType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import base, operand_def, prop_def, traits_def
from xdsl.traits import MemoryWriteEffect

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.literals import NAME_RULE, items, names_an_array
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.brackets import shape_of
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.properties import Text
from pyptoc.dialects.pypto.syntax import Operands
from pyptoc.dialects.subscripts import DYNAMIC

SHOWN = base(TensorType) | base(IndexType) | base(IntegerType) | base(Float32Type)
"""What can be printed."""


@op_definition
class ProbeOp(PyptoOp):
    """Adds an intermediate value to the outputs of a run, under a name of its own.

    Inside loops and branches the last value counts, zeros if there is none; its sizes
    are static there. In a forall, where no iteration is the last, it is an error.

    Example:
        pypto.probe %x "scores" : tensor<?x64xf32>
    """

    name = "pypto.probe"

    source = operand_def(TensorType)
    label = prop_def(StringAttr)
    SYNTAX = (Operands("source"), Text("label"))
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        call.tensor("source")
        return []

    def verify_(self) -> None:
        super().verify_()
        name, parent = self.label.data, self.parent_op()
        if not names_an_array(name):
            error(
                self,
                "PTO155",
                f"{self.label} is no name of a probe",
                rule=NAME_RULE,
            )
        is_nested = parent is not None and parent.name != "func.func"
        while parent is not None and parent.name != "func.func":
            if parent.name == "pypto.forall":
                error(
                    self,
                    "PTO155",
                    f'"{name}" is probed in a forall',
                    rule="its iterations have no order, so no value is the last",
                    help="store it into an outs of the forall, and probe the result",
                )
            parent = parent.parent_op()
        if is_nested and DYNAMIC in shape_of(self.source.type):
            error(
                self,
                "PTO155",
                f'"{name}" of {self.source.type} is probed in a loop or a branch',
                rule="a probe there shows the last value, whose sizes must be static",
                help="store it into a tensor of static size, and probe that",
            )
        if parent is not None and name in _names_of(parent):
            error(
                self,
                "PTO155",
                f'"{name}" is an argument or a result already',
                help="give the probe a name of its own",
            )


def _names_of(function: Operation) -> set[str]:
    """The names of a function's arguments and results."""
    found: set[str] = set()
    for key in ("arg_attrs", "res_attrs"):
        for each in items(function.properties.get(key)) or ():
            name = cast(DictionaryAttr, each).data.get("pypto.name")
            if isinstance(name, StringAttr):
                found.add(name.data)
    return found


@op_definition
class PrintOp(PyptoOp):
    """Shows a tensor or a scalar on the terminal (stderr), each time it is reached.

    Of a tensor with more than 64 elements it shows the first three and the last three
    along each dimension, in f32 if they are floats. The text is the name shown. It
    changes no value.

    Example:
        pypto.print "scores" %x : tensor<?x64xf32>
        pypto.print "scale" %s : f32
        pypto.print "count" %n : index
    """

    name = "pypto.print"

    label = prop_def(StringAttr)
    source = operand_def(SHOWN)
    SYNTAX = (Text("label"), Operands("source"))
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        type = call.type("source")
        if isinstance(type, TensorType):
            call.tensor("source")
        elif not isinstance(type, IndexType | IntegerType | Float32Type):
            call.error(
                "PTO110",
                f"print takes a tensor or a scalar, {call.name_of('source')} is {type}",
                at="source",
                rule="a scalar is f32, index or an integer",
            )
        return []


DEBUG_OPS = (ProbeOp, PrintOp)
"""The whole family."""
