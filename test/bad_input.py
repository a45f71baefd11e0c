"""
Broken copies of the operator files: what the compiler must refuse, or compile.

    python test/bad_input.py [--files=2000] [--seed=0]

`mutant` changes a text in one to three places, as typing errors, cut files and hostile
hands do. `problem` compiles it and says what is wrong with how that ended: an internal
error, a traceback, an exit code that is none of ours, or an error without a place.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from random import Random

import conftest  # noqa: F401 (threads and the collector)
from inprocess import call

from pyptoc.operators import names, text_of

TEXTS = {name: text_of(name) for name in names()}
TOKEN = re.compile(r"[%#@!]?[\w.]+|[^\s\w]")
PLACED = re.compile(
    r"^<stdin>:\d+:\d+: error\[PTO\d+\]: .|^error\[PTO502\]: <stdin>:\d+:\d+: .", re.M
)
"""An error with its place; bytes that are no text have theirs in the message."""
HUGE = ("1099511627776", "9223372036854775807", "-1", "0", "1e400", "0x7f", "1" * 400)
ODD = ("\0", "\ufeff", "é", "\u202e", "'", '"', "\\", "{", "}", "<", "((((", "%", "..")
DEEP = 1000


def mutant(random: Random, text: str) -> bytes:
    """The text, changed in one to three places."""
    for _ in range(random.randint(1, 3)):
        text = random.choice(CHANGES)(random, text)
    data = text.encode()
    if random.random() < 0.03:
        at = random.randrange(len(data) + 1)
        data = data[:at] + bytes([random.randrange(128, 256)]) + data[at:]
    return data


def _cut(random: Random, text: str) -> str:
    return text[: random.randrange(len(text) + 1)]


def _drop(random: Random, text: str) -> str:
    at, size = random.randrange(len(text) + 1), random.choice((1, 1, 2, 8, 40))
    return text[:at] + text[at + size :]


def _insert(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(ODD) + text[at:]


def _token(random: Random, text: str) -> str:
    """One token becomes another one of the text."""
    found = list(TOKEN.finditer(text))
    if not found:
        return text
    old, new = random.choice(found), random.choice(found)
    return text[: old.start()] + new[0] + text[old.end() :]


def _number(random: Random, text: str) -> str:
    found = list(re.finditer(r"\d+", text))
    if not found:
        return text
    old = random.choice(found)
    return text[: old.start()] + random.choice(HUGE) + text[old.end() :]


def _line(random: Random, text: str) -> str:
    """A line is left out, doubled, or moved."""
    lines = text.split("\n")
    line = lines.pop(random.randrange(len(lines)))
    for _ in range(random.randrange(3)):
        lines.insert(random.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def _deep(random: Random, text: str) -> str:
    """Brackets or bodies within each other."""
    at = random.randrange(len(text) + 1)
    opening = random.choice(("(", "{", "[", "tensor<", "scf.if %c {\n", "pypto.for ("))
    return text[:at] + opening * DEEP + text[at:]


CHANGES: tuple[Callable[[Random, str], str], ...] = (
    *(_cut, _drop, _drop, _insert, _insert, _token, _token, _token),
    *(_number, _number, _line, _line, _deep),
)


def problem(data: bytes) -> tuple[int, str]:
    """The exit code, and what is wrong with how it ended; an empty text: nothing."""
    code, out, err = call("-", "--machine=ascend950", stdin=data)
    if code not in (0, 1):
        return code, f"exit code {code}: {err[-300:]}"
    if "PTO900" in err or "Traceback" in err:
        return code, err[-2000:]
    if code and out:
        return code, "an error, and output as well"
    if code and not PLACED.search(err):
        return code, f"an error without a place: {err[:300]}"
    return code, ""


def main() -> int:
    """Draws and tries; 1 if one ended badly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    codes: Counter[int] = Counter()
    bad, started = 0, time.monotonic()
    for number in range(options.files):
        random = Random(options.seed * 1_000_003 + number)
        name = random.choice(list(TEXTS))
        data = mutant(random, TEXTS[name])
        code, wrong = problem(data)
        codes[code] += 1
        if wrong:
            bad += 1
            print(f"{name}, seed {options.seed}, file {number}: {wrong}\n", flush=True)
    print(
        f"{options.files} broken files: {codes[1]} refused, {codes[0]} compiled, "
        f"{bad} ended badly, {time.monotonic() - started:.0f} s"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
