"""
The table of operators: for each op of the dialect how samples of it are made.

A new op gets a row in the file of its kind (or a file of its own), and its family a
line in the `FAMILIES` of that file. `COVERED_ELSEWHERE` names ops that another test
takes through the pipeline.
"""

from __future__ import annotations

from operators.table import composites, elementwise, reductions
from operators.table.core import Family

FAMILIES: dict[str, Family] = {
    **elementwise.FAMILIES,
    **reductions.FAMILIES,
    **composites.FAMILIES,
}
"""Every family by name."""
