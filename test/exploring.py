"""The page of --explore in a browser, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import browsing


class Page(browsing.Page):
    """The explorer in the browser."""

    def __init__(self, browser: Any, path: Path) -> None:
        super().__init__(browser, path)
        self.wait.until(lambda _: self.run("return explorer.opened > 0"))

    def frame(self) -> None:
        """Waits until what was asked for is drawn."""
        self.browser.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        )

    def click(self, css: str) -> None:
        """A real click, in the middle of the first element."""
        self.browser.find_element("css selector", css).click()
        self.frame()

    def keys(self, *keys: str) -> None:
        """Keys to whatever has the focus."""
        for key in keys:
            self.browser.switch_to.active_element.send_keys(key)
        self.frame()

    @property
    def step(self) -> str:
        return self.run("return explorer.data.steps[explorer.state.step].name")

    def show(self, name: str) -> None:
        self.run(
            "const at = explorer.data.steps.findIndex((s) => s.name === arguments[0]);"
            "explorer.view('code'); explorer.show(at)",
            name,
        )
        self.frame()

    def cursor(self) -> str:
        """The line on which the cursor stands."""
        return self.text("#cursor code")

    def check(self) -> None:
        """Nothing was asked of the network, nothing went wrong, nothing ran."""
        self.check_quiet()
        assert self.run("return window.evil") is None
        assert (
            self.count("main b:not([class]):not(.chip b, .node b, #pass-title b)") == 0
        )

    def sides(self) -> list[list[str]]:
        """The lines before and after the pass that is shown."""
        return self.run(
            "const s = explorer.codeSides(); return [s.a, s.b].map((step) =>"
            "explorer.dumpOf(step).lines.map((l) => explorer.data.lines[l]))"
        )
