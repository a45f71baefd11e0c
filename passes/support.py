"""
What the later passes, and the machine, can do: everything else stops here.

An op that no pass lowers yet is refused with its place instead of going wrong later,
and so is a product that the machine's cube unit does not compute.
"""

from __future__ import annotations

from typing import NoReturn

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.pypto.matmul import EpilogueOp, MatmulOp, MmaOp, ScaledMmOp
from pyptoc.dialects.pypto.shape import (
    EmptyOp,
    ReinterpretOp,
    ReshapeOp,
    TransposeOp,
    ViewOp,
)
from pyptoc.passes.structured import unit_of
from pyptoc.passes.typed import element_type
from pyptoc.runtime.machine import Machine, load_machine, machine_names

PULLED = (EmptyOp, EpilogueOp, MmaOp, ReinterpretOp, ReshapeOp, TransposeOp, ViewOp)
"""Tensor ops that no group holds: places, ways to look at them, steps in tasks."""

SCALARS = frozenset(
    ["assert", "claim", "claims", "dim", "index", "print", "read", "scalar", "yield"]
)
"""Ops of the orchestration, which stay as they are."""


def check_support(module: ModuleOp, machine: Machine) -> None:
    """Refuse ops that are not lowered yet or that `machine` does not have."""
    errors = ErrorList()
    for op in module.walk():
        dialect, _, name = op.name.partition(".")
        if dialect in ("arith", "math"):
            with errors.kept():
                _check_scalar(op)
        if dialect != "pypto" or name in SCALARS:
            continue
        with errors.kept():
            if isinstance(op, MatmulOp | ScaledMmOp):
                check_product(op, machine)
            elif not isinstance(op, PULLED) and unit_of(op) is None:
                _refuse(op)
    errors.check()


def _refuse(op: Operation) -> NoReturn:
    error(
        op,
        "PTO190",
        f"'{op.name}' is not lowered yet",
        length=len(op.name),
        rule="the compiler runs it only at the tensor level",
        help="--run --compile-to=tensor interprets it",
    )


def _check_scalar(op: Operation) -> None:
    if not any(isinstance(value.type, TensorType) for value in op.results):
        return
    is_constant = isinstance(op, ConstantOp)
    error(
        op,
        "PTO190",
        f"'{op.name}' makes a tensor",
        length=len(op.name),
        rule="arith and math compute scalars; tensors are computed by pypto's ops",
        help="pypto.full makes a tensor of one value; others are arguments"
        if is_constant
        else "--list-ops shows them",
    )


def check_product(op: MatmulOp | ScaledMmOp, machine: Machine) -> None:
    """Refuse a product that the cube unit of `machine` does not compute."""
    elements = {str(element_type(op.lhs)), str(element_type(op.rhs))}
    missing = sorted(elements - machine.matmul_inputs)
    if missing:
        have = ", ".join(sorted(machine.matmul_inputs))
        _refuse_machine(
            op, f"{' x '.join(missing)} product", machine, have, frozenset(missing)
        )
    if isinstance(op, ScaledMmOp) and not machine.supports_mx:
        _refuse_machine(op, "product with MX scales", machine, "", frozenset())


def _refuse_machine(
    op: Operation, what: str, machine: Machine, have: str, needs: frozenset[str]
) -> NoReturn:
    mx = isinstance(op, ScaledMmOp)
    others = [
        name
        for name in machine_names()
        if needs <= (other := load_machine(name)).matmul_inputs
        and (other.supports_mx or not mx)
    ]
    error(
        op,
        "PTO220",
        f"{machine.name} has no {what} ({op.name})",
        length=len(op.name),
        here=f"the cube unit of {machine.name} multiplies {have}" if have else "",
        help=f"machines that have it: {', '.join(others) or 'none'}",
    )
