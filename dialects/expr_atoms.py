"""What integer expressions are sums of: symbols, products, and calls.

A call is a floordiv, ceildiv, mod, min or max of expressions (`expr_core.py`). Atoms
are compared by their structure, and never changed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from pyptoc.dialects.interval import Interval

if TYPE_CHECKING:
    from pyptoc.dialects.expr_core import Expr

I64_MIN: Final = -(2**63)
I64_MAX: Final = 2**63 - 1
_ANY: Final = Interval()


def merge(groups: Iterable[tuple[Hashable, ...]]) -> tuple[Hashable, ...]:
    """What is in any of the groups, each once, in the order of its first place."""
    merged: tuple[Hashable, ...] = ()
    seen: dict[Hashable, None] | None = None
    for group in groups:
        if not merged:
            merged = group
        elif group and group != merged:
            seen = dict.fromkeys(merged) if seen is None else seen
            seen.update(dict.fromkeys(group))
    return merged if seen is None else tuple(seen)


class Atom:
    """One indivisible part of an expression; compared by structure, hash kept."""

    __slots__ = ("hash", "identity", "symbols")

    def __init__(self, identity: Hashable, symbols: tuple[Hashable, ...]) -> None:
        self.identity = identity
        self.symbols = symbols
        self.hash = hash(identity)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Atom):
            return False
        return self.hash == other.hash and self.identity == other.identity


class Symbol(Atom):
    """A named unknown; the key is any hashable value."""

    __slots__ = ("key",)

    def __init__(self, key: Hashable) -> None:
        super().__init__(key, (key,))
        self.key = key


class Product(Atom):
    """A product of atoms that are no products, each with a power of at least 1."""

    __slots__ = ("factors",)

    def __init__(self, factors: dict[Atom, int]) -> None:
        super().__init__(
            frozenset(factors.items()), merge([a.symbols for a in factors])
        )
        self.factors = factors


class Call(Atom):
    """`floordiv`, `ceildiv`, `mod` (two arguments), `min`, `max` (two or more)."""

    __slots__ = ("args", "op")

    def __init__(self, op: str, args: tuple[Expr, ...]) -> None:
        in_any_order = op in ("min", "max")
        identity = (op, frozenset(args) if in_any_order else args)
        super().__init__(identity, merge([a.symbols() for a in args]))
        self.op = op
        self.args = args


def divides(atom: Atom) -> bool:
    """Whether a quotient or a rest is in it: a divisor of zero makes that fail."""
    if isinstance(atom, Product):
        return any(map(divides, atom.factors))
    if not isinstance(atom, Call):
        return False
    return atom.op not in ("min", "max") or any(arg.divides() for arg in atom.args)


def checked(value: int) -> int:
    """The value; raises OverflowError outside of i64."""
    if not I64_MIN <= value <= I64_MAX:
        raise OverflowError(f"{value} does not fit in 64 bits")
    return value


def _factors_of(atom: Atom) -> dict[Atom, int]:
    return atom.factors if isinstance(atom, Product) else {atom: 1}


def multiply(a: Atom, b: Atom) -> Atom:
    """The product of two atoms, which may be products themselves."""
    factors = dict(_factors_of(a))
    for atom, power in _factors_of(b).items():
        factors[atom] = factors.get(atom, 0) + power
    return Product(factors)


def evaluate(atom: Atom, values: Mapping[Hashable, int]) -> int:
    """The value of an atom with every symbol given; see `Expr.evaluate`."""
    if isinstance(atom, Symbol):
        return values[atom.key]
    if isinstance(atom, Product):
        product = 1
        for factor, power in atom.factors.items():
            product = checked(product * evaluate(factor, values) ** power)
        return product
    assert isinstance(atom, Call)
    args = [arg.evaluate(values) for arg in atom.args]
    if atom.op == "min":
        return min(args)
    if atom.op == "max":
        return max(args)
    a, b = args
    if atom.op == "floordiv":
        return checked(a // b)
    return a % b if atom.op == "mod" else checked(-(-a // b))


def interval_of(atom: Atom, ranges: Mapping[Hashable, Interval]) -> Interval:
    """A range that holds every value of an atom, given ranges of the symbols."""
    if isinstance(atom, Symbol):
        return ranges.get(atom.key, _ANY)
    if isinstance(atom, Product):
        product = Interval.exactly(1)
        for factor, power in atom.factors.items():
            product *= interval_of(factor, ranges).power(power)
        return product
    assert isinstance(atom, Call)
    args = [arg.interval(ranges) for arg in atom.args]
    if atom.op in ("min", "max"):
        result = args[0]
        for arg in args[1:]:
            result = result.minimum(arg) if atom.op == "min" else result.maximum(arg)
        return result
    a, b = args
    if atom.op == "floordiv":
        return a.floordiv(b)
    return a.mod(b) if atom.op == "mod" else -((-a).floordiv(b))
