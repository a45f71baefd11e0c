"""
What an exception in code of the user's says: in a pass of theirs, or in a module that
is being loaded.

Of those that are no `Exception` only Ctrl-C ends the command. `sys.exit`, and what else
Python raises to leave (GeneratorExit, a cancelled task), is a failure of the code.
"""

from __future__ import annotations

from pyptoc.dialects.diagnostics import CompileError


class LeavingError(Exception):
    """A user's code left by an exception that is no `Exception`: it has failed."""

    def __init__(self, leaving: BaseException) -> None:
        if isinstance(leaving, SystemExit):
            code = "" if leaving.code is None else repr(leaving.code)
            super().__init__(f"it called sys.exit({code})")
        else:
            super().__init__(f"it raised {_named(leaving)}")


def said_by(problem: BaseException) -> str:
    """One line: the kind of an exception and its text, or the code of a diagnostic."""
    if isinstance(problem, CompileError):
        first = problem.diagnostics[0]
        return f"[{first.code}] {first.message}"
    if isinstance(problem, LeavingError):
        return str(problem)
    if not isinstance(problem, Exception):
        return str(LeavingError(problem))
    return _named(problem)


def _named(problem: BaseException) -> str:
    try:
        text = problem.msg if isinstance(problem, SyntaxError) else str(problem)
    except (Exception, SystemExit):  # the text is made by code of the user's, too
        text = "its text cannot be made"
    first = (text.splitlines() or [""])[0]
    return f"{type(problem).__name__}: {first}" if first else type(problem).__name__
