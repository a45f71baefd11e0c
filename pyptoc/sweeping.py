"""
What if: an operator's time for other tiles, options, sizes and machines.

    rows = pyptoc.sweep(
        "matmul.mlir",
        {"bind.M": "256..4096*2", "split_k": [1, 2], "machine.clock_ghz": [1.65, 2.0]},
    )
    best = min((row for row in rows if not row.error), key=lambda row: row.seconds)

The points are the cross product, the last key fastest. docs/what-if.md lists the keys.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from pyptoc.argument_types import expect
from pyptoc.dialects.record import record
from pyptoc.sweep_cache import Cache
from pyptoc.sweep_keys import Draft, Operator, Setting, setting_of
from pyptoc.sweep_point import INTERNAL, SOURCE, Job, tool_digest
from pyptoc.sweep_spec import Axis, Value, axis_of, show
from pyptoc.sweep_workers import PROCESSES, check_executor, compute
from pyptoc.usage import UsageError, is_operator

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.runtime.signature import Signature

MOST_POINTS = 100_000

Progress = Callable[[int, int], None]
"""Called with how many points are done, and how many there are."""


@dataclass(frozen=True)
class SweepRow:
    """One point of a sweep and what came out; without times if it has an `error`."""

    point: Mapping[str, Any]
    """The value of each key."""
    seconds: float | None = None
    cycles: int | None = None
    bound: str = ""
    """What limits it: cube, vector, L1, L2, HBM, dispatch or dependency."""
    launches: int | None = None
    tasks: int | None = None
    busy: Mapping[str, float] = field(default_factory=dict[str, float])
    """Share of the time that each pipe worked, over all its cores: `cube m`."""
    near_roof: Mapping[str, float] = field(default_factory=dict[str, float])
    """How near each roof the time is: 1 is on it."""
    hbm_bytes: float | None = None
    """From and to HBM."""
    l2_hit: float | None = None
    """The share of the loaded bytes that was in L2."""
    assumed: Sequence[str] = ()
    """Arguments whose values were made up to know what is launched."""
    recorded: Sequence[str] = ()
    """What kernels compute and sizes come from: known from a run."""
    error: str = ""
    """The code of what keeps the point from compiling."""
    message: str = ""
    details: str = ""
    """The error in full, as the command would print it."""


class SweepRows(list[SweepRow]):
    """The rows of a sweep in order; a list that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        from pyptoc.runtime.notebook import table_html

        keys = list(self[0].point) if self else []
        best = best_of(self)
        rows = [
            (
                *(show(row.point[key]) for key in keys),
                "" if row.seconds is None else f"{1e6 * row.seconds:.2f}",
                row.bound,
                row.error or ("best" if row is top else ""),
            )
            for row, top in zip(self, best, strict=True)
        ]
        return table_html((*keys, "time us", "bound", ""), rows)


@record
class Plan:
    """All points of a sweep, ready to be computed."""

    name: str
    """The source's file name."""
    axes: Sequence[Axis]
    settings: Sequence[Setting]
    operator: Operator
    common: Job
    """A job without the changes of a point."""

    def points(self) -> Iterable[tuple[Value, ...]]:
        """The values of the keys, point by point."""
        return product(*(axis.values for axis in self.axes))

    def job(self, values: Sequence[Value]) -> Job:
        """What a point has to do."""
        draft = Draft(self.operator.table)
        for setting, value in zip(self.settings, values, strict=True):
            setting.apply(draft, value)
        return Job(
            tool=self.common.tool,
            source=self.common.source,
            machine=json.dumps(draft.machine(), sort_keys=True),
            pipeline=draft.pipeline(self.operator.passes),
            entry=self.common.entry,
            bind=(*self.common.bind, *draft.bind),
            seed=self.common.seed,
            tiles=tuple(draft.tiles),
            case=self.common.case,
        )


