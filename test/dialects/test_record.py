"""`@record` is `@dataclass(frozen=True)` as far as a program can tell."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import pytest

from pyptoc.dialects.record import record


@dataclass(frozen=True)
class Wanted:
    size: int
    names: tuple[str, ...] = ()
    seen: list[int] = field(default_factory=list[int], compare=False, repr=False)


@record
class Fact:
    size: int
    names: tuple[str, ...] = ()
    seen: list[int] = field(default_factory=list[int], compare=False, repr=False)


@record
class Longer(Fact):
    more: int = 0


@record
class Nothing:
    pass


@record(frozen=False)
class Counter:
    count: int = 0


@record(frozen=False, eq=False, kw_only=True)
class Node:
    label: str


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("seen", [[], [1]])
def test_equal_where_a_dataclass_is(size: int, seen: list[int]):
    one, other = (kind(1, ("a",)) for kind in (Fact, Wanted))
    mine, wanted = (kind(size, ("a",), seen) for kind in (Fact, Wanted))
    assert (one == mine) == (other == wanted)
    assert (hash(one) == hash(mine)) == (hash(other) == hash(wanted))
    assert repr(mine) == repr(wanted).replace("Wanted", "Fact")


def test_is_a_dataclass():
    assert [each.name for each in fields(Longer)] == ["size", "names", "seen", "more"]
    assert replace(Longer(1), more=3) == Longer(1, more=3)


def test_only_its_own_kind_is_equal():
    assert Fact(1) != Longer(1)
    assert Fact(1) != (1, ())
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing(), Fact(1), Fact(1)}) == 2


def test_what_changes_has_no_hash():
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(TypeError):
        hash(counter)


def test_without_eq_by_identity():
    node = Node(label="a")
    assert node != Node(label="a")
    assert {node: 1}[node] == 1
