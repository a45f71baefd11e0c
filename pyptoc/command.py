"""
The command on a file: read, parse, verify, compile, then print or run.

One bad module of a split input does not hide the next. Anything but a `CompileError`
is an internal error: exit code 2 and a reproducer, for which the user is not to blame.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyptoc.dialects.diagnostics import CompileError, Diagnostic, Note
from pyptoc.dialects.record import record
from pyptoc.files import FileError, read_source, write_text
from pyptoc.manager import Reproducer, Watcher, failing_pass, run_passes
from pyptoc.options import Options
from pyptoc.pipeline_text import (
    default_pipeline,
    first_pass_for,
    parse_nested,
    parse_pipeline,
    print_pipeline,
)
from pyptoc.printing import module_text
from pyptoc.report import Reporter, plain_error
from pyptoc.step_times import Timing
from pyptoc.usage import UsageError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.dialects.context import PyptocContext
    from pyptoc.passes.base import PyptocPass
    from pyptoc.runtime.machine import Machine

SPLIT_MARKER = "// -----"


@record(frozen=False)
class Unit:
    """One module of the input on its way through the compiler."""

    name: str
    """The file's name, as locations show it."""
    text: str
    """The module's text, at its lines in the file."""
    number: int = 0
    timing: Timing = field(default_factory=Timing)
    reproducer: str | None = None
    """The file that `--crash-reproducer` has written."""


def split_input(name: str, text: str) -> list[Unit]:
    """Cuts a file at its `// -----` lines; every part keeps its line numbers."""
    units: list[Unit] = []
    lines: list[str] = []
    start = 0
    numbered = text.splitlines(keepends=True)
    for number, line in enumerate([*numbered, SPLIT_MARKER]):
        if line.rstrip() == SPLIT_MARKER:
            if "".join(lines).strip():
                text = "\n" * start + "".join(lines)
                units.append(Unit(name, text, len(units)))
            lines, start = [], number + 1
        else:
            lines.append(line)
    return units or [Unit(name, text)]


def execute(options: Options) -> int:
    """Does what the options ask with the input file; returns the exit code."""
    keep = options.verify_diagnostics is not None
    reporter = Reporter(keep=keep, remarks=options.remarks)
    try:
        return _execute(options, reporter)
    except CompileError as error:
        # What has no module to belong to: the machine, the pipeline.
        reporter.keep = False
        reporter.report(error.diagnostics)
        return 1
    except (UsageError, OSError, MemoryError):
        raise
    except Exception as error:
        from pyptoc.crash import internal_error

        return internal_error(error, "".join(reporter.sources.values()), options)


def _execute(options: Options, reporter: Reporter) -> int:
    name, text = "", ""
    if options.input is not None:
        name, text = read_source(options.input, options.case)
        if options.run_reproducer:
            return _execute_reproducer(options, reporter, name, text)
    return _execute_text(options, reporter, name, text)


def _execute_reproducer(
    options: Options, reporter: Reporter, name: str, text: str
) -> int:
    """Does it as the file's configuration says; it names modules, but runs none."""
    from pyptoc.crash import reproducing

    found = reproducing(options, name, text)
    if found.load_module and not options.load_module:
        words = [f"--load-module={module}" for module in found.load_module]
        raise UsageError(
            f"{name} needs passes of yours, and a reproducer runs no code by itself",
            shlex.join(["pyptoc", name, "--run-reproducer", *words]),
        )
    return _execute_text(found, reporter, name, text)


def _execute_text(options: Options, reporter: Reporter, name: str, text: str) -> int:
    from pyptoc.runtime.machine import load_machine

    machine = load_machine(options.machine)
    if options.pipeline is not None:
        parse_pipeline(options.pipeline)
    if options.input is None:
        if options.dump_pass_pipeline:
            print(print_pipeline(_passes(options, None)))
            return 0
        raise UsageError("no input file", "pyptoc FILE.mlir, or - for standard input")
    if options.print_source:
        write_text(options.output, text)
        return 0
    reporter.sources[name] = text
    units = split_input(name, text) if options.split_input_file else [Unit(name, text)]
    code = 0
    outputs: list[str] = []
    for unit in units:
        done, output = _run_unit(unit, options, machine, reporter)
        code = max(code, done)
        if output is not None:
            outputs.append(output)
    if options.verify_diagnostics:
        from pyptoc.expected import check_expected

        only = options.verify_diagnostics == "only-expected"
        differs = check_expected(reporter, name, text, only_expected=only)
        code = max(2 * (code == 2), differs)
    if outputs:
        write_text(options.output, f"{SPLIT_MARKER}\n".join(outputs))
    return code


