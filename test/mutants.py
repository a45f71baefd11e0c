"""
Compiled programs with one mistake each, and whether `--check` reports it.

    python test/mutants.py [--every=N]

Each flag, channel instruction, wait of a launch, address, workspace and offset of a
program is deleted, doubled, moved or changed, one at a time. A mutant is

- killed: `--check` names a hazard (the verifier is not asked, nor are results), or the
  program cannot run for what the mutation broke;
- equivalent: it is not reported, and gives the results of the program bit for bit, in
  program order and in two random orders of tasks and pipes;
- missed: it is not reported, and gives other results in one of these.

None may be missed. `REASONS` says for which kinds one can be equivalent, and why.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import conftest  # noqa: F401 (one thread for numpy)
import numpy as np
from mutant_programs import PROGRAMS, Source
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, MemRefType, ModuleOp, i64
from xdsl.ir import Operation, SSAValue

import pyptoc
from pyptoc.dialects.assembly import int_attr, segments
from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu import KernelOp, LaunchOp, ReadOp
from pyptoc.dialects.npu_assembly import accesses_attr
from pyptoc.dialects.npu_attrs import Selector, SelectorAttr, SelectorKind
from pyptoc.dialects.npu_memory import AllocOp as ArenaOp
from pyptoc.dialects.npu_place import PlaceOp
from pyptoc.dialects.pypto.scalars import IndexOp
from pyptoc.dialects.tile import (
    AllocOp,
    BarrierOp,
    FreeOp,
    LoadOp,
    MoveOp,
    PopOp,
    PushOp,
    SetFlagOp,
    StoreOp,
    WaitFlagOp,
)
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_flags import FlagOp
from pyptoc.dialects.verify import verify_module
from pyptoc.runtime.hazards import check_program
from pyptoc.runtime.hazards_run import CheckedExecutable

Change = Callable[[Operation], bool]
"""Changes a program at an operation; False where there is nothing to change."""

FLAGS = (SetFlagOp, WaitFlagOp, BarrierOp)
CHANNEL = (PushOp, PopOp, FreeOp)

REASONS = {
    "move flag": "it still stands between all that it orders: it went across "
    "instructions of other pipes, scalars, or accesses that need no order",
    "delete wait": "a task that is still waited for came after these",
    "narrow wait": "the last task of the range came before another that is waited for",
    "move address": "to bytes that nothing else holds meanwhile",
    "fewer slots": "of a channel: who pushes waits sooner; of a buffer: the last slot "
    "is not used at these sizes",
    "swap offsets": "both are the same number in every task",
}
"""Of every other kind each mutant is killed."""


# Mutations ---------------------------------------------------------------------------


def delete(op: Operation) -> bool:
    """Without `op`."""
    if any(result.uses for result in op.results):
        return False
    op.detach()
    return True


def double(op: Operation) -> bool:
    """With `op` twice."""
    block = op.parent
    assert block is not None
    block.insert_ops_after([op.clone()], op)
    return True


def move(op: Operation, up: bool, far: bool = False) -> bool:
    """One operation up or down; far: to the edge of its block."""
    block = op.parent
    assert block is not None
    to = op
    while (near := to.prev_op if up else to.next_op) is not None:
        if any(value.owner is near for value in op.operands):
            break
        if near.name == "scf.yield":
            break
        to = near
        if not far:
            break
    if to is op:
        return False
    op.detach()
    if up:
        block.insert_ops_before([op], to)
    else:
        block.insert_ops_after([op], to)
    return True


def other_id(op: Operation) -> bool:
    """A flag with the next id."""
    if not isinstance(op, FlagOp):
        return False
    op.properties["base_id"] = int_attr((op.base + 1) % 8)
    return True


def without_wait(op: Operation, number: int) -> bool:
    """A launch or read without one of its waits."""
    if not isinstance(op, LaunchOp | ReadOp) or number >= len(op.wait_list):
        return False
    kept = [wait for n, wait in enumerate(op.wait_list) if n != number]
    selectors = op.selectors
    assert selectors is not None
    left = [selector for n, selector in enumerate(selectors.data) if n != number]
    first = list(op.operands[: len(op.operands) - len(kept) - 1])
    op.operands = [*first, *(value for value, _ in kept)]
    sizes = op.properties.get("operandSegmentSizes")
    if sizes is not None:
        values = [int(v) for v in sizes.get_values()]  # pyright: ignore[reportAttributeAccessIssue]
        op.properties["operandSegmentSizes"] = segments(*values[:-1], len(kept))
    if left:
        op.properties["selectors"] = ArrayAttr(left)
    else:
        del op.properties["selectors"]
    return True


def other_address(op: Operation, by: int) -> bool:
    """A buffer elsewhere."""
    if not isinstance(op, Allocation) or op.address is None or op.address + by < 0:
        return False
    op.set_address(op.address + by)
    return True


def fewer_slots(op: Operation) -> bool:
    """An allocation with a slot less."""
    if not isinstance(op, Allocation) or op.slot_count < 2:
        return False
    op.properties["slots"] = int_attr(op.slot_count - 1)
    return True


def smaller(op: Operation, by: int) -> bool:
    """Memory with fewer rows (or bytes)."""
    if not isinstance(op, ArenaOp):
        return False
    if op.sizes:
        op.operands = [_changed(op, op.sizes[0], -by), *op.sizes[1:]]
        return True
    return _retype(op, op.results[0], by)


def _changed(op: Operation, value: SSAValue, by: int) -> SSAValue:
    """A number that is another by so much, computed before `op`."""
    index = IndexOp.of(Expr.sym(value) + by)
    block = op.parent
    assert block is not None
    block.insert_ops_before([index], op)
    return index.results[0]


def _retype(op: Operation, result: SSAValue, by: int) -> bool:
    """Arenas only: nothing but places uses them, whatever their size."""
    type = result.type
    assert isinstance(type, MemRefType)
    size = type.get_shape()[0]
    if size < by or any(not isinstance(u.operation, PlaceOp) for u in result.uses):
        return False
    space = type.memory_space
    small = MemRefType(type.element_type, [size - by], memory_space=space)
    new = ArenaOp.create(properties=op.properties, result_types=[small])
    block = op.parent
    assert block is not None
    block.insert_ops_before([new], op)
    result.replace_all_uses_with(new.results[0])
    op.detach()
    return True


def other_place(op: Operation, by: int) -> bool:
    """A workspace elsewhere in its arena."""
    if not isinstance(op, PlaceOp):
        return False
    offset = op.offset
    if isinstance(offset, int):
        if offset + by < 0:
            return False
        op.properties["static_offset"] = IntegerAttr(offset + by, i64)
        return True
    rest = op.operands[2:]
    op.operands = [op.arena, _changed(op, offset, by), *rest]
    return True


def without_access(op: Operation, number: int) -> bool:
    """A kernel that does not declare one of its accesses."""
    if not isinstance(op, KernelOp) or number >= len(op.access_list):
        return False
    kept = [access for n, access in enumerate(op.access_list) if n != number]
    op.properties["accesses"] = accesses_attr(kept)
    return bool(kept)


def narrower(op: Operation, number: int) -> bool:
    """A launch that waits for one task less along an axis."""
    if not isinstance(op, LaunchOp) or number >= len(op.wait_list):
        return False
    selector = op.wait_list[number][1]
    if selector.kind != SelectorKind.BOX or selector.ranges[0] is None:
        return False
    lo, hi = selector.ranges[0]
    box = Selector(selector.kind, ((lo, hi - 1), *selector.ranges[1:]))
    selectors = op.selectors
    assert selectors is not None
    changed = [SelectorAttr(box) if n == number else s for n, s in enumerate(selectors)]
    op.properties["selectors"] = ArrayAttr(changed)
    return True


def swap_offsets(op: Operation) -> bool:
    """The last two offsets of a transfer change places."""
    if not isinstance(op, LoadOp | StoreOp | MoveOp):
        return False
    offsets = op.mixed_offsets
    if len(offsets) < 2 or offsets[-1] == offsets[-2]:
        return False
    return _set_offsets(op, [*offsets[:-2], offsets[-1], offsets[-2]])


def further(op: Operation, by: int) -> bool:
    """A static offset of a transfer is another one."""
    if not isinstance(op, LoadOp | StoreOp | MoveOp):
        return False
    offsets = op.mixed_offsets
    if not offsets or not isinstance(offsets[-1], int):
        return False
    return _set_offsets(op, [*offsets[:-1], offsets[-1] + by])


def _set_offsets(op: LoadOp | StoreOp | MoveOp, offsets: list[Any]) -> bool:
    extra = [op.scale] if isinstance(op, StoreOp) and op.scale is not None else None
    scales = {} if not isinstance(op, StoreOp) else {"scales": extra or []}
    changed = op._make(op.source, offsets, op.extents, op.dest, {}, **scales)
    op.operands = list(changed.operands)
    kept = {
        name: value
        for name, value in op.properties.items()
        if name not in changed.properties
    }
    op.properties = {**kept, **changed.properties}
    changed.operands = []
    return True


MUTATIONS: list[tuple[str, str, tuple[type, ...], Change]] = [
    ("delete flag", "", FLAGS, delete),
    ("double flag", "", FLAGS, double),
    ("move flag", "up", FLAGS, lambda op: move(op, True)),
    ("move flag", "down", FLAGS, lambda op: move(op, False)),
    ("move flag", "to the top", FLAGS, lambda op: move(op, True, True)),
    ("move flag", "to the end", FLAGS, lambda op: move(op, False, True)),
    ("change flag id", "", FLAGS, other_id),
    ("delete channel op", "", CHANNEL, delete),
    *(
        ("delete wait", str(n), (LaunchOp, ReadOp), lambda op, n=n: without_wait(op, n))
        for n in range(4)
    ),
    *(
        ("narrow wait", str(n), (LaunchOp,), lambda op, n=n: narrower(op, n))
        for n in range(3)
    ),
    *(
        ("hide access", str(n), (KernelOp,), lambda op, n=n: without_access(op, n))
        for n in range(6)
    ),
    *(
        (
            "move address",
            f"{by:+}",
            (Allocation,),
            lambda op, by=by: other_address(op, by),
        )
        for by in (-512, -32, 16, 32, 512, 1 << 18)
    ),
    ("fewer slots", "", (AllocOp, Allocation), fewer_slots),
    *(
        ("shrink workspace", f"{by}", (ArenaOp,), lambda op, by=by: smaller(op, by))
        for by in (1, 64)
    ),
    *(
        ("move place", f"{by:+}", (PlaceOp,), lambda op, by=by: other_place(op, by))
        for by in (-256, 256)
    ),
    ("swap offsets", "", (LoadOp, StoreOp, MoveOp), swap_offsets),
    ("change offset", "+16", (LoadOp, StoreOp, MoveOp), lambda op: further(op, 16)),
]
"""Kind, details, the operations it is for, and the change."""


# Programs ----------------------------------------------------------------------------


@dataclass
class Compiled:
    """A program, its inputs and what it gives."""

    source: Source
    program: pyptoc.Program
    inputs: dict[str, Any]
    want: dict[str, Any] = field(default_factory=dict[str, Any])

    def sites(self) -> Iterator[tuple[int, str, str, Change]]:
        """Every mutation of every operation, by the operation's number."""
        for number, op in enumerate(self.program.module.walk()):
            for kind, details, types, change in MUTATIONS:
                if isinstance(op, types):
                    yield number, kind, details, change


