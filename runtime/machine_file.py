"""Typed, checked reading of a machine's TOML tables: a wrong key names its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import NoReturn, cast


class MachineFileError(Exception):
    """What is wrong in a machine file, with the path of the key."""


class Section:
    """
    A table of a TOML file that remembers which of its keys were read.

    Each accessor checks the kind and the range of one key; `finish` refuses keys that
    nothing read, so that a misspelt optional key is not silently ignored.
    """

    def __init__(self, path: str, table: Mapping[str, object]):
        self.path = path
        self.table = table
        self.read: set[str] = set()
        self.children: dict[str, Section] = {}

    def fail(self, message: str, key: str = "") -> NoReturn:
        """Raise an error about `key`, or about this whole table."""
        where = ".".join(part for part in (self.path, key) if part)
        raise MachineFileError(f"{where}: {message}" if where else message)

    def get(self, key: str) -> object:
        """The value of `key`, which must be there."""
        self.read.add(key)
        if key not in self.table:
            close = get_close_matches(key, self.table, n=1)
            hint = f" (found '{close[0]}')" if close else ""
            self.fail(f"missing{hint}", key)
        return self.table[key]

    def entries(self, allowed: Sequence[str] | None = None) -> tuple[str, ...]:
        """All keys, in the file's order, each one of `allowed`."""
        for key in self.table:
            if allowed is not None and key not in allowed:
                self.fail(f"is none of {', '.join(allowed)}", key)
        return tuple(self.table)

    def section(self, key: str) -> Section:
        """The table at `key`."""
        value = self.get(key)
        if not isinstance(value, dict):
            self.fail("must be a table", key)
        path = f"{self.path}.{key}" if self.path else key
        child = Section(path, cast(Mapping[str, object], value))
        self.children[key] = child
        return child

    def text(self, key: str) -> str:
        """The string at `key`."""
        value = self.get(key)
        if not isinstance(value, str):
            self.fail(f"must be a string, is {value!r}", key)
        return value

    def flag(self, key: str) -> bool:
        """The boolean at `key`."""
        value = self.get(key)
        if not isinstance(value, bool):
            self.fail(f"must be true or false, is {value!r}", key)
        return value

    def count(self, key: str, least: int = 0) -> int:
        """The integer at `key`, at least `least`."""
        value = self.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.fail(f"must be an integer of at least {least}, is {value!r}", key)
        return value

    def number(self, key: str) -> float:
        """The number at `key`, finite and not negative."""
        return self._number(key, self.get(key))

    def triple(self, key: str) -> tuple[float, float, float]:
        """The three numbers at `key`."""
        value = self.get(key)
        if not isinstance(value, list) or len(cast(list[object], value)) != 3:
            self.fail(f"must be a list of three numbers, is {value!r}", key)
        head, slope, tail = cast(list[object], value)
        return (
            self._number(key, head),
            self._number(key, slope),
            self._number(key, tail),
        )

    def names(
        self, key: str, allowed: Sequence[str] | None = None, *, single: bool = False
    ) -> tuple[str, ...]:
        """The list of strings at `key` (one string if `single`)."""
        value = self.get(key)
        items: list[object] = [value] if single else cast(list[object], value)
        if not isinstance(items, list):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.fail(f"must be a list of names, is {value!r}", key)
        for item in items:
            if not isinstance(item, str):
                self.fail(f"must hold names, holds {item!r}", key)
            if allowed is not None and item not in allowed:
                self.fail(f"'{item}' is none of {', '.join(allowed)}", key)
        return tuple(cast(list[str], items))

    def finish(self) -> None:
        """Refuse keys that were never read, here and in the tables below."""
        for key in self.table:
            if key not in self.read:
                close = get_close_matches(key, sorted(self.read), n=1)
                hint = f"; did you mean '{close[0]}'?" if close else ""
                self.fail(f"unknown key{hint}", key)
        for child in self.children.values():
            child.finish()

    def _number(self, key: str, value: object) -> float:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not 0 <= cast(float, value) < float("inf"):
            self.fail(f"must be a number of at least 0, is {value!r}", key)
        return float(cast(float, value))
