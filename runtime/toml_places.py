"""
Where the keys and values of a TOML text stand, for errors that point at them.

`tomllib` has read the text already: this walks over text that is known to be right.
"""

from __future__ import annotations

import re
from dataclasses import field

from pyptoc.dialects.record import record

Path = tuple[str, ...]

_SPACE = re.compile(r"(?:[ \t]|\r?\n|#[^\n]*)*")
_KEY = re.compile(r'[ \t]*("(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+)[ \t]*(\.?)')
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'',
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


@record
class Place:
    """A stretch of one line; columns are 1-based."""

    line: int
    column: int
    length: int


@record
class Places:
    """Places by path; of a table, where it is first named."""

    keys: dict[Path, Place] = field(default_factory=dict[Path, Place])
    values: dict[Path, Place] = field(default_factory=dict[Path, Place])


def find_places(text: str) -> Places:
    """The places of everything in a TOML text."""
    walk = _Walk(text)
    walk.document()
    return walk.places


class _Walk:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.places = text, 0, Places()

    def document(self) -> None:
        """All statements: `[table]`, `[[array]]` and `key = value`."""
        prefix: Path = ()
        self.skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                double = self.text.startswith("[[", self.at)
                self.at += 1 + double
                prefix = self.key(())
                self.at += 1 + double
            else:
                self.entry(prefix)
            self.skip()

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def entry(self, prefix: Path) -> None:
        path = self.key(prefix)
        self.at = self.text.index("=", self.at) + 1
        self.skip()
        start = self.at
        self.value(path)
        self.places.values[path] = self.place(start, self.at)

    def key(self, prefix: Path) -> Path:
        """A key with dots; each of its parts gets a place."""
        dotted = True
        while dotted:
            match = _KEY.match(self.text, self.at)
            assert match is not None
            name = match[1].strip("\"'")
            prefix = (*prefix, name)
            self.places.keys.setdefault(
                prefix, self.place(match.start(1), match.end(1))
            )
            self.at, dotted = match.end(), bool(match[2])
        return prefix

    def value(self, path: Path) -> None:
        opening = self.text[self.at]
        if opening == "{":
            self.items("}", lambda: self.entry(path))
        elif opening == "[":
            self.items("]", lambda: self.value(path))
        else:
            pattern = _STRING if opening in "\"'" else _SCALAR
            match = pattern.match(self.text, self.at)
            assert match is not None
            self.at += len(match[0].rstrip())

    def items(self, closing: str, item: object) -> None:
        """What stands between brackets, with commas."""
        assert callable(item)
        self.at += 1
        self.skip()
        while self.text[self.at] != closing:
            item()
            self.skip()
            if self.text[self.at] == ",":
                self.at += 1
                self.skip()
        self.at += 1

    def place(self, start: int, end: int) -> Place:
        line = self.text.count("\n", 0, start) + 1
        column = start - self.text.rfind("\n", 0, start)
        first = self.text[start:end].split("\n")[0].rstrip()
        return Place(line, column, max(len(first), 1))
