"""Integer expressions in a normal form (see `expr.py` for the whole library).

An `Expr` is `constant + sum(coefficient * atom)`.  An atom is a symbol, a product of
atoms, or a call of floordiv, ceildiv, mod, min or max (`expr_atoms.py`).  Sums,
products, min and max compare without regard to order, so two expressions that differ
only in the order of their parts are equal and have the same hash.  Nothing here is ever
changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from math import gcd
from typing import Final

from pyptoc.dialects.expr_atoms import (
    Atom,
    Call,
    Product,
    Symbol,
    checked,
    divides,
    evaluate,
    interval_of,
    merge,
    multiply,
)
from pyptoc.dialects.interval import Interval


class Expr:
    """An immutable, hashable integer expression in normal form.

    `terms` maps each atom to its coefficient (never 0) and must not be changed.
    """

    __slots__ = ("_hash", "_symbols", "constant", "terms")

    def __init__(self, terms: dict[Atom, int], constant: int) -> None:
        self.terms = terms
        self.constant = constant
        self._hash: int | None = None
        self._symbols: tuple[Hashable, ...] | None = None

    # Building.

    @staticmethod
    def const(value: int) -> Expr:
        small = _SMALL.get(value)
        return Expr({}, int(value)) if small is None else small

    @staticmethod
    def sym(key: Hashable) -> Expr:
        """The symbol with this key, for example a name or an SSA value."""
        return Expr({Symbol(key): 1}, 0)

    @staticmethod
    def of(value: Expr | int) -> Expr:
        return value if isinstance(value, Expr) else Expr.const(value)

    def __add__(self, other: Expr | int) -> Expr:
        if not isinstance(other, Expr):
            return Expr(self.terms, self.constant + other) if other else self
        if not other.terms:
            constant = self.constant + other.constant
            return Expr(self.terms, constant) if other.constant else self
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            total = terms.get(atom, 0) + coefficient
            if total:
                terms[atom] = total
            else:
                del terms[atom]
        return Expr(terms, self.constant + other.constant)

    def __radd__(self, other: int) -> Expr:
        return self + other

    def __neg__(self) -> Expr:
        return self._scale(-1)

    def __sub__(self, other: Expr | int) -> Expr:
        return self + (-other)

    def __rsub__(self, other: int) -> Expr:
        return -self + other

    def _scale(self, factor: int) -> Expr:
        if factor == 1:
            return self
        if factor == 0:
            return Expr.const(0)
        terms = {atom: factor * c for atom, c in self.terms.items()}
        return Expr(terms, factor * self.constant)

    def __mul__(self, other: Expr | int) -> Expr:
        if not isinstance(other, Expr):
            return self._scale(other)
        if not other.terms:
            return self._scale(other.constant)
        if not self.terms:
            return other._scale(self.constant)
        terms = self._scale(other.constant).terms
        result = Expr(dict(terms), self.constant * other.constant)
        result += Expr(other._scale(self.constant).terms, 0)
        for a, x in self.terms.items():
            products = {multiply(a, b): x * y for b, y in other.terms.items()}
            result += Expr(products, 0)
        return result

    def __rmul__(self, other: int) -> Expr:
        return self._scale(other)

    def floordiv(self, divisor: Expr | int) -> Expr:
        """Division that rounds toward minus infinity."""
        return _floordiv(self, Expr.of(divisor))

    def ceildiv(self, divisor: Expr | int) -> Expr:
        """Division that rounds toward plus infinity."""
        return _ceildiv(self, Expr.of(divisor))

    def mod(self, divisor: Expr | int) -> Expr:
        """`self - divisor * self.floordiv(divisor)`."""
        return _mod(self, Expr.of(divisor))

    # Asking.

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((frozenset(self.terms.items()), self.constant))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expr) or self.constant != other.constant:
            return False
        return self.terms == other.terms

    def __repr__(self) -> str:
        return f"Expr({self.to_string(str)})"

    @property
    def is_const(self) -> bool:
        return not self.terms

    @property
    def value(self) -> int:
        """The value of a constant expression."""
        if self.terms:
            raise ValueError(f"{self!r} is not constant")
        return self.constant

    def symbols(self) -> tuple[Hashable, ...]:
        """The keys of the symbols in it, each once, in a stable order."""
        if self._symbols is None:
            self._symbols = merge([atom.symbols for atom in self.terms])
        return self._symbols

    def divides(self) -> bool:
        """Whether a quotient or a rest is in it: a divisor of zero makes that fail."""
        return any(divides(atom) for atom in self.terms)

    def subs(self, mapping: Mapping[Hashable, Expr | int]) -> Expr:
        """This expression with symbols replaced, all at once."""
        if mapping.keys().isdisjoint(self.symbols()):
            return self
        constant, terms = self.constant, dict[Atom, int]()
        for atom, coefficient in self.terms.items():
            value = _substitute(atom, mapping)
            constant += coefficient * value.constant
            for each, factor in value.terms.items():
                total = terms.get(each, 0) + coefficient * factor
                if total:
                    terms[each] = total
                else:
                    del terms[each]
        return Expr(terms, constant) if terms else Expr.const(constant)

    def evaluate(self, values: Mapping[Hashable, int]) -> int:
        """The value with every symbol given.

        Raises ZeroDivisionError, OverflowError (a value outside i64) and KeyError (a
        symbol without a value).
        """
        total = self.constant
        for atom, coefficient in self.terms.items():
            total += checked(coefficient * evaluate(atom, values))
        return checked(total)

    def interval(self, ranges: Mapping[Hashable, Interval]) -> Interval:
        """A range that holds every value, given ranges of the symbols."""
        total = Interval.exactly(self.constant)
        for atom, coefficient in self.terms.items():
            total += interval_of(atom, ranges).scale(coefficient)
        return total

    def to_string(self, name: Callable[[Hashable], str] = str) -> str:
        """Infix text that `parse_expr` reads back; `name` gives each key's text."""
        from pyptoc.dialects.expr_text import to_text  # it imports this module

        return to_text(self, name)


