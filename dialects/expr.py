"""The integer-expression library: sizes, offsets, tails, access boxes, loop bounds.

    m, i = Expr.sym("m"), Expr.sym("i")
    tail = minimum(16, m - 16 * i)
    tail.interval({"m": Interval(1, 64), "i": Interval(0, 3)})
    prove_le(16 * i + tail, m, {})                        # True
    parse_expr("(m + 15) floordiv 16") == m.ceildiv(16)   # True

- `expr_atoms.py`: `Atom`, what an `Expr` is a sum of
- `expr_core.py`: `Expr`, its normal form, `minimum`, `maximum`
- `expr_text.py`: `Compare`, parsing, printing, Python source
- `expr_facts.py`: `Facts` and proofs
- `expr_solve.py`: inequalities in one symbol, bounds without a symbol
- `interval.py`: `Interval`

Symbols carry any hashable key.  floordiv and mod round toward minus infinity; a
division by a zero that is known keeps its place and fails when it is evaluated.
"""

from pyptoc.dialects.expr_core import ONE, ZERO, Expr, maximum, minimum
from pyptoc.dialects.expr_facts import (
    Facts,
    prove_eq,
    prove_le,
    prove_lt,
    prove_multiple,
    simplify,
)
from pyptoc.dialects.expr_solve import (
    Limit,
    alternatives,
    bound_without,
    limit_of,
    slope_of,
)
from pyptoc.dialects.expr_text import (
    COMPARES,
    Compare,
    ExprSyntaxError,
    TokenStream,
    parse_compare,
    parse_expr,
    to_python,
    tokenize,
)
from pyptoc.dialects.interval import Interval

__all__ = [
    "COMPARES",
    "ONE",
    "ZERO",
    "Compare",
    "Expr",
    "ExprSyntaxError",
    "Facts",
    "Interval",
    "Limit",
    "TokenStream",
    "alternatives",
    "bound_without",
    "limit_of",
    "maximum",
    "minimum",
    "parse_compare",
    "parse_expr",
    "prove_eq",
    "prove_le",
    "prove_lt",
    "prove_multiple",
    "simplify",
    "slope_of",
    "to_python",
    "tokenize",
]
