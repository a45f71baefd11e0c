"""For which values of a symbol an inequality holds, and bounds without a symbol.

    limit_of(64 * i + 16, "i", c)          i < (c - 16) ceildiv 64
    limit_of(-(i floordiv 2), "i", -3)     i >= 8          (i floordiv 2 > 3)
    alternatives(i + min(16, m - i))       [i + 16, m]
    bound_without(min(16, m - i), {"i"}, facts, upper=True)          16

Everything here is exact but for `bound_without`, which may be wider than it must.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from itertools import product
from typing import Final

from pyptoc.dialects.expr_atoms import Atom, Call, Product, Symbol
from pyptoc.dialects.expr_core import Expr, apply, maximum, minimum
from pyptoc.dialects.expr_facts import Facts, Ranges, prove_le, simplify
from pyptoc.dialects.record import record

_MOST: Final = 12
"""Alternatives of one expression: more are kept as one."""


@record
class Limit:
    """What an inequality asks of a symbol: `key < value`, or `key >= value`."""

    value: Expr
    is_upper: bool


def alternatives(e: Expr, op: str = "min", *, negated: bool = True) -> list[Expr]:
    """
    Expressions without an outer `op` whose `op` is `e`; `op` is min or max.

    A max that is taken away is a min; without `negated` it stays as it is.
    """
    other = "max" if op == "min" else "min"
    fixed = Expr.const(e.constant)
    choices: list[list[Expr]] = []
    for atom, factor in e.terms.items():
        wanted = op if factor > 0 else other
        if isinstance(atom, Call) and atom.op == wanted and (factor > 0 or negated):
            choices.append(
                [
                    one * factor
                    for arg in atom.args
                    for one in alternatives(arg, wanted, negated=negated)
                ]
            )
        else:
            fixed += Expr({atom: factor}, 0)
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > _MOST:
        return [e]
    found = [sum(parts, start=fixed) for parts in product(*choices)]
    joined = apply(op, found)
    atom = next(iter(joined.terms), None)
    if len(found) > 1 and isinstance(atom, Call) and atom.op == op:
        return list(atom.args) if joined == Expr({atom: 1}, 0) else found
    return [joined]


def limit_of(e: Expr, key: Hashable, limit: Expr, ranges: Ranges) -> Limit | None:
    """The values of `key` for which `e < limit`; None where no single bound says it.

    The `key` must be in one term of `e`, under divisions by positive constants or
    times factors that are known to be positive.
    """
    found = [(a, c) for a, c in e.terms.items() if key in a.symbols]
    if len(found) != 1:
        return None
    ((atom, factor),) = found
    room = limit - (e - Expr({atom: factor}, 0))
    if factor > 0:
        return _limit(atom, key, Limit(room.ceildiv(factor), True), ranges)
    least = (-room).floordiv(-factor) + 1
    return _limit(atom, key, Limit(least, False), ranges)


def _limit(atom: Atom, key: Hashable, limit: Limit, ranges: Ranges) -> Limit | None:
    """The limit on `key` that a limit on `atom` is."""
    if isinstance(atom, Symbol):
        return limit
    if isinstance(atom, Product):
        return _limit_of_factor(atom, key, limit, ranges)
    assert isinstance(atom, Call)
    if atom.op not in ("floordiv", "ceildiv"):
        return None
    x, divisor = atom.args
    if not divisor.is_const or divisor.constant <= 0:
        return None
    c = divisor.constant
    # x floordiv c < t where x < c t, x ceildiv c < t where x < c (t - 1) + 1.
    end = limit.value * c if atom.op == "floordiv" else (limit.value - 1) * c + 1
    if limit.is_upper:
        return limit_of(x, key, end, ranges)
    below = limit_of(x, key, end, ranges)
    return None if below is None else Limit(below.value, not below.is_upper)


def _limit_of_factor(
    atom: Product, key: Hashable, limit: Limit, ranges: Ranges
) -> Limit | None:
    """`i * s < t` is `i < t ceildiv s` for an s of at least 1."""
    (mine,) = [factor for factor in atom.factors if key in factor.symbols][:1]
    rest = {factor: power for factor, power in atom.factors.items() if factor != mine}
    if atom.factors[mine] != 1 or any(key in factor.symbols for factor in rest):
        return None
    stride = Expr.const(1)
    for factor, power in rest.items():
        for _ in range(power):
            stride *= Expr({factor: 1}, 0)
    if not prove_le(1, stride, ranges):
        return None
    return _limit(mine, key, Limit(limit.value.ceildiv(stride), limit.is_upper), ranges)


def slope_of(e: Expr, key: Hashable) -> Expr | None:
    """How much `e` grows with each step of `key`, if that is the same everywhere."""
    step = e.subs({key: Expr.sym(key) + 1}) - e
    return None if key in step.symbols() else step


def bound_without(
    e: Expr, keys: Collection[Hashable], facts: Facts, *, upper: bool
) -> Expr | None:
    """A bound of `e` that has none of the `keys` in it; None where none is known."""
    found = _bound(e, keys, facts, upper)
    return None if found is None else simplify(found, facts)


def _bound(
    e: Expr, keys: Collection[Hashable], facts: Facts, upper: bool
) -> Expr | None:
    total = Expr.const(e.constant)
    for atom, factor in e.terms.items():
        part = _bound_of_atom(atom, keys, facts, upper == (factor > 0))
        if part is None:
            return None
        total += part * factor
    return total


def _bound_of_atom(
    atom: Atom, keys: Collection[Hashable], facts: Facts, upper: bool
) -> Expr | None:
    if not any(key in keys for key in atom.symbols):
        return Expr({atom: 1}, 0)
    if isinstance(atom, Symbol):
        return _bound_of_symbol(atom.key, keys, facts, upper)
    if isinstance(atom, Product):
        result = Expr.const(1)
        for factor, power in atom.factors.items():
            part = _bound_of_atom(factor, keys, facts, upper)
            least = _bound_of_atom(factor, keys, facts, False)
            if part is None or least is None or not prove_le(0, least, facts):
                return None
            for _ in range(power):
                result *= part
        return result
    assert isinstance(atom, Call)
    return _bound_of_call(atom, keys, facts, upper)


def _bound_of_symbol(
    key: Hashable, keys: Collection[Hashable], facts: Facts, upper: bool
) -> Expr | None:
    known = facts.get(key)
    end = None if known is None else known.hi if upper else known.lo
    if end is not None:
        return Expr.const(end)
    for bound in facts.bounds(key, upper):
        if key in bound.symbols():
            continue
        found = _bound(bound, keys, facts, upper)
        if found is not None:
            return found
    return None


def _bound_of_call(
    atom: Call, keys: Collection[Hashable], facts: Facts, upper: bool
) -> Expr | None:
    if atom.op in ("min", "max"):
        parts = [_bound(arg, keys, facts, upper) for arg in atom.args]
        known = [part for part in parts if part is not None]
        # Of a min every argument is an upper bound, of a max a lower one.
        any_will_do = (atom.op == "min") == upper
        if not known or (len(known) < len(parts) and not any_will_do):
            return None
        return minimum(*known) if atom.op == "min" else maximum(*known)
    x, divisor = atom.args
    if not divisor.is_const or divisor.constant <= 0:
        return None
    if atom.op == "mod":
        return Expr.const(divisor.constant - 1 if upper else 0)
    inner = _bound(x, keys, facts, upper)
    if inner is None:
        return None
    return inner.floordiv(divisor) if atom.op == "floordiv" else inner.ceildiv(divisor)
