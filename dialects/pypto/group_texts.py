"""What is said where an axis in groups has a size that does not fit them (PTO404).

Only a run knows such sizes. The interpreter says it, and the compiler puts it into the
program; both fill in the numbers, `{0}` and `{1}`.
"""

from __future__ import annotations

NO_WHOLE_GROUPS_HELP = (
    "pad it to {1} elements, or take groups of a size that divides {0}"
)
"""Of what `no_whole_groups` says; {1} is the next length that is some groups."""


def no_whole_groups(name: str, group: int, axis: int, source: str) -> str:
    """That the axis of a length {0} is no whole number of groups."""
    op = name.partition(".")[2]
    return f"{op} in groups of {group}: axis {axis} of {source} has {{0}} elements"


def other_number(value: str, axis: int, group: int, source: str) -> str:
    """That a value has {0} numbers along an axis, for {1} groups of the source."""
    return (
        f"dimension {axis} of {value} is {{0}}, for the {{1}} groups of {group} of "
        f"{source}"
    )
