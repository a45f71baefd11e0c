"""
Internal errors: a short message, exit code 2, and a file that reproduces them.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import traceback
from typing import TYPE_CHECKING

from pyptoc.files import FileError, write_text

if TYPE_CHECKING:
    from pyptoc.options import Options


def configuration(pipeline: str | None, options: Options) -> str:
    """The options that repeat a compilation, as one command-line text."""
    words = [f"--load-module={name}" for name in options.load_module]
    if options.machine != "ascend950":
        words.append(f"--machine={options.machine}")
    if pipeline is not None:
        words.append(f"--pipeline={pipeline}")
    elif options.compile_to is not None:
        words.append(f"--compile-to={options.compile_to}")
    return shlex.join(words)


def write_reproducer(
    name: str, text: str, pipeline: str | None, options: Options, trace: str = ""
) -> None:
    """Writes the IR with the options to run it by in its first line."""
    comment = "".join(f"// {line}\n" for line in trace.splitlines())
    header = f"// configuration: {configuration(pipeline, options)}\n"
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
        f"   note: a bug in {_culprit(notes)}; {kept}\n"
        f"   help: {again}\n"
    )
    return 2


def _culprit(notes: str) -> str:
    """Whose bug it is, by what the pass manager has noted."""
    from pyptoc.passes import REGISTERED

    mine = (name for name in REGISTERED if f"in the pass '{name}'" in notes)
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
