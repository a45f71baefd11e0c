"""Which parameters of a kernel may be one buffer, judging by its launches."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import SSAValue

from pyptoc.dialects.npu import LaunchOp
from pyptoc.passes.buffer_roots import BufferRoots


def parameter_aliases(module: ModuleOp) -> dict[str, dict[int, int]]:
    """For each kernel by name, and each memory parameter by number: the first parameter
    to which some launch may pass the same buffer (itself, if there is no other)."""
    found: dict[str, dict[int, int]] = {}
    for function in module.ops:
        if isinstance(function, func.FuncOp):
            launches = [op for op in function.walk() if isinstance(op, LaunchOp)]
            if launches:
                roots = BufferRoots(function)
                for launch in launches:
                    _join_equal(launch, roots, found.setdefault(launch.callee_name, {}))
    return {
        name: {number: _first(groups, number) for number in groups}
        for name, groups in found.items()
    }


def _join_equal(launch: LaunchOp, roots: BufferRoots, groups: dict[int, int]) -> None:
    firsts: dict[SSAValue, int] = {}
    for number, value in enumerate(launch.arguments):
        if isinstance(value.type, MemRefType):
            groups.setdefault(number, number)
            other = firsts.setdefault(roots.root(value), number)
            low, high = sorted((_first(groups, other), _first(groups, number)))
            groups[high] = low


def _first(groups: dict[int, int], number: int) -> int:
    while groups[number] != number:
        number = groups[number]
    return number
