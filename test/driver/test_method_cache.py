"""Methods of dataclasses are compiled once for all processes, and are the same."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, make_dataclass
from pathlib import Path

import pytest

from pyptoc import method_cache
from pyptoc.method_cache import kept_methods


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a machine where nothing was compiled yet."""
    monkeypatch.setattr(method_cache, "FILE", str(tmp_path / "methods"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "methods"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are compiled, as they are."""
    texts: list[str] = []

    def counting(text: str, *rest: str):
        texts.append(text)
        return compile(text, *rest)

    monkeypatch.setattr(method_cache, "compile", counting, raising=False)
    return texts


def define() -> type:
    with kept_methods():

        @dataclass(frozen=True)
        class Pair:
            left: int
            right: int = 2

    return Pair


def test_the_second_process_compiles_nothing(file: Path, compiled: list[str]):
    first = define()
    assert compiled
    assert file.exists()
    compiled.clear()
    second = define()
    assert compiled == []
    for cls in (first, second):
        assert cls(1) == cls(1, 2)
        assert hash(cls(1)) == hash(cls(1, 2))
        assert repr(cls(1)).endswith("Pair(left=1, right=2)")
        with pytest.raises(dataclasses.FrozenInstanceError):
            cls(1).left = 3
    assert first(1) != second(1)


def test_new_methods_are_added(file: Path, compiled: list[str]):
    define()
    size = file.stat().st_size
    with kept_methods():
        make_dataclass("Other", ["some", "more"])
    assert file.stat().st_size > size
    compiled.clear()
    define()
    assert compiled == []


def test_bytecode_of_another_python_is_not_used(file: Path, compiled: list[str]):
    define()
    file.write_bytes(b"0000" + file.read_bytes()[4:])
    compiled.clear()
    define()
    assert compiled


@pytest.mark.parametrize("kept", [0, 5, 40])
def test_a_file_that_was_cut_short(file: Path, compiled: list[str], kept: int):
    define()
    file.write_bytes(file.read_bytes()[:kept])
    compiled.clear()
    assert define()(1).right == 2
    assert compiled


def test_writes_no_bytecode_where_python_does_not(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert define()(1).right == 2
    assert not file.exists()


def test_a_folder_that_is_not_there(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(method_cache, "FILE", str(file / "deeper"))
    assert define()(1).right == 2
    assert not file.exists()


def test_afterwards_dataclasses_is_as_it_was(file: Path):
    with pytest.raises(ZeroDivisionError), kept_methods():
        raise ZeroDivisionError
    assert "exec" not in vars(dataclasses)
