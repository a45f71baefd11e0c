"""
`--load-module=FILE.py`: runs Python files of the user's that register passes.

Only a file that the command line names is run: nothing in an MLIR file can ask for one,
and `--run-reproducer` only says which files a reproducer needs.
What they register is forgotten when the command is over.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from pyptoc.files import read_text
from pyptoc.passes import REGISTERED
from pyptoc.usage import UsageError


class LoadError(UsageError):
    """A module that fails while it is loaded."""

    code = "PTO514"


@contextmanager
def loaded(names: Sequence[str]) -> Generator[None]:
    """
    Within it, pipelines know the passes that the files register.

    Raises `FileError` for a file that cannot be read, `LoadError` with the line for one
    that fails.
    """
    before = dict(REGISTERED)
    try:
        for name in names:
            load(name)
        yield
    finally:
        REGISTERED.clear()
        REGISTERED.update(before)


def load(name: str) -> None:
    """Run the Python file `name` as a module of its own."""
    if not name.endswith(".py"):
        raise LoadError(f"{name} is no Python file", "--load-module=my_passes.py")
    _, text = read_text(name)
    module = ModuleType(f"pyptoc_user_{Path(name).stem}")
    module.__file__ = name
    # dataclasses look for the module of a class by its name.
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        from pyptoc.user_exceptions import said_by

        del sys.modules[module.__name__]
        raise LoadError(f"{_place(problem, name)}: {said_by(problem)}") from problem


def _place(problem: BaseException, name: str) -> str:
    """The line of the file where it failed."""
    if isinstance(problem, SyntaxError) and problem.filename == name:
        return f"{name}:{problem.lineno}"
    frames = traceback.extract_tb(problem.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == name]
    return f"{name}:{lines[-1]}" if lines else name
