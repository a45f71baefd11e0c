"""
Runs the `// RUN:` lines of a test file inside this process.

A process costs 0.3 s, mostly Python's start and the definition of the dialects; calling
`pyptoc.main` costs milliseconds. The same lines run as real processes with
`lit --param mode=process test`, which finds what a shared process hides.

Understood here: `pyptoc`, `filecheck`, `not`, `|`, `2>&1`, `> file`, `2> file`,
`< file`, `%s`, `%S`, `%t`, `%T`, `%%`, and lines continued with a backslash. A line
with any other shell feature runs in bash. Do without `cat` (`filecheck --input-file`
does it): after lit's own `cat` the other commands of a file lack PYTHONPATH.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import lit.formats
import lit.Test

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "test"
_RUN = re.compile(r"RUN:\s*(.*?)\s*$")
_PUNCTUATION = frozenset("|&;<>()")


@dataclass
class Command:
    """One command of a pipe with its redirections."""

    argv: list[str] = field(default_factory=list)
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    """A file name, or "&1" for the same place as stdout."""
    swapped: bool = False
    """Standard error goes into the pipe, standard output to a file."""


@dataclass(frozen=True)
class Outcome:
    """Whether a test file passed, and what to show when it did not."""

    passed: bool
    log: str


def run_lines(text: str) -> list[str]:
    """The commands of a test file, continued lines joined."""
    lines: list[str] = []
    continued = False
    for line in text.splitlines():
        match = _RUN.search(line)
        if match is None:
            continue
        command = match.group(1)
        more = command.endswith("\\")
        command = command[:-1].rstrip() if more else command
        if continued:
            lines[-1] += " " + command
        else:
            lines.append(command)
        continued = more
    return lines


def substitute(line: str, path: Path) -> str:
    """Replaces lit's `%s %S %t %T %%`; the folder of `%t` is created."""
    relative = path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path(path.name)
    folder = BUILD / "tmp" / relative.parent
    folder.mkdir(parents=True, exist_ok=True)
    values = {
        "%s": str(path),
        "%S": str(path.parent),
        "%t": str(folder / (relative.name + ".tmp")),
        "%T": str(folder),
        "%%": "%",
    }
    return re.sub(r"%[sStT%](?![A-Za-z0-9_])", lambda m: values[m.group(0)], line)


def parse_pipe(line: str) -> list[Command] | None:
    """The commands of a pipe, or None where the line needs a real shell."""
    line = line.replace("2>&1", " \0 ")
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    commands = [Command()]
    words: Iterator[str] = iter(lexer)
    for word in words:
        command = commands[-1]
        if word == "|":
            commands.append(Command())
        elif word == "\0":
            command.stderr = "&1"
        elif word == "<":
            command.stdin = next(words)
        elif word == ">":
            # `2>` comes as the word `2` and the sign: nobody passes a bare 2 here.
            if command.argv and command.argv[-1] == "2":
                command.argv.pop()
                command.stderr = next(words)
            else:
                command.stdout = next(words)
                # `2>&1 >file` sends errors to where the output went before.
                command.swapped = command.stderr == "&1"
        elif word and set(word) <= _PUNCTUATION:
            return None
        else:
            command.argv.append(word)
    known = all(_program(c.argv) in _PROGRAMS for c in commands)
    return commands if known else None


def _program(argv: list[str]) -> str:
    words = [word for word in argv if word != "not"]
    return words[0] if words else ""


def _pyptoc(argv: list[str]) -> int:
    import pyptoc

    return pyptoc.main(argv)


def _filecheck(argv: list[str]) -> int:
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options

    return Matcher.from_opts(parse_argv_options(["filecheck", *argv])).run()


_PROGRAMS = {"pyptoc": _pyptoc, "filecheck": _filecheck}