_SMALL: Final[dict[int, Expr]] = {value: Expr({}, value) for value in range(-64, 1025)}


ZERO: Final = Expr.const(0)
ONE: Final = Expr.const(1)


def call_atom(op: str, *args: Expr) -> Expr:
    return Expr({Call(op, args): 1}, 0)


def _split(e: Expr, divisor: int) -> tuple[Expr, Expr]:
    """`(q, r)`: `e = divisor * q + r`, the constant of `r` in [0, divisor)."""
    whole: dict[Atom, int] = {}
    rest: dict[Atom, int] = {}
    for atom, coefficient in e.terms.items():
        quotient, remainder = divmod(coefficient, divisor)
        if remainder:
            rest[atom] = coefficient
        else:
            whole[atom] = quotient
    quotient, remainder = divmod(e.constant, divisor)
    return Expr(whole, quotient), Expr(rest, remainder)


def _common_factor(e: Expr, divisor: int) -> int:
    return gcd(divisor, *e.terms.values())


def _nested(e: Expr, op: str) -> tuple[Expr, int, int] | None:
    """`(x, c, k)` if `e` is `(x op c) + k` with a constant c > 0."""
    if len(e.terms) == 1:
        ((atom, coefficient),) = e.terms.items()
        if coefficient == 1 and isinstance(atom, Call) and atom.op == op:
            inner, divisor = atom.args
            if divisor.is_const and divisor.constant > 0:
                return inner, divisor.constant, e.constant
    return None


