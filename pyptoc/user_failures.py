"""
What is said where a pass of the user's fails: their line, and what it was rewriting.

    mine.py:9:17: error[PTO515]: your pass 'mine' failed: KeyError: 'pypto.exp'
     9 |                 {}[op.name]
       |                 ^^^^^^^^^^^
       note: while it looked at pypto.exp (op.mlir:2:8)
"""

from __future__ import annotations

import inspect
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from pyptoc import passes
from pyptoc.dialects.diagnostics import (
    CompileError,
    Diagnostic,
    Note,
    file_location,
)
from pyptoc.manager import BrokenIRError, failing_pass
from pyptoc.user_exceptions import LeavingError, said_by

if TYPE_CHECKING:
    from xdsl.dialects.builtin import FileLineColLoc
    from xdsl.ir import Operation

CODE = "PTO515"
LIBRARIES = ("pyptoc", "xdsl")


def user_failure(error: Exception) -> Diagnostic | None:
    """The diagnostic for an exception of a user's pass; None if a pass is ours."""
    name = failing_pass(error)
    cls = passes.REGISTERED.get(name or "")
    if cls is None:
        return None
    if isinstance(error, BrokenIRError):
        return _broken(error, cls)
    stack = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [at for at, frame in enumerate(stack) if _is_theirs(frame)]
    found = _said(error)
    found = replace(found, message=f"your pass '{name}' failed: {found.message}")
    op = _operation(reversed(stack[own[0] :] if own else stack))
    if op is not None:
        looked = Note(f"while it looked at {op.name}", op.location)
        found = replace(found, notes=(*found.notes, looked))
    if not own:
        return replace(found, location=_defined(cls))
    frame = traceback.extract_tb(error.__traceback__)[own[-1]]
    place, length, source = _written(frame)
    return replace(found, location=place, length=length, source_line=source)


def _said(error: Exception) -> Diagnostic:
    """What an exception says; a diagnostic keeps its rule and its help."""
    said = said_by(error)
    if isinstance(error, CompileError):
        first = error.diagnostics[0]
        # Its label is of operands: it does not belong to a line of Python.
        label = (Note(first.label),) if first.label else ()
        notes = (*label, *first.notes)
        return replace(first, code=CODE, message=said, label="", notes=notes)
    help = ""
    if isinstance(error, LeavingError):
        help = "a pass returns, or raises an exception that says what is wrong"
    return Diagnostic(CODE, said, help=help)


def _written(frame: traceback.FrameSummary) -> tuple[FileLineColLoc, int, str | None]:
    """The place of what a frame was doing, its length, and the line it is on."""
    line, first = frame.lineno or 1, frame.colno or 0
    last = frame.end_colno if frame.end_lineno == line else None
    try:
        source = Path(frame.filename).read_text("utf-8").split("\n")[line - 1]
    except (OSError, ValueError, IndexError):
        source = None
    written = (source or "").encode()  # Python counts bytes
    column = len(written[:first].decode(errors="replace"))
    length = len(written[first:last].decode(errors="replace").rstrip())
    place = file_location(frame.filename, line, column + 1)
    return place, max(length, 1), source


def _broken(error: BrokenIRError, cls: type) -> Diagnostic:
    """Of a pass that left IR that does not verify: what is wrong with it, and where."""
    problem = error.problem
    if isinstance(problem, CompileError):
        found = [Note(each.message, each.location) for each in problem.diagnostics]
    else:
        op = _operation(
            reversed([frame for frame, _ in traceback.walk_tb(problem.__traceback__)])
        )
        of = f" of {op.name}" if op is not None else ""
        at = op.location if op is not None else None
        found = [Note(f"the verification{of} failed: {said_by(problem)}", at)]
    message = f"your pass '{error.name}' left IR that does not verify"
    help = "--print-ir-after-failure shows it"
    return Diagnostic(CODE, message, _defined(cls), notes=tuple(found), help=help)


def _defined(cls: type) -> FileLineColLoc | None:
    """Where the class stands, or nothing of one that was made up."""
    try:
        file = inspect.getsourcefile(cls)
        line = inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return None
    return None if file is None else file_location(file, max(line, 1), 1)


def _is_theirs(frame: FrameType) -> bool:
    """Whether code is neither ours nor of a library."""
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    if package in LIBRARIES or package in sys.stdlib_module_names - {"__main__"}:
        return False
    file = frame.f_code.co_filename
    folders = (sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    return not file.startswith(("<", *folders))


def _operation(frames: Iterable[FrameType]) -> Operation | None:
    """The operation in the variables of the innermost frame that has one.

    Where it has several, that called `op`, or the last.
    """
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    for frame in frames:
        values: dict[str, Any] = frame.f_locals
        found = [
            value
            for value in (*values.values(), values.get("op"))
            if isinstance(value, Operation) and not isinstance(value, ModuleOp)
        ]
        if found:
            return found[-1]
    return None