@cache
def compiled(name: str) -> Compiled:
    """A program of `PROGRAMS`, which has no hazard."""
    source = PROGRAMS[name]
    program = pyptoc.compile(source.text, machine=source.machine)
    found = Compiled(source, program, source.inputs())
    found.want = CheckedExecutable(program.module, program.machine).run(found.inputs)
    return found


@dataclass(frozen=True)
class Mutant:
    """One program with one mistake."""

    program: str
    number: int
    kind: str
    details: str
    op: str = ""
    verdict: str = ""
    code: str = ""

    @property
    def line(self) -> str:
        where = f"{self.program}: {self.kind} {self.details}".strip()
        return f"{self.verdict} {self.code}  {where}: {self.op}"


def mutants(every: int = 1, programs: tuple[str, ...] = ()) -> Iterator[Mutant]:
    """All mutants, or one of `every` in turn."""
    count = 0
    for name in programs or tuple(PROGRAMS):
        base = compiled(name)
        for number, kind, details, change in base.sites():
            if every > 1 and _skips(count, every):
                count += 1
                continue
            count += 1
            module = base.program.module.clone()
            op = next(op for n, op in enumerate(module.walk()) if n == number)
            text = str(op).partition("\n")[0][:100]
            if not change(op):
                continue
            verdict, code = judge(base, module)
            yield Mutant(name, number, kind, details, text, verdict, code)


