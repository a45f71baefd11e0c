"""One process compiles good and bad input many times: nothing is left behind.

`python test/driver/test_state.py 1000` tries so many and prints what memory grew by.
"""

from __future__ import annotations

import gc
import re
import sys
import threading
from pathlib import Path

import pytest

import pyptoc

OPERATORS = Path(__file__).parents[1] / "operators"
GOOD = (
    (OPERATORS / "grouped_matmul_swiglu_quant.mlir").read_text(),
    "func.func @f(%x: tensor<?x700xf32>) -> tensor<?x700xf32> {\n"
    "  %y = pypto.softmax %x axis -1\n"
    "  func.return %y : tensor<?x700xf32>\n}\n",
)
BAD = (
    "func.func @f(%x: tensor<4xf32>) {\n  %y = pypto.sofmax %x\n}\n",
    GOOD[0].replace("k = [256, 256]", "k = [4096, 4096]"),
    GOOD[1][:90],
)
MOST_MEGABYTES = 30


def errors(text: str) -> str:
    with pytest.raises(pyptoc.CompileError) as caught:
        pyptoc.compile(text)
    return str(caught.value)


def megabytes() -> float:
    """What the process holds now."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmRSS:\s*(\d+)", status)
    assert found is not None
    return int(found[1]) / 1024


def compile_often(count: int) -> float:
    """Compiles in turns; what memory grew by, in MB, after the first tenth."""
    good = [pyptoc.compile(text).text for text in GOOD]
    bad = [errors(text) for text in BAD]
    begin = 0.0
    for number in range(count):
        if number == count // 10:
            begin = megabytes()
        one, other = number % len(GOOD), number % len(BAD)
        assert errors(BAD[other]) == bad[other]
        assert pyptoc.compile(GOOD[one]).text == good[one]
    return megabytes() - begin


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_nothing_is_kept() -> None:
    assert compile_often(12) < MOST_MEGABYTES


def test_two_threads_compile_at_once() -> None:
    want = [pyptoc.compile(text).text for text in GOOD]
    found: dict[int, list[str]] = {}

    def work(number: int) -> None:
        texts = GOOD if number else GOOD[::-1]
        made = [pyptoc.compile(text).text for text in (*texts, *texts)]
        found[number] = made if number else made[::-1]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: [*want, *want], 1: [*want, *want]}


if __name__ == "__main__":
    number = int(sys.argv[1])
    print(
        f"{number} good and {number} bad compiles: {compile_often(number):.1f} MB more"
    )
