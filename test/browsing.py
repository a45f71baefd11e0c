"""A headless browser for pages, where there is one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def browser(folder: Path) -> Iterator[Any]:
    """Chromium, while a test runs; skips the test where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    binary = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip(
            "no chromium with chromedriver here (apt-get install chromium-driver)"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for word in (
        *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"),
        *("disable-background-networking", "disable-component-update", "disable-sync"),
        *("window-size=1400,1000", f"user-data-dir={folder}"),
    ):
        options.add_argument(f"--{word}")
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    started = webdriver.Chrome(service=Service(driver), options=options)
    yield started
    started.quit()


class Page:
    """A page that is open in a browser."""

    def __init__(self, browser: Any, path: Path) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        self.browser, self.path = browser, path
        self.wait = WebDriverWait(browser, 20, 0.02)
        browser.get(path.as_uri())

    def run(self, script: str, *args: object) -> Any:
        return self.browser.execute_script(script, *args)

    def texts(self, css: str) -> list[str]:
        """What elements say."""
        return self.run(
            "const all = document.querySelectorAll(arguments[0]);"
            "return [...all].map((each) => each.textContent)",
            css,
        )

    def text(self, css: str) -> str:
        """What the only element says."""
        (text,) = self.texts(css)
        return text

    def count(self, css: str) -> int:
        return self.run("return document.querySelectorAll(arguments[0]).length", css)

    def attribute(self, css: str, name: str) -> str | None:
        """An attribute of the first element."""
        return self.run(
            "return document.querySelector(arguments[0]).getAttribute(arguments[1])",
            css,
            name,
        )

    def prefer(self, scheme: str) -> None:
        """Light or dark, as a system asks for it."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [feature]}
        )

    def check_quiet(self) -> None:
        """No errors in the console, and nothing asked of the network."""
        assert self.browser.get_log("browser") == []
        messages = [
            json.loads(entry["message"])["message"]
            for entry in self.browser.get_log("performance")
        ]
        urls = {
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
            and message["params"]["documentURL"] == self.path.as_uri()
        }
        outside = {url for url in urls if not url.startswith(("data:", "blob:"))}
        assert outside == {self.path.as_uri()}
