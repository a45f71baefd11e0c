"""
Bytecode of the methods that `dataclasses` writes, kept between processes.

For each class `dataclasses` writes methods as text and compiles them: 1,300 texts when
xDSL and the compiler are loaded, a fifth of what a matmul takes in a new process.
Python keeps the bytecode of modules in `__pycache__`; `kept_methods` keeps that of
these texts there too, under the text itself, so that it can never be out of date.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import marshal
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import MAGIC_NUMBER, cache_from_source
from types import CodeType
from typing import Any

FILE = f"{cache_from_source(__file__)}.methods"


@contextmanager
def kept_methods() -> Iterator[None]:
    """
    Within it dataclasses have their methods from the file; new ones are added to it.

    It changes what compiles for the module `dataclasses`, in the whole process, so it
    is for a process of our own. Where the file cannot be read or written, or Python is
    told to write no bytecode, things only take longer.
    """
    known: dict[str, CodeType] | None = None
    read = 0

    def run(text: str, *namespaces: Any) -> None:
        nonlocal known, read
        if known is None:
            known = _read()
            read = len(known)
        code = known.get(text)
        if code is None:
            code = known[text] = compile(text, "<string>", "exec")
        builtins.exec(code, *namespaces)

    # There the name is looked up as a global one first.
    setattr(dataclasses, "exec", run)  # noqa: B010
    try:
        yield
    finally:
        delattr(dataclasses, "exec")
        if known is not None and len(known) > read:
            _write(known)


def _read() -> dict[str, CodeType]:
    # What marshal raises where the file was cut short or overwritten.
    damage = (OSError, EOFError, ValueError, TypeError)
    with contextlib.suppress(*damage), open(FILE, "rb") as stream:
        if stream.read(len(MAGIC_NUMBER)) == MAGIC_NUMBER:
            return marshal.loads(stream.read())
    return {}


def _write(known: dict[str, CodeType]) -> None:
    from pyptoc.files import FileError, atomic_file

    if sys.dont_write_bytecode or not os.path.isdir(os.path.dirname(FILE)):
        return
    with contextlib.suppress(FileError), atomic_file(FILE) as stream:
        stream.write(MAGIC_NUMBER + marshal.dumps(known))