def best_of(rows: Sequence[SweepRow]) -> list[SweepRow | None]:
    """
    For each row the fastest that it competes with, the first of equals.

    Those have the same sizes (`bind`): another size is another problem. If only sizes
    are swept, it is the fastest of all. None where nothing compiles.
    """
    sizes = [key for key in rows[0].point if key.startswith("bind.")] if rows else []
    if rows and len(sizes) == len(rows[0].point):
        sizes = []
    groups = [tuple(show(row.point[key]) for key in sizes) for row in rows]
    best: dict[tuple[str, ...], SweepRow] = {}
    for group, row in zip(groups, rows, strict=True):
        fastest = best.get(group)
        if row.seconds is not None and (
            fastest is None or row.seconds < (fastest.seconds or 0.0)
        ):
            best[group] = row
    return [best.get(group) for group in groups]


def plan_sweep(
    axes: Sequence[Axis],
    *,
    name: str,
    source: str,
    machine: Mapping[str, Any],
    pipeline: str | None = None,
    entry: str | None = None,
    bind: Sequence[str] = (),
    seed: int | None = None,
    case: tuple[str, str] | None = None,
) -> Plan:
    """
    Checks keys and values against an operator.

    machine: the table of the machine. case: the file or operator as the command line
    names it, and one of its cases. Raises `CompileError`, `UsageError` for a case that
    is not there.
    """
    from pyptoc.cases import file_case
    from pyptoc.command import Unit, parse
    from pyptoc.dialects.context import make_context
    from pyptoc.pipeline_text import default_pipeline, first_pass_for, parse_pipeline
    from pyptoc.runtime.bindings import parse_bindings
    from pyptoc.runtime.machine import machine_of
    from pyptoc.runtime.signature import read_signature

    count = prod(len(axis.values) for axis in axes)
    if count > MOST_POINTS:
        numbers = " * ".join(str(len(axis.values)) for axis in axes)
        here = f"{numbers} = {count}"
        rule = f"a sweep has at most {MOST_POINTS} points"
        axes[-1].key.fail("there are too many points", rule=rule, here=here)
    module = parse(Unit(name, source), make_context(machine_of(machine)))
    signature = read_signature(module, entry)
    if case is not None and not is_operator(case[0]):
        found = file_case(module, *case).items()
        bind = [*(f"{key}={show(value)}" for key, value in found), *bind]
        case = None
    parse_bindings(bind, signature)
    if pipeline is None:
        first = first_pass_for(module)
        pipeline = "" if first is None else default_pipeline(first=first)
    passes = parse_pipeline(pipeline)
    operator = Operator(module, signature, passes, dict(machine))
    settings = [setting_of(axis, operator) for axis in axes]
    if case is not None:
        _check_sizes(axes, signature, *case)
    common = Job(tool_digest(), source, "", "", entry, tuple(bind), seed, (), case)
    return Plan(name, axes, settings, operator, common)


def _check_sizes(
    axes: Sequence[Axis], signature: Signature, operator: str, case: str
) -> None:
    """A case of the corpus has inputs, whose sizes are what they are."""
    for axis in axes:
        head, _, name = axis.name.partition(".")
        if head == "bind" and name in signature.dims:
            raise UsageError(
                f"{axis.name} is swept, and --case={case} of {operator} has its own "
                f"{name}",
                "leave out --case; other sizes by --bind",
            )


