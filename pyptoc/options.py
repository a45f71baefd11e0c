"""
The command line's options: one argparse parser, one typed namespace.

Names follow mlir-opt where it has them; its `mlir-` prefix may be left out or written.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

LEVELS = ("tensor", "tasks", "kernels", "program")


class UsageError(Exception):
    """A command line that cannot be understood; the text says why and what to do."""

    code = "PTO500"

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help


@dataclass
class Options(argparse.Namespace):
    """Every option with its default; the help texts are in `build_parser`."""

    words: list[str] = field(default_factory=list[str])
    """The command line as it was given."""

    input: str | None = None
    output: str = "-"
    pipeline: str | None = None
    compile_to: str | None = None
    machine: str = "ascend950"
    entry: str | None = None

    print_ir_before: list[str] = field(default_factory=list[str])
    print_ir_after: list[str] = field(default_factory=list[str])
    print_ir_before_all: bool = False
    print_ir_after_all: bool = False
    print_ir_after_change: bool = False
    print_ir_tree_dir: str | None = None
    print_tile_candidates: bool = False
    print_op_generic: bool = False
    print_debuginfo: bool = False
    print_short: bool = False

    verify_each: bool = True
    check_each: bool = False
    remarks: bool = False
    timing: bool = False
    dump_pass_pipeline: bool = False
    crash_reproducer: str | None = None
    split_input_file: bool = False
    verify_diagnostics: bool = False

    run: bool = False
    inputs: str | None = None
    random_inputs: int | None = None
    bind: list[str] = field(default_factory=list[str])
    outputs: str | None = None
    expect: str | None = None
    tol: list[str] = field(default_factory=list[str])

    check: str | None = None
    seed: int | None = None

    case: str | None = None
    write_inputs: str | None = None
    write_golden: str | None = None

    simulate: str | None = None
    trace: str | None = None
    trace_tasks: int | None = None
    report: str | None = None

    sweep: list[str] = field(default_factory=list[str])
    jobs: int | None = None
    executor: str | None = None
    sweep_cache: str | None = None
    sweep_csv: str | None = None
    sweep_json: str | None = None
    sweep_plot: str | None = None

    list_passes: bool = False
    list_machines: bool = False
    list_ops: str | None = None
    list_operators: str | None = None
    print_source: bool = False
    docs_ops: bool = False
    docs_machines: bool = False
    describe: bool = False
    explain: str | None = None
    version: bool = False


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, "pyptoc --help lists the options")

    def print_help(self, file: Any = None) -> None:
        # argparse says nothing where it cannot write.
        (file or sys.stdout).write(self.format_help())
        sys.stdout.flush()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _boolean(text: str) -> bool:
    values = {"1": True, "true": True, "on": True}
    values |= {"0": False, "false": False, "off": False}
    if text.lower() not in values:
        raise argparse.ArgumentTypeError(f"'{text}' is neither true nor false")
    return values[text.lower()]


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a count (an integer >= 0)")
    return int(text)


def _seed(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a seed (an integer >= 0)")
    return int(text)


def _jobs(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of processes")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """The parser; `parse_options` is the door to it."""
    parser = _Parser(
        prog="pyptoc",
        description="Compile a fused NPU operator from MLIR text to a scheduled tile "
        "program, and run it on a model of the machine.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "input",
        nargs="?",
        metavar="FILE",
        help="MLIR text; - is standard input, @NAME an operator of --list-operators",
    )
    add("-o", dest="output", metavar="FILE", help="where the result goes (default -)")
    add("--version", action="store_true", help="print the version")
    _add_compiling(parser)
    _add_printing(parser)
    _add_checking(parser)
    _add_running(parser)
    _add_timing(parser)
    _add_sweeping(parser)
    _add_asking(parser)
    return parser


def _add_compiling(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("compiling").add_argument
    add(
        "--pipeline",
        "--pass-pipeline",
        metavar="PASSES",
        help="passes in order, 'a,b{option=value}'; '' only parses, verifies, prints",
    )
    add(
        "--compile-to",
        choices=LEVELS,
        metavar="LEVEL",
        help="stop the default pipeline at a level: " + ", ".join(LEVELS),
    )
    add("--machine", metavar="NAME", help="a machine or a TOML file of your own")
    add("--entry", metavar="@NAME", help="which public function is the operator")
    add("--split-input-file", action="store_true", help="cut the input at // -----")


def _add_printing(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("printing (dumps go to standard error)")
    add = group.add_argument
    flag = "store_true"
    add("--print-ir-before", type=_names, metavar="P,Q", help="dump before passes")
    add("--print-ir-after", type=_names, metavar="P,Q", help="dump after passes")
    add("--print-ir-before-all", action=flag, help="dump before every pass")
    add("--print-ir-after-all", action=flag, help="dump after every pass")
    add("--print-ir-after-change", action=flag, help="dump where a pass changed it")
    add("--print-ir-tree-dir", metavar="DIR", help="one file after each pass")
    add(
        "--print-tile-candidates",
        action=flag,
        help="the best ten tiles of each group, what they cost and why others lose, to "
        "standard output; the program only goes to a file (-o)",
    )
    add("--print-op-generic", action=flag, help="MLIR's generic form")
    add("--print-debuginfo", action=flag, help="with source locations")
    add("--print-short", action=flag, help="leave out types that can be inferred")


def _add_checking(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("checking").add_argument
    flag = "store_true"
    add(
        "--verify-each", type=_boolean, metavar="BOOL", help="after passes (default on)"
    )
    add(
        "--check-each",
        action=flag,
        help="run after every pass on the same inputs and name the first that differs",
    )
    add("--remarks", action=flag, help="what passes left undone, and why")
    add("--timing", action=flag, help="seconds of each pass, to standard error")
    add("--dump-pass-pipeline", action=flag, help="the pipeline, to standard error")
    add("--crash-reproducer", metavar="FILE", help="the IR before a pass that fails")
    add("--verify-diagnostics", action=flag, help="check expected-error comments")


def _add_running(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("running").add_argument
    add("--run", action="store_true", help="run the compiled operator")
    add("--inputs", metavar="F.npz", help="arrays named like the arguments")
    add("--random-inputs", type=_seed, metavar="SEED", help="make up the inputs")
    add(
        "--bind",
        action="append",
        metavar="NAME=VALUE",
        help="sizes, scalars, small tensors: M=16,group_list=[7,9]; repeatable",
    )
    add(
        "--case",
        metavar="NAME",
        help="sizes, data and golden of a case of @NAME, or the sizes of one that the "
        "file names in pypto.cases; for --run, --simulate, --check and --write-inputs",
    )
    add("--write-inputs", metavar="F.npz", help="write the inputs, and stop")
    add("--write-golden", metavar="F.npz", help="write the right results, and stop")
    add("--outputs", metavar="F.npz", help="write the results")
    add("--expect", metavar="F.npz", help="compare the results; exit 1 if they differ")
    add("--tol", action="append", metavar="NAME=A:R", help="|d| <= A + R * |expected|")
    add(
        "--check",
        choices=("hazards", "trips", "nan", "overflow"),
        metavar="hazards|trips|nan|overflow",
        help="races, deadlocks, memory misused: what hardware would corrupt or hang on "
        "is an error; with --run on that run, else for the sizes of --bind (trips: and "
        "for all sizes at which loops have few trips); nan, overflow: also the first "
        "instruction that makes a NaN or infinity of finite numbers, or saturates",
    )
    add(
        "--seed",
        type=_seed,
        metavar="N",
        help="with --run --check: tasks and pipes in a random order that waits and "
        "flags allow",
    )


def _add_timing(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("simulating").add_argument
    add(
        "--simulate",
        choices=("table", "json"),
        metavar="table|json",
        help="how long the program takes on the machine, and why (default table); "
        "needs the sizes (--bind or --inputs) and no data; the program only goes to a "
        "file (-o)",
    )
    add("--trace", metavar="F.json", help="the timeline for https://ui.perfetto.dev")
    add(
        "--trace-tasks",
        type=_count,
        metavar="N",
        help="how many tasks the trace shows with their instructions",
    )
    add(
        "--report",
        metavar="F.html",
        help="a page that explains the time (needs pip install 'pyptoc[report]')",
    )


def _add_sweeping(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what if").add_argument
    add(
        "--sweep",
        action="append",
        metavar="KEY=VALUES",
        help="simulate all combinations: tile.m=64,128 split_k=1..4 bind.M=16..4096*2 "
        "plan-memory.slots=1..4 machine.clock_ghz=1.0..2.0+0.25; repeatable "
        "(docs/what-if.md)",
    )
    add("--jobs", type=_jobs, metavar="N", help="processes (default: one for each CPU)")
    add("--executor", metavar="WHERE", help="processes (default) or dask:ADDRESS")
    add("--sweep-cache", metavar="DIR", help="keep results, and go on from there")
    add("--sweep-csv", metavar="F.csv", help="the rows as CSV")
    add("--sweep-json", metavar="F.json", help="the rows as JSON, with all figures")
    add(
        "--sweep-plot",
        metavar="F",
        help="a plot, .png, .svg or .html (needs pip install 'pyptoc[plot]')",
    )


def _add_asking(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("asking").add_argument
    flag = "store_true"
    add("--docs-ops", action=flag, help="docs/operators.md: every op in full")
    add("--docs-machines", action=flag, help="docs/machines.md: keys of machine files")
    add("--describe", action=flag, help="what inputs the operator wants")
    add("--print-source", action=flag, help="the text of the input: of @NAME")
    add(
        "--list-operators",
        metavar="WORD",
        help="the operators that come with pyptoc (with WORD in name or summary)",
    )
    add("--list-passes", action=flag, help="the passes and their options")
    add("--list-machines", action=flag, help="the machines")
    add("--list-ops", metavar="WORD", help="the ops (with WORD in name or summary)")
    add("--explain", metavar="CODE", help="what an error code means")


_OPTIONAL_VALUE = {
    "--verify-each": "true",
    "--list-ops": "",
    "--list-operators": "",
    "--simulate": "table",
    "--check": "hazards",
}


def _normalise(argv: Sequence[str], known: set[str]) -> list[str]:
    """Drops `mlir-` prefixes and fills in values that may be left out."""
    words: list[str] = []
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name.startswith(("--mlir-", "-mlir-")):
            name = "--" + name.lstrip("-").removeprefix("mlir-")
        elif re.match(r"-[a-z][a-z-]+$", name) and "-" + name in known:
            name = "-" + name
        if name in _OPTIONAL_VALUE and not equals:
            following = argv[index + 1 : index + 2]
            listing = name in ("--list-ops", "--list-operators")
            takes_next = listing and following and following[0][:1] != "-"
            if not takes_next:
                name, equals, value = name, "=", _OPTIONAL_VALUE[name]
        words.append(name + equals + value)
    return words


def parse_options(argv: Sequence[str]) -> Options:
    """The options of a command line; raises `UsageError`."""
    parser = build_parser()
    known = set(parser._option_string_actions)  # pyright: ignore[reportPrivateUsage]
    options, unknown = parser.parse_known_args(_normalise(argv, known), Options())
    for word in unknown:
        name = word.partition("=")[0]
        if not name.startswith("-"):
            raise UsageError(f"one input file at a time; '{word}' is one too many")
        from difflib import get_close_matches

        close = get_close_matches(name, known, n=1, cutoff=0.6)
        raise UsageError(
            f"unknown option '{name}'",
            f"did you mean {close[0]}?" if close else "pyptoc --help lists the options",
        )
    _check(options)
    options.words = list(argv)
    return options


def _check(options: Options) -> None:
    if options.pipeline is not None and options.compile_to is not None:
        raise UsageError("--pipeline and --compile-to exclude each other")
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
        if not used and (
            options.inputs or options.random_inputs is not None or options.bind
        ):
            raise UsageError(
                "--inputs, --random-inputs and --bind need --run, --simulate, --check "
                "or --check-each",
                "add --run",
            )
    elif options.tol and not options.expect:
        raise UsageError("--tol needs --expect", "add --expect=F.npz")
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
    if options.simulate is None:
        files = {"--trace": options.trace, "--report": options.report}
        for name, value in files.items():
            if value is not None:
                raise UsageError(f"{name} needs --simulate", "add --simulate")
    if options.trace_tasks is not None and options.trace is None:
        raise UsageError("--trace-tasks needs --trace", "add --trace=F.json")
    _check_sweep(options)
    _check_case(options)
    if options.run and options.simulate:
        raise UsageError("--run and --simulate exclude each other")


def _check_case(options: Options) -> None:
    writes = options.write_inputs or options.write_golden
    is_operator = (options.input or "").startswith("@")
    if options.case is not None:
        if options.inputs:
            raise UsageError("--case and --inputs exclude each other")
        if is_operator and options.random_inputs is not None:
            raise UsageError(f"a case of {options.input} has inputs, no random ones")
        if options.sweep:
            raise UsageError("a sweep takes no --case", "sizes by --bind or bind.NAME")
    if options.write_golden and not (is_operator and options.case):
        raise UsageError(
            "--write-golden needs a case of the corpus: @NAME --case=CASE",
            "of a file, --compile-to=tensor --run --outputs=F.npz writes what the "
            "interpreter gives",
        )
    if options.write_inputs and options.write_golden:
        first, second = map(
            os.path.abspath, (options.write_inputs, options.write_golden)
        )
        if first == second:
            raise UsageError("--write-inputs and --write-golden name one file")
    if writes and (options.run or options.simulate or options.check):
        raise UsageError(
            "--write-inputs and --write-golden only write; they do not run"
        )


def _check_sweep(options: Options) -> None:
    if options.sweep:
        return
    files = ("sweep_cache", "sweep_csv", "sweep_json", "sweep_plot")
    for name in ("jobs", "executor", *files):
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} needs --sweep", "add --sweep=tile.m=64,128")
