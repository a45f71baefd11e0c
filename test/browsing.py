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


def errors(browser: Any) -> list[Any]:
    """What the console said since the last call."""
    return browser.get_log("browser")


def requests(browser: Any, page: Path) -> set[str]:
    """The addresses that a page asked for, its own among them."""
    messages = [
        json.loads(entry["message"])["message"]
        for entry in browser.get_log("performance")
    ]
    urls = {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
        and message["params"]["documentURL"] == page.as_uri()
    }
    return {url for url in urls if not url.startswith(("data:", "blob:"))}
