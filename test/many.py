"""
One test of many cases, each of which takes less time than pytest needs for a test.

All are tried; the test fails with the first problem, which names its case and says how
many there are. A case that is skipped is a problem: it would hide the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def for_each(
    cases: Iterable[Any],
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Calls the function with each case: a tuple of arguments, or the only one."""
    tuples = [case if isinstance(case, tuple) else (case,) for case in cases]
    assert tuples, "a test of nothing cannot fail"

    def decorate(test: Callable[..., None]) -> Callable[[], None]:
        def all_cases() -> None:
            found = [problem for case in tuples if (problem := _problem(test, case))]
            if found:
                found[0].add_note(f"{len(found)} of {len(tuples)} cases fail")
                raise found[0]

        all_cases.__name__ = test.__name__
        all_cases.__doc__ = test.__doc__
        vars(all_cases).update(vars(test))  # Its marks.
        return all_cases

    return decorate


def _problem(test: Callable[..., None], case: tuple[Any, ...]) -> BaseException | None:
    try:
        test(*case)
    except (Exception, pytest.fail.Exception) as problem:
        found = problem
    except pytest.skip.Exception:
        found = AssertionError("one case of many cannot be skipped")
    else:
        return None
    found.add_note(f"in the case {', '.join(map(repr, case))}")
    return found
