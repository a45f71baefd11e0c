"""
`--explain CODE`: what a code means, with an example that provokes it and one that does
not.

The texts are in `explanations/*.txt`: `== PTO112 title`, paragraphs, and the examples
behind `-- wrong` and `-- right`. An example is the text of op.mlir; a first line
`$ pyptoc ...` says how it is compiled, `-- file NAME` adds a file, and behind
`-- wrong python` stands a program in Python. `-- why` says why a code has no example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from pyptoc.usage import UsageError

FAMILIES = {
    "10": "The text cannot be read: a spelling, a name or the nesting.",
    "11": "The element types or sizes of operands do not go together.",
    "12": "A contraction (matmul, scaled_mm, einsum) does not fit its operands.",
    "13": "A subscript, a shape or an axis does not fit its tensor.",
    "14": "A clause is missing, unknown or has a wrong value.",
    "15": "A loop, its destinations or its yield are not as they must be.",
    "16": "The signature of the function is not as it must be.",
    "17": "The structure of the module: verification, dominance, symbols, flags.",
    "18": "The function holds something that the compiler cannot take apart.",
    "19": "This op is part of the language, but not of this step of the compiler.",
    "21": "A tile or a buffer does not fit the machine.",
    "22": "The machine has no instruction for this.",
    "29": "A kernel is not as it must be to run.",
    "30": "What the compiler did otherwise than one might expect; it goes on.",
    "31": "The compiler had to copy; the program is right but slower.",
    "32": "How ops became groups and tiles, and what it was compared with (--remarks).",
    "33": "How loops, cores and flags are used, and what is not possible (--remarks).",
    "34": "What workspaces take (--remarks).",
    "40": "The program broke a rule of the language while it ran.",
    "41": "The flags of a kernel do not order its pipes.",
    "42": "Memory that is used by two at once, or before it is written.",
    "50": "The command line or the inputs.",
    "51": "The description of the machine, or a sweep.",
    "90": "A bug in pyptoc.",
}
"""The first two digits of a code to what its family is about."""


@dataclass
class Example:
    """A program that provokes a code, or its mended form."""

    command: str = "pyptoc op.mlir"
    """How it is run; empty for a program in Python."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    """The texts of op.mlir and what else it needs, by name."""
    python: str = ""

    def text(self) -> str:
        """The example as it is shown."""
        if self.python:
            return self.python
        parts = [] if self.command == "pyptoc op.mlir" else [f"$ {self.command}\n"]
        for name, text in self.files.items():
            parts += [text] if name == "op.mlir" else [f"// {name}:\n{text}"]
        return "".join(parts)


@dataclass
class Explanation:
    """What there is to say about a code."""

    code: str
    title: str
    text: str = ""
    wrong: Example | None = None
    right: Example | None = None
    why: str = ""
    """Why there is no example."""


@cache
def explanations() -> dict[str, Explanation]:
    """Every code, in order, with its explanation."""
    folder = files("pyptoc") / "explanations"
    texts = sorted(each.read_text("utf-8") for each in folder.iterdir())
    entries = (
        _read(entry) for text in texts for entry in re.split(r"^== ", text, flags=re.M)
    )
    found = {entry.code: entry for entry in entries if entry is not None}
    return dict(sorted(found.items()))


def _read(entry: str) -> Explanation | None:
    head, _, rest = entry.partition("\n")
    code, _, title = head.partition(" ")
    if not title:
        return None
    prose, *sections = re.split(r"^-- ", rest, flags=re.M)
    found = Explanation(code, title, prose.strip())
    example = Example()
    for section in sections:
        name, _, body = section.partition("\n")
        body = body.strip("\n") + "\n"
        kind, _, what = name.partition(" ")
        match kind:
            case "wrong" | "right":
                example = _example(body, what == "python")
                setattr(found, kind, example)
            case "file":
                example.files[what] = body
            case "why":
                found.why = body.strip()
            case _:
                raise ValueError(f"{code}: a section called {name}")
    return found


def _example(body: str, python: bool) -> Example:
    if python:
        return Example(command="", python=body)
    command = "pyptoc op.mlir"
    if body.startswith("$ "):
        first, _, body = body.partition("\n")
        command = first.removeprefix("$ ")
    return Example(command, {"op.mlir": body} if body.strip() else {})


def explain(code: str) -> str:
    """
    The explanation of `PTO112` (or `112`); "" lists all codes.

    Raises `UsageError` for a code that there is not.
    """
    if not code:
        return "\n".join(f"{e.code}  {e.title}" for e in explanations().values())
    match = re.fullmatch(r"(?:PTO)?(\d{3})", code.strip().upper())
    found = explanations().get(f"PTO{match[1]}") if match else None
    if found is None:
        help = "codes look like PTO112; pyptoc --explain lists them"
        raise UsageError(f"there is no error code '{code}'", help)
    return "\n".join(_lines(found))


def _lines(found: Explanation) -> Iterator[str]:
    yield f"{found.code}: {found.title}"
    yield FAMILIES[found.code[3:5]]
    for part in (found.text, found.why):
        if part:
            yield f"\n{part}"
    for name, example in (("wrong", found.wrong), ("right", found.right)):
        if example is not None:
            yield f"\n{name}:"
            for line in example.text().splitlines():
                yield f"    {line}".rstrip()


def page() -> str:
    """The text of docs/errors.md."""
    parts = [
        "# Errors and remarks\n\n"
        "What each code means, with a program that provokes it and one that does not.\n"
        "`pyptoc --explain PTO112` shows one, `pyptoc --explain` lists them. Made by\n"
        "`pyptoc --docs-errors`.\n"
    ]
    family = ""
    for found in explanations().values():
        if found.code[3:5] != family:
            family = found.code[3:5]
            parts.append(f"\n## {family}x: {FAMILIES[family]}\n")
        parts.append(f"\n### {found.code}: {found.title}\n")
        parts += [f"\n{text}\n" for text in (found.text, found.why) if text]
        for name, example in (("Wrong", found.wrong), ("Right", found.right)):
            if example is not None:
                parts += _blocks(name, example)
    return "".join(parts)


def _blocks(name: str, example: Example) -> Iterator[str]:
    """An example for the page: how it is run, then each file."""
    run = "" if example.command in ("", "pyptoc op.mlir") else f", `{example.command}`"
    yield f"\n{name}{run}:\n"
    files = {"": example.python} if example.python else {}
    for file, text in (files | example.files).items():
        if file not in ("", "op.mlir"):
            yield f"\n`{file}`:\n"
        kind = file.rpartition(".")[2]
        kind = {"": "python", "py": "python"}.get(kind, kind)
        yield f"\n```{kind}\n{text}```\n"
