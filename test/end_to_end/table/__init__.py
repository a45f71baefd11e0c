"""
The table of operators: for each op of the dialect how samples of it are made.

A new op gets a row in the file of its kind (or a file of its own), and its family a
line in the `FAMILIES` of that file. `COVERED_ELSEWHERE` names ops that another test
takes through the pipeline.
"""

from __future__ import annotations

from end_to_end.table import composites, elementwise, products, reductions, shapes
from end_to_end.table.core import Family

FAMILIES: dict[str, Family] = {
    **elementwise.FAMILIES,
    **reductions.FAMILIES,
    **composites.FAMILIES,
    **products.FAMILIES,
    **shapes.FAMILIES,
}
"""Every family by name."""

GATHERS = "end_to_end/test_index_gathers.py"
SCATTERS = "end_to_end/test_index_scatters.py"
SELECTIONS = "end_to_end/test_index_selections.py"
SCALARS = "end_to_end/test_scalars_end_to_end.py"
LOOKING = "end_to_end/test_probe_and_print.py"

COVERED_ELSEWHERE = {
    "cast": "end_to_end/test_casts_end_to_end.py",
    "gather": GATHERS,
    "gather_mask": SELECTIONS,
    "gather_rows": GATHERS,
    "index_select": GATHERS,
    "index_add": SCATTERS,
    "index_put": SCATTERS,
    "scatter": SCATTERS,
    "scatter_rows": SCATTERS,
    "argsort": SELECTIONS,
    "one_hot": SELECTIONS,
    "topk": SELECTIONS,
    "bitwise_not": SCALARS,
    "shift_left": SCALARS,
    "shift_right": SCALARS,
    "reinterpret": "end_to_end/test_reinterpret.py",
    "assert": "runtime/test_executor.py",
    "index": "runtime/test_executor.py",
    "print": LOOKING,
    "probe": LOOKING,
    "scalar": "runtime/test_executor.py",
}
"""Ops that another test takes through the pipeline, with its file in `test`."""

MADE_BY_PASSES = {"mma", "mul_groups", "epilogue", "claim", "claims"}
"""Ops that no author writes: the products above reach them."""