def _call(argv: list[str]) -> int:
    negate = False
    while argv and argv[0] == "not":
        negate, argv = not negate, argv[1:]
    try:
        code = _PROGRAMS[argv[0]](argv[1:])
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else int(bool(exit_.code))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        # A traceback is a failure even behind `not`: that is for clean errors.
        sys.stderr.write(traceback.format_exc())
        return 70
    return int(code == 0) if negate else code


@contextlib.contextmanager
def _streams(data: bytes, merge: bool) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    out = io.BytesIO()
    err = out if merge else io.BytesIO()
    saved = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = (
        sys.stdout
        if merge
        else io.TextIOWrapper(err, encoding="utf-8", write_through=True)
    )
    try:
        yield out, err
    finally:
        replaced = {id(s): s for s in (sys.stdout, sys.stderr)}
        sys.stdin, sys.stdout, sys.stderr = saved
        for stream in replaced.values():
            stream.flush()
            stream.detach()  # else collecting the wrapper closes the bytes below it


def call(*argv: str, stdin: str | bytes = b"") -> tuple[int, str, str]:
    """Runs `pyptoc` with arguments: its exit code, standard output and error."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    with _streams(data, merge=False) as (out, err):
        code = _call(["pyptoc", *argv])
    return code, out.getvalue().decode(), err.getvalue().decode()


def _run_pipe(commands: list[Command]) -> tuple[int, str]:
    """Runs a pipe; the first failure is the result, as with `pipefail`."""
    data, result, log = b"", 0, ""
    for command in commands:
        if command.stdin is not None:
            data = Path(command.stdin).read_bytes()
        merge = command.stderr == "&1" and not command.swapped
        with _streams(data, merge) as (out, err):
            code = _call(command.argv)
        data = out.getvalue()
        errors = b"" if err is out else err.getvalue()
        if command.stdout is not None:
            Path(command.stdout).write_bytes(data)
            data = errors if command.swapped else b""
        if command.swapped:
            pass
        elif command.stderr not in (None, "&1"):
            Path(str(command.stderr)).write_bytes(errors)
        elif errors:
            log += errors.decode(errors="replace")
        if code and not result:
            result = code
            log += f"exit {code}: {shlex.join(command.argv)}\n"
    return result, log + (data.decode(errors="replace") if result else "")


def process_environment() -> dict[str, str]:
    """The environment for real processes: `pyptoc`, `filecheck` and `not` are found."""
    shims = BUILD / "bin"
    shims.mkdir(parents=True, exist_ok=True)
    beside = Path(sys.executable).parent
    wanted = {"not": '"$@"\n[ $? -ne 0 ]'}
    if not (beside / "pyptoc").exists():
        wanted["pyptoc"] = f'exec "{sys.executable}" -m pyptoc "$@"'
    for name, body in wanted.items():
        file = shims / name
        text = f"#!/bin/sh\n{body}\n"
        if not file.exists() or file.read_text() != text:
            temporary = file.with_suffix(f".{os.getpid()}")
            temporary.write_text(text)
            temporary.chmod(0o755)
            temporary.replace(file)
    path = os.pathsep.join([str(shims), str(beside), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


def _run_bash(line: str) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        env=process_environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def run_file(path: Path) -> Outcome:
    """Runs every RUN line of `path`, up to the first that fails."""
    lines = run_lines(path.read_text())
    if not lines:
        return Outcome(False, f"{path} has no RUN line")
    for line in lines:
        command = substitute(line, path)
        pipe = parse_pipe(command)
        code, log = _run_bash(command) if pipe is None else _run_pipe(pipe)
        if code:
            return Outcome(False, f"RUN: {line}\n{log}")
    return Outcome(True, "")


class InProcessFormat(lit.formats.FileBasedTest):
    """lit's test format for `run_file`; here, so that lit's workers can import it."""

    def execute(self, test, litConfig):  # noqa: N803 (lit's names)
        outcome = run_file(Path(test.getSourcePath()))
        return (lit.Test.PASS if outcome.passed else lit.Test.FAIL), outcome.log
