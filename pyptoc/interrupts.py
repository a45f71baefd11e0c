"""Ctrl-C: what has become of an interrupt on its way."""

from __future__ import annotations


def is_interrupt(problem: BaseException | None) -> bool:
    """
    Whether an interrupt is behind an exception.

    Python and libraries raise others of it where it comes while a class is made or a
    module is imported.
    """
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__cause__ or problem.__context__
    return problem is not None
