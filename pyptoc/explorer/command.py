"""
`--explore`: compiles with a recorder watching, and writes the page.

A program that does not compile has a page as well: the passes up to the one that
refused it, and the error at its line. The exit code is then 1, as ever.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pyptoc.command import Unit, compile_module, parse
from pyptoc.dialects.context import make_context
from pyptoc.dialects.diagnostics import CompileError, Diagnostic
from pyptoc.explorer.page import Shown, page
from pyptoc.explorer.recorder import Recorder
from pyptoc.files import atomic_file, read_source, write_text
from pyptoc.manager import failing_pass
from pyptoc.options import Options
from pyptoc.printing import module_text
from pyptoc.report import Reporter
from pyptoc.runtime.machine import load_machine
from pyptoc.usage import UsageError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.runtime.inputs import Inputs
    from pyptoc.runtime.signature import Signature

_OTHER_WORK = (
    *("run", "simulate", "check", "sweep", "check_each", "split_input_file"),
    *("verify_diagnostics", "write_inputs", "write_golden", "describe"),
    *("print_source", "print_tile_candidates", "timing"),
    *("show_tiles", "pass_statistics", "run_reproducer"),
)


def explore(options: Options) -> int:
    """Does what `--explore` asks; returns the exit code."""
    assert options.explore is not None
    for name in _OTHER_WORK:
        if getattr(options, name):
            raise UsageError(
                f"--explore and --{name.replace('_', '-')} exclude each other",
                "run pyptoc twice",
            )
    if options.input is None:
        raise UsageError("no input file", "pyptoc FILE.mlir --explore out.html")
    machine = load_machine(options.machine)
    name, text = read_source(options.input, options.case)
    unit = Unit(name, text)
    reporter = Reporter({name: text}, remarks=options.remarks)
    recorder = Recorder(unit, make_context(machine), options)
    shown = Shown(recorder, machine)
    try:
        code = _compile(shown, options, reporter)
    except (UsageError, OSError):
        raise
    except Exception as problem:
        if isinstance(problem, CompileError) and failing_pass(problem) is None:
            reporter.report(problem.diagnostics)
            code = 1
        else:
            from pyptoc.crash import internal_error

            recorder.ends_here()
            message = f"internal error: {type(problem).__name__}: {problem}"
            shown.errors = (Diagnostic("PTO900", message),)
            code = internal_error(problem, text, options)
    with atomic_file(options.explore) as stream:
        stream.write(page(shown).encode("utf-8", "replace"))
    passes = [step for step in recorder.steps if step.kind == "pass"]
    number, changed = len(passes), sum(step.changed for step in passes)
    counted = f"{number} pass{'es' * (number != 1)}, {changed} changed the IR"
    print(f"explore   {options.explore}: {counted}")
    return code


def _compile(shown: Shown, options: Options, reporter: Reporter) -> int:
    recorder = shown.recorder
    unit, context = recorder.unit, recorder.context
    try:
        started = time.perf_counter()
        module = parse(unit, context)
        recorder.parsed(time.perf_counter() - started)
        known = _sizes(options, module)
        compile_module(unit, options, context, module, [recorder])
    except CompileError as problem:
        recorder.ends_here()
        shown.errors = problem.diagnostics
        raise
    reporter.report(context.remarks)
    shown.module = module
    _simulate(shown, module, options, known)
    if options.output != "-":
        write_text(options.output, module_text(module, options))
    return 0


def _sizes(options: Options, module: ModuleOp) -> tuple[Signature, Inputs] | str:
    """What is known of the inputs; a text where the module has no operator."""
    from pyptoc.simulate_command import sized_inputs

    try:
        return sized_inputs(options, module)
    except CompileError as problem:
        if options.bind or options.inputs or options.case or options.entry:
            raise
        return _words(problem)


def _simulate(shown: Shown, module: ModuleOp, options: Options, known: Any) -> None:
    """The timeline, or the reason why there is none."""
    if isinstance(known, str):
        shown.no_timeline = known
        return
    from pyptoc.runtime.timing import simulate

    signature, inputs = known
    shown.recorder.doing = "simulate"
    seed = options.random_inputs
    try:
        shown.timeline = simulate(module, shown.machine, signature, inputs, seed)
    except CompileError as problem:
        shown.no_timeline = _words(problem)


def _words(problem: CompileError) -> str:
    first = problem.diagnostics[0]
    return "\n".join(filter(None, (first.message, first.here, first.help)))
