"""Formulas of sizes, as remarks show them."""

from __future__ import annotations

from pyptoc.passes.size_text import LONG, shortened


def test_a_short_formula_stays():
    formula = "7224 * max(%rows, 0) + 16"
    assert shortened(formula) == formula


def test_a_long_one_loses_what_it_nests():
    text = "128 * t + 132 * max(0, min(%act - %pos, 8)) * max(0, t floordiv max(1, b))"
    assert shortened(text) == "128 * t + 132 * max(..) * max(..)"


def test_a_longer_one_loses_terms():
    formula = " + ".join(f"{n} * max(%a, %b) * t" for n in range(6))
    assert len(formula) > LONG
    text = "0 * max(..) * t + 1 * max(..) * t + 2 * max(..) * t"
    assert shortened(formula) == f"{text} + 3 more terms"
