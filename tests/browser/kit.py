"""A headless Chromium, driven by selenium, where both are installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
webdriver_errors = pytest.importorskip("selenium.common.exceptions")
support = pytest.importorskip("selenium.webdriver.support.ui")

_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1"),
)
# Read at once, as a page may be drawn anew at any time.
_TEXTS = """
return [...document.querySelectorAll(arguments[0])]
  .filter((element) => element.checkVisibility()).map((element) => element.innerText.trim())
"""
WIDE, PHONE = (1280, 800), (390, 844)


def chromium() -> str | None:
    """The path of Chromium; None if it, or what drives it, is missing."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return found if found and shutil.which("chromedriver") else None


class Browser:
    """A browser with one page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(
        self, url: str, size: tuple[int, int] = WIDE, *, dark: bool = False, forced: bool = False
    ) -> None:
        """Open a page in a window of some size."""
        self.look(size, dark=dark, forced=forced)
        # A page that differs only behind the `#` would not be loaded.
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(url)

    def look(
        self, size: tuple[int, int] = WIDE, *, dark: bool = False, forced: bool = False
    ) -> None:
        """Change the size of the window and the colours; `forced` are those of the system alone."""
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        own = {"name": "forced-colors", "value": "active" if forced else "none"}
        features = {"features": [scheme, still, own]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", features)

    def all(self, selector: str) -> list[Any]:
        """The elements that are shown."""
        found = self.driver.find_elements("css selector", selector)
        return [element for element in found if element.is_displayed()]

    def one(self, selector: str) -> Any:
        """The first element that is shown, for which it waits."""
        return self.until(lambda: (self.all(selector) or [None])[0])

    def until(self, condition: Any, seconds: float = 20) -> Any:
        """Wait until a condition holds, and return its value."""
        ignored = (IndexError, webdriver_errors.StaleElementReferenceException)
        wait = support.WebDriverWait(self.driver, seconds, 0.05, ignored)
        return wait.until(lambda _: condition())

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements that are shown."""
        found: list[str] = self.driver.execute_script(_TEXTS, selector)
        return found

    def run(self, script: str) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script)

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def problems(self) -> list[str]:
        """What the browser complained of: errors of the script, violations of the policy.

        A question that is open when a test ends its server is none.
        """
        found = [entry["message"] for entry in self.driver.get_log("browser")]
        return [each for each in found if "net::ERR_CONNECTION_" not in each]


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start a browser; the test is skipped if there is none."""
    path = chromium()
    if path is None:
        pytest.skip("there is no chromium with chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = path
    for option in (*_OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        driver.execute_cdp_cmd(
            "Browser.grantPermissions",
            {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
        )
        yield Browser(driver)
    finally:
        driver.quit()


@contextmanager
def served(top: Path) -> Iterator[str]:
    """The address of a page that `git boocode view --serve` serves."""
    command = ["git-boocode", "view", "--serve", "--json", "--no-open"]
    with subprocess.Popen(command, cwd=top, stdout=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
