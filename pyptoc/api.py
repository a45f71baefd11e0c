"""
The compiler from Python: `compile` a source to a `Program`, then `run` or `simulate`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Never

from pyptoc.argument_types import expect
from pyptoc.collector import seldom_collecting
from pyptoc.dialects.words import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.arrays import ArrayLike
    from pyptoc.dialects.context import PyptocContext
    from pyptoc.dialects.diagnostics import Diagnostic
    from pyptoc.passes.base import PyptocPass
    from pyptoc.pipeline import Pipeline
    from pyptoc.runtime.hazards import Checked
    from pyptoc.runtime.hazards_trips import AllTrips
    from pyptoc.runtime.inputs import Inputs
    from pyptoc.runtime.machine import Machine
    from pyptoc.runtime.run import Run
    from pyptoc.runtime.signature import Signature
    from pyptoc.runtime.timing_result import Timeline


@dataclass(frozen=True)
class Recipe:
    """How a program was made: enough to make it again and stop on the way."""

    source: Callable[[PyptocContext], ModuleOp]
    """A new module of the source, whenever it is called."""
    passes: tuple[PyptocPass, ...]


@dataclass(frozen=True)
class Program:
    """A compiled operator."""

    module: ModuleOp
    """The IR where the pipeline stopped."""
    machine: Machine
    signature: Signature
    """Arguments and results, as the source declares them."""
    remarks: tuple[Diagnostic, ...] = ()
    """What the passes had to say."""
    recipe: Recipe | None = field(default=None, compare=False, repr=False)
    _texts: dict[int, str] = field(
        default_factory=dict[int, str], compare=False, repr=False
    )

    @property
    def text(self) -> str:
        """The IR as text."""
        from pyptoc.printing import module_text

        return module_text(self.module)

    @property
    def stages(self) -> tuple[str, ...]:
        """What `ir` takes: `source`, levels that were reached, and names of passes."""
        from pyptoc.passes import LEVELS

        names = [each.name for each in self.recipe.passes] if self.recipe else []
        levels = [level for level, last in LEVELS.items() if last in (None, *names)]
        return ("source", *levels, *names)

    def ir(self, stage: str = "program") -> str:
        """
        The IR as text after a pass, or of a level (`tensor`, `tasks`, `kernels`,
        `program`); `source` is before the first pass.

        Nothing is kept while compiling: the source is compiled again up to there, and
        the text then kept. Raises `ValueError` for a stage that there is not.
        """
        from pyptoc.dialects.context import make_context
        from pyptoc.dialects.near import did_you_mean
        from pyptoc.manager import run_passes
        from pyptoc.passes import LEVELS
        from pyptoc.printing import module_text

        expect(stage, str, "ir takes the name of a stage")
        if self.recipe is None or stage not in self.stages:
            hint = did_you_mean(stage, self.stages) or ", ".join(self.stages)
            raise ValueError(f"there is no stage '{stage}'; {hint}")
        names = [each.name for each in self.recipe.passes]
        last = LEVELS.get(stage, None if stage == "source" else stage)
        count = 0 if last is None else len(names) - names[::-1].index(last)
        if count not in self._texts:
            context = make_context(self.machine)
            module = self.recipe.source(context)
            run_passes(self.recipe.passes[:count], context, module, verify_each=False)
            self._texts[count] = module_text(module)
        return self._texts[count]

    def __repr__(self) -> str:
        from pyptoc.describe import describe_program

        what = describe_program(self.module)
        return f"<Program @{self.signature.name} for {self.machine.name}: {what}>"

    def _repr_html_(self) -> str:
        from pyptoc.runtime.notebook import table_html, text_html, title_html

        rows = [
            (kind, each.name, each.type_text)
            for kind, values in (
                ("argument", self.signature.arguments),
                ("result", self.signature.results),
            )
            for each in values
        ]
        parts = [
            title_html(f"@{self.signature.name} for {self.machine.name}"),
            table_html(("", "name", "type"), rows),
        ]
        if self.remarks:
            said = "\n".join(map(str, self.remarks))
            title = counted(len(self.remarks), "remark")
            parts.append(text_html(title, said, closed=True))
        parts.append(text_html("IR", self.text, closed=True))
        return "".join(parts)

    def run(
        self,
        *unnamed: Never,
        check: bool | Literal["nan", "overflow"] = False,
        seed: int | None = None,
        **arrays: ArrayLike,
    ) -> dict[str, npt.NDArray[np.generic]]:
        """
        The results by name, for arrays and numbers named like the arguments.

        The first run translates the module's kernels, so that the next ones are fast;
        a module that is changed afterwards needs a `Program` of its own.

        Arrays are not converted: an f32 argument takes a float32 array. bf16 and f8
        come as ml_dtypes arrays or as unsigned integers with their bits. Arrays of
        other libraries (torch) are taken by DLPack or the array interface, uncopied.

        check: a hazard is a `RunError` (docs/checking.md), and so is the first NaN or
        infinity made of finite numbers, or the first cast that saturates; seed: tasks
        and pipes then run in a random order that waits and flags allow. Raises
        `CompileError` for inputs that do not fit and `RunError` for a program that
        breaks a rule while it runs.
        """
        from pyptoc.arrays import as_array
        from pyptoc.python_words import in_python
        from pyptoc.runtime.bindings import Bindings
        from pyptoc.runtime.inputs import accept, complete

        _refuse_unnamed("run", unnamed)
        _refuse_unknown(self.signature, arrays)
        with in_python("run"):
            given = {name: as_array(name, value) for name, value in arrays.items()}
            inputs = accept(self.signature, given, "run()", Bindings())
            inputs = complete(self.signature, inputs, "run()", None)
            values, name = inputs.values, self.signature.name
            if not check:
                return self._runner(values, name)
            from pyptoc.runtime.run import run_checked

            kind = None if check is True else check
            return run_checked(self.module, self.machine, values, name, seed, kind)[0]

    def check(
        self, *unnamed: Never, trips: bool = False, **inputs: ArrayLike
    ) -> Checked | AllTrips:
        """
        Checks the program for sizes alone, no data: a hazard is a `RunError`.

        inputs: as for `simulate`. trips: also where loops have few trips. What only
        data decides needs `run(check=True)`.
        """
        from pyptoc.python_words import in_python
        from pyptoc.runtime.hazards import check_program
        from pyptoc.runtime.hazards_trips import check_trips

        _refuse_unnamed("check", unnamed)
        with in_python("check"):
            found = self._sized(inputs, "check()")
            check = check_trips if trips else check_program
            return check(self.module, self.machine, self.signature, found)

    def simulate(self, *unnamed: Never, **inputs: ArrayLike) -> Timeline:
        """
        How long one call takes on the machine, and why; most programs need no data.

        inputs: sizes by their names in `pypto.dims`, scalars, and arrays; of arrays
        only the shapes count, and the values of those that decide what is launched
        (`group_list`). Such a value that is missing is made up as `pypto.data` says and
        named in `assumed`. Where kernels compute such a value, all inputs are needed:
        the program is run once, and `recorded` names what was taken from there. Raises
        `CompileError` for sizes that stay unknown and for a module that is no scheduled
        program, `RunError` for a run that breaks a rule.
        """
        from pyptoc.python_words import in_python
        from pyptoc.runtime.timing import simulate

        _refuse_unnamed("simulate", unnamed)
        with in_python("simulate"):
            found = self._sized(inputs, "simulate()")
            return simulate(self.module, self.machine, self.signature, found)

    def _sized(self, inputs: dict[str, ArrayLike], source: str) -> Inputs:
        """Sizes by their names, scalars and arrays, as far as they are given."""
        from pyptoc.arrays import as_array
        from pyptoc.runtime.bindings import Bindings
        from pyptoc.runtime.inputs import accept

        bound = Bindings()
        given: dict[str, Any] = {}
        arguments = {each.name: each for each in self.signature.arguments}
        for name, value in inputs.items():
            # A size may have the name of an argument: of a scalar, a number is both.
            is_size = name in self.signature.dims and not getattr(value, "shape", ())
            is_size = is_size and not isinstance(value, list | tuple)
            if is_size:
                bound.sizes[name] = _size(name, value)
            if name in arguments and (arguments[name].is_scalar or not is_size):
                given[name] = value
        known = (*bound.sizes, *given)
        sizes = tuple(self.signature.dims)
        _refuse_unknown(self.signature, [n for n in inputs if n not in known], sizes)
        for name in [name for name, value in given.items() if isinstance(value, list)]:
            bound.values[name] = given.pop(name)
        arrays = {name: as_array(name, value) for name, value in given.items()}
        return accept(self.signature, arrays, source, bound)

    @cached_property
    def _runner(self) -> Run:
        # Translating the kernels takes longer than many runs do.
        from pyptoc.runtime.run import runner

        return runner(self.module, self.machine)


def _size(name: str, value: ArrayLike) -> int:
    """A size that was given as a number."""
    import numpy as np

    from pyptoc.dialects.diagnostics import error

    number = np.asarray(value)
    if number.dtype.kind not in "iu" or int(number) < 0:
        error(
            None,
            "PTO501",
            f"size {name} is {value!r}",
            rule="a size is a whole number of at least 0",
        )
    return int(number)


def _refuse_unnamed(call: str, given: Sequence[object]) -> None:
    if given:
        raise TypeError(f"inputs are given by name; those of a dict: {call}(**inputs)")


def _refuse_unknown(
    signature: Signature, given: Iterable[str], sizes: Sequence[str] = ()
) -> None:
    # In a file a spare array is only a warning; in a call it is a typing error.
    from pyptoc.dialects.near import did_you_mean

    names = [argument.name for argument in signature.arguments]
    for name in given:
        if name not in names:
            hint = did_you_mean(name, (*sizes, *names))
            hint = hint or f"arguments: {', '.join(names)}"
            if sizes:
                hint += f"; sizes: {', '.join(sizes)}"
            raise TypeError(f"@{signature.name} has no argument '{name}'; {hint}")


@seldom_collecting()
def compile(
    source: str | os.PathLike[str] | ModuleOp,
    *,
    machine: str | os.PathLike[str] | Machine = "ascend950",
    pipeline: str | Pipeline | None = None,
    entry: str | None = None,
) -> Program:
    """
    Compiles an operator.

    `source` is a path, MLIR text (anything with a newline or a brace) or a module,
    which is left as it is. `pipeline` is a `Pipeline` or its text; None is the default
    one, from where the source stands, the empty text none at all. Raises `CompileError`
    with every diagnostic, also for a file that cannot be read.
    """
    from pyptoc.python_words import in_python

    with in_python("compile"):
        return _compile(source, machine, pipeline, entry)


def _copies(module: ModuleOp) -> Callable[[PyptocContext], ModuleOp]:
    return lambda _: module.clone()


def machines() -> list[str]:
    """The machines that `compile` knows by name."""
    from pyptoc.runtime.machine import machine_names

    return list(machine_names())


def _compile(
    source: str | os.PathLike[str] | ModuleOp,
    machine: str | os.PathLike[str] | Machine,
    pipeline: str | Pipeline | None,
    entry: str | None,
) -> Program:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.command import Unit, parse
    from pyptoc.dialects.context import make_context
    from pyptoc.files import source_of
    from pyptoc.manager import run_passes
    from pyptoc.pipeline import Pipeline, as_machine
    from pyptoc.pipeline_text import default_pipeline, first_pass_for
    from pyptoc.runtime.signature import read_signature

    types = str | os.PathLike | ModuleOp
    expect(source, types, "compile takes a path, MLIR text or a module")
    machine = as_machine(machine)
    context = make_context(machine)
    if isinstance(source, str | os.PathLike):
        unit = Unit(*source_of(source))
        module, again = parse(unit, context), lambda context: parse(unit, context)
    else:
        module, again = source.clone(), _copies(source.clone())
    signature = read_signature(module, entry)
    if pipeline is None:
        first = first_pass_for(module)
        pipeline = "" if first is None else default_pipeline(first=first)
    passes = tuple(Pipeline(pipeline))
    run_passes(passes, context, module)
    recipe = Recipe(again, passes)
    return Program(module, machine, signature, tuple(context.remarks), recipe)