def _run_unit(
    unit: Unit, options: Options, machine: Machine, reporter: Reporter
) -> tuple[int, str | None]:
    """The exit code of one module, and its text where that is the output."""
    try:
        return _compile_unit(unit, options, machine, reporter)
    except (UsageError, BrokenPipeError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and failing_pass(error) is None:
            raise
        if isinstance(error, CompileError) and failing_pass(error) is None:
            reporter.report(_with_reproducer(error.diagnostics, unit, options))
            return 1, None
        from pyptoc.crash import internal_error

        return internal_error(error, unit.text, options, unit.reproducer), None


def _with_reproducer(
    found: Sequence[Diagnostic], unit: Unit, options: Options
) -> list[Diagnostic]:
    """The last one notes the file of `--crash-reproducer`, where one was written."""
    if unit.reproducer is None:
        return list(found)
    modules = [f"--load-module={name}" for name in options.load_module]
    again = shlex.join(["pyptoc", unit.reproducer, "--run-reproducer", *modules])
    kept = Note(f"{unit.reproducer} holds the IR before the pass: {again}")
    *others, last = found
    return [*others, replace(last, notes=(*last.notes, kept))]


def _compile_unit(
    unit: Unit, options: Options, machine: Machine, reporter: Reporter
) -> tuple[int, str | None]:
    from pyptoc.dialects.context import make_context

    context = make_context(machine)
    module = parse(unit, context)
    if _done_with_source(options, module):
        return 0, None
    run = None
    if options.run or options.check_each:
        from pyptoc.run_command import RunCommand

        run = RunCommand(options, module, machine)
        reporter.report(run.warnings)
    simulation = None
    if options.simulate is not None:
        from pyptoc.simulate_command import SimulateCommand

        simulation = SimulateCommand(options, module, machine)
        reporter.report(simulation.warnings)
    checking = None
    if options.check is not None and not options.run:
        from pyptoc.check_command import CheckCommand

        checking = CheckCommand(options, module, machine)
        reporter.report(checking.warnings)
    watchers = run.watchers() if run is not None else []
    if options.print_tile_candidates:
        context.candidates = []
    try:
        compile_module(unit, options, context, module, watchers)
    finally:
        # Also where a pass fails: they may say why, and stand before the error.
        reporter.report(context.remarks)
    if context.candidates is not None:
        sys.stdout.write("\n".join(context.candidates))
    code = run.finish(module, unit.timing) if run is not None else 0
    if simulation is not None:
        simulation.finish(module, unit.timing, {unit.name: unit.text})
    if checking is not None:
        checking.finish(module, unit.timing)
    output = None
    tables = options.run or options.simulate or options.check
    tables = tables or options.print_tile_candidates or options.show_tiles
    if not tables or options.output != "-":
        started = time.perf_counter()
        output = module_text(module, options)
        unit.timing.add("print", seconds=time.perf_counter() - started)
    if options.timing:
        sys.stderr.write(unit.timing.report(options.timing_display))
    return code, output


def _done_with_source(options: Options, module: ModuleOp) -> bool:
    """Does what is asked of the module as it is written; whether that is all."""
    if options.describe:
        from pyptoc.describe import describe

        kept = [f"--machine={options.machine}"] * (options.machine != Options.machine)
        kept += [f"--entry={options.entry}"] * (options.entry is not None)
        print(describe(module, options.input or "-", options.entry, kept))
        return True
    if options.entry is not None:
        from pyptoc.runtime.signature import find_entry

        find_entry(module, options.entry)
    if options.write_inputs is None and options.write_golden is None:
        return False
    from pyptoc.cases import write_case

    write_case(options, module)
    return True


def parse(unit: Unit, context: PyptocContext) -> ModuleOp:
    """Parses and verifies one module."""
    from pyptoc.dialects.case_names import check_case_names
    from pyptoc.dialects.parsing import parse_module
    from pyptoc.dialects.verify import verify_module

    started = time.perf_counter()
    try:
        module = parse_module(unit.text, unit.name, context)
        parsed = time.perf_counter()
        unit.timing.add("parse", seconds=parsed - started)
        verify_module(module)
        check_case_names(module)
        unit.timing.add("verify", seconds=time.perf_counter() - parsed)
    except RecursionError:
        problem = Diagnostic("PTO108", f"{unit.name}: regions are nested too deeply")
        raise CompileError([problem]) from None
    return module


def _passes(options: Options, module: ModuleOp | None) -> list[PyptocPass]:
    if options.pipeline is not None:
        return parse_pipeline(options.pipeline)
    if options.compile_to == "tensor":
        return []
    first = None if module is None else first_pass_for(module)
    if module is not None and first is None:
        return []
    return parse_pipeline(default_pipeline(options.compile_to or "program", first))


def compile_module(
    unit: Unit,
    options: Options,
    context: PyptocContext,
    module: ModuleOp,
    watchers: list[Watcher],
) -> None:
    """Runs the pipeline on a module, in place, with everything the options ask for."""
    started = time.perf_counter()
    passes = _passes(options, module)
    unit.timing.add("load passes", seconds=time.perf_counter() - started)
    _check_names(options, passes)
    if options.dump_pass_pipeline:
        sys.stderr.write(f"{print_pipeline(passes)}\n")
    statistics = None
    if options.pass_statistics:
        from pyptoc.pass_statistics import Statistics

        statistics = Statistics(context)
        watchers = [statistics, *watchers]
    watching = [*_dumps(unit, options), *watchers]
    reproducer = Reproducer(passes) if options.crash_reproducer else None
    if reproducer is not None:
        watching.insert(0, reproducer)
    try:
        run_passes(
            passes,
            context,
            module,
            watching,
            verify_each=options.verify_each,
            timing=unit.timing,
        )
    except Exception as problem:
        if reproducer is not None:
            unit.reproducer = _reproduced(reproducer, problem, options)
        raise

    if statistics is not None:
        sys.stderr.write(statistics.report())


def _reproduced(
    reproducer: Reproducer, error: Exception, options: Options
) -> str | None:
    """Writes the file of `--crash-reproducer`; its name, if it could be written."""
    from pyptoc.crash import trace_of, write_reproducer

    name = options.crash_reproducer
    assert name is not None
    remaining = print_pipeline(reproducer.remaining())
    try:
        write_reproducer(name, reproducer.text, remaining, options, trace_of(error))
    except FileError as problem:  # What failed is told as well.
        plain_error(problem.code, problem.message, problem.help)
        return None
    return name


def _dumps(unit: Unit, options: Options) -> list[Watcher]:
    """What prints IR while the passes run."""
    dumps: list[Watcher] = []
    names = [each.name for each in fields(options)]
    if any(getattr(options, name) for name in names if name.startswith("print_ir_")):
        from pyptoc.dumps import Dump, TreeDump

        scopes = [one.scope for one in parse_nested(options.pipeline or "")]
        dumps.append(Dump(options, scopes))
        if options.print_ir_tree_dir is not None:
            folder = Path(options.print_ir_tree_dir)
            if options.split_input_file:
                folder /= str(unit.number)
            dumps.append(TreeDump(options, folder))
    if options.show_tiles:
        from pyptoc.shown_tiles import ShowTiles

        dumps.append(ShowTiles())
    return dumps


def _check_names(options: Options, passes: list[PyptocPass]) -> None:
    from pyptoc.dialects.near import did_you_mean
    from pyptoc.passes import pass_names

    present = [each.name for each in passes]
    choosing = ["infer-tiles"] if options.print_tile_candidates else []
    showing = ["infer-tiles"] if options.show_tiles else []
    for option, names in (
        ("--print-ir-before", options.print_ir_before),
        ("--print-ir-after", options.print_ir_after),
        ("--print-tile-candidates", choosing),
        ("--show-tiles", showing),
    ):
        for name in names:
            if name not in present:
                shown = ", ".join(dict.fromkeys(present)) or "none"
                near = "" if name in pass_names() else did_you_mean(name, present)
                help = near or f"its passes: {shown}"
                raise UsageError(f"{option}: no pass '{name}' in the pipeline", help)
