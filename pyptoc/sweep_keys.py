"""
What the key of a sweep means: a tile, an option of a pass, a size, or the machine.

Keys and values are checked against the operator, the pipeline and the machine before
anything is computed; what a check cannot know (a tile that does not fit) is for the
point to find out.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.near import did_you_mean, nearest
from pyptoc.dialects.record import record
from pyptoc.dialects.walk import ASSIGNMENTS, ORDERS
from pyptoc.passes import PASSES
from pyptoc.pipeline_text import make_pass
from pyptoc.runtime.bindings import parse_bindings
from pyptoc.runtime.machine import machine_names, machine_table
from pyptoc.runtime.machine_file import wrong_value
from pyptoc.runtime.machine_keys import key_at, paths_of
from pyptoc.sweep_point import TileEdit
from pyptoc.sweep_spec import Axis, Span, Value, show
from pyptoc.sweep_tiles import CHOOSER, VEC, others_of, products_of, read_walk, tags_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.passes.base import PyptocPass
    from pyptoc.runtime.signature import Signature

LEVELS = {"m": (1, 2), "n": (1, 2), "k": (1, 3)}
"""Parts of a cube tile, and how many numbers give one."""

PARTS = ("split_k", "walk", "assign", VEC)
FEW = 3
"""Keys that an error names."""
HEADS = {
    "tile": "tile.m",
    **{part: part for part in PARTS},
    "bind": "bind.NAME",
    "machine": "machine",
}
"""How keys begin, and one that begins so; all else begins with the name of a pass."""


@record(frozen=False)
class Draft:
    """What a point changes, as its settings fill it in."""

    table: dict[str, Any]
    """Of the machine."""
    changes: dict[tuple[str, ...], Value] = field(
        default_factory=dict[tuple[str, ...], Value]
    )
    options: dict[str, dict[str, list[str]]] = field(
        default_factory=dict[str, dict[str, list[str]]]
    )
    """Options of passes, as words."""
    bind: list[str] = field(default_factory=list[str])
    tiles: list[TileEdit] = field(default_factory=list[TileEdit])

    def machine(self) -> dict[str, Any]:
        """The table of the machine with the changes."""
        table = deepcopy(self.table) if self.changes else self.table
        for path, value in self.changes.items():
            node = table
            for name in path[:-1]:
                node = node.setdefault(name, {})
            node[path[-1]] = value
        return table

    def pipeline(self, passes: Sequence[PyptocPass]) -> str:
        """The text of a pipeline with the options."""
        return ",".join(str(self._with_options(each)) for each in passes)

    def _with_options(self, each: PyptocPass) -> PyptocPass:
        words = self.options.get(each.name)
        if not words:
            return each
        made = make_pass(each.name, words)
        values = {name: getattr(made, name) for name in words}
        return dataclasses.replace(each, **values)


@record
class Operator:
    """What keys are about."""

    module: ModuleOp
    signature: Signature
    passes: Sequence[PyptocPass]
    table: dict[str, Any]


class Setting(Protocol):
    """What a key sets."""

    def apply(self, draft: Draft, value: Value) -> None:
        """Sets it to one of the values."""


def setting_of(axis: Axis, operator: Operator) -> Setting:
    """The meaning of a key, with all its values checked (PTO512)."""
    head, dot, rest = axis.name.partition(".")
    if head == "tile" or head in PARTS:
        return _tile(axis, operator)
    if head == "bind" and dot:
        return _bind(axis, rest, operator)
    if head == "machine":
        return _machine(axis, rest, operator) if dot else _machines(axis)
    present = [each.name for each in operator.passes]
    if head in present and dot:
        return _option(axis, head, rest)
    if head in PASSES:
        shown = f"'{head}' is not in it" if head not in present else "an option follows"
        axis.key.fail(
            f"'{axis.name}' sets nothing",
            rule=f"an option of a pass of the pipeline: PASS.OPTION; {shown}",
            help=_meant(axis.name, (), 0.8) or "pyptoc --list-passes lists the options",
        )
    axis.key.fail(
        f"'{axis.name}' is nothing that can be swept",
        rule="a key is tile.m, tile.k, tile.n, tile.TAG.m, split_k, walk, assign, vec, "
        "PASS.OPTION, bind.NAME, machine or machine.KEY",
        help=_meant(head, present)
        or (f"did you mean tile.{axis.name}?" if rest in LEVELS else ""),
    )


def _meant(word: str, passes: Sequence[str], cutoff: float = 0.6) -> str:
    near = nearest(word, (*HEADS, *passes), cutoff)
    key = HEADS.get(near or "", f"{near}.OPTION")
    return "" if near is None else f"did you mean {key}?"


# Tiles.


@record
class TileSetting:
    """A part of the tile of some ops."""

    part: str
    tag: str

    def apply(self, draft: Draft, value: Value) -> None:
        if self.part not in ("walk", "assign"):
            sizes = tuple(value) if isinstance(value, list) else (value,)
            # One number is for L0 and for L1.
            value = sizes * 2 if self.part in LEVELS and len(sizes) == 1 else sizes
        draft.tiles.append(TileEdit(self.part, self.tag, value))


def _tile(axis: Axis, operator: Operator) -> TileSetting:
    words = axis.name.split(".")
    if words[0] == "tile":
        part, tag = words[-1], ".".join(words[1:-1])
        if len(words) == 1 or part not in LEVELS:
            axis.key.after(axis.name.removesuffix(part)).fail(
                f"'{part}' is no part of a cube tile",
                rule="tile.m, tile.k, tile.n, or tile.TAG.m for products with a tag",
            )
    else:
        part, tag = words[0], ".".join(words[1:])
    if CHOOSER not in [each.name for each in operator.passes]:
        axis.key.fail(
            f"'{axis.name}' needs the pass {CHOOSER}",
            rule="the pipeline begins behind it, so tiles are decided",
        )
    module = operator.module
    all_ops = others_of(module, "") if part == VEC else products_of(module, "")
    found = others_of(module, tag) if part == VEC else products_of(module, tag)
    if not found:
        tags = dict.fromkeys(t for op in all_ops for t in tags_of(op))
        what = "vector operation" if part == VEC else "product"
        with_tag = f" with the tag '{tag}'" if tag else ""
        axis.key.fail(
            f"there is no {what}{with_tag}",
            rule=f"tags of these: {', '.join(tags)}" if tags else "the source has none",
            help=did_you_mean(tag, tags) if tag else "",
        )
    for value, span in zip(axis.values, axis.spans, strict=True):
        _check_part(part, value, span)
    return TileSetting(part, tag)


def _check_part(part: str, value: Value, span: Span) -> None:
    if part == "walk":
        try:
            read_walk(str(value))
        except ValueError:
            rule = f"a walk is {', '.join(ORDERS[:-1])} or blocked<6, 4>"
            span.fail(f"'{show(value)}' is no walk", rule=rule)
        return
    if part == "assign":
        if value not in ASSIGNMENTS:
            rule = f"it is {' or '.join(ASSIGNMENTS)}"
            span.fail(f"'{show(value)}' is no assignment", rule=rule)
        return
    least, most = LEVELS.get(part, (1, 1) if part == "split_k" else (1, 8))
    sizes: list[Any] = value if isinstance(value, list) else [value]
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in sizes)
    if not whole or not least <= len(sizes) <= most or min(sizes) < 1:
        forms = {
            "k": "[kL0, kL1] or [kL0, kAL1, kBL1], or one number for all",
            "split_k": "a whole number of parts",
            VEC: "[rows, columns]: whole numbers for the trailing dimensions",
        }
        rule = forms.get(part, f"[{part}L0, {part}L1], or one number for both")
        span.fail(f"'{show(value)}' cannot be {part}", rule=rule)


# Options of passes.


@record
class OptionSetting:
    """An option of a pass."""

    pass_name: str
    option: str

    def apply(self, draft: Draft, value: Value) -> None:
        words = draft.options.setdefault(self.pass_name, {})
        words[self.option] = _words(value)


def _words(value: Value) -> list[str]:
    return [show(each) for each in (value if isinstance(value, list) else [value])]


def _option(axis: Axis, name: str, option: str) -> OptionSetting:
    option = option.replace("-", "_")
    spans = zip(axis.values, axis.spans, strict=True)
    for value, span in spans:
        try:
            make_pass(name, {option: _words(value)})
        except CompileError as problem:
            found = problem.diagnostics[0]
            known = f"has no option '{option}'" not in found.message
            at = span if known else axis.key.after(f"{name}.")
            at.fail(found.message, rule=found.rule, help=found.help)
    return OptionSetting(name, option)


# Sizes and values.


@record
class BindSetting:
    """A size, a scalar or a small tensor."""

    name: str

    def apply(self, draft: Draft, value: Value) -> None:
        draft.bind.append(f"{self.name}={show(value)}")


def _bind(axis: Axis, name: str, operator: Operator) -> BindSetting:
    signature = operator.signature
    names = [*signature.dims, *(each.name for each in signature.arguments)]
    if name not in names:
        axis.key.after("bind.").fail(
            f"'{name}' names nothing",
            rule=f"names: {', '.join(dict.fromkeys(names))}",
            help=did_you_mean(name, names),
        )
    for value, span in zip(axis.values, axis.spans, strict=True):
        text = f"{name}={show(value)}"
        try:
            parse_bindings([text], signature)
        except CompileError as problem:
            found = problem.diagnostics[0]
            message = found.message.removeprefix(f"--bind {text}: ")
            span.fail(f"{text}: {message}", help=found.help)
    return BindSetting(name)


# Machines.


@record
class MachinesSetting:
    """The machine."""

    tables: dict[str, dict[str, Any]]

    def apply(self, draft: Draft, value: Value) -> None:
        draft.table = self.tables[str(value)]


@record
class MachineSetting:
    """A value of the machine."""

    path: tuple[str, ...]

    def apply(self, draft: Draft, value: Value) -> None:
        draft.changes[self.path] = value


def _machines(axis: Axis) -> MachinesSetting:
    tables: dict[str, dict[str, Any]] = {}
    for value, span in zip(axis.values, axis.spans, strict=True):
        text = show(value)
        file = "/" in text or text.endswith(".toml")
        if not file and text not in machine_names():
            span.fail(
                f"unknown machine '{text}'",
                rule=f"known machines: {', '.join(machine_names())}; or a .toml file",
                help=did_you_mean(text, machine_names()),
            )
        tables[text] = machine_table(text)
    return MachinesSetting(tables)


def _machine(axis: Axis, name: str, operator: Operator) -> MachineSetting:
    path = _path(axis, name, [*paths_of(operator.table)])
    key = key_at(path)
    assert key is not None
    for value, span in zip(axis.values, axis.spans, strict=True):
        if message := wrong_value(key.kind, value):
            unit = f" in {key.unit}" if key.unit else ""
            rule = f"{key.path}{unit}: {key.meaning}"
            span.fail(f"{'.'.join(path)} {message}", rule=rule)
    return MachineSetting(path)


def _path(axis: Axis, name: str, paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The key of a machine file whose path is, or ends with, a name."""
    words = tuple(name.split("."))
    if key_at(words) is not None:
        return words
    paths = list(paths)
    found = [path for path in paths if path[-len(words) :] == words]
    if len(found) == 1:
        return found[0]
    known = [".".join(path) for path in paths]
    ends = [path[-1] for path in paths]
    at = axis.key.after("machine.")
    if found:
        listed = ", ".join(".".join(path) for path in found)
        at.fail(f"several keys end with '{name}'", rule=f"it is one of {listed}")
    at.fail(
        f"no key of a machine is '{name}'",
        rule="docs/machines.md lists the keys; the end of one is enough",
        help=_key_meant(name, known) or did_you_mean(name, [*known, *ends]),
    )


def _key_meant(name: str, known: Sequence[str]) -> str:
    """Of the few keys with all words of a name: `cube_cores` is `cores.cube`."""
    words = set(re.split(r"[._]", name))
    found = [key for key in known if words <= set(re.split(r"[._]", key))]
    if len(found) == 1:
        return f"did you mean {found[0]}?"
    return f"it may be one of {', '.join(found)}" if 0 < len(found) <= FEW else ""