def _floordiv(e: Expr, by: Expr) -> Expr:
    if not by.is_const or by.constant == 0:
        return call_atom("floordiv", e, by)
    divisor = by.constant
    if divisor < 0:
        return _floordiv(-e, Expr.const(-divisor))
    whole, rest = _split(e, divisor)
    if not rest.terms:
        return whole
    factor = _common_factor(rest, divisor)
    if factor > 1:
        terms = {atom: c // factor for atom, c in rest.terms.items()}
        reduced = Expr(terms, rest.constant // factor)
        return whole + _floordiv(reduced, Expr.const(divisor // factor))
    inner = _nested(rest, "floordiv")
    if inner is not None:
        x, c, k = inner
        return whole + _floordiv(x + k * c, Expr.const(c * divisor))
    if rest.constant == divisor - 1:
        # One spelling for (x + c - 1) floordiv c and x ceildiv c.
        return whole + call_atom("ceildiv", rest - rest.constant, by)
    return whole + call_atom("floordiv", rest, by)


def _ceildiv(e: Expr, by: Expr) -> Expr:
    if not by.is_const or by.constant == 0:
        return call_atom("ceildiv", e, by)
    divisor = by.constant
    if divisor < 0:
        return _ceildiv(-e, Expr.const(-divisor))
    inner = _nested(e, "ceildiv")
    if inner is not None:
        x, c, k = inner
        return _ceildiv(x + k * c, Expr.const(c * divisor))
    return _floordiv(e + (divisor - 1), by)


def _mod(e: Expr, by: Expr) -> Expr:
    if not by.is_const or by.constant <= 0:
        if by.is_const and by.constant < 0:
            return -_mod(-e, -by)
        return call_atom("mod", e, by)
    divisor = by.constant
    rest = Expr.const(e.constant % divisor)
    for atom, coefficient in e.terms.items():
        reduced = coefficient % divisor
        if 2 * reduced > divisor:
            reduced -= divisor
        inner = Expr({atom: 1}, 0)
        nested = _nested(inner, "mod")
        if nested is not None and nested[1] * coefficient % divisor == 0:
            inner = nested[0]
        if reduced:
            rest += reduced * inner
    if not rest.terms:
        return Expr.const(rest.constant % divisor)
    if rest.terms != e.terms or rest.constant != e.constant:
        return _mod(rest, by)
    factor = _common_factor(rest, divisor)
    if factor > 1:
        terms = {atom: c // factor for atom, c in rest.terms.items()}
        high, low = divmod(rest.constant, factor)
        return factor * _mod(Expr(terms, high), Expr.const(divisor // factor)) + low
    return call_atom("mod", rest, by)


def minimum(*args: Expr | int) -> Expr:
    """The smallest argument; one that another never exceeds is dropped."""
    return _extreme("min", args)


def maximum(*args: Expr | int) -> Expr:
    """The largest argument; one that never exceeds another is dropped."""
    return _extreme("max", args)


def _extreme(op: str, args: tuple[Expr | int, ...]) -> Expr:
    if not args:
        raise ValueError(f"{op} needs an argument")
    kept: dict[frozenset[tuple[Atom, int]], Expr] = {}
    pending = [Expr.of(arg) for arg in reversed(args)]
    while pending:
        arg = pending.pop()
        if len(arg.terms) == 1 and not arg.constant:
            ((atom, coefficient),) = arg.terms.items()
            if coefficient == 1 and isinstance(atom, Call) and atom.op == op:
                pending.extend(reversed(atom.args))
                continue
        shape = frozenset(arg.terms.items())
        other = kept.get(shape)
        better = other is None or (
            arg.constant < other.constant
            if op == "min"
            else arg.constant > other.constant
        )
        if better:
            kept[shape] = arg
    values = tuple(kept.values())
    return values[0] if len(values) == 1 else call_atom(op, *values)


def _substitute(atom: Atom, mapping: Mapping[Hashable, Expr | int]) -> Expr:
    if mapping.keys().isdisjoint(atom.symbols):
        return Expr({atom: 1}, 0)
    if isinstance(atom, Symbol):
        return Expr.of(mapping[atom.key])
    if isinstance(atom, Product):
        result = Expr.const(1)
        for factor, power in atom.factors.items():
            value = _substitute(factor, mapping)
            for _ in range(power):
                result *= value
        return result
    assert isinstance(atom, Call)
    return apply(atom.op, [arg.subs(mapping) for arg in atom.args])


def apply(op: str, args: list[Expr]) -> Expr:
    """The call of `op`, simplified."""
    if op == "min":
        return minimum(*args)
    if op == "max":
        return maximum(*args)
    build = {"floordiv": _floordiv, "ceildiv": _ceildiv, "mod": _mod}[op]
    return build(*args)
