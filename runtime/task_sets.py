"""
Sets of tasks as numbers: the first task, and a bit for each from there on.

Most sets that the checker keeps have few tasks, however many there are before them.
"""

from __future__ import annotations

from collections.abc import Iterator

Tasks = tuple[int, int]

NO_TASKS: Tasks = (0, 0)


def with_task(tasks: Tasks, task: int) -> Tasks:
    """A set with one more task."""
    first, bits = tasks
    if not bits:
        return task, 1
    low = min(first, task)
    return low, bits << (first - low) | 1 << (task - low)


def tasks_beside(tasks: Tasks, over: int) -> Iterator[int]:
    """The tasks that are not in `over`, an integer with a bit for each."""
    first, bits = tasks
    return ones((bits & ~(over >> first)) << first)


def ones(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
