"""
`--sweep`: the times of all combinations of values, as a table, CSV, JSON and a plot.

The table goes to standard output, progress to standard error where that is a terminal.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from pyptoc.dialects.diagnostics import CompileError, error
from pyptoc.dialects.words import counted
from pyptoc.files import read_source, write_text
from pyptoc.made_up import origin_lines
from pyptoc.options import Options
from pyptoc.report import Reporter
from pyptoc.runtime.machine import machine_table
from pyptoc.sweep_cache import Cache
from pyptoc.sweep_plot import check_plot, write_plot
from pyptoc.sweep_point import INTERNAL
from pyptoc.sweep_spec import parse_axes, show
from pyptoc.sweep_workers import PROCESSES, ProcessEndedError, check_executor
from pyptoc.sweeping import Plan, Progress, SweepRow, best_of, plan_sweep, run_plan
from pyptoc.tables import show as print_lines
from pyptoc.tables import table
from pyptoc.usage import UsageError

MESSAGE = 60
"""So much of an error stands in the table."""

STYLES = {
    r"<- best$": "bold green",
    r"\bPTO\d{3}\b": "red",
    r"modelled, not measured$": "dim",
}
"""How a terminal shows the table, by patterns."""


def sweep(options: Options) -> int:
    """Does what `--sweep` asks; returns the exit code."""
    reporter = Reporter()
    try:
        return _sweep(options, reporter)
    except CompileError as problem:
        reporter.report(problem.diagnostics)
        return 1


def _sweep(options: Options, reporter: Reporter) -> int:
    _check(options)
    axes = parse_axes(options.sweep)
    check_executor(options.executor or PROCESSES)
    if options.sweep_plot is not None:
        check_plot(options.sweep_plot)
    assert options.input is not None
    name, text = read_source(options.input, options.case)
    reporter.sources[name] = text
    pipeline = options.pipeline
    if pipeline is None and options.compile_to == "tensor":
        pipeline = ""
    plan = plan_sweep(
        axes,
        name=name,
        source=text,
        machine=machine_table(options.machine),
        pipeline=pipeline,
        entry=options.entry,
        bind=options.bind,
        seed=options.random_inputs,
        case=None if options.case is None else (options.input, options.case),
    )
    rows = _run(plan, options)
    _write(rows, options)
    if all(row.error for row in rows) and len({row.details for row in rows}) == 1:
        # Nothing was swept that matters: it is the operator that is wrong.
        sys.stderr.write(rows[0].details + "\n")
    else:
        print_lines(lines_of(rows, plan), STYLES)
    if any(row.error == INTERNAL for row in rows):
        return 2
    return int(all(row.error for row in rows))


def _check(options: Options) -> None:
    if options.input is None:
        raise UsageError("no input file", "pyptoc FILE.mlir, or - for standard input")
    for name, given in (
        ("--run", options.run),
        ("--check-each", options.check_each),
        ("--split-input-file", options.split_input_file),
        ("--describe", options.describe),
        ("-o", options.output != "-"),
        ("--simulate", options.simulate is not None),
    ):
        if given:
            raise UsageError(
                f"--sweep and {name} exclude each other",
                "a sweep simulates each point and prints a table; --sweep-json has all",
            )
    if options.inputs is not None:
        raise UsageError(
            "a sweep takes no --inputs", "sizes and lists by --bind or bind.NAME"
        )
    if options.compile_to not in (None, "program"):
        raise UsageError("a sweep compiles to a program", "leave out --compile-to")


def _run(plan: Plan, options: Options) -> list[SweepRow]:
    cache = None if options.sweep_cache is None else Cache(options.sweep_cache)
    done = [0, 0]

    def count(finished: int, total: int) -> None:
        done[:] = finished, total
        shown(finished, total)

    with _progress() as shown:
        try:
            return run_plan(
                plan,
                executor=options.executor or PROCESSES,
                jobs=options.jobs,
                cache=cache,
                progress=count,
            )
        except ProcessEndedError:
            error(
                None,
                "PTO509",
                "a process of the sweep was killed",
                rule="each process holds an operator and its simulation in memory",
                help="--jobs=1; with --sweep-cache=DIR what is done is not lost",
            )
        except KeyboardInterrupt:
            kept = f"kept in {options.sweep_cache}: the same command goes on from there"
            advice = kept if cache is not None else "lost: --sweep-cache=DIR keeps them"
            sys.stderr.write(
                f"{done[0]} of {counted(done[1], 'point')} done, {advice}\n"
            )
            raise


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda finished, total: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(file=sys.stderr)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("points", total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)


def lines_of(rows: Sequence[SweepRow], plan: Plan) -> list[str]:
    """The table."""
    keys = [axis.name for axis in plan.axes]
    header = (*keys, "time us", "of best", "bound", "launches", "cube %", "vector %",
              "HBM %", "L2 hit", "")  # fmt: skip
    cells = [
        (*(show(row.point[key]) for key in keys), *_figures(row, best))
        for row, best in zip(rows, best_of(rows), strict=True)
    ]
    failed = sum(bool(row.error) for row in rows)
    wrong = f", {failed} do not compile" if failed else ""
    machine = "several machines" if "machine" in keys else plan.operator.table["name"]
    name = plan.operator.signature.name
    points = f"{len(rows)} point{'s' * (len(rows) != 1)}{wrong}"
    head = f"{name} on {machine}: {points}   modelled, not measured"
    assumed = (name for row in rows for name in row.assumed)
    recorded = (name for row in rows for name in row.recorded)
    return [
        head,
        *table([header, *cells]),
        *origin_lines(assumed, recorded, "runs"),
    ]


def _figures(row: SweepRow, best: SweepRow | None) -> tuple[str, ...]:
    if row.seconds is None or best is None or best.seconds is None:
        cut = row.message[:MESSAGE] + "..." * (len(row.message) > MESSAGE)
        return ("-", "-", row.error, "-", "-", "-", "-", "-", cut)
    return (
        f"{1e6 * row.seconds:.1f}",
        f"{row.seconds / best.seconds:.2f}",
        row.bound,
        str(row.launches),
        f"{100 * row.busy.get('cube m', 0.0):.1f}",
        f"{100 * row.busy.get('vector v', 0.0):.1f}",
        f"{100 * row.near_roof.get('HBM', 0.0):.1f}",
        f"{100 * (row.l2_hit or 0.0):.0f} %",
        "<- best" if row is best else "",
    )


def _write(rows: Sequence[SweepRow], options: Options) -> None:
    if options.sweep_csv is not None:
        write_text(options.sweep_csv, csv_of(rows))
    if options.sweep_json is not None:
        text = json.dumps([asdict(row) for row in rows], indent=1)
        write_text(options.sweep_json, text + "\n")
    if options.sweep_plot is not None:
        title = f"{Path(options.input or '').stem} on {Path(options.machine).stem}"
        write_plot(options.sweep_plot, rows, title)


def csv_of(rows: Sequence[SweepRow]) -> str:
    """One line a point; numbers as they are, not rounded."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    fields = ("seconds", "cycles", "bound", "launches", "tasks", "hbm_bytes", "l2_hit")
    busy = sorted({name for row in rows for name in row.busy})
    writer.writerow(
        [*rows[0].point, *fields, *(f"busy {n}" for n in busy), "error", "message"]
    )
    for row in rows:
        values = [getattr(row, name) for name in fields]
        shares = [row.busy.get(name) for name in busy]
        point = [show(value) for value in row.point.values()]
        writer.writerow([*point, *values, *shares, row.error, row.message])
    return stream.getvalue()
