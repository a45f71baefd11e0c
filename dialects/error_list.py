"""
The errors of many operations, reported together: one bad op does not hide the next.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from xdsl.dialects.builtin import FileLineColLoc

from pyptoc.dialects.diagnostics import MAX_ERRORS, CompileError, Diagnostic
from pyptoc.dialects.words import counted


class ErrorList:
    """
    Keeps the errors of what is done one by one, and raises all of them at the end.

        errors = ErrorList()
        for op in ops:
            with errors.kept():
                rewrite(op)
        errors.check()
    """

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    @contextmanager
    def kept(self) -> Generator[None]:
        """A `CompileError` in here is kept, each diagnostic once."""
        try:
            yield
        except CompileError as failure:
            new = (each for each in failure.diagnostics if each not in self.found)
            self.found.extend(new)

    def check(self) -> None:
        """Raise what was kept, in source order, at most `MAX_ERRORS` and a count."""
        if self.found:
            raise CompileError(limited(self.found, MAX_ERRORS))


def limited(diagnostics: Iterable[Diagnostic], most: int) -> list[Diagnostic]:
    """At most `most` diagnostics in source order, and a count of the others."""
    found = sorted(diagnostics, key=_source_order)
    shown = found[:most]
    if len(found) > most:
        text = counted(len(found) - most, "more error")
        shown.append(Diagnostic("PTO109", text))
    return shown


def _source_order(diagnostic: Diagnostic) -> tuple[int, int]:
    place = diagnostic.location
    if isinstance(place, FileLineColLoc):
        return place.line.data, place.column.data
    return 0, 0
