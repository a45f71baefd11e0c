"""
Reading sources and writing results: precise errors, and no half-written file.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NoReturn

from pyptoc.usage import UsageError, is_operator

STDIN = "<stdin>"


class FileError(UsageError):
    """A file that cannot be read or written."""

    code = "PTO502"


def _fail(name: str, doing: str, error: OSError) -> NoReturn:
    raise FileError(f"cannot {doing} {name}: {error.strerror or error}")


def operator_name(name: str) -> str:
    """The NAME of `@NAME`; raises `UsageError` where the corpus has none."""
    from pyptoc.operators import names

    if name[1:] in names():
        return name[1:]
    from pyptoc.dialects.near import did_you_mean

    hint = did_you_mean(name[1:], names(), "@") or "pyptoc --list-operators names them"
    raise UsageError(f"there is no operator {name}", hint)


def read_source(name: str, case: str | None = None) -> tuple[str, str]:
    """
    The file name for locations and the text of an input.

    `-` is standard input, `@NAME` an operator of the corpus, with the static sizes of
    `case`.
    """
    if is_operator(name):
        if case is not None:
            from pyptoc.cases import corpus_case

            operator, found = corpus_case(name, case)
            return name, operator.source(found)
        from pyptoc.operators import text_of

        return name, text_of(operator_name(name))
    shown, text = read_text(name)
    if name.endswith(".py"):
        raise UsageError(
            f"{name} is Python, not MLIR",
            f"for the passes that it registers: pyptoc FILE.mlir --load-module={name}",
        )
    return shown, text


def read_text(name: str) -> tuple[str, str]:
    """The file name for locations and the text of a file; `-` is standard input."""
    try:
        if name == "-":
            if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
                raise FileError(f"cannot read {STDIN}: it is closed")
            shown, data = STDIN, sys.stdin.buffer.read()
        else:
            shown, data = name, Path(name).read_bytes()
    except OSError as error:
        _fail(name, "read", error)
    except ValueError as error:  # a NUL in the file name
        raise FileError(f"cannot read {name!r}: {error}") from error
    return shown, _decode(shown, data)


def source_of(
    given: str | os.PathLike[str], case: str | None = None
) -> tuple[str, str]:
    """The name and the text of a path, or of MLIR text: it has a newline or a brace.

    An empty text is no path either. case: of an operator of the corpus, for its text.
    """
    text = os.fspath(given)
    if isinstance(given, str) and ("\n" in text or "{" in text or not text):
        return "<string>", text
    return read_source(text, case)


def _decode(name: str, data: bytes) -> str:
    bad = data.find(b"\0")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = error.start if bad < 0 else min(bad, error.start)
    else:
        if bad < 0:
            return text.removeprefix("\ufeff").replace("\r\n", "\n")
    line = data.count(b"\n", 0, bad) + 1
    column = bad - data.rfind(b"\n", 0, bad)
    what = "a NUL byte" if data[bad] == 0 else f"byte 0x{data[bad]:02x}, not UTF-8"
    raise FileError(
        f"{name}:{line}:{column}: {what}", "the input is MLIR text in UTF-8"
    )


@contextlib.contextmanager
def atomic_file(name: str) -> Iterator[IO[bytes]]:
    """A file for writing that takes its name only when it is complete."""
    target = Path(name)
    if target.exists() and not target.is_file():
        # A device or a pipe (/dev/null, /dev/stdout) cannot be renamed over.
        try:
            with target.open("wb") as stream:
                yield stream
        except OSError as error:
            _fail(name, "write", error)
        return
    # Through a link, the file that it names is replaced and not the link.
    target = Path(os.path.realpath(target))
    # The name is ours before the file is there: an interrupt finds it in either case.
    temporary = target.with_name(f".pyptoc-{os.urandom(8).hex()}")
    try:
        with temporary.open("xb") as stream:
            yield stream
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            _fail(name, "write", error)
        raise


def write_text(name: str, text: str) -> None:
    """Writes a result; `-` is standard output."""
    if name == "-":
        sys.stdout.write(text)
        return
    with atomic_file(name) as stream:
        stream.write(text.encode("utf-8"))
