"""
The table of operators: for each op of the dialect how samples of it are made.

A new op gets a row in the file of its kind (or a file of its own), and its family a
line in the `FAMILIES` of that file. `COVERED_ELSEWHERE` names ops that another test
takes through the pipeline.
"""

from __future__ import annotations

from operators.table import composites, elementwise, products, reductions, shapes
from operators.table.core import Family

FAMILIES: dict[str, Family] = {
    **elementwise.FAMILIES,
    **reductions.FAMILIES,
    **composites.FAMILIES,
    **products.FAMILIES,
    **shapes.FAMILIES,
}
"""Every family by name."""

COVERED_ELSEWHERE = {
    "cast": "operators/test_casts_end_to_end.py",
    "gather": "operators/test_indexing_end_to_end.py",
    "gather_rows": "operators/test_indexing_end_to_end.py",
    "index_add": "operators/test_indexing_end_to_end.py",
    "index_select": "operators/test_indexing_end_to_end.py",
    "one_hot": "operators/test_indexing_end_to_end.py",
    "reinterpret": "operators/test_reinterpret.py",
    "scatter_rows": "operators/test_indexing_end_to_end.py",
    "topk": "operators/test_indexing_end_to_end.py",
    "assert": "runtime/test_executor.py",
    "index": "runtime/test_executor.py",
    "probe": "dialects/pypto/indexing.mlir",
    "scalar": "runtime/test_executor.py",
}
"""Ops that another test takes through the pipeline, with its file in `test`."""

MADE_BY_PASSES = {"mma", "epilogue"}
"""Ops that no author writes: the products above reach them."""
