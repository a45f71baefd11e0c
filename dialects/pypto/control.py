"""Loops over tensors: `for` carries values, `forall` fills write-only destinations.

    %r = pypto.for (%j +: %n = 0 to %len step 512) iter(%m = %m0) {tag = "kv"} {
      ..
      pypto.yield %m1
    }
    %o = pypto.forall (%b = 0 to %B, %i +: %m = 0 to %S step 128) outs(%d = %o0) {
      ..
      pypto.store %t into %d[%b, %i]
    }

`%i +: %m` also gives the size of the last, ragged piece: min(step, upper - i).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue, Use
from xdsl.irdl import lazy_traits_def, traits_def, var_operand_def
from xdsl.traits import HasParent, IsTerminator, NoTerminator, RecursiveMemoryEffect
from xdsl.utils.lexer import Span

from pyptoc.dialects.diagnostics import CompileError, Note, error
from pyptoc.dialects.op_definition import op_definition
from pyptoc.dialects.parsing import LocParser
from pyptoc.dialects.pypto.base import PyptoOp
from pyptoc.dialects.pypto.call import Call
from pyptoc.dialects.pypto.infer import refine, show
from pyptoc.dialects.pypto.loop_op import LoopOp
from pyptoc.dialects.pypto.shape import StoreOp
from pyptoc.dialects.pypto.values import Values
from pyptoc.dialects.rejected import ErrorOp, has_error
from pyptoc.dialects.subscripts import Mixed
from pyptoc.dialects.words import counted


@op_definition
class YieldOp(PyptoOp):
    """The values of the next iteration of a `for`.

    One value for each `iter`, of its type up to `?` (PTO150, PTO151).

    Example:
        func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
          %y = pypto.for (%i = 0 to 2) iter(%a = %x) {
            %b = pypto.add %a, %a
            pypto.yield %b
          }
          func.return %y : tensor<4xf32>
        }
    """

    name = "pypto.yield"

    inputs = var_operand_def()

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ForOp)))
    SYNTAX = (Values("inputs", 0, None),)

    @classmethod
    def of(cls, values: Sequence[SSAValue] = ()) -> Self:
        """The terminator of a loop body; of one without values, too."""
        return cls.create(operands=list(values))

    def verify_(self) -> None:
        pass


@op_definition
class ForOp(LoopOp):
    """Iterations one after the other that carry values.

    From the lower bound up to the upper one, which is excluded; none where it is not
    greater. `%i +: %n` also gives the size of the last, ragged piece: %n = min(step,
    upper - %i). The step is positive (PTO154). The results are what the last `yield`
    has, or the initial values where nothing ran.

    Example:
        func.func @sum(%x: tensor<?x64xf32>, %zero: tensor<1x64xf32>)
            -> tensor<1x64xf32> {
          %m = pypto.dim %x, 0
          %s = pypto.for (%i +: %n = 0 to %m step 32) iter(%a = %zero) {tag = "rows"} {
            %block = pypto.view %x[%i +: %n, :]
            %part = pypto.sum %block axis 0 {keepdim}
            %b = pypto.add %a, %part
            pypto.yield %b
          }
          func.return %s : tensor<1x64xf32>
        }
    """

    name = "pypto.for"
    USAGE = (
        "(%i [+: %n] = <lower> to <upper> [step <step>]) "
        "[iter(%x = %init, ..)] [{settings}] {body}"
    )

    traits = traits_def(RecursiveMemoryEffect())
    BINDING = "iter"
    ONE_AXIS = True

    @property
    def lower(self) -> Mixed:
        return self.mixed_lowers[0]

    @property
    def upper(self) -> Mixed:
        return self.mixed_uppers[0]

    @property
    def step(self) -> Mixed:
        return self.mixed_steps[0]

    @classmethod
    def _finish_body(cls, body: Region, call: Call) -> None:
        last = body.block.last_op
        if call.operands["inits"] or isinstance(last, YieldOp | ErrorOp):
            return
        body.block.add_op(YieldOp.of())

    def check_body(self, parser: LocParser | None) -> None:
        last = self.body.block.last_op
        if isinstance(last, ErrorOp):
            return
        if not isinstance(last, YieldOp):
            error(
                last or self,
                "PTO150",
                "the body of a for ends with pypto.yield",
                help="pypto.yield with one value for each iter",
            )
        call = parser.calls.get(last) if parser else None
        call = call or last.call()
        args, values = self.bound_args, tuple(last.inputs)
        if len(args) != len(values):
            call.error(
                "PTO150",
                f"yield has {counted(len(values), 'value')}, the loop carries "
                f"{len(args)}",
                rule="one value for each iter",
            )
        for index, (arg, value) in enumerate(zip(args, values, strict=True)):
            if has_error(arg) or has_error(value):
                continue
            _check_yield(call, index, arg.type, value.type)


def _check_yield(call: Call, index: int, carried: Attribute, given: Attribute) -> None:
    try:
        refine(call.site, carried, given, index)
    except CompileError:
        call.error(
            "PTO151",
            f"yield of {show(given)}, the loop carries {show(carried)}",
            at=f"inputs.{index}",
            rule="value and initial value have the same type, up to ?",
        )


@op_definition
class ForallOp(LoopOp):
    """Independent iterations that store into write-only `outs`.

    Several indices make a grid; bounds, steps and `+: %n` are as in `for`. The results
    are the initial values with what was stored. Reading an `outs` is an error (PTO153),
    and so is storing the same element in two iterations. Inner loops may store into an
    outer forall's `outs`.

    Example:
        func.func @silu(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
          %m = pypto.dim %x, 0
          %d = pypto.empty[%m, 64] : tensor<?x64xf32>
          %y = pypto.forall (%i +: %n = 0 to %m step 32) outs(%o = %d) {
            %block = pypto.view %x[%i +: %n, :]
            %s = pypto.silu %block
            pypto.store %s into %o[%i, 0]
          }
          func.return %y : tensor<?x64xf32>
        }
    """

    name = "pypto.forall"
    USAGE = (
        "(%i [+: %n] = <lower> to <upper> [step <step>], ..) "
        "[outs(%x = %init, ..)] [{settings}] {body}"
    )

    traits = traits_def(NoTerminator())
    BINDING = "outs"

    @property
    def outs(self) -> tuple[BlockArgument, ...]:
        """The destinations inside the body."""
        return self.bound_args

    def check_body(self, parser: LocParser | None) -> None:
        last = self.body.block.last_op
        if isinstance(last, YieldOp):
            error(
                last,
                "PTO150",
                "the body of a forall has no pypto.yield",
                rule="its iterations carry nothing: they store into outs",
                help="pypto.store %t into %o[...], or carry values with pypto.for",
            )
        for out in self.outs:
            if not isinstance(out.type, TensorType) and not has_error(out):
                error(
                    out.location,
                    "PTO110",
                    f"outs of a forall are tensors, %{out.name_hint or 'o'} is "
                    f"{out.type}",
                    rule="an iteration stores its part of a tensor",
                )
            for use in out.uses:
                store = isinstance(use.operation, StoreOp)
                if store and use.operation.operands[use.index] is out and use.index:
                    continue
                if not isinstance(use.operation, ErrorOp):
                    _raise_read(out, use, parser)


def _raise_read(out: BlockArgument, use: Use, parser: LocParser | None) -> None:
    op = use.operation
    place: Operation | Span[str] = op
    name = f"%{out.name_hint or 'o'}"
    if parser is not None:
        name = parser.name_of(out)
        call = parser.calls.get(op)
        keys = [key for key, value in call.written if value is out] if call else []
        if call is not None and keys:
            place = call.spans.get(keys[0], op)
    error(
        place,
        "PTO153",
        f"{name} cannot be read: it is write-only in the forall",
        notes=(Note("an iteration sees nothing of what the others store"),),
        help="read the initial value instead, or carry a value with pypto.for",
    )


CONTROL_OPS = (ForOp, ForallOp, YieldOp)
"""Loops and their terminator."""
