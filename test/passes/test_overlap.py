"""Loads run ahead of work: double buffering is there in the schedule, not only right.

In compiled programs, a load in a loop may begin while the work on what the trip before
loaded is still going on: with n slots, on what any of the last n - 1 trips loaded. The
happens-before relation of the flags says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from front_programs import body
from happens_before import Event, history_of

import pyptoc
from pyptoc.dialects.context import make_context
from pyptoc.dialects.npu import kernels_of
from pyptoc.dialects.parsing import parse_module
from pyptoc.dialects.tile import LoadOp, SlotOp
from pyptoc.pipeline_text import default_pipeline

PROGRAMS = {
    "matmul": body(
        "%x: tensor<256x2048xf16>, %w: tensor<2048x256xf16>",
        "tensor<256x256xf32>",
        "  %r = pypto.matmul %x, %w "
        "{tile = #pypto.cube<m = [128, 128], k = [64, 256], n = [128, 128]>}",
    ),
    "long rows": body(
        "%x: tensor<8x60000xf32>",
        "tensor<8x60000xf32>",
        "  %r = pypto.softmax %x axis -1",
    ),
    "mx": body(
        "%a: tensor<64x2048xf8E4M3FN>, %b: tensor<2048x64xf8E4M3FN>, "
        "%sa: tensor<64x32x2xf8E8M0FNU>, %sb: tensor<32x64x2xf8E8M0FNU>",
        "tensor<64x64xf32>",
        "  %r = pypto.scaled_mm %a, %b scales %sa, %sb "
        "{tile = #pypto.cube<m = [64, 64], k = [64, 128], n = [64, 64]>}",
    ),
}


def loads(events: list[Event]) -> Iterator[tuple[list[Event], list[list[Event]], int]]:
    """Each load into a slot: all its events, what works on each, and the slots."""
    by_op: dict[LoadOp, list[int]] = {}
    for number, event in enumerate(events):
        if isinstance(event.op, LoadOp) and isinstance(event.op.dest.owner, SlotOp):
            by_op.setdefault(event.op, []).append(number)
    for op, numbers in by_op.items():
        slot = op.dest.owner
        assert isinstance(slot, SlotOp)
        work = [
            [e for e in events[here:there] if op.dest in e.op.reads()]
            for here, there in zip(numbers, [*numbers[1:], len(events)], strict=True)
        ]
        yield [events[n] for n in numbers], work, slot.alloc.slot_count


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("slots", [2, 3])
def test_loads_overlap_the_work_of_the_trips_before(name: str, slots: int) -> None:
    plan = f"plan-memory{{slots={slots}}}"
    pipeline = default_pipeline("program").replace("plan-memory", plan)
    program = pyptoc.compile(PROGRAMS[name], pipeline=pipeline)
    ahead = most = 0
    module = parse_module(program.text, "test.mlir", make_context())
    for kernel in kernels_of(module).values():
        for events, work, count in loads(history_of(kernel, {})):
            most = max(most, count)
            for trip, event in enumerate(events):
                for back in range(1, min(trip, count - 1) + 1):
                    # The loop around may begin with the slot that was used last.
                    apart = event.written != events[trip - back].written
                    for user in work[trip - back]:
                        assert user.may_overlap(event) == apart
                        ahead += apart
    assert ahead
    assert most == slots
