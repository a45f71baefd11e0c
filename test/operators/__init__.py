"""
The corpus: whole operators to start from, each with its inputs, golden and cases.

`NAME.mlir` is an operator as its author writes it, at its real sizes; its first comment
says what it is. `NAME.py` beside it knows nothing of the compiler (`Operator`).
`pyptoc --list-operators` lists them, `pyptoc @NAME` compiles one.

Nothing here imports numpy before a case's arrays are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Arrays = dict[str, npt.NDArray[np.generic]]

FOLDER = Path(__file__).parent


class Case(Protocol):
    """Sizes and data of one run; `str(case)` is its name."""

    @property
    def name(self) -> str:
        """Distinct within the operator; the first case of each is the public one."""
        ...

    @property
    def long(self) -> bool:
        """Whether it takes more than a few seconds, and ordinary tests leave it out."""
        ...


class Operator(Protocol):
    """What a module `NAME.py` offers; a case of one operator is none of another."""

    CASES: Sequence[Any]
    """The public case first, then edge cases."""
    TINY: Any
    """A case that runs in a fraction of a second."""
    BREAKS: Sequence[tuple[str, str]]
    """Changes of the text that the first case's golden must see."""

    def source(self, case: Any, /) -> str:
        """The text of `NAME.mlir`, with the static sizes of the case."""
        ...

    def inputs(self, case: Any, /) -> Arrays:
        """Arrays by argument name; the same for the same case."""
        ...

    def golden(self, **inputs: Any) -> Arrays:
        """The results by name, from the definition, in plain numpy."""
        ...


@cache
def names() -> list[str]:
    """The operators, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.mlir"))


def text_of(name: str) -> str:
    """The text of `NAME.mlir`."""
    return (FOLDER / f"{name}.mlir").read_text()


def summary(name: str) -> str:
    """What an operator is: the first sentence of its text."""
    first = text_of(name).partition("\n")[0].removeprefix("//").strip()
    return first.split(".  ")[0].split(". ")[0].rstrip(".")


def load(name: str) -> Operator:
    """The module of an operator."""
    return cast(Operator, import_module(f"{__name__}.{name}"))
