"""
The table of options: names, values and help texts in groups, as `--help` shows them.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn

from pyptoc.usage import UsageError

LEVELS = ("tensor", "tasks", "kernels", "program")


class _Once(argparse.Action):
    """An option with one value; given twice it must say the same."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.given: Any = None

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if self.given not in (None, values):
            raise UsageError(
                f"{option_string} is given twice: '{self.given}' and '{values}'",
                "leave one out",
            )
        self.given = values
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # What add_argument takes by default.
        self.register("action", None, _Once)

    def error(self, message: str) -> NoReturn:
        found = re.match(r"argument (-[\w-]+)[^:]*: (.*)", message, re.S)
        name, what = found.groups() if found is not None else ("", message)
        action = self._option_string_actions.get(name)
        if action is not None and what == "expected one argument":
            sign = "=" if name.startswith("--") else " "
            raise UsageError(f"{name} needs a value", f"{name}{sign}{action.metavar}")
        flag = re.fullmatch(r"ignored explicit argument '(.*)'", what)
        if flag is not None:
            raise UsageError(f"{name} takes no value, and not '{flag[1]}'", name)
        help = _nearest(message) or "pyptoc --help lists the options"
        raise UsageError(f"{name}: {what}" if name else message, help)

    def print_help(self, file: Any = None) -> None:
        # argparse says nothing where it cannot write.
        (file or sys.stdout).write(self.format_help())
        sys.stdout.flush()


def _nearest(message: str) -> str:
    """Help for a word that is none of the choices, which argparse lists behind it."""
    found = re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message)
    if found is None:
        return ""
    from pyptoc.dialects.near import did_you_mean

    return did_you_mean(found[1], found[2].replace("'", "").split(", "))


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
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a seed (an integer of 0 or more, of at most 18 digits)"
        )
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
        help="passes in order, 'a,b{option=value}', also in builtin.module(..), "
        "func.func(..), npu.kernel(..); '' only parses, verifies, prints. A pass may "
        "be an option as well: --tile or --partition='fuse=false', run in this order",
    )
    add(
        "--compile-to",
        choices=LEVELS,
        metavar="LEVEL",
        help="stop the default pipeline at a level: " + ", ".join(LEVELS),
    )
    add("--machine", metavar="NAME", help="a machine or a TOML file of your own")
    add("--entry", metavar="@NAME", help="which public function is the operator")
    help = "run a Python file of yours that registers passes; repeatable"
    add("--load-module", action="append", metavar="F.py", help=help)
    add("--split-input-file", action="store_true", help="cut the input at // -----")
    add(
        "--run-reproducer",
        action="store_true",
        help="with the options in the file's line // configuration:",
    )


def _add_printing(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("printing (dumps go to standard error)")
    add = group.add_argument
    flag = "store_true"
    for when in ("before", "after"):
        add(
            f"--print-ir-{when}",
            type=_names,
            action="extend",
            metavar="P,Q",
            help=f"dump {when} passes; repeatable",
        )
    add("--print-ir-before-all", action=flag, help="dump before every pass")
    add("--print-ir-after-all", action=flag, help="dump after every pass")
    add("--print-ir-after-change", action=flag, help="dump where a pass changed it")
    add("--print-ir-after-failure", action=flag, help="dump where a pass failed")
    add(
        "--print-ir-module-scope",
        action=flag,
        help="dump the module also for passes in func.func(..) or npu.kernel(..)",
    )
    add("--print-ir-tree-dir", metavar="DIR", help="one file after each pass")
    add(
        "--print-tile-candidates",
        action=flag,
        help="the best ten tiles of each group, what they cost and why others lose, to "
        "standard output; the program only goes to a file (-o)",
    )
    add("--explore", metavar="F.html", help="a page of what each pass did")
    add(
        "--show-tiles",
        action=flag,
        help="the tile of each op with its line, to standard output; the program only "
        "goes to a file (-o)",
    )
    add("--print-op-generic", action=flag, help="MLIR's generic form")
    add("--print-debuginfo", action=flag, help="with source locations")
    add(
        "--print-local-scope",
        action=flag,
        help="locations and attributes in place, no aliases, as pyptoc always prints",
    )
    add(
        "--elide-elements-larger-than",
        "--elide-elementsattrs-if-larger",
        type=_count,
        metavar="N",
        help="leave out the elements of constants with more than N; not read back",
    )
    add(
        "--color",
        choices=("auto", "always", "never"),
        metavar="auto|always|never",
        help="colours on terminals (auto, unless NO_COLOR is set), or in files as well",
    )
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
    add("--timing", action=flag, help="seconds of each step, to standard error")
    add(
        "--timing-display",
        choices=("tree", "list"),
        metavar="tree|list",
        help="in the order of the steps (default), or the longest first",
    )
    add(
        "--pass-statistics",
        action=flag,
        help="operations before and after each pass, and what it counts",
    )
    add("--dump-pass-pipeline", action=flag, help="the pipeline, to standard error")
    add(
        "--crash-reproducer",
        "--pass-pipeline-crash-reproducer",
        metavar="FILE",
        help="the IR before a pass that fails, for --run-reproducer",
    )
    add(
        "--pass-pipeline-local-reproducer",
        action=flag,
        help="from the pass that fails on, as pyptoc always writes it",
    )
    add("--disable-threading", action=flag, help="as pyptoc always runs")
    add(
        "--verify-diagnostics",
        choices=("all", "only-expected"),
        metavar="all|only-expected",
        help="check expected-error, -warning, -remark, -note comments",
    )


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
    add("--docs-errors", action=flag, help="docs/errors.md: every code")
    add("--docs-passes", action=flag, help="the table of docs/passes.md")
    add("--describe", action=flag, help="what inputs the operator wants")
    add("--print-source", action=flag, help="the text of the input: of @NAME")
    add(
        "--list-operators",
        metavar="WORD",
        help="the operators that come with pyptoc (with WORD in name or summary)",
    )
    add("--list-passes", action=flag, help="the passes and their options")
    add("--help-pass", metavar="NAME", help="a pass: IR before and after, options")
    add("--show-dialects", action=flag, help="the dialects that a file may use")
    add("--list-machines", action=flag, help="the machines")
    add("--list-ops", metavar="WORD", help="the ops (with WORD in name or summary)")
    add(
        "--completion",
        choices=("bash", "zsh", "fish"),
        metavar="bash|zsh|fish",
        help="a script: source <(pyptoc --completion=bash)",
    )
    add("--explain", metavar="CODE", help="what a code means; none: all codes")
