"""
Reading a machine's TOML file: a base, checks, and errors that point into the file.

    base = "ascend950"          all that is not written here is as there
    [spaces]
    ub.size_bytes = 131072

The keys and what they must be are in `machine_keys.py`. All problems of a file are
found at once; what is inconsistent is only looked for where each value is right by
itself.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from pyptoc.dialects.diagnostics import CompileError, Diagnostic, file_location
from pyptoc.dialects.near import did_you_mean, nearest
from pyptoc.dialects.record import record
from pyptoc.runtime.machine_checks import Problem, inconsistencies
from pyptoc.runtime.machine_keys import KEYS, TREE, WILD, Key, Kind

CODE = "PTO511"

Table = Mapping[str, Any]

BASE = "base"
"""The key that names the machine whose values hold where a file has none."""

_HELP = 'a file that begins with base = "ascend950" needs only what differs from it'
_AT = re.compile(r" \(at line (\d+), column (\d+)\)$")


def read_table(path: Path, builtin: Mapping[str, Path]) -> dict[str, Any]:
    """
    The complete, checked table of a machine file.

    builtin: the files of the machines that `base` may name.
    Raises `CompileError` (PTO511) with all that is wrong.
    """
    file = _File(str(path), _text(path))
    table = file.table()
    base: dict[str, Any] = {}
    if BASE in table:
        name = table.pop(BASE)
        if not isinstance(name, str) or name not in builtin:
            near = did_you_mean(str(name), builtin, '"').replace("?", '"?')
            problem = Problem(
                (BASE,),
                f"there is no built-in machine {name!r}",
                at_value=True,
                rule=f"a base is one of {', '.join(builtin)}",
                help=near,
            )
            file.refuse([problem])
        base = read_table(builtin[name], {})
        base |= {"name": path.stem, "summary": f"{name} with changes ({path.name})"}
    elif not table:
        file.refuse([Problem((BASE,), "missing; the file has no keys", help=_HELP)])
    problems = list(_wrong_entries(table, TREE, ()))
    whole = merged(base, table)
    problems += check_whole(whole, _guesses(problems))
    if problems:
        file.refuse(problems)
    return whole


def check_whole(table: Table, guesses: Sequence[str] = ()) -> list[Problem]:
    """
    What a table misses, and where its values do not go together.

    guesses: keys that are there, misspelt.
    """
    problems = list(_missing(table, TREE, (), guesses))
    if problems or guesses:
        return problems
    problems = list(_wrong_entries(table, TREE, ()))
    return [] if problems else list(inconsistencies(table))


def merged(base: Table, changes: Table) -> dict[str, Any]:
    """The tables as one; what `changes` has holds."""
    result = dict(base)
    for name, value in changes.items():
        before = result.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            value = merged(cast(Table, before), cast(Table, value))
        result[name] = value
    return result


def refuse(problems: Sequence[Problem], name: str) -> NoReturn:
    """Raise what is wrong with a machine that is in no file of its own."""
    raise CompileError(
        Diagnostic(CODE, f"machine {name}: {problem.message}", rule=problem.rule,
                   here=problem.here, help=problem.help)
        for problem in problems
    )  # fmt: skip


def wrong_value(kind: Kind, value: object) -> str:
    """What is wrong with a value, after the name of its key; or nothing."""
    if not kind.accepts(value):
        return f"must be {kind.text}, is {_shown(value)}"
    words = cast("list[str]", value if isinstance(value, list) else [value])
    for word in words if kind.allowed else ():
        if word not in kind.allowed:
            near = nearest(word, kind.allowed)
            hint = f"; did you mean '{near}'?" if near else ""
            return f"'{word}' is none of {', '.join(kind.allowed)}{hint}"
    return ""


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "a table" if isinstance(value, dict) else repr(value)


def _wrong_entries(
    table: Table, node: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[Problem]:
    """Keys that do not exist, and values of the wrong kind."""
    pattern = _pattern(path)
    allowed = WILD.get(pattern, tuple(node))
    for name, value in table.items():
        here = (*path, name)
        if name not in allowed:
            known = (*allowed, BASE) if not path else allowed
            near = nearest(name, known)
            meant = f"'{near}'" if near else _elsewhere(name)
            hint = f"; did you mean {meant}?" if meant else ""
            listed = f"it is one of {', '.join(known)}"
            yield Problem(
                here, f"unknown key{hint}", rule=listed, guess=[near] if near else []
            )
            continue
        below: Any = node.get(name) or node.get("*")
        if isinstance(below, Key):
            if message := wrong_value(below.kind, value):
                unit = f" in {below.unit}" if below.unit else ""
                rule = f"{below.path} is {below.kind.text}{unit}: {below.meaning}"
                yield Problem(here, message, at_value=True, rule=rule)
        elif not isinstance(value, dict):
            message = f"must be a table, is {_shown(value)}"
            yield Problem(here, message, at_value=True, rule=_held(here, below))
        else:
            yield from _wrong_entries(cast(Table, value), below, here)


def _held(path: tuple[str, ...], node: Mapping[str, Any]) -> str:
    return f"it holds {', '.join(WILD.get(_pattern(path), tuple(node)))}"


def _pattern(path: tuple[str, ...]) -> str:
    if path[:1] in (("spaces",), ("routes",)) and len(path) > 1:
        return ".".join((path[0], *("*" for _ in path[1:])))
    return ".".join(path)


def _elsewhere(name: str) -> str:
    """`clock_ghz in [cores]`: the table that has such a key, if only one does."""
    word = name.casefold()
    ends = (key.path.rpartition(".") for key in KEYS if "*" not in key.path)
    found = [f"{end} in [{table}]" for table, dot, end in ends if dot and end == word]
    return found[0] if len(found) == 1 else ""


def _guesses(problems: Sequence[Problem]) -> list[str]:
    return [
        ".".join((*problem.path[:-1], *problem.guess))
        for problem in problems
        if problem.guess or problem.at_value
    ]


def _missing(
    table: Table,
    node: Mapping[str, Any],
    path: tuple[str, ...],
    guesses: Sequence[str],
) -> Iterator[Problem]:
    names = tuple(table) if "*" in node else tuple(node)
    for name in names:
        here = (*path, name)
        below: Any = node.get(name) or node.get("*")
        value = table.get(name)
        if isinstance(below, Key):
            needed = below.required or not path
            if name not in table and needed and ".".join(here) not in guesses:
                yield Problem(here, "missing", rule=below.meaning, help=_HELP)
        elif name not in table:
            if ".".join(here) not in guesses:
                yield Problem(here, "missing", rule=_held(here, below), help=_HELP)
        elif isinstance(value, dict) and below is not None:
            yield from _missing(cast(Table, value), below, here, guesses)


@record
class _File:
    """A file and its text, for what is wrong in it."""

    name: str
    text: str

    def table(self) -> dict[str, Any]:
        """What the text says."""
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as problem:
            found = _AT.search(str(problem))
            line, column = map(int, found.groups()) if found else self._end()
            message = f"not a TOML file: {_AT.sub('', str(problem))}"
            raise CompileError([self._diagnostic(message, line, column)]) from None
        except RecursionError:
            message = "not a machine file: it is nested too deeply"
            raise CompileError([self._diagnostic(message, 1, 1)]) from None

    def refuse(self, problems: Sequence[Problem]) -> NoReturn:
        """Raise what is wrong, at its places."""
        from pyptoc.runtime.toml_places import find_places

        places = find_places(self.text)
        found: list[Diagnostic] = []
        for problem in problems:
            message = f"{'.'.join(problem.path)}: {problem.message}"
            path = problem.path
            place = places.values.get(path) if problem.at_value else None
            # What is missing is missing in the table around it.
            while place is None and path:
                place, path = places.keys.get(path), path[:-1]
            line, column = (place.line, place.column) if place else (1, 1)
            length = place.length if place else 1
            found.append(self._diagnostic(message, line, column, length, problem))
        raise CompileError(found)

    def _end(self) -> tuple[int, int]:
        lines = self.text.rstrip("\n").split("\n")
        return len(lines), len(lines[-1]) + 1

    def _diagnostic(
        self,
        message: str,
        line: int,
        column: int,
        length: int = 1,
        problem: Problem | None = None,
    ) -> Diagnostic:
        lines = self.text.split("\n")
        return Diagnostic(
            CODE,
            message,
            file_location(self.name, line, column),
            length,
            rule=problem.rule if problem else "",
            here=problem.here if problem else "",
            help=problem.help if problem else "",
            source_line=lines[min(line, len(lines)) - 1],
        )


def _text(path: Path) -> str:
    reason = ""
    try:
        return path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except OSError as problem:
        reason = problem.strerror or str(problem)
    except ValueError as problem:  # not UTF-8, or a NUL in the name
        reason = f"not a TOML file: {problem}"
    message = f"machine file {str(path)!r}: {reason}"
    raise CompileError([Diagnostic(CODE, message, help=_HELP)])
