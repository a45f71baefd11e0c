"""The timing model against kernels that others measured: `calibrate.py` has them."""

from __future__ import annotations

import pytest

import pyptoc
from benchmarks import calibrate, programs
from pyptoc.runtime.machine import load_machine


@pytest.fixture(scope="module")
def timelines():
    return calibrate.Fit().predict(load_machine("ascend910b"))


@pytest.mark.parametrize("number", range(len(calibrate.CASES)))
def test_times_and_shares_of_pipes(number: int, timelines):
    case, timeline = calibrate.CASES[number], timelines[number]
    time = timeline.seconds * 1e6
    assert time == pytest.approx(case.microseconds, rel=case.allowed)
    busy = calibrate.shares(timeline)
    for pipe, share in case.shares.items():
        assert busy[pipe] == pytest.approx(share, abs=calibrate.SHARE_ALLOWED)


def test_a_blocked_walk_gains_by_what_it_finds_in_l2(timelines):
    low, high = calibrate.RATIO
    assert low <= calibrate.ratio(timelines) <= high
    plain, blocked = timelines[calibrate.PLAIN], timelines[calibrate.BLOCKED]
    assert plain.loaded == blocked.loaded
    assert blocked.hbm_read < plain.hbm_read / 3
    assert (plain.launches[0].bound, blocked.launches[0].bound) == ("HBM", "L2")


@pytest.mark.parametrize(("number", "size"), [(0, 3072), (1, 6144)])
def test_chosen_tiles_are_no_slower_than_hand_tuned_ones(number, size, timelines):
    text = programs.matmul(size)
    chosen = pyptoc.compile(text, machine="ascend910b").simulate()
    assert chosen.macs == timelines[number].macs
    assert chosen.seconds <= timelines[number].seconds


def test_parameters_are_those_of_the_machine_s_file():
    values = calibrate.current()
    assert len(values) == len(calibrate.PARAMETERS)
    assert calibrate.edited(values) == calibrate.FILE.read_text()
    assert calibrate.machine_with(values) == load_machine("ascend910b")
    other = tuple(value + 1 for value in values)
    changed = calibrate.machine_with(other)
    assert changed.memory.l2_kept_bytes == values[3] + 1
    assert changed.route("l1", "l0b").startup_cycles == values[4] + 1


def test_hand_written_attention_is_attention():
    import numpy as np

    from benchmarks.hand_attention import attention

    rng = np.random.default_rng(0)
    q, k, v = (rng.uniform(-1, 1, (512, 128)).astype(np.float16) for _ in range(3))
    found = attention(512).run(q=q, k=k, v=v)["out"]
    scores = q.astype(np.float64) @ k.astype(np.float64).T / np.sqrt(128)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = weights @ v.astype(np.float64) / weights.sum(axis=1, keepdims=True)
    assert np.abs(found - expected).max() < 2e-3
