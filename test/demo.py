"""
Writes the inputs and the golden of `make demo`.

    python test/demo.py INPUTS.npz GOLDEN.npz

The golden is computed from the operator's definition, in plain numpy
(`operators/grouped_matmul_swiglu_quant.py`); it shares no code with the compiler.
"""

from __future__ import annotations

import sys

import numpy as np

from pyptoc.operators.grouped_matmul_swiglu_quant import CASES, expected, inputs


def main(inputs_file: str, golden_file: str) -> None:
    """Writes both files for the operator's given case."""
    given = next(case for case in CASES if case.name == "given")
    np.savez(inputs_file, **inputs(given))
    np.savez(golden_file, **expected(given))


if __name__ == "__main__":
    main(*sys.argv[1:])
