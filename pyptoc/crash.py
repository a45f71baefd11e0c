"""
Internal errors: a short message, exit code 2, and a file that reproduces them.

The file's line `// configuration: --machine=.. --pipeline=..` says how; it is what
`--run-reproducer` reads.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
import tempfile
import traceback
from typing import TYPE_CHECKING

from pyptoc.dialects.diagnostics import CompileError, Note
from pyptoc.files import FileError, write_text
from pyptoc.interrupts import is_interrupt
from pyptoc.manager import BrokenIRError, failing_pass
from pyptoc.report import Reporter

if TYPE_CHECKING:
    from pyptoc.options import Options


CONFIGURATION = "// configuration:"
"""What the line of a reproducer starts with that says how to run it."""

TAKEN = ("load_module", "machine", "pipeline", "compile_to", "verify_each")
"""What that line may say: nothing that writes a file or runs the program."""


def configuration(pipeline: str | None, options: Options) -> str:
    """
    The options that repeat a compilation, as one command-line text.

    Files are named by absolute paths: it may be repeated in another folder.
    """
    words = [f"--load-module={os.path.abspath(name)}" for name in options.load_module]
    if options.machine != "ascend950":
        machine = options.machine
        if os.path.isfile(machine):
            machine = os.path.abspath(machine)
        words.append(f"--machine={machine}")
    if not options.verify_each:
        words.append("--verify-each=false")
    if pipeline is not None:
        words.append(f"--pipeline={pipeline}")
    elif options.compile_to is not None:
        words.append(f"--compile-to={options.compile_to}")
    return shlex.join(words)


def reproducing(options: Options, name: str, text: str) -> Options:
    """The options with what the reproducer `text` says; raises `UsageError`."""
    from pyptoc.options import parse_options
    from pyptoc.usage import UsageError

    lines = text.splitlines()
    found = [n for n, line in enumerate(lines) if line.startswith(CONFIGURATION)]
    if not found:
        raise UsageError(
            f"{name} has no line '{CONFIGURATION} ..'",
            "--crash-reproducer=FILE writes such files",
        )
    place = f"{name}:{found[0] + 1}"
    try:
        words = shlex.split(lines[found[0]].removeprefix(CONFIGURATION))
        given = parse_options(words)
    except (ValueError, UsageError) as problem:
        raise UsageError(f"{place}: {problem}") from problem
    plain = type(options)(words=given.words)
    for key in (each.name for each in dataclasses.fields(plain)):
        if key not in TAKEN and getattr(given, key) != getattr(plain, key):
            raise UsageError(
                f"{place}: a configuration has no '{key.replace('_', '-')}'",
                f"it may say --{', --'.join(TAKEN).replace('_', '-')}",
            )
    # What the command line says is there to see whether it fails that way, too.
    kept = (key for key in TAKEN if getattr(options, key) == getattr(plain, key))
    return dataclasses.replace(options, **{key: getattr(given, key) for key in kept})


def write_reproducer(
    name: str, text: str, pipeline: str | None, options: Options, trace: str = ""
) -> None:
    """Writes the IR with the options to run it by in its first line."""
    # An exception may have bytes of a file's name in its text that are no UTF-8.
    trace = trace.encode(errors="backslashreplace").decode()
    comment = "".join(f"// {line}\n" for line in trace.splitlines())
    header = f"{CONFIGURATION} {configuration(pipeline, options)}\n"
    write_text(name, header + text.rstrip("\n") + "\n" + comment)


def trace_of(error: Exception) -> str:
    """The traceback of a bug; nothing where a program is rejected."""
    if isinstance(error, CompileError) and failing_pass(error) is None:
        return ""
    return "".join(traceback.format_exception(error))


def internal_error(
    error: Exception, text: str, options: Options, reproducer: str | None = None
) -> int:
    """
    Reports a bug of the compiler, or of a user's pass; returns the exit code 2.

    reproducer: the file that `--crash-reproducer` has written; else there will be one
    in the folder for temporary files. Raises what an interrupt is behind: no bug.
    """
    if is_interrupt(error):
        raise error
    from pyptoc.user_failures import user_failure

    if reproducer is None:
        kept, again = _left(error, text, options)
    else:
        kept = f"{reproducer} holds the IR before the pass and the traceback"
        modules = [f"--load-module={name}" for name in options.load_module]
        again = shlex.join(["pyptoc", reproducer, "--run-reproducer", *modules])
    theirs = user_failure(error)
    if theirs is not None:
        notes = (*theirs.notes, Note(kept))
        help = "\n".join(filter(None, (theirs.help, again)))
        Reporter().report([dataclasses.replace(theirs, notes=notes, help=help)])
        return 2
    in_pass = failing_pass(error)
    summary = (str(error).splitlines() or [""])[0]
    if in_pass is not None and not isinstance(error, BrokenIRError):
        summary += f" in the pass '{in_pass}'"
    sys.stderr.write(
        f"error[PTO900]: internal error: {type(error).__name__}: {summary}\n"
        f"   note: a bug in pyptoc; {kept}\n"
        f"   help: {again}\n"
    )
    return 2


def _left(error: Exception, text: str, options: Options) -> tuple[str, str]:
    """What is said of the file that is left, and the command that fails again."""
    try:
        name = _kept(error, text, options)
        kept = f"{name} holds the input and the traceback"
    except (OSError, FileError):
        name = options.input or "-"
        where = traceback.extract_tb(error.__traceback__)[-1]
        kept = f"{tempfile.gettempdir()} has no room for its traceback; it happened "
        kept += f"in {where.name}, {os.path.basename(where.filename)}:{where.lineno}"
    words = [name if word == options.input else word for word in options.words]
    return kept, shlex.join(["pyptoc", *words])


def _kept(error: Exception, text: str, options: Options) -> str:
    """The name of a new file with the input and the traceback."""
    trace = trace_of(error)
    handle, name = tempfile.mkstemp(prefix="pyptoc-", suffix=".mlir")
    os.close(handle)
    try:
        write_reproducer(name, text, options.pipeline, options, trace)
    except FileError:
        os.unlink(name)
        raise
    return name
