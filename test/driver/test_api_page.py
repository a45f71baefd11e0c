"""The pages about Python: their blocks are the programs that are typed and run here."""

from __future__ import annotations

import re
import runpy

from inprocess import ROOT

TYPED = ROOT / "test" / "typed"
IMPORTS = re.compile(r"^(import|from) .*\n+", re.M)


def blocks(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_api_page_is_the_program() -> None:
    program = (TYPED / "api_example.py").read_text().split('"""\n\n', 1)[1]
    shown = "".join(blocks("api.md"))
    bare = [re.sub(r"\s", "", IMPORTS.sub("", text)) for text in (program, shown)]
    assert bare[0] == bare[1]
    assert set(IMPORTS.findall(shown)) <= set(IMPORTS.findall(program))


def test_the_program_runs(register, capsys) -> None:
    runpy.run_path(str(TYPED / "api_example.py"))
    out = capsys.readouterr().out
    assert "us, bound: " in out
    assert "PTO103 <string> 4 22 %t is not defined here" in out


def test_the_pass_of_adding_a_pass_is_typed() -> None:
    first, _, makes = blocks("adding-a-pass.md")
    assert (TYPED / "merge_reshapes.py").read_text() == first
    assert (TYPED / "sub_to_add.py").read_text() == makes
