"""The boxes that each task of a launch declares, on the cells of its arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pyptoc.dialects.expr import Expr, to_python
from pyptoc.dialects.npu_attrs import Access, AccessMode
from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.record import record
from pyptoc.runtime.timing_l2 import Box, Cells
from pyptoc.runtime.timing_program import Array, Launch

INEXACT_SHARE = 0.5
"""An inexact box of which a task loads less is taken to be read at random places."""


class Touch(NamedTuple):
    """A box that a task declares."""

    buffer: int
    writes: bool
    exact: bool
    lo: tuple[int, ...]
    size: tuple[int, ...]


def box_function(kernel: KernelOp) -> Callable[..., list[Any]]:
    """
    A function of grid indices and scalars: (lo, size) of each access.

    A kernel that declares none is taken to touch all of its arrays; see `declared`.
    """
    rank, scalars = kernel.grid_rank, len(kernel.scalar_args)
    names = [f"d{n}" for n in range(rank)] + [f"s{n}" for n in range(scalars)]

    def listed(expressions: Sequence[Expr]) -> str:
        return "(" + "".join(f"{to_python(e, str)}, " for e in expressions) + ")"

    boxes = [f"({listed(a.lo)}, {listed(a.size)})" for a in kernel.access_list]
    scope: dict[str, Any] = {}
    exec(f"def boxes({', '.join(names)}): return [{', '.join(boxes)}]", scope)
    return scope["boxes"]


def declared(kernel: KernelOp) -> list[Access]:
    """The accesses of a kernel; without any, all of each array at random places."""
    if kernel.access_list:
        return kernel.access_list
    found: dict[tuple[int, bool], Access] = {}
    numbers = {value: n for n, value in enumerate(kernel.buffer_args)}
    for op in kernel.walk():
        reads, writes = (
            getattr(op, what, list[Any])() if op.name.startswith("tile.") else []
            for what in ("reads", "writes")
        )
        for values, mode in ((reads, AccessMode.READ), (writes, AccessMode.WRITE)):
            for value in values:
                if value in numbers:
                    key = (numbers[value], mode == AccessMode.WRITE)
                    found[key] = Access(mode, numbers[value], (), (), exact=False)
    return list(found.values())


@record(frozen=False)
class LaunchBoxes:
    """The accesses of one launch."""

    launch: Launch
    accesses: list[Access]
    function: Callable[..., list[Any]]

    def __post_init__(self) -> None:
        self.kinds = [(a.buffer, a.writes, a.exact) for a in self.accesses]

    def boxes(self, task: tuple[int, ...]) -> list[Touch]:
        """What a task touches, empty boxes left out."""
        return [
            Touch(*kind, lo, size)
            for kind, (lo, size) in zip(self.kinds, self._found(task), strict=True)
            if not size or min(size) > 0
        ]

    def _found(self, task: tuple[int, ...]) -> list[Box]:
        found = self.function(*task, *self.launch.scalars)
        if found:
            return found
        shapes = (self.launch.arrays[access.buffer].shape for access in self.accesses)
        return [((0,) * len(shape), shape) for shape in shapes]

    def samples(self) -> list[tuple[Array, tuple[int, ...]]]:
        """Arrays with the sizes of each access's box: the larger of the first and the
        last task's."""
        grid = self.launch.grid
        if min(grid, default=1) < 1:
            return []
        largest: dict[int, tuple[int, ...]] = {}
        for task in ((0,) * len(grid), tuple(n - 1 for n in grid)):
            for number, (_, size) in enumerate(self._found(task)):
                before = largest.get(number, size)
                largest[number] = tuple(map(max, before, size))
        return [
            (self.launch.arrays[access.buffer], largest[number])
            for number, access in enumerate(self.accesses)
        ]


class Regions:
    """The cells of all arrays of a program."""

    def __init__(self, launches: Sequence[LaunchBoxes]) -> None:
        sizes: dict[Array, list[tuple[int, ...]]] = {}
        for launch in launches:
            for array in launch.launch.arrays:
                sizes.setdefault(array, [])
            for array, size in launch.samples():
                sizes[array].append(size)
        self.cells: dict[Array, Cells] = {}
        self.shared: set[int] = set()
        """Roots of which several arrays are used: their cells do not compare."""
        roots: dict[int, Array] = {}
        first = 0
        for array, boxes in sizes.items():
            self.cells[array] = Cells.of(array, first, boxes)
            first += self.cells[array].count
            if roots.setdefault(array.root, array) != array:
                self.shared.add(array.root)
