"""
The command line's options: one argparse parser, one typed namespace.

Names follow mlir-opt where it has them; its `mlir-` prefix may be left out or written.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from pyptoc.option_checks import check
from pyptoc.option_groups import build_parser
from pyptoc.usage import UsageError


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
    load_module: list[str] = field(default_factory=list[str])

    print_ir_before: list[str] = field(default_factory=list[str])
    print_ir_after: list[str] = field(default_factory=list[str])
    print_ir_before_all: bool = False
    print_ir_after_all: bool = False
    print_ir_after_change: bool = False
    print_ir_after_failure: bool = False
    print_ir_module_scope: bool = False
    print_ir_tree_dir: str | None = None
    print_tile_candidates: bool = False
    show_tiles: bool = False
    print_op_generic: bool = False
    print_debuginfo: bool = False
    print_short: bool = False
    print_local_scope: bool = False
    elide_elements_larger_than: int | None = None
    color: str = "auto"

    verify_each: bool = True
    check_each: bool = False
    remarks: bool = False
    timing: bool = False
    timing_display: str = "tree"
    pass_statistics: bool = False
    dump_pass_pipeline: bool = False
    crash_reproducer: str | None = None
    run_reproducer: bool = False
    pass_pipeline_local_reproducer: bool = False
    disable_threading: bool = False
    split_input_file: bool = False
    verify_diagnostics: str | None = None

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
    explore: str | None = None

    sweep: list[str] = field(default_factory=list[str])
    jobs: int | None = None
    executor: str | None = None
    sweep_cache: str | None = None
    sweep_csv: str | None = None
    sweep_json: str | None = None
    sweep_plot: str | None = None

    list_passes: bool = False
    help_pass: str | None = None
    show_dialects: bool = False
    list_machines: bool = False
    list_ops: str | None = None
    list_operators: str | None = None
    print_source: bool = False
    docs_ops: bool = False
    docs_machines: bool = False
    docs_errors: bool = False
    docs_passes: bool = False
    completion: str | None = None
    describe: bool = False
    explain: str | None = None
    version: bool = False


OPTIONAL_VALUE = {
    "--verify-each": "true",
    "--list-ops": "",
    "--list-operators": "",
    "--explain": "",
    "--simulate": "table",
    "--check": "hazards",
    "--verify-diagnostics": "all",
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
        if name in OPTIONAL_VALUE and not equals:
            following = argv[index + 1 : index + 2]
            listing = name in ("--list-ops", "--list-operators", "--explain")
            takes_next = listing and following and following[0][:1] != "-"
            if not takes_next:
                name, equals, value = name, "=", OPTIONAL_VALUE[name]
        words.append(name + equals + value)
    return words


def parse_options(argv: Sequence[str]) -> Options:
    """The options of a command line; raises `UsageError`."""
    parser = build_parser()
    known = set(parser._option_string_actions)  # pyright: ignore[reportPrivateUsage]
    options, unknown = parser.parse_known_args(_normalise(argv, known), Options())
    options.words = list(argv)
    if unknown:
        _take_passes(options, unknown, known)
    check(options)
    return options


def _take_passes(options: Options, words: list[str], known: set[str]) -> None:
    """Makes a pipeline of options that are passes: `--inline --tile`."""
    from pyptoc.passes import PASSES

    passes: list[str] = []
    for word in words:
        name = word.partition("=")[0]
        if not name.startswith("-"):
            raise UsageError(
                f"one input file at a time; '{word}' is one too many",
                _as_value(word, options.words),
            )
        if name.lstrip("-") not in PASSES:
            if options.load_module and _is_registered(name, options.load_module):
                raise UsageError(
                    f"unknown option '{name}': a pass of yours is no option",
                    f"--pipeline={shlex.quote(','.join(map(_as_pass, words)))}",
                )
            _unknown_option(name, [*known, *(f"--{each}" for each in PASSES)])
        passes.append(_as_pass(word))
    if options.pipeline is not None:
        raise UsageError(
            f"--pipeline and --{passes[0].partition('{')[0]} exclude each other",
            f"--pipeline='{options.pipeline},{','.join(passes)}'",
        )
    options.pipeline = ",".join(passes)


def _as_value(word: str, argv: Sequence[str]) -> str:
    """`--simulate=json`: a value that may be left out stands behind a =."""
    before = argv[argv.index(word) - 1] if word in argv[1:] else ""
    return f"{before}={word}" if before in OPTIONAL_VALUE else ""


def _as_pass(word: str) -> str:
    """`--tile=a=1` as a pipeline has it: `tile{a=1}`."""
    name, equals, value = word.partition("=")
    return name.lstrip("-") + (f"{{{value}}}" if equals else "")


def _is_registered(name: str, modules: Sequence[str]) -> bool:
    """
    Whether a file of the user's holds a pass's name as a text; none is run for it.

    Raises `FileError` for a file that cannot be read.
    """
    from pyptoc.files import read_text

    quoted = re.compile(rf"([\"']){re.escape(name.lstrip('-'))}\1")
    texts = [read_text(module)[1] for module in modules]
    return any(quoted.search(text) for text in texts)


def _unknown_option(name: str, known: list[str]) -> NoReturn:
    from pyptoc.dialects.near import did_you_mean

    hint = did_you_mean(name, known) or "pyptoc --help lists the options"
    raise UsageError(f"unknown option '{name}'", hint)
