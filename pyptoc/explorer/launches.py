"""
The task graph: launches in program order, and what each of them waits for.

A wait names a set of tasks, which may come through `npu.join`, a loop or a branch;
here it leads back to the launches that the set can hold. One that comes round a loop in
which the waiting launch stands is `carried`: it is of an earlier trip.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.scf import ForOp, IfOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from pyptoc.dialects.npu import JoinOp, LaunchOp, ReadOp, TasksOp, kernels_of
from pyptoc.dialects.npu_attrs import Selector, SelectorKind
from pyptoc.dialects.pypto.scalars import IndexOp
from pyptoc.explorer.located import LocatedText

Data = dict[str, Any]
Mixed = int | SSAValue


def launch_data(module: ModuleOp, text: LocatedText) -> Data:
    """
    Nodes in program order with their loops, and edges from a launch to who waits.

    text: the module, printed.
    """
    found: list[tuple[Operation, tuple[Operation, ...]]] = []
    for op in module.ops:
        if op.name == "func.func":
            for region in op.regions:
                for block in region.blocks:
                    found.extend(_nodes(block, ()))
    numbers = {op: number for number, (op, _) in enumerate(found)}
    kernels = kernels_of(module)
    inside = {loop: None for _, loops in found for loop in loops}
    number = {loop: number for number, loop in enumerate(inside)}
    nodes = [
        {
            **_node(op, text),
            "tag": _tag(op) or _tag(kernels.get(_callee(op))),
            "row": text.rows[op],
            "loops": [[number[loop], _loop(loop)] for loop in loops],
        }
        for op, loops in found
    ]
    edges: dict[tuple[int, int, str, bool], None] = {}
    for op, loops in found:
        for value, selector in _waits(op):
            for launch, carried in _launches(value, loops):
                if launch in numbers:
                    edge = (numbers[launch], numbers[op], _text(selector), carried)
                    edges[edge] = None
    names = ("from", "to", "text", "carried")
    return {"nodes": nodes, "edges": [dict(zip(names, edge)) for edge in edges]}


def _nodes(
    block: Block, loops: tuple[Operation, ...]
) -> Iterator[tuple[Operation, tuple[Operation, ...]]]:
    for op in block.ops:
        if isinstance(op, (LaunchOp, TasksOp, ReadOp)):
            yield op, loops
        elif isinstance(op, (ForOp, IfOp)):
            for region in op.regions:
                for inner in region.blocks:
                    yield from _nodes(inner, (*loops, op))


def _callee(op: Operation) -> str:
    return op.callee_name if isinstance(op, LaunchOp) else ""


def _tag(op: Operation | None) -> str:
    tag = None if op is None else op.attributes.get("tag")
    return tag.data if isinstance(tag, StringAttr) else ""


def _node(op: Operation, text: LocatedText) -> Data:
    kind = op.name.partition(".")[2]
    if isinstance(op, ReadOp):
        return {"kind": kind, "name": f"read {_value(op.source, text)}", "grid": ""}
    assert isinstance(op, (LaunchOp, TasksOp))
    sizes = [_size(size, text) for size in op.grid]
    if len(sizes) > 1:
        sizes = [f"({size})" if " " in size else size for size in sizes]
    grid = " x ".join(sizes)
    return {"kind": kind, "name": _callee(op) or "tasks", "grid": grid}


def _size(size: Mixed, text: LocatedText) -> str:
    """A size as it is worked out: `%rows ceildiv 16`."""
    if isinstance(size, int):
        return str(size)
    if isinstance(size, OpResult) and isinstance(size.op, IndexOp):
        line = text.lines[text.rows[size.op]]
        return line.partition(IndexOp.name)[2].rpartition(":")[0].strip()
    return _value(size, text)


def _value(value: SSAValue, text: LocatedText) -> str:
    """A value by the name that the text gives it."""
    if isinstance(value, OpResult):
        names = text.lines[text.rows[value.op]].partition(" = ")[0].split(",")
        return names[value.index].strip()
    return f"%{value.name_hint}" if value.name_hint else "?"


def _loop(op: Operation) -> str:
    if isinstance(op, IfOp):
        return "if"
    name = op.regions[0].blocks[0].args[0].name_hint
    return f"for %{name}" if name else "for"


def _waits(op: Operation) -> list[tuple[SSAValue, Selector]]:
    return op.wait_list if isinstance(op, (LaunchOp, TasksOp, ReadOp)) else []


def _text(selector: Selector) -> str:
    if selector.kind == SelectorKind.BOX:
        return selector.box_text()
    return "overlaps" if selector.kind == SelectorKind.OVERLAPS else "all"


def _launches(
    value: SSAValue, loops: tuple[Operation, ...]
) -> Iterator[tuple[Operation, bool]]:
    """The launches whose tasks a set may hold, and whether of an earlier trip."""
    seen: set[tuple[SSAValue, bool]] = set()
    todo = [(value, False)]
    while todo:
        value, carried = item = todo.pop()
        if item in seen:
            continue
        seen.add(item)
        owner = value.owner
        if isinstance(owner, (LaunchOp, TasksOp)):
            yield owner, carried
        else:
            todo += [(one, carried or round in loops) for one, round in _before(value)]


def _before(value: SSAValue) -> Iterator[tuple[SSAValue, Operation | None]]:
    """The sets that a set is made of, and the loop that they come round."""
    if isinstance(value, BlockArgument):
        loop = value.owner.parent_op()
        if isinstance(loop, ForOp) and value.index > 0:
            yield loop.iter_args[value.index - 1], None
            yield _yielded(value.owner, value.index - 1), loop
    elif isinstance(value, OpResult):
        owner = value.op
        if isinstance(owner, JoinOp):
            yield from ((operand, None) for operand in owner.operands)
        elif isinstance(owner, ForOp):
            yield owner.iter_args[value.index], None
            yield _yielded(owner.body.block, value.index), None
        elif isinstance(owner, IfOp):
            for region in owner.regions:
                for block in region.blocks:
                    yield _yielded(block, value.index), None


def _yielded(block: Block, index: int) -> SSAValue:
    last = block.last_op
    assert last is not None
    return last.operands[index]
