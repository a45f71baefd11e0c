"""
The command `pyptoc`: reads the options and calls what does the work.

Exit codes: 0 for success, 1 for an input, a command line or a result that is wrong and
for a computer that is too small, 2 for an internal error, 130 when interrupted. Nothing
here imports xdsl or numpy before an option needs them: `pyptoc --version` answers at
once.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NoReturn, TextIO

import pyptoc
from pyptoc import colors
from pyptoc.collector import seldom_collecting
from pyptoc.interrupts import is_interrupt
from pyptoc.method_cache import kept_methods
from pyptoc.options import Options, parse_options
from pyptoc.report import plain_error
from pyptoc.usage import UsageError


@seldom_collecting()
def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and gives the exit code; never raises for bad input."""
    options = Options()
    try:
        try:
            colors.choose("auto")
            options = parse_options(sys.argv[1:] if argv is None else argv)
            colors.choose(options.color)
            if argv is None and not (options.run or options.check_each):
                # Nobody multiplies large matrices; starting threads takes 40 ms.
                os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            with _loaded(options.load_module):
                code = _dispatch(options)
        except SystemExit as done:  # --help
            code = int(done.code or 0)
        sys.stdout.flush()
        return code
    except MemoryError as problem:
        # Gives back what the frames held, so that there is memory for the answer.
        problem.__traceback__ = problem.__context__ = None
        with contextlib.suppress(OSError):
            help = "smaller sizes, or more memory for this process"
            plain_error("PTO513", "there is not enough memory", help)
        return 1
    except (KeyboardInterrupt, Exception) as problem:
        code = 130 if is_interrupt(problem) else 1
        # Where nobody hears of it, the exit code still says so.
        with contextlib.suppress(OSError):
            code = _ended(problem, options)
        return code


def _ended(problem: BaseException, options: Options) -> int:
    """Says why there is no result; the exit code."""
    if is_interrupt(problem):
        sys.stderr.write("interrupted\n")
        return 130
    if isinstance(problem, UsageError):
        plain_error(problem.code, problem.message, problem.help)
        return 1
    if isinstance(problem, BrokenPipeError):
        return 1  # whoever read our output has seen enough
    if isinstance(problem, OSError):
        plain_error("PTO502", f"cannot write the output: {problem.strerror}")
        return 1
    assert isinstance(problem, Exception)
    return _internal_error(problem, options)


def _loaded(modules: Sequence[str]) -> AbstractContextManager[None]:
    """The passes of the user's modules, for the time of one command."""
    if not modules:
        return nullcontext()
    from pyptoc.user_modules import loaded

    return loaded(modules)


def _internal_error(problem: Exception, options: Options) -> int:
    from pyptoc.dialects.diagnostics import CompileError

    if isinstance(problem, CompileError):
        from pyptoc.report import Reporter

        Reporter().report(problem.diagnostics)
        return 1
    from pyptoc.crash import internal_error

    return internal_error(problem, "", options)


def console_main() -> NoReturn:
    """The entry point of the installed command."""
    # Of a stream that the caller has closed Python makes None.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with kept_methods(), seldom_collecting():
        code = main()
        # The result is there; what is left takes no time and should not stop halfway.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # The process ends: nobody needs its cycles to be found first, as they would be
        # once the thresholds are low again.
        gc.freeze()
    for stream in (sys.stdout, sys.stderr):
        _drop_the_rest(stream)
    sys.exit(code)


def _drop_the_rest(stream: TextIO) -> None:
    """
    What cannot be written, of which `main` has told, goes nowhere.

    Python would try again at its end, complain itself and end with code 120.
    """
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _dispatch(options: Options) -> int:
    if options.version:
        print(f"pyptoc {pyptoc.__version__}")
        return 0
    if options.explain is not None:
        from pyptoc.explain import explain

        print(explain(options.explain))
        return 0
    words = (options.list_ops, options.list_operators)
    if options.list_passes or options.list_machines or words != (None, None):
        return _lists(options)
    if options.help_pass is not None or options.show_dialects or options.docs_passes:
        return _about_passes(options)
    if options.completion is not None:
        from pyptoc.completion import script

        sys.stdout.write(script(options.completion))
        return 0
    if options.docs_ops:
        from pyptoc.op_page import page

        sys.stdout.write(page())
        return 0
    if options.docs_machines:
        from pyptoc.machine_page import page

        sys.stdout.write(page())
        return 0
    if options.explore is not None:
        from pyptoc.explorer.command import explore

        return explore(options)
    if options.docs_errors:
        from pyptoc.explain import page

        sys.stdout.write(page())
        return 0
    if options.sweep:
        from pyptoc.sweep_command import sweep

        return sweep(options)
    from pyptoc.command import execute

    return execute(options)


def _about_passes(options: Options) -> int:
    from pyptoc import pass_page

    if options.show_dialects:
        print(pass_page.dialects())
    if options.help_pass is not None:
        print(pass_page.describe(options.help_pass))
    if options.docs_passes:
        sys.stdout.write(pass_page.page())
    return 0


def _lists(options: Options) -> int:
    from pyptoc import lists

    if options.list_passes:
        from pyptoc.pass_page import passes

        print(passes())
    if options.list_machines:
        print(lists.machines())
    if options.list_ops is not None:
        print(lists.ops(options.list_ops))
    if options.list_operators is not None:
        print(lists.operators(options.list_operators))
    return 0
