"""
Pipelines as text: `inline,split-k{factor=2},schedule`, and the named levels.

Options are the fields of the pass's dataclass. `{flag}` is `{flag=true}`; lists are
`{sizes=1,2,3}`; several options are separated by spaces. A pass prints itself in the
same form, so a dumped pipeline can be given back to `--pipeline`.

Passes may be nested in the operation that they work on, as in MLIR:
`builtin.module(inline,func.func(decompose,tile))`. A pass says which one that is
(`anchor`); it does the same without, as each works on all such operations.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.record import record
from pyptoc.passes import DEFAULT_PIPELINE, LEVELS, pass_class, pass_names

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.passes.base import PyptocPass

CODE = "PTO504"

_TOKEN = re.compile(r"""\s*([A-Za-z_][\w.-]*|"[^"]*"|'[^']*'|-?[\w.+-]+|[{}()=,])""")

MODULE = "builtin.module"
ANCHORS = (MODULE, "func.func", "npu.kernel")
"""What passes can be nested in; the last two in a module."""


@record
class Scheduled:
    """A pass of a pipeline."""

    each: PyptocPass
    scope: str
    """The anchor that it was written in."""


@record(frozen=False)
class _Reader:
    """A cursor over the words of a pipeline text."""

    text: str
    at: int = 0

    def peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match.group(1) if match else ""

    def take(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            self.fail("unexpected end" if self.done() else "unexpected text")
        self.at = match.end()
        return match.group(1)

    def value(self) -> str:
        if self.peek() in ("{", "}", "(", ")", "=", ","):
            self.fail("expected the value of an option")
        return self.take()

    def done(self) -> bool:
        return not self.text[self.at :].strip()

    def skip(self, word: str) -> bool:
        if self.peek() != word:
            return False
        self.take()
        return True

    def fail(self, message: str) -> NoReturn:
        rest = self.text[self.at :].strip()
        where = f" at '{rest[:20]}'" if rest else " at its end"
        error(
            None,
            CODE,
            f"pipeline '{self.text}': {message}{where}",
            help="write passes like 'a,b{option=value other=1,2}'",
        )


def parse_pipeline(text: str) -> list[PyptocPass]:
    """The passes that a pipeline text names; raises `CompileError` (PTO504)."""
    return [scheduled.each for scheduled in parse_nested(text)]


def parse_nested(text: str) -> list[Scheduled]:
    """The passes of a pipeline text with the anchors around them."""
    reader = _Reader(text)
    found: list[Scheduled] = []
    while not reader.done():
        _parse_item(reader, "", found)
        if not reader.done() and not reader.skip(","):
            reader.fail("expected a comma")
    return found


def _parse_item(reader: _Reader, scope: str, found: list[Scheduled]) -> None:
    """One pass, or an anchor with the passes inside; `scope` is the anchor around."""
    name = reader.take()
    if not re.match(r"[A-Za-z_]", name):
        reader.at -= len(name)
        reader.fail("expected the name of a pass")
    if not reader.skip("("):
        options = _parse_options(reader) if reader.skip("{") else {}
        each = make_pass(name, options)
        _check_scope(each, scope)
        found.append(Scheduled(each, scope or MODULE))
        return
    _check_anchor(name, scope)
    while not reader.skip(")"):
        _parse_item(reader, name, found)
        if reader.peek() != ")" and not reader.skip(","):
            reader.fail("expected a comma or )")


def _check_anchor(name: str, scope: str) -> None:
    if name not in ANCHORS:
        error(
            None,
            CODE,
            f"passes cannot be nested in '{name}'",
            rule=f"they work on one of {', '.join(ANCHORS)}",
            help=did_you_mean(name, ANCHORS) or "pyptoc --help-pass=NAME says on which",
        )
    if scope not in ("", MODULE) or name == scope:
        error(
            None,
            CODE,
            f"there is no {name} in a {scope}",
            rule=f"{' and '.join(ANCHORS[1:])} stand in {MODULE}",
        )


def _check_scope(each: PyptocPass, scope: str) -> None:
    if scope in ("", MODULE, each.anchor):
        return
    error(
        None,
        CODE,
        f"pass '{each.name}' works on {each.anchor}, not on {scope}",
        help=f"{MODULE}({each.name},{scope}(..))"
        if each.anchor == MODULE
        else f"{each.anchor}({each.name})",
    )


def _parse_options(reader: _Reader) -> dict[str, list[str]]:
    options: dict[str, list[str]] = {}
    while not reader.skip("}"):
        key = reader.take()
        if key in ("{", "=", ","):
            reader.at -= len(key)
            reader.fail("expected an option's name")
        values = options.setdefault(key.replace("-", "_"), [])
        if not reader.skip("="):
            continue
        is_list = reader.skip("{")
        values.append(reader.value())
        while reader.skip(","):
            values.append(reader.value())
        if is_list and not reader.skip("}"):
            reader.fail("expected a comma or }")
    return options


def make_pass(name: str, options: dict[str, list[str]]) -> PyptocPass:
    """The pass `name` with its options, given as the words of the pipeline text."""
    known = pass_names()
    if name not in known:
        error(
            None,
            CODE,
            f"unknown pass '{name}'",
            help=did_you_mean(name, known)
            or "pyptoc --list-passes lists them; --load-module=F.py adds your own",
        )
    cls = pass_class(name)
    hints = typing.get_type_hints(cls) if options else {}
    fields = {field.name: field for field in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    for key, words in options.items():
        if key not in fields:
            shown = ", ".join(fields) or "none"
            error(
                None,
                CODE,
                f"pass '{name}' has no option '{key}'",
                help=did_you_mean(key, fields) or f"its options: {shown}",
            )
        try:
            values[key] = _convert(words, hints[key])
        except ValueError as problem:
            error(None, CODE, f"pass '{name}', option '{key}': {problem}")
    required = [
        field.name
        for field in fields.values()
        if field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
        and field.name not in values
    ]
    if required:
        error(None, CODE, f"pass '{name}' needs its option '{required[0]}'")
    return cls(**values)


def _convert(words: Sequence[str], wanted: Any) -> Any:
    """The value of type `wanted` that the words of an option spell."""
    origin = typing.get_origin(wanted)
    if origin in (typing.Union, types.UnionType):
        inner = [t for t in typing.get_args(wanted) if t is not types.NoneType]
        return _convert(words, inner[0])
    if origin is tuple:
        return tuple(_convert([word], typing.get_args(wanted)[0]) for word in words)
    if wanted is bool and not words:
        return True
    if len(words) != 1:
        raise ValueError(f"takes one value, got {len(words)}")
    word = words[0]
    if wanted is str:
        return word.strip("\"'")
    allowed: dict[str, Any] | None = None
    if wanted is bool:
        allowed = {"true": True, "false": False, "1": True, "0": False}
    elif origin is Literal:
        allowed = {str(value): value for value in typing.get_args(wanted)}
    elif isinstance(wanted, type) and issubclass(wanted, Enum):
        allowed = {str(member.value): member for member in wanted}
    if allowed is not None:
        if word.strip("\"'") not in allowed:
            raise ValueError(f"'{word}' is none of {', '.join(allowed)}")
        return allowed[word.strip("\"'")]
    try:
        return wanted(word)
    except ValueError:
        kind = {int: "an integer", float: "a number"}.get(wanted, str(wanted))
        raise ValueError(f"'{word}' is not {kind}") from None


def print_pipeline(passes: Sequence[PyptocPass]) -> str:
    """The text that `parse_pipeline` reads back."""
    return ",".join(str(each) for each in passes)


def default_pipeline(level: str = "program", first: str | None = None) -> str:
    """The passes up to `level` (one of `LEVELS`), from the pass `first` on."""
    last = LEVELS[level]
    if last is None:
        return ""
    names = list(DEFAULT_PIPELINE[: DEFAULT_PIPELINE.index(last) + 1])
    if first is not None:
        names = names[names.index(first) :] if first in names else []
    return ",".join(names)


def first_pass_for(module: ModuleOp) -> str | None:
    """
    The pass of the default pipeline from which this IR has to go on.

    None for a complete program. Printed IR of any level can so be given back to
    `pyptoc` without saying where it came from.
    """
    memory_form = tiled = False
    for op in module.walk():
        if op.name == "npu.kernel":
            allocs = [inner for inner in op.walk() if inner.name == "tile.alloc"]
            placed = all("addr" in {**a.properties, **a.attributes} for a in allocs)
            return None if placed else "split-mixed"
        if op.name == "npu.tasks":
            types = [str(result.type) for result in op.results]
            tiled |= any(text.startswith("tensor") for text in types)
            memory_form |= not any(text.startswith("tensor") for text in types)
        # Without tasks or kernels the buffers tell.
        memory_form |= op.name == "npu.alloc"
        memory_form |= op.name == "func.func" and "memref<" in str(
            op.properties["function_type"]
        )
    if memory_form:
        return "lower-to-tile"
    return "split-k" if tiled else DEFAULT_PIPELINE[0]
