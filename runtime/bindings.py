"""
`--bind`: sizes, scalars and small tensors on the command line.

    --bind=M=16,lr=1e-3,group_list=[7,9]

Commas outside brackets separate. A name is a dynamic size (`pypto.dims`), a scalar
argument or a tensor argument; the same name may be a size and a scalar.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.record import record
from pyptoc.runtime.signature import Signature

if TYPE_CHECKING:
    from xdsl.ir import Operation

Value = Any
"""A Python int, float or bool, or nested lists of them."""

_NUMBER = r"(?<![\w.])"


@record(frozen=False)
class Bindings:
    """What was bound, sorted by what the names are."""

    sizes: dict[str, int] = field(default_factory=dict[str, int])
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    cases: dict[str, tuple[str, Operation]] = field(
        default_factory=dict[str, "tuple[str, Operation]"]
    )
    """Of the values that a case of the file gives: what errors call them, and where
    the case is."""


def split_bindings(text: str) -> list[str]:
    """The parts of `A=1,B=[1,2]` between the commas outside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def parse_value(text: str) -> Value:
    """A number, `true`, `false`, `inf`, `nan`, or a list of them; else ValueError."""
    words = re.sub(_NUMBER + r"inf\b", "Infinity", text)
    words = re.sub(_NUMBER + r"nan\b", "NaN", words)
    # JSON has neither 1. nor .5 nor +1, which people write.
    words = re.sub(_NUMBER + r"\+(?=[\d.])", "", words)
    words = re.sub(r"(?<=\d)\.(?!\d)", ".0", words)
    words = re.sub(r"(?<![\w.])\.(?=\d)", "0.", words)
    try:
        value = json.loads(words)
    except RecursionError:
        raise ValueError(text) from None
    if not _is_value(value):
        raise ValueError(text)
    return value


def _is_value(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_value(each) for each in value)  # pyright: ignore
    return isinstance(value, int | float)


def parse_bindings(
    texts: Sequence[str], signature: Signature, bound: Bindings | None = None
) -> Bindings:
    """
    The bindings of all `--bind` options; a later one wins, and all win over `bound`.

    Raises `CompileError` PTO501 for an unknown name or a value that is no number.
    """
    bound = bound or Bindings()
    for part in (part for text in texts for part in split_bindings(text)):
        name, equals, text = (word.strip() for word in part.partition("="))
        help = "--bind=M=16,lr=1e-3,group_list=[7,9]"
        if not equals:
            error(None, "PTO501", f"--bind {part}: not NAME=VALUE", help=help)
        try:
            value = parse_value(text)
        except ValueError:
            what = "no list of numbers" if text[:1] == "[" else "no number"
            what = f"{text or 'nothing'} is {what}"
            error(None, "PTO501", f"--bind {part}: {what}", help=help)
        bind(bound, signature, name, value, f"--bind {part}")
    return bound


def bind(
    bound: Bindings,
    signature: Signature,
    name: str,
    value: Value,
    shown: str,
    place: Operation | None = None,
) -> None:
    """
    Add one binding, which errors call `shown`; `place` has it, if the file does.

    Raises `CompileError` PTO501 for an unknown name or a size that is none.
    """
    argument = next((a for a in signature.arguments if a.name == name), None)
    # A size may have the name of an argument: a list is meant for a tensor.
    is_list = isinstance(value, list)
    if name in signature.dims and not is_list:
        bound.sizes[name] = _size(shown, value, place)
    elif name in signature.dims and argument is None:
        error(place, "PTO501", f"{shown}: a size is one integer")
    elif argument is None:
        names = [*signature.dims, *(each.name for each in signature.arguments)]
        listed = "names: " + ", ".join(dict.fromkeys(names))
        hint = did_you_mean(name, names) or listed
        error(place, "PTO501", f"{shown}: '{name}' names nothing", help=hint)
    if argument is not None and (
        is_list or argument.is_scalar or name not in signature.dims
    ):
        bound.values[name] = value
        bound.cases.pop(name, None)
        if place is not None:
            bound.cases[name] = shown, place


def _size(shown: str, value: Value, place: Operation | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        error(place, "PTO501", f"{shown}: a size is an integer")
    if not 0 <= value < 2**63:
        error(place, "PTO501", f"{shown}: a size is 0 to 2^63 - 1")
    return value