def run_plan(
    plan: Plan,
    *,
    executor: str = PROCESSES,
    jobs: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> list[SweepRow]:
    """
    The rows of a sweep in the order of its points, wherever they are computed.

    What is done is in the cache at once: after an interrupt the same sweep goes on.
    """
    points = list(plan.points())
    wanted = [plan.job(values) for values in points]
    results: dict[str, dict[str, Any]] = {}
    for job in wanted:
        known = cache.get(job.key) if cache is not None else None
        if known is not None:
            results[job.key] = known
    open_jobs = list(
        {job.key: job for job in wanted if job.key not in results}.values()
    )
    total = len(results) + len(open_jobs)
    if progress is not None:
        progress(len(results), total)
    if open_jobs:
        with closing(compute(open_jobs, executor, jobs)) as done:
            for job, result in done:
                results[job.key] = result
                if cache is not None and result.get("error") != INTERNAL:
                    cache.put(job.key, result)
                if progress is not None:
                    progress(len(results), total)
    for result in results.values():
        if "details" in result:
            result["details"] = result["details"].replace(SOURCE, plan.name)
    names = [axis.name for axis in plan.axes]
    return [
        SweepRow(dict(zip(names, values, strict=True)), **results[job.key])
        for values, job in zip(points, wanted, strict=True)
    ]


def sweep(
    source: str | os.PathLike[str] | ModuleOp,
    axes: Mapping[str, str | Iterable[Any]],
    *,
    machine: str | os.PathLike[str] = "ascend950",
    pipeline: str | None = None,
    entry: str | None = None,
    bind: Mapping[str, Any] | None = None,
    seed: int | None = None,
    case: str | None = None,
    jobs: int | None = None,
    executor: str = PROCESSES,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> SweepRows:
    """
    The modelled time of an operator for every combination of values.

    source: a path, MLIR text or a module, as for `compile`.
    axes: values of each key, or a text as on the command line: `"16..4096*2"`.
    bind: sizes, scalars and lists that are the same at all points.
    seed: of values that are made up to know what is launched. With a seed, points whose
        sizes come from what kernels compute are run once, with made-up inputs.
    case: of `@NAME` a case with its sizes and inputs, of other sources one of their
        `pypto.cases`, over which `bind` and keys `bind.NAME` win.
    jobs: how many processes; by default as many as there are CPUs, for few points one.
        With more than one a script needs `if __name__ == "__main__":` around it.
    executor: `processes`, or `dask:ADDRESS` of a scheduler.
    cache: a folder that keeps results; the same points are then not computed again.
    progress: called with the number of points that are done and that of all.

    A point that does not compile is a row with an `error`. Raises `CompileError` for
    keys, values and cases that do not exist, and for a source that cannot be read.
    """
    from pyptoc.python_words import in_python
    from pyptoc.runtime.machine import machine_table

    expect(jobs, int | None, "jobs is a number of processes")
    expect(case, str | None, "case is a name")
    expect(machine, str | os.PathLike, "machine is a name or a path")
    with in_python("sweep"):
        check_executor(executor)
        name, text = _read(source, case)
        plan = plan_sweep(
            _axes(axes),
            name=name,
            source=text,
            machine=machine_table(os.fspath(machine)),
            pipeline=pipeline,
            entry=entry,
            bind=_bindings(bind),
            seed=seed,
            case=None if case is None else (name, case),
        )
        kept = None if cache is None else Cache(os.fspath(cache))
        return SweepRows(
            run_plan(plan, executor=executor, jobs=jobs, cache=kept, progress=progress)
        )


def _axes(given: Mapping[str, str | Iterable[Any]]) -> list[Axis]:
    """The axes of keys and their values, with numbers as errors have them."""
    expect(given, Mapping, "sweep takes a dict of keys and their values")
    return [axis_of(key, values, n) for n, (key, values) in enumerate(given.items(), 1)]


def _bindings(given: Mapping[str, Any] | None) -> list[str]:
    """`NAME=VALUE` of each, as on the command line."""
    expect(given, Mapping | None, "bind is a dict of names and their values")
    return [f"{key}={show(_plain(value))}" for key, value in (given or {}).items()]


def _read(
    source: str | os.PathLike[str] | ModuleOp, case: str | None
) -> tuple[str, str]:
    """The name and the text of a path, a text or a module."""
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.files import source_of
    from pyptoc.printing import module_text

    if isinstance(source, str | os.PathLike):
        return source_of(source, case)
    expect(source, ModuleOp, "sweep takes a path, MLIR text or a module")
    return "<module>", module_text(source)


def _plain(value: Any) -> Value:
    return value.tolist() if hasattr(value, "tolist") else value
