"""Copies that the executor leaves out, and marks of what was stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_harness import run_kernel, translate

from pyptoc.runtime.images import Box, Images, Source
from pyptoc.runtime.marks import Marks

KERNEL = """
npu.kernel @k (%i) (%x: memref<?x64xf32, "gm">, %y: memref<?x64xf32, "gm">) on vector {{
  %r = pypto.index 8 * %i
  %a = tile.alloc {{addr = 0}} : !tile.buf<8x64xf32, ub>
  %b = tile.alloc {{addr = {address}}} : !tile.buf<8x64xf32, ub>
  %c = tile.alloc {{addr = 8192}} : !tile.buf<8x64xf32, ub>
  tile.load %x[%r, 0] [8, 64] into %a
  {body}
  tile.store %b [8, 64] into %y[{place}, 0] {options}
}}
"""
TRIPLE = """
  tile.mul %a, 2.0 into %b [8, 64]
  tile.add %b, %a into %b [8, 64]
"""


def kernel(
    body: str = TRIPLE, address: int = 4096, options: str = "", place: str = "%r"
) -> str:
    return KERNEL.format(body=body, address=address, options=options, place=place)


def run(text: str, x: np.ndarray, y: np.ndarray, check: bool = False) -> np.ndarray:
    run_kernel(text, (2,), [x, y], check=check)
    return y


def numbers(rows: int = 16) -> np.ndarray:
    return np.arange(rows * 64, dtype=np.float32).reshape(rows, 64)


def counts(text: str, **options: bool) -> tuple[int, int]:
    """How many loads and stores need not be made."""
    found = translate(text, **options).in_place.found
    return len(found.loads), len(found.stores)


def test_both_copies_are_left_out() -> None:
    assert counts(kernel(), check=False) == (1, 1)
    assert counts(kernel(), check=True) == (0, 0)
    assert counts(kernel(), check=False, fuse=False) == (0, 0)
    for check in (False, True):
        got = run(kernel(), numbers(), np.zeros((16, 64), np.float32), check)
        assert np.array_equal(got, 3 * numbers())


@pytest.mark.parametrize("shift", [0, 4])
def test_a_launch_that_reads_what_it_writes_makes_the_copies(shift: int) -> None:
    """The load of a task is over before its store begins, whatever the memory."""
    results: list[np.ndarray] = []
    for check in (False, True):
        memory = numbers(24)
        run(kernel(), memory[:16], memory[shift : shift + 16], check)
        results.append(memory)
    assert np.array_equal(results[0], results[1])
    if not shift:
        assert np.array_equal(results[0][:16], 3 * numbers())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # Their bytes are one another's.
        (kernel(address=0), (0, 0)),
        # It is written again, or read in part.
        (kernel("tile.add %a, 1.0 into %a [8, 64]" + TRIPLE), (0, 1)),
        (kernel("tile.add %a, 1.0 into %c [4, 64]" + TRIPLE), (0, 1)),
        (kernel("tile.row_max %a into %c [8, 64]" + TRIPLE), (1, 1)),
        # The first to write it leaves some of it, or it is also loaded.
        (kernel("tile.mul %a, 2.0 into %b [4, 64]" + TRIPLE), (0, 0)),
        (kernel("tile.load %x[0, 0] [8, 64] into %b" + TRIPLE), (1, 0)),
        # What is there counts.
        (kernel(options='{combine = "add"}'), (1, 0)),
        (kernel("tile.load %y[%r, 0] [8, 64] into %c" + TRIPLE), (1, 0)),
        # Where it is stored is known too late.
        (kernel(TRIPLE + "%s = pypto.index 8 * %i", place="%s"), (1, 0)),
    ],
)  # fmt: skip
def test_when_a_copy_is_made(text: str, found: tuple[int, int]) -> None:
    assert counts(text, check=False) == found
    results = [
        run(text, numbers(), np.ones((16, 64), np.float32), check)
        for check in ((False, True) if found != (0, 0) else ())
    ]
    assert not results or np.array_equal(results[0], results[1])


UPDATE = """
npu.kernel @k (%i) (%x: memref<16x64xf32, "gm">, %y: memref<16x64xf32, "gm">)
    on vector {{
  %r = pypto.index 8 * %i
  %same = pypto.index %i * 4 + %r - 4 * %i
  %a = tile.alloc {{addr = 0}} : !tile.buf<8x64xf32, ub>
  %b = tile.alloc {{addr = {address}}} : !tile.buf<8x64xf32, ub>
  tile.load %x[%r, 0] [8, 64] into %a
  {load}
  {body}
  tile.store %b [8, 64] into %y[%r, 0] {options}
  {more}
}}
"""
LOAD = "tile.load %y[%same, 0] [8, 64] into %b"
FROM_X = "tile.load %x[%r, 0] [8, 64] into %b"
ADD = "tile.add %b, %a into %b [8, 64]"


def update(**parts: Any) -> str:
    given = {"address": 4096, "load": LOAD, "body": ADD, "options": "", "more": ""}
    return UPDATE.format(**given | parts)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (update(), (2, 1)),
        (update(body=ADD + "\n tile.mul %b, 2.0 into %b [8, 64]"), (2, 1)),
        # Another box, another memory, less of it.
        (update(load="tile.load %y[0, 0] [8, 64] into %b"), (1, 0)),
        (update(load=FROM_X), (1, 0)),
        (update(load="tile.load %y[%r, 0] [4, 64] into %b"), (1, 0)),
        (update(load=FROM_X, more="tile.store %a [8, 64] into %x[%r, 0]"), (0, 0)),
        (update(load=LOAD + "{dims = [1, 0]}").replace("64]", "8]"), (1, 0)),
        (update(body="tile.add %b, %a into %b [4, 64]"), (0, 0)),
        # What is stored counts, or is read again; their bytes are one another's.
        (update(options='{combine = "add"}'), (1, 0)),
        (update(more="tile.load %y[0, 0] [8, 64] into %b"), (1, 0)),
        (update(address=1024), (0, 0)),
    ],
)
def test_a_box_that_is_updated(text: str, found: tuple[int, int]) -> None:
    assert counts(text, check=False) == found
    got, want = (run(text, numbers(), numbers() % 7, check) for check in (False, True))
    assert np.array_equal(got, want, equal_nan=True)


def test_an_update_of_what_is_also_read_makes_the_copies() -> None:
    """What a load before the store reads is still as it was."""
    results: list[np.ndarray] = []
    text = update(body=f"{ADD}\n tile.load %x[%r, 0] [8, 64] into %a\n {ADD}")
    for check in (False, True):
        memory = numbers(24)
        run(text, memory[4:20], memory[:16], check)
        results.append(memory)
    assert np.array_equal(*results)


def test_marks_of_parts_of_rows() -> None:
    """One of equal parts has one mark, what is no such part one for each element."""
    marks = Marks((4, 6))
    marks.columns(0, 3)[...] = True
    marks.columns(3, 6)[1:] = True
    missing = marks.missing()
    assert missing is not None
    assert np.argwhere(missing).tolist() == [[0, 3], [0, 4], [0, 5]]
    marks.columns(2, 5)[0] = marks.columns(0, 4)[0] = True
    missing = marks.missing()
    assert missing is not None
    assert np.argwhere(missing).tolist() == [[0, 5]]
    marks.reshaped((24,)).columns(4, 6)[()] = True
    assert marks.missing() is None
    assert Marks((0, 6)).columns(0, 3).shape == (0,)
    assert Marks((3, 4)).columns(1, 1).shape == (3, 0)


def test_marks_of_rows_and_elements() -> None:
    marks = Marks((4, 6))
    missing = marks.missing()
    assert missing is not None
    assert missing.all()
    marks.rows[:3] = True
    marks.elements[3, :4] = True
    missing = marks.missing()
    assert missing is not None
    assert np.argwhere(missing).tolist() == [[3, 4], [3, 5]]
    # An alias sees the same.
    alias = marks.reshaped((2, 2, 6))
    alias.elements[1, 1, 4:] = True
    assert marks.missing() is None
    assert alias.missing() is None
    by_row = Marks((4, 6)).reshaped((24,))
    assert by_row.missing() is not None
    by_row.rows[()] = True
    assert by_row.missing() is None
    assert Marks((0, 6)).missing() is None
    assert Marks((3, 0)).rows.shape == (3,)


def test_boxes_of_memory_with_gaps() -> None:
    """As a slice, whether rows or columns come first, or there is just one."""
    memory = np.arange(6 * 20, dtype=np.int16).reshape(6, 20)[:, :12]
    row, column = memory.strides
    for dims, step in (((0, 1), (row, column)), ((1, 0), (column, row))):
        source = Source.of(memory, dims)
        assert source.strides == step
        box = Box(source, 2 * row + 3 * column, (3, 4))
        want = memory[2:5, 3:7] if dims == (0, 1) else memory[2:6, 3:6].T
        got = box.array()
        assert np.array_equal(got, want)
        part = box.part((1, 2), (2, 2))
        assert part is not None
        assert np.array_equal(part.array(), got[1:3, 2:4])
        assert box.part((1, 2), (3, 1)) is None
        behind = Box(source, box.at + 2 * step[1], (3, 4))
        assert box.goes_on(behind, 1, 2)
        assert not box.goes_on(behind, 0, 2)
        assert not box.goes_on(behind._replace(shape=(2, 4)), 1, 2)
    alone = Box(Source.of(memory, (-1, 1)), 0, (1, 4))
    assert not alone.goes_on(alone, 0, 1)
    assert Box(source, 10**6, (0, 4)).array().shape == (0, 4)


def test_images_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be too much is forgotten first."""
    monkeypatch.setattr("pyptoc.runtime.images.MOST_BYTES", 1000)
    kept = Images()
    for number in range(5):
        kept.keep(number, np.empty(100, np.float32))
    assert kept.bytes == 400
    assert list(kept.kept) == [4]
    kept.clear()
    assert (kept.bytes, kept.kept) == (0, {})
