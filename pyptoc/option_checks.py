"""
Which options go together: what is missing or too much is a `UsageError`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyptoc.usage import UsageError, is_operator

if TYPE_CHECKING:
    from pyptoc.options import Options


def check(options: Options) -> None:
    """Raises `UsageError` (PTO500) for options that do not go together."""
    if options.pipeline is not None and options.compile_to is not None:
        raise UsageError("--pipeline and --compile-to exclude each other")
    if options.explain and options.input is not None:
        raise UsageError("--explain takes one code", f"--explain={options.explain}")
    _check_reproducer(options)
    _check_simulation(options)
    _check_run(options)
    if options.check == "trips" and options.run:
        raise UsageError(
            "--check=trips tries many sizes; --run is one", "leave one out"
        )
    if options.check in ("nan", "overflow"):
        if not options.run:
            raise UsageError(f"--check={options.check} needs --run", "add --run")
        if options.seed is not None:
            raise UsageError(
                f"--check={options.check} goes in program order, no --seed"
            )
    if options.seed is not None and not (options.run and options.check):
        raise UsageError("--seed needs --run --check", "add --run --check")
    for name, given in (
        ("--run", options.run),
        ("--simulate", options.simulate),
        ("--check", options.check),
    ):
        if given and options.split_input_file:
            raise UsageError(
                f"{name} takes one module; --split-input-file makes several"
            )
    _check_sweep(options)
    _check_case(options)
    if options.run and options.simulate:
        raise UsageError("--run and --simulate exclude each other")


def _check_simulation(options: Options) -> None:
    """What a simulation writes; before inputs, which would be told to need a run."""
    if options.simulate is None:
        files = {"--trace": options.trace, "--report": options.report}
        for name, value in files.items():
            if value is not None:
                raise UsageError(f"{name} needs --simulate", "add --simulate")
    if options.trace_tasks is not None and options.trace is None:
        raise UsageError("--trace-tasks needs --trace", "add --trace=F.json")


def _check_run(options: Options) -> None:
    """What only a run, or what needs inputs, can use."""
    if not options.run:
        only = {
            "--outputs": options.outputs,
            "--expect": options.expect,
            "--tol": options.tol,
        }
        for name, value in only.items():
            if value:
                raise UsageError(f"{name} needs --run", "add --run")
        used = options.check_each or options.simulate is not None or options.sweep
        used = used or options.check or options.write_inputs or options.write_golden
        used = used or options.explore
        if not used and (
            options.inputs or options.random_inputs is not None or options.bind
        ):
            raise UsageError(
                "--inputs, --random-inputs and --bind need --run, --simulate, --check "
                "or --check-each",
                "add --run",
            )
        own = options.input is not None and not is_operator(options.input)
        if not used and options.case is not None and own:
            # A case of the corpus also says which text is compiled.
            raise UsageError(
                "--case of a file needs --run, --simulate, --check or --check-each",
                "add --run",
            )
    elif options.tol and not (options.expect or _has_golden(options)):
        raise UsageError("--tol needs --expect", "add --expect=F.npz")


def _check_reproducer(options: Options) -> None:
    if not options.run_reproducer:
        return
    given = {"--pipeline": options.pipeline, "--compile-to": options.compile_to}
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"--run-reproducer and {name} exclude each other",
                "the file says which passes run",
            )
    if options.split_input_file:
        raise UsageError("--run-reproducer takes one module, not several")


def _has_golden(options: Options) -> bool:
    """Whether a run is held against the golden of a case of the corpus."""
    return options.case is not None and is_operator(options.input)


def _check_case(options: Options) -> None:
    writes = options.write_inputs or options.write_golden
    if options.case is not None:
        if options.inputs:
            raise UsageError("--case and --inputs exclude each other")
        if is_operator(options.input) and options.random_inputs is not None:
            raise UsageError(f"a case of {options.input} has inputs, no random ones")
    if options.write_golden and not _has_golden(options):
        raise UsageError(
            "--write-golden needs a case of the corpus: @NAME --case=CASE",
            "of a file, --compile-to=tensor --run --outputs=F.npz writes what the "
            "interpreter gives",
        )
    if options.write_inputs and options.write_golden:
        names = (options.write_inputs, options.write_golden)
        if len(set(map(os.path.abspath, names))) == 1:
            raise UsageError("--write-inputs and --write-golden name one file")
    if writes and (options.run or options.simulate or options.check):
        raise UsageError(
            "--write-inputs and --write-golden only write; they do not run"
        )


def _check_sweep(options: Options) -> None:
    if options.sweep:
        if options.load_module:
            raise UsageError(
                "--sweep takes no --load-module: its passes are the default"
            )
        return
    files = ("sweep_cache", "sweep_csv", "sweep_json", "sweep_plot")
    for name in ("jobs", "executor", *files):
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} needs --sweep", "add --sweep=tile.m=64,128")
