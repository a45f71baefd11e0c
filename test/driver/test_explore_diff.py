"""What the explorer takes for a change, in a browser."""

from __future__ import annotations

import random
from typing import Any

import pytest
from exploring import Page
from inprocess import call

SOURCE = """\
func.func @f(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %y = pypto.softmax %x axis -1
  %z = pypto.silu %y
  func.return %z : tensor<64x512xf32>
}
"""


@pytest.fixture(scope="module")
def demo(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("page") / "out.html"
    code, _, err = call("-", "--explore", str(path), stdin=SOURCE)
    assert (code, err) == (0, "")
    return Page(browser, path)


DIFF = """
const [a, b, renumber] = arguments, d = explorer.data;
const at = d.dumps.length;
for (const lines of [a, b]) {
  d.dumps.push({ lines, sets: lines.map(() => 0), left_out: 0 });
}
return explorer.diff(at, at + 1, renumber).map((row) => [row.kind, row.a, row.b]);
"""


def test_any_two_texts(demo: Page) -> None:
    """Each line stands once, in order; rows say the same only of what is the same."""
    kinds = demo.run("return explorer.kinds")
    lines = len(demo.run("return explorer.data.lines"))
    chance = random.Random(7)
    for trial in range(60):
        few = chance.choice([3, 12, lines])
        a = [chance.randrange(few) for _ in range(chance.randrange(40))]
        b = list(a)
        for _ in range(chance.randrange(6)):
            at = chance.randrange(len(b) + 1)
            b[at : at + chance.randrange(3)] = [chance.randrange(few)] * (trial % 3)
        if trial % 4 == 0:
            half = len(b) // 2
            b = b[half:] + b[:half]
        rows = demo.run(DIFF, a, b, trial % 2 == 0)
        assert [row[1] for row in rows if row[1] >= 0] == list(range(len(a)))
        assert [row[2] for row in rows if row[2] >= 0] == list(range(len(b)))
        for kind, i, j in rows:
            if kind == kinds["same"]:
                assert a[i] == b[j]
            if kind == kinds["changed"]:
                assert a[i] != b[j]
        if a == b:
            assert {kind for kind, _, _ in rows} <= {kinds["same"]}
    one = list(range(20))
    gone = demo.run(DIFF, one, one[:7] + one[8:], False)
    assert [row for row in gone if row[0] != kinds["same"]] == [
        [kinds["removed"], 7, -1]
    ]
    swapped = demo.run(DIFF, [0, 1, 0, 1], [1, 0, 1], False)
    assert sum(row[0] == kinds["same"] for row in swapped) == 3


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ("a {slots = 2}", "a {addr = 0, slots = 2}", ("", "addr = 0, ")),
        ("%1 = neg %old", "%1 = neg %older", ("%old", "%older")),
        ("%10 = neg", "%20 = neg", ("%10", "%20")),
        ("same", "same", ("", "")),
    ],
)
def test_the_part_that_changed(
    demo: Page, before: str, after: str, parts: tuple[str, str]
) -> None:
    found = demo.run("return explorer.changedPart(...arguments)", before, after)
    texts = (before, after)
    assert tuple(t[slice(*at)] for t, at in zip(texts, found)) == parts


def test_lines_that_differ_in_numbers(demo: Page) -> None:
    numbers = demo.run(
        "const l = explorer.data.lines;"
        "return l.map((text, at) => [text.replace(/%\\d+/g, '%'), at, text])"
    )
    seen: dict[str, int] = {}
    pair: list[int] = []
    for key, at, text in numbers:
        if "%" in text and key in seen and numbers[seen[key]][2] != text:
            pair = [seen[key], at]
        seen.setdefault(key, at)
    kinds = demo.run("return explorer.kinds")
    apart = demo.run(DIFF, [pair[0]], [pair[1]], False)
    assert [kind for kind, _, _ in apart] == [kinds["changed"]]
    together = demo.run(DIFF, [pair[0]], [pair[1]], True)
    assert [kind for kind, _, _ in together] == [kinds["renumbered"]]
