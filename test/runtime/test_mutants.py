"""A sample of the mutants of `make mutants`: none is missed, and one could be."""

from __future__ import annotations

from collections import Counter

import pytest
from mutants import PROGRAMS, REASONS, compiled, judge, mutants

from pyptoc.dialects.tile_flags import FlagOp
from pyptoc.runtime.hazards_state import CoreState


def test_a_sample_of_mutants_is_killed_or_equivalent() -> None:
    found = list(mutants(every=97))
    missed = [mutant.line for mutant in found if mutant.verdict == "missed"]
    assert not missed
    alike = {mutant.kind for mutant in found if mutant.verdict == "equivalent"}
    assert alike <= set(REASONS)
    verdicts = Counter(mutant.verdict for mutant in found)
    assert verdicts["killed"] >= 20
    assert {mutant.program for mutant in found} == set(PROGRAMS)


def test_a_checker_that_forgets_races_misses_mutants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Results in adversarial orders judge the checker, not the checker itself."""
    base = compiled("softmax")
    module = base.program.module.clone()
    for op in list(module.walk()):
        if isinstance(op, FlagOp):
            op.detach()
    assert judge(base, module) == ("killed", "PTO420")
    monkeypatch.setattr(CoreState, "touch", lambda *_: None)
    assert judge(base, module)[0] == "missed"
