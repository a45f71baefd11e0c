"""The integer-expression library against Python's own integers."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pyptoc.dialects.expr import (
    Compare,
    Expr,
    ExprSyntaxError,
    Facts,
    Interval,
    maximum,
    minimum,
    parse_compare,
    parse_expr,
    prove_eq,
    prove_le,
    prove_lt,
    prove_multiple,
    simplify,
    to_python,
)

NAMES = ("a", "b", "c")
A, B, C = (Expr.sym(name) for name in NAMES)

settings.register_profile("expr", deadline=None, max_examples=200)
settings.load_profile("expr")

# A tree is an int, a name, or (op, left, right): what a user would write.
leaves = st.one_of(st.integers(-20, 20), st.sampled_from(NAMES))
OPS = ("+", "-", "*", "floordiv", "ceildiv", "mod", "min", "max")
trees = st.recursive(
    leaves, lambda t: st.tuples(st.sampled_from(OPS), t, t), max_leaves=8
)
# Divisions by constants only: there the simplifications are.
constant_divisions = st.recursive(
    leaves,
    lambda t: st.one_of(
        st.tuples(st.sampled_from(("+", "-", "min", "max")), t, t),
        st.tuples(st.sampled_from(OPS[2:6]), t, st.integers(-9, 9)),
    ),
    max_leaves=8,
)
values = st.fixed_dictionaries({name: st.integers(-40, 40) for name in NAMES})


def build(tree):
    """The Expr of a tree."""
    if isinstance(tree, int):
        return Expr.const(tree)
    if isinstance(tree, str):
        return Expr.sym(tree)
    op, x, y = tree[0], build(tree[1]), build(tree[2])
    return {
        "+": lambda: x + y,
        "-": lambda: x - y,
        "*": lambda: x * y,
        "floordiv": lambda: x.floordiv(y),
        "ceildiv": lambda: x.ceildiv(y),
        "mod": lambda: x.mod(y),
        "min": lambda: minimum(x, y),
        "max": lambda: maximum(x, y),
    }[op]()


def plain(tree, env):
    """The value of a tree in Python's integers."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return env[tree]
    op, x, y = tree[0], plain(tree[1], env), plain(tree[2], env)
    if op in ("floordiv", "ceildiv", "mod"):
        assume(y != 0)
    return {
        "+": lambda: x + y,
        "-": lambda: x - y,
        "*": lambda: x * y,
        "floordiv": lambda: x // y,
        "ceildiv": lambda: -(-x // y),
        "mod": lambda: x % y,
        "min": lambda: min(x, y),
        "max": lambda: max(x, y),
    }[op]()


@pytest.mark.parametrize("strategy", [trees, constant_divisions], ids=["any", "const"])
def test_evaluate_is_python_arithmetic(strategy):
    @given(strategy, values)
    def check(tree, env):
        expected = plain(tree, env)
        assert build(tree).evaluate(env) == expected
        assert eval(to_python(build(tree)), {}, dict(env)) == expected

    check()


@given(constant_divisions, constant_divisions, values)
def test_substitution_evaluates_inside(tree, inner, env):
    plain(inner, env)
    outer = {**env, "a": plain(inner, env)}
    expected = plain(tree, outer)
    assert build(tree).subs({"a": build(inner)}).evaluate(env) == expected
    everything = {name: Expr.const(value) for name, value in outer.items()}
    assert build(tree).subs(everything).value == expected


@given(st.one_of(trees, constant_divisions))
@example(("floordiv", ("mod", "a", 4), -3))
def test_text_is_read_back(tree):
    e = build(tree)
    assert parse_expr(e.to_string()) == e
    assert parse_expr(e.to_string()).to_string() == e.to_string()


@given(st.one_of(trees, constant_divisions))
def test_normal_form_is_stable(tree):
    e = build(tree)
    again = e.subs({name: Expr.sym(name) for name in NAMES})
    assert again == e
    assert hash(again) == hash(e)
    assert (e + A) - A == e
    assert hash((e + A) - A) == hash(e)
    assert set(e.symbols()) <= set(NAMES)


@st.composite
def ranges_and_values(draw):
    """Ranges, open ends among them, and values that lie in them."""
    ranges, env = {}, {}
    for name in NAMES:
        value = draw(st.integers(-30, 30))
        lo = draw(st.one_of(st.none(), st.integers(value - 20, value)))
        hi = draw(st.one_of(st.none(), st.integers(value, value + 20)))
        ranges[name], env[name] = Interval(lo, hi), value
    return ranges, env


@given(st.one_of(trees, constant_divisions), ranges_and_values())
def test_interval_holds_every_value(tree, drawn):
    ranges, env = drawn
    expected = plain(tree, env)
    assert expected in build(tree).interval(ranges)


@given(constant_divisions, constant_divisions, ranges_and_values())
def test_proofs_are_true(left, right, drawn):
    ranges, env = drawn
    x, y = plain(left, env), plain(right, env)
    a, b = build(left), build(right)
    facts = Facts(ranges)
    if env["b"] <= env["c"]:
        facts.assume_le(B, C)
    if env["a"] == 2 * env["b"]:
        facts.assume_eq(A, 2 * B)
    assert x <= y or not prove_le(a, b, facts)
    assert x < y or not prove_lt(a, b, facts)
    assert x == y or not prove_eq(a, b, facts)
    assert x % 4 == 0 or not prove_multiple(a, 4, facts)
    assert simplify(a, facts).evaluate(env) == x
    for op in ("==", "ne", "<", "<=", ">", ">="):
        compare = Compare(op, a, b)
        assert compare.decide(facts) in (None, compare.evaluate(env))


BINARY = {
    "add": (lambda a, b: a + b, lambda x, y: x + y),
    "mul": (lambda a, b: a * b, lambda x, y: x * y),
    "floordiv": (lambda a, b: a.floordiv(b), lambda x, y: x // y),
    "mod": (lambda a, b: a.mod(b), lambda x, y: x % y),
    "minimum": (lambda a, b: a.minimum(b), min),
    "maximum": (lambda a, b: a.maximum(b), max),
}


@pytest.mark.parametrize("op", BINARY)
def test_intervals_by_trying_all(op):
    """Open ends are tried with values far out; closed results are exact."""
    combine, plain_op = BINARY[op]
    ends = (None, -7, -3, -1, 0, 1, 2, 5)
    ranges = [Interval(lo, hi) for lo in ends for hi in ends]
    ranges = [r for r in ranges if not r.is_empty]
    candidates = (*range(-9, 10), -1000, 1000)
    members = {r: [x for x in candidates if x in r] for r in ranges}
    for a in ranges:
        for b in ranges:
            divisors = [y for y in members[b] if y or op not in ("floordiv", "mod")]
            results = [plain_op(x, y) for x in members[a] for y in divisors]
            if not results:
                continue
            found = combine(a, b)
            assert min(results) in found, (a, b, found)
            assert max(results) in found, (a, b, found)
            closed = None not in (a.lo, a.hi, b.lo, b.hi)
            one_sign = closed and (b.lo > 0 or b.hi < 0)
            if closed and op != "mod" and (op != "floordiv" or one_sign):
                assert found == Interval(min(results), max(results)), (a, b)


def test_ceildiv_prints_as_it_was_written():
    assert A.ceildiv(16).to_string() == "a ceildiv 16"
    assert (A + 1).floordiv(16).to_string() == "(a + 1) floordiv 16"


def test_simplifications():
    assert (6 * A).floordiv(6) == A
    assert (6 * A + 5).floordiv(6) == A
    assert (6 * A + 5).mod(6) == Expr.const(5)
    assert (4 * A + 2 * B).floordiv(4) == A + B.floordiv(2)
    assert A.ceildiv(1) == A
    assert (A + 15).floordiv(16) == A.ceildiv(16)
    assert A.floordiv(4).floordiv(4) == A.floordiv(16)
    assert A.mod(32).mod(16) == A.mod(16)
    assert (17 * A).mod(16) == A.mod(16)
    assert minimum(A, minimum(B, A + 1), 3, 4) == minimum(3, B, A)
    assert maximum(A, A + 2) == A + 2
    assert A * B + B * A == 2 * A * B
    assert (A + B) * (A - B) == A * A - B * B
    assert hash(A * B + C) == hash(C + B * A)


def test_constants():
    assert Expr.const(7).floordiv(-2).value == -4
    assert Expr.const(7).mod(-2).value == -1
    assert (A - A).is_const
    assert (A - A).value == 0
    with pytest.raises(ValueError, match="not constant"):
        _ = A.value


def test_proofs_that_the_compiler_needs():
    m, i = Expr.sym("m"), Expr.sym("i")
    tail = minimum(16, m - 16 * i)
    facts = Facts({"m": Interval(0, None)})
    facts.assume_range("i", 0, m.ceildiv(16) - 1)
    assert prove_le(16 * i + tail, m, {})
    assert prove_le(1, tail, facts)
    assert prove_lt(16 * i, m, facts)
    assert not prove_lt(16 * i + 16, m, facts)
    assert prove_eq(16 * m.floordiv(16) + m.mod(16), m, {})
    assert prove_le(m.floordiv(16) * 16, m, {})
    assert prove_lt(m, 16 * m.floordiv(16) + 16, {})


def test_facts_carry_over_an_equality():
    facts = Facts({"a": Interval(3, 9)})
    facts.assume_le(A, C)
    facts.assume_eq(B + 1, A)
    assert prove_eq(A, B + 1, facts)
    assert prove_le(2, B, facts)
    assert prove_le(B, 8, facts)
    assert prove_lt(B, C, facts)
    assert not prove_le(3, B, facts)
    other = facts.copy()
    other.assume_interval("b", Interval(5, 5))
    assert prove_eq(A, 6, other)
    assert not prove_eq(A, 6, facts)


def test_multiples():
    facts = Facts()
    facts.assume_multiple("a", 16)
    assert prove_multiple(A + 32 * B, 16, facts)
    assert prove_multiple(minimum(A, 64), 16, facts)
    assert not prove_multiple(A + 8, 16, facts)
    assert not prove_multiple(B, 2, facts)
    assert prove_multiple(A * B + 4 * A, 16, facts)
    assert not prove_multiple(A.floordiv(16), 16, facts)


def test_simplify_uses_ranges():
    ranges = {"a": Interval(0, 15), "b": Interval(16, 20)}
    assert simplify(A.floordiv(16) + A.mod(16), ranges) == A
    assert simplify(B.mod(16), ranges) == B - 16
    assert simplify(minimum(A, B), ranges) == A
    assert simplify(maximum(A, B, C), ranges) == maximum(B, C)
    assert simplify(A.mod(B), ranges) == A
    assert simplify(A.ceildiv(16), ranges) == A.ceildiv(16)


def test_evaluation_errors():
    with pytest.raises(ZeroDivisionError):
        A.floordiv(B).evaluate({"a": 1, "b": 0})
    with pytest.raises(ZeroDivisionError):
        A.mod(0).evaluate({"a": 1})
    with pytest.raises(ZeroDivisionError):
        Expr.const(3).ceildiv(0).evaluate({})
    for e in (A * B, A + B, 4 * A, A - 2 + 2**62 + B):
        with pytest.raises(OverflowError):
            e.evaluate({"a": 2**62, "b": 2**62})
    with pytest.raises(KeyError):
        A.evaluate({"b": 1})


def test_parse_errors_and_names():
    for text in ("", "a +", "(a", "min(a", "a b", "a-1 ?", "floordiv a", "a % 2"):
        with pytest.raises(ExprSyntaxError):
            parse_expr(text)
    seen = []
    parse_expr("%x0 + min(%1, d0)", lambda name: seen.append(name) or Expr.const(1))
    assert seen == ["%x0", "%1", "d0"]
    compare = parse_compare("a + 1 ne 2 * b")
    assert compare == Compare("ne", A + 1, 2 * B)
    assert parse_compare(compare.to_string()) == compare
    assert parse_compare("a") == A
    assert compare.symbols() == ("a", "b")


def test_a_token_stream_is_left_after_the_expression():
    class Stream:
        tokens = ["a", "+", "1", "]", "x"]

        def peek(self):
            return self.tokens[0]

        def take(self):
            return self.tokens.pop(0)

    stream = Stream()
    assert parse_expr(stream) == A + 1
    assert stream.tokens == ["]", "x"]


def test_symbols_may_be_any_hashable():
    key = object()
    e = 2 * Expr.sym(key) + Expr.sym(("d", 0))
    assert e.symbols() == (key, ("d", 0))
    assert e.subs({key: 1, ("d", 0): 5}).value == 7
    assert e.to_string(lambda k: "x" if k is key else "y") == "2 * x + y"
