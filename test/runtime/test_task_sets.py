"""Sets of tasks are those of Python, and small where they have few tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyptoc.runtime.task_sets import NO_TASKS, tasks_beside, with_task

TASKS = st.lists(st.integers(0, 200), max_size=20)


@given(TASKS, TASKS)
def test_as_sets(added: list[int], over: list[int]) -> None:
    tasks = NO_TASKS
    for task in added:
        tasks = with_task(tasks, task)
    bits = sum(1 << task for task in {*over})
    assert [*tasks_beside(tasks, bits)] == sorted({*added} - {*over})


@given(TASKS)
def test_one_set_is_one_number(added: list[int]) -> None:
    one, other = NO_TASKS, NO_TASKS
    for task in added:
        one = with_task(one, task)
    for task in reversed(added):
        other = with_task(other, task)
    assert one == other


def test_late_tasks_take_no_more_memory_than_early_ones() -> None:
    early, late = NO_TASKS, NO_TASKS
    for step in range(8):
        early, late = with_task(early, step), with_task(late, 60_000 + step)
    assert early[1].bit_length() == late[1].bit_length() == 8
