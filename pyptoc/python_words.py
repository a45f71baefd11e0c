"""
Errors in the words of Python: what the command line calls `--bind=M=16` is `M=16` here.

The compiler and the runtime say what to do in options. Where they are called from
Python, an error of theirs is the same, but its help names arguments of calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

from pyptoc.dialects.diagnostics import CompileError, Diagnostic, file_place
from pyptoc.usage import UsageError

_PHRASES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"give them with --inputs[ =]F\.npz or (--bind|--case=NAME), or make them up "
        r"with --random-inputs=1",
        "give them as arguments: {call}(name=array, ..)",
    ),
    (r"choose other sizes with --bind, or give the values", "give the values"),
    (r"leave out --case; (other sizes by) --bind", r"leave out case=; \1 bind="),
    (r"(the passes that it registers): pyptoc .*", r"\1, import it"),
    (r"--bind NAME=VALUE|--bind (?=\w+=)", "{call}: "),
    (
        r"--bind=([\w.]+=[\w.,=\[\]-]+)",
        lambda m: f"{{call}}({m[1].replace(',', ', ')})",
    ),
    (r"in --bind\b", "in the call"),
    (r"--run --compile-to=tensor interprets it", 'pipeline="" and run() interpret it'),
    (r"--run --check checks a run", "run(check=True) checks a run"),
    (r"\(--compile-to=program\)", "(compile() without pipeline=)"),
    (r"pyptoc --list-passes lists them", "pyptoc.Pipeline.known() lists them"),
    (r"pyptoc --list-machines( names them)?", "pyptoc.machines()"),
    (r"--([a-z]+(?:-[a-z]+)*)=(\S*[^\s.,;)])", lambda m: f"{_name(m[1])}={m[2]!r}"),
)


def _name(option: str) -> str:
    return option.replace("-", "_")


@contextmanager
def in_python(call: str) -> Generator[None]:
    """
    Errors in here are `CompileError`s in Python's words; `call` is what was called.

    A file that cannot be read, an error of the command, becomes one, too.
    """
    try:
        yield
    except CompileError as problem:
        problem.diagnostics = tuple(translated(d, call) for d in problem.diagnostics)
        problem.args = (problem.diagnostics,)
        raise
    except UsageError as problem:
        found = Diagnostic(problem.code, problem.message, help=problem.help)
        raise CompileError([translated(found, call)]) from None


def translated(found: Diagnostic, call: str) -> Diagnostic:
    """A diagnostic with Python in place of options."""
    place, location = file_place(found.location), found.location
    if place is not None and place.filename.data.startswith("--"):
        location = None  # a place in the text of an option
    notes = (replace(n, message=_python(n.message, call)) for n in found.notes)
    return replace(
        found,
        location=location,
        message=_python(found.message, call),
        rule=_python(found.rule, call),
        help=_python(found.help, call),
        notes=tuple(notes),
    )


def _python(text: str, call: str) -> str:
    if "--" not in text:
        return text
    for pattern, written in _PHRASES:
        text = re.sub(pattern, written, text)
    return text.replace("{call}", call)
