"""
Pipelines from Python: passes in order, to be listed, changed, printed and run.

    pipeline = pyptoc.Pipeline()                       # the default one
    pipeline.insert("plan-memory{slots=3}", before="insert-sync")
    pipeline.remove("skew")
    program = pyptoc.compile("op.mlir", pipeline=pipeline)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pyptoc.argument_types import expect

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.dialects.diagnostics import Diagnostic
    from pyptoc.passes.base import PyptocPass
    from pyptoc.runtime.machine import Machine


_TAKES = "a pipeline is a text, or passes and texts with their names"


class Pipeline:
    """
    A sequence of passes.

    `Pipeline()` is the default one; a text is read as `--pipeline` is, the empty one
    has no passes. Raises `CompileError` (PTO504) for a text that is no pipeline.
    """

    def __init__(self, passes: str | Iterable[str | PyptocPass] | None = None) -> None:
        from pyptoc.pipeline_text import default_pipeline

        if passes is None:
            passes = default_pipeline()
        expect(passes, Iterable, _TAKES)
        parts = [passes] if isinstance(passes, str) else passes
        self._passes = [each for part in parts for each in _parsed(part)]

    @staticmethod
    def known() -> list[str]:
        """The names of all passes: the compiler's in order, then registered ones."""
        from pyptoc.passes import pass_names

        return pass_names()

    @property
    def names(self) -> list[str]:
        """The names of its passes."""
        return [each.name for each in self]

    def __iter__(self) -> Iterator[PyptocPass]:
        return iter(self._passes)

    def __len__(self) -> int:
        return len(self._passes)

    def __str__(self) -> str:
        """The text that `Pipeline` and `--pipeline` read."""
        from pyptoc.pipeline_text import print_pipeline

        return print_pipeline(self._passes)

    def __repr__(self) -> str:
        return f"Pipeline({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pipeline) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def insert(
        self,
        passes: str | PyptocPass,
        *,
        before: str | None = None,
        after: str | None = None,
    ) -> Pipeline:
        """
        Puts passes before the first pass of a name, or after the last one.

        Gives the pipeline itself. Raises `ValueError` where it has no such pass,
        `TypeError` for what is no name.
        """
        if before is not None and after is not None:
            raise ValueError("a pass goes before or after another one, not both")
        if before is not None:
            at = self._places(before)[0]
        elif after is not None:
            at = self._places(after)[-1] + 1
        else:
            raise ValueError(
                "insert needs before= or after= and the name of a pass; append() puts "
                "passes at the end"
            )
        self._passes[at:at] = _parsed(passes)
        return self

    def append(self, passes: str | PyptocPass) -> Pipeline:
        """Puts passes at the end, and gives the pipeline itself."""
        self._passes += _parsed(passes)
        return self

    def remove(self, name: str) -> Pipeline:
        """Takes out all passes of a name; `ValueError` where there is none."""
        places = self._places(name)
        self._passes = [p for at, p in enumerate(self._passes) if at not in places]
        return self

    def _places(self, name: str) -> list[int]:
        expect(name, str, "a pass of the pipeline is given by its name")
        places = [at for at, each in enumerate(self._passes) if each.name == name]
        if not places:
            from pyptoc.dialects.near import did_you_mean

            hint = did_you_mean(name, self.names) or f"it is {self}"
            raise ValueError(f"no pass '{name}' in the pipeline; {hint}")
        return places

    def run(
        self,
        module: ModuleOp,
        *,
        machine: str | os.PathLike[str] | Machine = "ascend950",
    ) -> tuple[Diagnostic, ...]:
        """
        Runs the passes on a module, in place; gives their remarks and warnings.

        The result of every pass is verified. Raises `CompileError`.
        """
        from xdsl.dialects.builtin import ModuleOp

        from pyptoc.dialects.context import make_context
        from pyptoc.manager import run_passes
        from pyptoc.python_words import in_python

        expect(module, ModuleOp, "compile takes a source, Pipeline.run takes a module")
        with in_python("run"):
            context = make_context(as_machine(machine))
            run_passes(self._passes, context, module)
            return tuple(context.remarks)


def _parsed(given: str | PyptocPass) -> list[PyptocPass]:
    from pyptoc.pipeline_text import parse_pipeline
    from pyptoc.python_words import in_python

    if not isinstance(given, str):
        from pyptoc.passes.base import PyptocPass

        if not isinstance(given, PyptocPass):
            is_class = isinstance(given, type)
            what = f"the class {given.__name__}" if is_class else type(given).__name__
            raise TypeError(f"{_TAKES}, no {what}")
        return [given]
    with in_python("Pipeline"):
        return parse_pipeline(given)


def as_machine(machine: str | os.PathLike[str] | Machine) -> Machine:
    """A machine by its name, from a TOML file, or as it is."""
    from pyptoc.runtime.machine import Machine, load_machine

    if isinstance(machine, Machine):
        return machine
    expect(machine, str | os.PathLike, "a machine is a name, a path or a Machine")
    return load_machine(machine if isinstance(machine, str) else Path(machine))
