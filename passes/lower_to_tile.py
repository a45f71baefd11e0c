"""
Task bodies become kernels of `tile` instructions, launched by the orchestration.

    %t = npu.tasks (%i) in (%n) buffers(%a, %y) scalars(%m) after(..) accesses(..)
        on vector { npu.load ; pypto.exp ; npu.store }
    ->
    npu.kernel @exp_0 (%i) (%a: .., %y: .., %m: index) on vector accesses(..) {
      tile.alloc ; tile.load ; tile.exp ; tile.store }
    %t = npu.launch @exp_0[%n] (%a, %y, %m) after(..)

`lower_vector.py` and `lower_cube.py` draw the bodies. Constants move into the kernel;
everything else that a body uses is a parameter. `order`, `blocks`, `axes` and `assign`
move from the tasks to the launch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, NoReturn

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from pyptoc.dialects import tile
from pyptoc.dialects.context import PyptocContext, load
from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.error_list import ErrorList
from pyptoc.dialects.npu import KernelOp, LaunchOp, ReadOp, TasksOp
from pyptoc.dialects.npu_attrs import Unit
from pyptoc.dialects.walk import LAUNCH_KEYS
from pyptoc.passes.base import PyptocPass
from pyptoc.passes.builder import Builder
from pyptoc.passes.cleanup import erase_dead
from pyptoc.passes.kernel_body import KernelBody
from pyptoc.passes.structured import defined_in, enclosing, is_constant
from pyptoc.passes.task_form import replace_op
from pyptoc.passes.tile_settings import WHOLE

BODIES: dict[Unit, str] = {
    Unit.CUBE: "lower_cube:CubeBody",
    Unit.VECTOR: "lower_vector:VectorBody",
    Unit.MIXED: "lower_mixed:MixedBody",
}
"""
A unit to `module:Class` of what lowers the body of a task on it, the module relative to
this package; it is loaded where there is such a task.
"""


class LowerToTilePass(PyptocPass):
    """Outline each task body as a kernel and lower it to tile instructions."""

    name = "lower-to-tile"
    summary: ClassVar[str] = "outline task bodies as kernels of tile instructions"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        number = 0
        _check_form(module)
        for function in list(module.ops):
            if not isinstance(function, func.FuncOp):
                continue
            for tasks in list(function.walk()):
                if isinstance(tasks, TasksOp):
                    kernel = outline(tasks, f"{kernel_name(tasks)}_{number}")
                    module.body.block.insert_op_before(kernel, function)
                    lower(kernel)
                    number += 1
            erase_dead(function)


def _check_form(module: ModuleOp) -> None:
    errors = ErrorList()
    for tasks in module.walk():
        if isinstance(tasks, TasksOp) and not tasks.is_memory_form:
            with errors.kept():
                _refuse(tasks)
    errors.check()


def _refuse(tasks: TasksOp) -> NoReturn:
    error(
        tasks,
        "PTO504",
        "these tasks are on tensors, not on memory",
        length=len(tasks.name),
        rule="lower-to-tile goes on from what assemble-buffers leaves",
        help="--pipeline=..,assemble-buffers,lower-to-tile",
    )


def kernel_name(tasks: TasksOp) -> str:
    """A symbol from the tag: letters, digits and underscores only."""
    tag = tasks.attributes.get("tag")
    text = tag.data if isinstance(tag, StringAttr) else tasks.unit.data
    return re.sub(r"\W", "_", text, flags=re.ASCII) or "kernel"


def outline(tasks: TasksOp, name: str) -> KernelOp:
    """A kernel with the body of `tasks`, which becomes a launch of it."""
    parameters = [*tasks.buffers, *tasks.scalars]
    accesses, unit = tasks.access_list, tasks.unit.data
    sink_constants(tasks)
    block = tasks.block
    for value in parameters:
        argument = block.insert_arg(value.type, len(block.args))
        argument.name_hint = value.name_hint
        argument.location = tasks.location
        inside = [
            use for use in value.uses if enclosing(use.operation, TasksOp) is tasks
        ]
        for use in inside:
            use.operation.operands[use.index] = argument
    launch = launch_of(tasks, name, parameters)
    attributes = dict(tasks.attributes)
    for key in LAUNCH_KEYS:
        if key in attributes:
            launch.attributes[key] = attributes.pop(key)
    location = tasks.location
    body = tasks.detach_region(tasks.body)
    replace_op(tasks, launch)
    return KernelOp.make(
        name,
        launch.rank,
        [],
        unit,
        accesses=accesses,
        body=body,
        attributes=attributes,
        location=location,
    )


def launch_of(tasks: TasksOp, name: str, parameters: Sequence[SSAValue]) -> LaunchOp:
    """The launch with the grid and the waits of `tasks`."""
    waits = tasks.wait_list
    return LaunchOp.make(
        name,
        tasks.grid,
        parameters,
        waits=[events for events, _ in waits],
        selectors=[selector for _, selector in waits],
        location=tasks.location,
    )


def sink_constants(tasks: TasksOp) -> None:
    """Repeat outer constants inside the body."""
    build = Builder(InsertPoint.at_start(tasks.block), tasks.location)
    copies: dict[SSAValue, SSAValue] = {}
    for op in list(tasks.body.walk()):
        for index, operand in enumerate(op.operands):
            if is_constant(operand) and not defined_in(operand, tasks):
                if operand not in copies:
                    owner = operand.owner
                    copies[operand] = build.value(owner.clone())  # pyright: ignore
                op.operands[index] = copies[operand]


def lower(kernel: KernelOp) -> None:
    """Lower the body of one kernel."""
    for op in list(kernel.walk()):
        if isinstance(op, ReadOp):
            type_ = op.results[0].type
            new = tile.ReadOp.make(op.source, op.mixed_offsets, type_)
            new.location = op.location
            replace_op(op, new)
    unit = Unit.MIXED if WHOLE in kernel.attributes else kernel.unit.data
    body: type[KernelBody] = load(f"pyptoc.passes.{BODIES[unit]}")
    body(kernel).run()
    erase_dead(kernel)
