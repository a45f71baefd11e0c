"""The reference interpreter on an operator of the corpus, in both of its forms."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import close, failure, run

from pyptoc.operators import grouped_matmul_swiglu_quant as gmm


def check_operator(results, case):
    expected = gmm.expected(case)
    out, scale = results["out"], results["out_quant"]
    assert out.dtype == np.int8
    assert out.shape == expected["out"].shape
    if not out.size:
        assert scale.shape == expected["out_quant"].shape
        return
    difference = np.abs(out.astype(int) - expected["out"].astype(int))
    assert difference.max() <= 1
    assert (difference == 0).mean() >= 0.99
    assert np.abs(expected["out"]).max() == 127
    close(scale, expected["out_quant"], 1e-4, 1e-4)


@pytest.mark.parametrize("loop", [False, True], ids=["composite", "loop"])
@pytest.mark.parametrize("case", gmm.CASES, ids=str)
def test_grouped_matmul_swiglu_quant(case, loop):
    results = run(gmm.source(case, loop), **gmm.inputs(case))
    check_operator(results, case)


def test_both_forms_agree_bit_for_bit():
    case = gmm.CASES[8]
    given = gmm.inputs(case)
    composite, loop = (
        run(gmm.source(case), **given),
        run(gmm.source(case, True), **given),
    )
    for name, array in composite.items():
        assert array.tobytes() == loop[name].tobytes()


def test_zero_and_tiny_rows():
    case = next(case for case in gmm.CASES if case.tiny_rows)
    results = run(gmm.source(case), **gmm.inputs(case))
    for row in (*case.zero_rows, *case.tiny_rows):
        assert results["out_quant"][row] == 0
        assert not results["out"][row].any()
    others = [r for r in range(16) if r not in (*case.zero_rows, *case.tiny_rows)]
    assert (results["out_quant"][others] > 0).all()


@pytest.mark.parametrize("loop", [False, True], ids=["composite", "loop"])
@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([7, 10], ("17", "16")),
        ([7, 8], ("15", "16")),
        ([-1, 17], ("-1",)),
    ],
)
def test_group_errors(groups, words, loop):
    given = gmm.inputs(gmm.GIVEN)
    given["group_list"] = np.array(groups)
    diagnostic = failure(gmm.source(gmm.GIVEN, loop), **given)
    for word in words:
        assert word in diagnostic.message
    assert diagnostic.code in ("PTO401", "PTO402")
    if not loop and groups == [7, 10]:
        assert diagnostic.message == (
            "expert 1 of 2: view of %a rows 7 +: 10 ends at 17, %a has 16 rows"
        )
