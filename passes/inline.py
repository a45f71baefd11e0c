"""
Calls of private functions are replaced by their bodies.

A helper keeps an operator's text short; everything after this pass sees one body.

    func.func private @gate(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %s = pypto.sigmoid %x : ...
      func.return %s : tensor<?x8xf32>
    }
    func.func @f(%a: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %g = func.call @gate(%a) : (tensor<?x8xf32>) -> tensor<?x8xf32>
      func.return %g : tensor<?x8xf32>
    }

becomes

    func.func @f(%a: tensor<?x8xf32>) -> tensor<?x8xf32> {
      %s = pypto.sigmoid %a : ...
      func.return %s : tensor<?x8xf32>
    }

Ops keep the locations and the default tiles of the helper that they were written in.
Private functions go away, called or not; public ones stay, also where one calls
another. Recursion and calls of what has no body are errors.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import SSAValue

from pyptoc.dialects.context import PyptocContext
from pyptoc.dialects.diagnostics import Note, error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.passes.base import PyptocPass

TILES = "pypto.tiles"


class InlinePass(PyptocPass):
    """Inline private functions and remove them."""

    name = "inline"
    summary = "replace calls of private functions by their bodies"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        functions = {
            op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)
        }
        done: set[str] = set()
        errors = ErrorList()
        for function in functions.values():
            with errors.kept():
                _check_body(function)
                _inline_calls(function, functions, [], done)
        errors.check()
        for function in functions.values():
            if is_private(function):
                function.detach()
                function.erase()


def _check_body(function: FuncOp) -> None:
    if not function.body.blocks and not is_private(function):
        message = f"@{function.sym_name.data} has no body"
        help = "an operator is written func.func @name(%x: tensor<...>) { ... }"
        error(function, "PTO180", message, help=help)


def is_private(function: FuncOp) -> bool:
    visibility = function.sym_visibility
    return visibility is not None and visibility.data == "private"


def _inline_calls(
    function: FuncOp,
    functions: dict[str, FuncOp],
    callers: list[CallOp],
    done: set[str],
) -> None:
    """Inline all calls in `function`, the innermost first; `callers` led here."""
    if function.sym_name.data in done:
        return
    for op in list(function.walk()):
        if not isinstance(op, CallOp):
            continue
        callee = functions[op.callee.string_value()]
        if not callee.body.blocks:
            message = f"call of {op.callee}, which has no body"
            error(op, "PTO180", message, length=len(op.name))
        _check_recursion(op, callee, callers)
        _inline_calls(callee, functions, [*callers, op], done)
        _inline_call(op, callee)
    done.add(function.sym_name.data)


def _check_recursion(call: CallOp, callee: FuncOp, callers: list[CallOp]) -> None:
    """An error if `call`, reached through `callers`, enters `callee` again."""
    chain = [*callers, call]
    inside = [_function_of(op) for op in chain]
    if callee not in inside:
        return
    first = inside.index(callee)
    error(
        call,
        "PTO181",
        f"@{callee.sym_name.data} calls itself",
        length=len(call.name),
        rule="a call is replaced by the body of the function, so it cannot recur",
        notes=tuple(
            Note(f"@{_function_of(op).sym_name.data} calls {op.callee}", op.location)
            for op in chain[first:-1]
        ),
        help="write the repetition as a pypto.for",
    )


def _function_of(op: CallOp) -> FuncOp:
    parent = op.parent_op()
    while not isinstance(parent, FuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent


def _inline_call(call: CallOp, callee: FuncOp) -> None:
    """Put a copy of the body of `callee`, which has no calls left, before `call`."""
    values: dict[SSAValue, SSAValue] = dict(zip(callee.args, call.operands))
    tiles = callee.attributes.get(TILES)
    block = call.parent_block()
    assert block is not None
    for op in callee.body.block.ops:
        if isinstance(op, ReturnOp):
            returned = [values.get(value, value) for value in op.operands]
            for result, value in zip(call.results, returned):
                if value.name_hint is None:
                    value.name_hint = result.name_hint
                result.replace_all_uses_with(value)
            break
        copy = op.clone(value_mapper=values)
        if tiles is not None:
            copy.attributes.setdefault(TILES, tiles)
        block.insert_op_before(copy, call)
    call.detach()
    call.erase()
