"""
Runs passes and watches them: verification, dumps, timing, reproducers.

A watcher is told before and after every pass; the manager knows nothing about what
they do.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyptoc.dialects.diagnostics import CompileError, file_place
from pyptoc.passes import REGISTERED
from pyptoc.step_times import Timing
from pyptoc.user_exceptions import LeavingError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.dialects.context import PyptocContext
    from pyptoc.dialects.verify import Verified
    from pyptoc.passes.base import PyptocPass


_IN_PASS = "in the pass "
"""How the note begins that an exception in a pass gets, before the pass's name."""


class Watcher:
    """Told what the pass manager does; the base class does nothing."""

    def start(self, module: ModuleOp) -> None:
        """Called once, before the first pass."""

    def before(self, each: PyptocPass, module: ModuleOp) -> None:
        """Called before a pass."""

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        """Called after a pass, its result verified."""

    def failed(self, each: PyptocPass, module: ModuleOp) -> None:
        """Called where a pass rejects the module, has a bug or leaves broken IR."""


def run_passes(
    passes: Sequence[PyptocPass],
    context: PyptocContext,
    module: ModuleOp,
    watchers: Sequence[Watcher] = (),
    *,
    verify_each: bool = True,
    timing: Timing | None = None,
) -> None:
    """Applies the passes in order, in place; each result is verified."""
    from pyptoc.dialects.verify import Verified

    verified = Verified()
    timing = timing or Timing()
    for watcher in watchers:
        watcher.start(module)
    runs: dict[str, int] = {}
    for each in passes:
        for watcher in watchers:
            watcher.before(each, module)
        number = runs[each.name] = runs.get(each.name, 0) + 1
        row = ("passes", each.name if number == 1 else f"{each.name} #{number}")
        started = time.perf_counter()
        try:
            _apply(each, context, module)
            applied = time.perf_counter()
            timing.add(*row, seconds=applied - started)
            if verify_each:
                _verify(each, module, verified)
                timing.add(*row, "verify", seconds=time.perf_counter() - applied)
        except Exception:
            for watcher in watchers:
                watcher.failed(each, module)
            raise
        for watcher in watchers:
            watcher.after(each, module)


def _apply(each: PyptocPass, context: PyptocContext, module: ModuleOp) -> None:
    try:
        try:
            each.apply(context, module)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as leaving:
            trace = leaving.__traceback__
            raise LeavingError(leaving).with_traceback(trace) from None
    except Exception as problem:
        if not _is_of_the_program(problem, each):
            problem.add_note(f"{_IN_PASS}'{each.name}'")
        raise


def _is_of_the_program(problem: Exception, each: PyptocPass) -> bool:
    """Whether a pass rejects the program; what it says without a place, it made up.

    A pass of the user's that builds an operation which cannot be built gets our
    diagnostic of it. Nothing in the program is wrong then, but the pass.
    """
    if not isinstance(problem, CompileError):
        return False
    placed = any(file_place(found.location) for found in problem.diagnostics)
    return placed or each.name not in REGISTERED


def _verify(each: PyptocPass, module: ModuleOp, verified: Verified) -> None:
    from pyptoc.dialects.verify import verify_module

    try:
        verify_module(module, verified)
    except Exception as problem:
        raise BrokenIRError(each.name, problem) from problem


class BrokenIRError(Exception):
    """A pass left IR that does not verify: an internal error, whatever the input."""

    def __init__(self, name: str, problem: Exception) -> None:
        super().__init__(f"the pass '{name}' left IR that does not verify: {problem}")
        self.name = name
        self.problem = problem


def failing_pass(error: Exception) -> str | None:
    """The name of the pass that has a bug, if that is what was raised."""
    if isinstance(error, BrokenIRError):
        return error.name
    for note in getattr(error, "__notes__", ()):
        if str(note).startswith(_IN_PASS):
            return note.removeprefix(_IN_PASS).strip("'")
    return None


class Reproducer(Watcher):
    """Keeps the IR before the current pass, for `--crash-reproducer`."""

    def __init__(self, passes: Sequence[PyptocPass]) -> None:
        self.passes = list(passes)
        self.index = -1
        self.text = ""

    def before(self, each: PyptocPass, module: ModuleOp) -> None:
        """Takes the text; a pass that fails leaves IR that may not print."""
        from pyptoc.printing import module_text

        # Not behind the pass: what looks at its result may fail as well.
        self.index += 1
        self.text = module_text(module)

    def remaining(self) -> list[PyptocPass]:
        """The passes from the current one on."""
        return self.passes[max(self.index, 0) :]
