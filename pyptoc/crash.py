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

from pyptoc.files import FileError, write_text

if TYPE_CHECKING:
    from pyptoc.options import Options


CONFIGURATION = "// configuration:"
"""What the line of a reproducer starts with that says how to run it."""

TAKEN = ("machine", "pipeline", "compile_to")
"""What that line may say: nothing that writes a file or runs the program."""


def configuration(pipeline: str | None, options: Options) -> str:
    """The options that repeat a compilation, as one command-line text."""
    words: list[str] = []
    if options.machine != "ascend950":
        words.append(f"--machine={options.machine}")
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
    for name in (each.name for each in dataclasses.fields(plain)):
        if name not in TAKEN and getattr(given, name) != getattr(plain, name):
            raise UsageError(
                f"{place}: a configuration has no '{name.replace('_', '-')}'",
                f"it may say --{', --'.join(TAKEN).replace('_', '-')}",
            )
    # A machine on the command line is there to see whether it fails there, too.
    machine = given.machine if options.machine == plain.machine else options.machine
    return dataclasses.replace(
        options,
        machine=machine,
        pipeline=given.pipeline,
        compile_to=given.compile_to,
    )


def write_reproducer(
    name: str, text: str, pipeline: str | None, options: Options, trace: str = ""
) -> None:
    """Writes the IR with the options to run it by in its first line."""
    comment = "".join(f"// {line}\n" for line in trace.splitlines())
    header = f"{CONFIGURATION} {configuration(pipeline, options)}\n"
    write_text(name, header + text.rstrip("\n") + "\n" + comment)


def internal_error(error: Exception, text: str, options: Options) -> int:
    """Reports a bug of the compiler; returns the exit code 2."""
    try:
        name = _kept(error, text, options)
        kept = f"{name} holds the input and the traceback"
    except (OSError, FileError):
        name = options.input or "-"
        where = traceback.extract_tb(error.__traceback__)[-1]
        kept = f"{tempfile.gettempdir()} has no room for its traceback; it happened "
        kept += f"in {where.name}, {os.path.basename(where.filename)}:{where.lineno}"
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", []))[:200]
    summary = (str(error).splitlines() or [""])[0]
    words = [name if word == options.input else word for word in options.words]
    again = shlex.join(["pyptoc", *words])
    sys.stderr.write(
        f"error[PTO900]: internal error: {type(error).__name__}: {summary}{notes}\n"
        f"   note: a bug in {_culprit(summary + notes)}; {kept}\n"
        f"   help: {again}\n"
    )
    return 2


def _culprit(told: str) -> str:
    """Whose bug it is, by what the pass manager has told."""
    from pyptoc.passes import REGISTERED

    mine = (name for name in REGISTERED if f"the pass '{name}'" in told)
    return next((f"your pass '{name}'" for name in mine), "pyptoc")


def _kept(error: Exception, text: str, options: Options) -> str:
    """The name of a new file with the input and the traceback."""
    trace = "".join(traceback.format_exception(error))
    handle, name = tempfile.mkstemp(prefix="pyptoc-", suffix=".mlir")
    os.close(handle)
    try:
        write_reproducer(name, text, options.pipeline, options, trace)
    except FileError:
        os.unlink(name)
        raise
    return name
