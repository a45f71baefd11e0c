"""What the driver shares with mlir-opt: spellings, colours, dumps, statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

import pytest
from inprocess import call

from pyptoc import colors
from pyptoc.dialects.context import make_context
from pyptoc.dialects.parsing import parse_module
from pyptoc.manager import run_passes
from pyptoc.option_groups import build_parser
from pyptoc.options import OPTIONAL_VALUE, Options, parse_options
from pyptoc.passes import DEFAULT_PIPELINE, PASSES, pass_class
from pyptoc.pipeline_text import (
    parse_nested,
    parse_pipeline,
)
from pyptoc.printing import module_text
from pyptoc.runtime.machine import load_machine

TWO = """\
func.func @f(%a: tensor<64x8192xf16>, %b: tensor<8192x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b
  %s = pypto.softmax %y axis -1
  func.return %s : tensor<64x64xf32>
}
"""
OTHER = """\
func.func @g(%x: tensor<4x256x64xf32>) -> tensor<4x256x64xbf16> {
  %e = pypto.empty[4, 256, 64] : tensor<4x256x64xbf16>
  %o = pypto.for (%i = 0 to 4 step 1) iter(%r = %e) {
    %v = pypto.view %x[%i +: 1, :, :]
    %n = pypto.exp %v
    %h = pypto.cast %n to bf16
    %w = pypto.assemble %h into %r[%i, 0, 0]
    pypto.yield %w
  }
  func.return %o : tensor<4x256x64xbf16>
}
"""
BAD = """\
func.func @f(%x: tensor<4xf32>, %y: tensor<4xbf16>) {
  %z = pypto.add %x, %y
  func.return
}
"""


def options_of() -> Iterator[tuple[str, str]]:
    """Every option with a value that its table takes."""
    for action in build_parser()._actions:
        for name in action.option_strings:
            if not name.startswith("--") or name == "--help":
                continue
            value = ""
            if action.nargs != 0:
                choices = list(action.choices or ("1",))
                value = f"={choices[-1]}"
            if name == "--verify-each":
                value = "=0"
            yield name, value


class TestSpellings:
    def test_mlir_prefixes_of_all(self) -> None:
        parser = build_parser()
        found = list(options_of())
        assert len(found) > 60
        known = set(parser._option_string_actions)
        from pyptoc.options import _normalise

        for name, value in found:
            for spelling in ("--mlir-", "-mlir-"):
                words = _normalise([spelling + name[2:] + value], known)
                assert words == _normalise([name + value], known)
                before = parser.parse_args(words, Options())
                after = parser.parse_args([name + value], Options())
                assert vars(before) == vars(after) != vars(Options())

    def test_every_option_has_a_field(self) -> None:
        known = {each.name for each in fields(Options)}
        for action in build_parser()._actions:
            assert action.dest in known | {"help"}
        names = set(build_parser()._option_string_actions)
        assert set(OPTIONAL_VALUE) <= names

    def test_no_pass_is_named_like_an_option(self) -> None:
        names = build_parser()._option_string_actions
        assert not {f"--{name}" for name in PASSES} & set(names)

    @pytest.mark.parametrize("name", PASSES)
    def test_every_pass_is_an_option(self, name: str) -> None:
        assert (
            parse_options(["f", f"--{name}", "--inline"]).pipeline == f"{name},inline"
        )
        assert parse_options([f"-{name}", "f"]).pipeline == name

    def test_passes_with_options(self) -> None:
        options = parse_options(["f", "--split-k=factor=2 strategy=atomic", "--tile"])
        assert options.pipeline == "split-k{factor=2 strategy=atomic},tile"
        assert options.input == "f"

    @pytest.mark.parametrize(
        ("argv", "expected"),
        [
            (["--compile-to=task"], "did you mean tasks?"),
            (["--color=alway"], "did you mean always?"),
            (["--timing-display=treee"], "did you mean tree?"),
            (["--colour=always"], "did you mean --color?"),
            (["--RUN"], "did you mean --run?"),
            (["--simulate=JSON"], "did you mean json?"),
            (["--Insert-Sync"], "did you mean --insert-sync?"),
            (["--insert-synk"], "did you mean --insert-sync?"),
            (["--help-pass=insert-synk"], "did you mean insert-sync?"),
            (["--print-ir-aftr=tile"], "did you mean --print-ir-after?"),
            (["--verify-diagnostics=some"], "invalid choice: 'some'"),
            (["--run-reproducer", "--split-input-file"], "takes one module"),
            (["--run-reproducer", "--compile-to=tasks"], "exclude each other"),
        ],
    )
    def test_did_you_mean(self, argv: list[str], expected: str) -> None:
        code, out, err = call("f", *argv)
        assert (code, out) == (1, "")
        assert err.startswith("error[PTO500]: ")
        assert expected in err


class TestNesting:
    @pytest.mark.parametrize(
        ("text", "scopes"),
        [
            ("inline,tile", ["builtin.module"] * 2),
            ("builtin.module(inline,tile)", ["builtin.module"] * 2),
            ("builtin.module()", []),
            ("func.func(tile)", ["func.func"]),
            (
                " builtin.module( inline , func.func( tile , split-k { factor = 2 } ) ,"
                " npu.kernel(skew),schedule ) ",
                [
                    "builtin.module",
                    "func.func",
                    "func.func",
                    "npu.kernel",
                    "builtin.module",
                ],
            ),
        ],
    )
    def test_scopes(self, text: str, scopes: list[str]) -> None:
        assert [one.scope for one in parse_nested(text)] == scopes

    def test_lists_and_quotes(self) -> None:
        one = parse_pipeline("split-k{factor=2 strategy='atomic'}")
        assert one == parse_pipeline('split-k{strategy="atomic" factor=2}')
        assert one == parse_pipeline("split-k{strategy={atomic} factor={2}}")

    def test_anchors_are_known(self) -> None:
        from pyptoc.pipeline_text import ANCHORS

        for name in PASSES:
            anchor = pass_class(name).anchor
            assert anchor in ANCHORS
            assert parse_nested(f"{anchor}({name})")[0].scope == anchor

    def test_a_pass_on_functions_does_not_look_at_others(self) -> None:
        """So it does the same whether it is nested or not."""
        names = [
            n for n in DEFAULT_PIPELINE if n not in ("lower-to-tile", "split-mixed")
        ]
        names = names[: names.index("assemble-buffers") + 1]
        for upto, name in enumerate(names, 1):
            pipeline = ",".join(names[:upto])
            both = call("-", f"--pipeline={pipeline}", stdin=TWO + OTHER)[1]
            alone = [
                call("-", f"--pipeline={pipeline}", stdin=text)[1]
                for text in (TWO, OTHER)
            ]
            inside = [text.split("\n", 1)[1].removesuffix("}\n") for text in alone]
            assert both == f"builtin.module {{\n{''.join(inside)}}}\n", name

    def test_a_pass_on_kernels_does_not_look_at_others(self) -> None:
        for name in ("skew", "plan-memory"):
            names = DEFAULT_PIPELINE[: DEFAULT_PIPELINE.index(name) + 1]
            argv = ("-", f"--pipeline={','.join(names)}")
            both, one, two = (
                kernels(call(*argv, stdin=text)[1])
                for text in (TWO + OTHER, TWO, OTHER)
            )
            assert both == one + two
            assert len(both) == 3


def kernels(text: str) -> list[str]:
    """The kernels of a module without their numbers."""
    found = re.findall(r"^  npu\.kernel .*?^  }$", text, re.M | re.S)
    return [re.sub(r"(@\w+?)_\d+", r"\1", each) for each in found]


class TestColors:
    def test_always(self) -> None:
        code, _, err = call("-", "--pipeline=", "--color=always", stdin=BAD)
        assert code == 1
        assert "\033[1;31merror[PTO112]\033[0m" in err
        assert "\033[1;32m^" in err
        assert "\033[1;36mhelp:\033[0m" in err
        plain = call("-", "--pipeline=", stdin=BAD)[2]
        assert "\033" not in plain
        assert re.sub(r"\033\[[0-9;]*m", "", err) == plain

    def test_usage(self) -> None:
        err = call("--color=always")[2]
        assert err.startswith("\033[1m\033[0m\033[1;31merror[PTO500]")

    @pytest.mark.parametrize(
        ("choice", "terminal", "variables", "expected"),
        [
            ("auto", True, {}, True),
            ("auto", False, {}, False),
            ("auto", True, {"NO_COLOR": "1"}, False),
            ("auto", True, {"NO_COLOR": ""}, True),
            ("auto", True, {"TERM": "dumb"}, False),
            ("always", False, {"NO_COLOR": "1"}, True),
            ("never", True, {}, False),
        ],
    )
    def test_when(
        self,
        choice: str,
        terminal: bool,
        variables: dict[str, str],
        expected: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        class Stream:
            def isatty(self) -> bool:
                return terminal

        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        colors.choose(choice)
        assert colors.wanted(Stream()) == expected  # type: ignore[arg-type]
        colors.choose("auto")

    def test_the_next_command_starts_anew(self) -> None:
        call("-", "--pipeline=", "--color=always", stdin=BAD)
        assert "\033" not in call("-", "--pipeline=", stdin=BAD)[2]
        call("-", "--pipeline=", "--color=always", stdin=BAD)
        assert "\033" not in call("--no-such")[2]


class TestAbout:
    def test_help_of_every_pass(self) -> None:
        for name in PASSES:
            code, out, _ = call(f"--help-pass={name}")
            assert code == 0
            cls = pass_class(name)
            assert out.startswith(f"{name}: {cls.summary}\n")
            assert f"works on  {cls.anchor}" in re.sub(" {3,}", "  ", out)
            assert "options:" in out

    def test_dialects_are_those_that_can_be_loaded(self) -> None:
        shown = call("--show-dialects")[1].removeprefix("Available Dialects: ")
        context = make_context()
        assert set(shown.strip().split(", ")) == context.registered_dialect_names

    def test_ops_of_loops_that_are_one_task(self) -> None:
        out = call("@flash_attention", "--show-tiles")[1]
        rows = [re.split(r"  +", line)[1:] for line in out.splitlines()]
        assert ["pypto.mask_causal", "-", "what its loops leave"] in rows
        tiles = [row[2] for row in rows if row[0] == "pypto.matmul"]
        assert [tile.partition("<")[0] for tile in tiles] == ["#pypto.cube"] * 2

    def test_tiles_are_those_of_the_ir(self) -> None:
        out = call("-", "--show-tiles", stdin=TWO + OTHER)[1]
        rows = [re.split(r"  +", line) for line in out.splitlines()[1:]]
        context = make_context(load_machine("ascend950"))
        module = parse_module(TWO + OTHER, "<stdin>", context)
        names = DEFAULT_PIPELINE[: DEFAULT_PIPELINE.index("infer-tiles") + 1]
        run_passes(parse_pipeline(",".join(names)), context, module)
        text = module_text(module)
        tiles = re.findall(r"npu\.tile = (#pypto\.\w+<.*?>)[,}]", text)
        assert sorted(row[3] for row in rows) == sorted(tiles)
        places = [row[0] for row in rows]
        assert places[0] == "<stdin>:2:8"
        assert "<stdin>:10:10" in places