def _skips(count: int, every: int) -> bool:
    # A prime step: neighbours of one kind do not fall in step with it.
    return count * 7919 % every != 0


def judge(base: Compiled, module: ModuleOp) -> tuple[str, str]:
    """What becomes of a mutant: the verdict, and the code of the error."""
    machine, signature = base.program.machine, base.program.signature
    try:
        check_program(module, machine, signature, base.source.sizes(signature))
        program = CheckedExecutable(module, machine)
        runs = [program.run(base.inputs)]
    except CompileError as failure:
        return "killed", failure.diagnostics[0].code
    except Exception:
        # Only what the verifier refuses may not even run.
        return _refused(module)
    for seed in (1, 2):
        try:
            runs.append(program.run(base.inputs, order=seed))
        except CompileError as failure:
            return "missed", failure.diagnostics[0].code
    same = all(
        np.array_equal(np.asarray(run[name]).view(np.uint8), want.view(np.uint8))
        for run in runs
        for name, want in base.want.items()
    )
    return ("equivalent" if same else "missed"), ""


def _refused(module: ModuleOp) -> tuple[str, str]:
    try:
        verify_module(module)
    except CompileError as failure:
        return "killed", failure.diagnostics[0].code
    raise AssertionError("a legal program cannot run")


def main() -> int:
    """Judges all mutants; 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0].strip())
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--programs", default="")
    options = parser.parse_args()
    started = time.process_time()
    names = tuple(filter(None, options.programs.split(",")))
    found: list[Mutant] = []
    for mutant in mutants(options.every, names):
        found.append(mutant)
        if mutant.verdict != "killed":
            print(mutant.line, flush=True)
    kinds = Counter((mutant.kind, mutant.verdict) for mutant in found)
    for kind in dict.fromkeys(mutant.kind for mutant in found):
        counts = ", ".join(
            f"{kinds[kind, verdict]} {verdict}"
            for verdict in ("killed", "equivalent", "missed")
        )
        why = REASONS.get(kind)
        print(f"{kind:18} {counts}{f'   (equivalent: {why})' if why else ''}")
    verdicts = Counter(mutant.verdict for mutant in found)
    seconds = time.process_time() - started
    print(f"{len(found)} mutants: {dict(verdicts)}, {seconds:.0f} s")
    return int(verdicts["missed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
