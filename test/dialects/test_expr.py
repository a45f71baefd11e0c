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
    alternatives,
    bound_without,
    limit_of,
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

# Not a profile: that would be the one of all files read after this one.
many = settings(max_examples=2 * settings.default.max_examples)

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
    @many
    @given(strategy, values)
    def check(tree, env):
        expected = plain(tree, env)
        assert build(tree).evaluate(env) == expected
        assert eval(to_python(build(tree)), {}, dict(env)) == expected

    check()


@many
@given(constant_divisions, constant_divisions, values)
def test_substitution_evaluates_inside(tree, inner, env):
    plain(inner, env)
    outer = {**env, "a": plain(inner, env)}
    expected = plain(tree, outer)
    assert build(tree).subs({"a": build(inner)}).evaluate(env) == expected
    everything = {name: Expr.const(value) for name, value in outer.items()}
    assert build(tree).subs(everything).value == expected


@many
@given(st.one_of(trees, constant_divisions))
@example(("floordiv", ("mod", "a", 4), -3))
def test_text_is_read_back(tree):
    e = build(tree)
    assert parse_expr(e.to_string()) == e
    assert parse_expr(e.to_string()).to_string() == e.to_string()


@many
@given(st.one_of(trees, constant_divisions))
@example(("min", ("*", "a", ("floordiv", "b", "c")), 4))
def test_what_divides_has_a_division_in_its_source(tree):
    e = build(tree)
    source = to_python(e)
    assert e.divides() == ("/" in source or "%" in source)
    assert Compare("<", A, e).divides() == e.divides()


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


@many
@given(st.one_of(trees, constant_divisions), ranges_and_values())
def test_interval_holds_every_value(tree, drawn):
    ranges, env = drawn
    expected = plain(tree, env)
    assert expected in build(tree).interval(ranges)


@many
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


def test_a_range_that_is_narrowed_counts_from_then_on():
    """Also for a part whose range was asked for before."""
    facts = Facts()
    assert not prove_le(0, A * B, facts)
    facts.assume_interval("a", Interval(0, None))
    assert not prove_le(0, A * B, facts)
    facts.assume_range("b", lo=2)
    assert prove_le(0, A * B, facts)
    assert not prove_le(1, A * B, facts.copy())


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
    facts.assume_eq(C, 8 * A)
    assert prove_multiple(16 * A + 32 * B, 16, facts)
    assert prove_multiple(minimum(16 * A, 64), 16, facts)
    assert not prove_multiple(16 * A + 8, 16, facts)
    assert not prove_multiple(B, 2, facts)
    assert prove_multiple(16 * A * B + 4 * C, 16, facts)
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


# Solving -----------------------------------------------------------------------------

A_RANGES = {"a": Interval(0, 30), "b": Interval(0, 40), "c": Interval(1, 9)}
monotone = st.recursive(
    st.sampled_from((A, -A, A * C)),
    lambda e: st.one_of(
        st.builds(lambda x, k, r: x * k + r, e, st.integers(-5, 5), st.integers(-9, 9)),
        st.builds(lambda x, k: x.floordiv(k), e, st.integers(1, 6)),
        st.builds(lambda x, k: x.ceildiv(k), e, st.integers(1, 6)),
        st.builds(lambda x, k: x + k * B, e, st.integers(-3, 3)),
    ),
    max_leaves=4,
)


@settings(max_examples=60)
@given(e=monotone, limit=st.integers(-60, 60), env=values)
def test_limit(e: Expr, limit: int, env: dict[str, int]):
    found = limit_of(e, "a", B - B + limit, A_RANGES)
    assume(found is not None and env["c"] >= 1)
    assert found is not None
    bound = found.value.evaluate(env)
    holds = env["a"] < bound if found.is_upper else env["a"] >= bound
    assert holds == (e.evaluate(env) < limit)


def test_limits_that_are_found():
    end = Expr.sym("end")
    for e, text in (
        (64 * A + 16, "a < (end + 47) floordiv 64"),
        (A.floordiv(2) * 16, "a < 2 * (end ceildiv 16)"),
        (5 - A, "a >= 6 - end"),
        ((A + 1).ceildiv(4), "a < 4 * end - 4"),
        (A * C + B, "a < (end - b) ceildiv c"),
    ):
        found = limit_of(e, "a", end, A_RANGES)
        assert found is not None
        shown = f"a {'<' if found.is_upper else '>='} {found.value.to_string()}"
        assert shown == text
    for e in (A.mod(2), A + A.floordiv(2), minimum(A, B), A * B, A * A):
        assert limit_of(e, "a", end, A_RANGES) is None


nonzero = constant_divisions.filter(lambda tree: not divides_by_zero(tree))


def divides_by_zero(tree) -> bool:
    if not isinstance(tree, tuple):
        return False
    return (tree[0] in OPS[3:6] and tree[2] == 0) or any(map(divides_by_zero, tree[1:]))


@given(tree=nonzero, env=values)
@settings(max_examples=60)
def test_alternatives(tree, env: dict[str, int]):
    e = build(tree)
    for op, pick in (("min", min), ("max", max)):
        assert pick(x.evaluate(env) for x in alternatives(e, op)) == e.evaluate(env)


@given(tree=nonzero, env=values)
@settings(max_examples=60)
def test_bound_without(tree, env: dict[str, int]):
    env = {name: abs(value) % 30 for name, value in env.items()}
    facts = Facts({name: Interval(0, 29) for name in NAMES})
    facts.assume_range("a", 0, B)
    env["a"] = min(env["a"], env["b"])
    e = build(tree)
    for upper in (False, True):
        bound = bound_without(e, {"a"}, facts, upper=upper)
        if bound is not None:
            assert "a" not in bound.symbols()
            value = bound.evaluate(env)
            assert value >= e.evaluate(env) if upper else value <= e.evaluate(env)
    size = minimum(16, C - 16 * A)
    assert bound_without(size, {"a"}, facts, upper=True) == minimum(16, C)


@given(env=values, k=st.sampled_from((16, 32, 64, 128)), n=st.integers(1, 16))
@settings(max_examples=40)
def test_simplify_division_by_a_multiple(env: dict[str, int], k: int, n: int):
    ranges = {"n": Interval(1, 16)}
    size = Expr.sym("n")
    ends = (16 * A + size + 32 * B).ceildiv(k), (16 * A + size - 1).floordiv(k)
    for e in ends:
        short = simplify(e, ranges)
        assert "n" not in short.symbols()
        assert short.evaluate({**env, "n": n}) == e.evaluate({**env, "n": n})
    assert simplify((16 * A + size).ceildiv(16), ranges) == A + 1
