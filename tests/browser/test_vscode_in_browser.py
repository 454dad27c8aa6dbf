"""The extension in VS Code itself: code-server in a real browser.

The variable CODE_SERVER names its program; without it, the tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.browser.kit import Browser, browser, webdriver
from tests.repo_kit import Repo

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("CODE_SERVER" not in os.environ, reason="CODE_SERVER names no program"),
]

# Two pictures of one point.
PICTURES = [
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478"
        f"{point}0000000049454e44ae426082"
    )
    for point in ("9c63f8cfc0f01f00050001ff89993d1d", "9c6360f8cfc0000003010101b7bd0ee0")
]
MENU = "Tea 2.50\nScones 3.50\nSoup 6.00\n"
_WAIT = 60  # seconds for the editor to start


class Code:
    """VS Code with the extension in a repository."""

    def __init__(self, shown: Browser) -> None:
        self.shown = shown

    def rows(self) -> list[str]:
        return self.shown.texts(".pane-body .monaco-list-row")

    def row(self, text: str) -> Any:
        """A row of a view, for which it waits."""
        return self.shown.until(
            lambda: next(
                (each for each in self.shown.all(".monaco-list-row") if text in each.text), None
            ),
            _WAIT,
        )

    def button(self, text: str, place: str) -> Any:
        """A button in a dialog or a notification, for which it waits."""
        selector = f"{place} .monaco-button"
        return self.shown.until(
            lambda: next((each for each in self.shown.all(selector) if each.text == text), None)
        )

    def act(self, row: str, action: str) -> None:
        """Click on the action of a row, which is shown below the pointer."""
        webdriver.ActionChains(self.shown.driver).move_to_element(self.row(row)).perform()
        self.row(row).find_element("css selector", f".action-label[aria-label='{action}']").click()

    def view(self, name: str) -> None:
        """Show a view by its icon."""
        selector = ".activitybar .action-item a"
        found = self.shown.until(
            lambda: [
                each
                for each in self.shown.all(selector)
                if (each.get_attribute("aria-label") or "").startswith(name)
            ],
            _WAIT,
        )
        found[0].click()


@pytest.fixture
def code(repo: Repo, tmp_path: Path) -> Iterator[Code]:
    """VS Code in a repository with two turns and a proposal."""
    repo.commit(**{"menu.txt": MENU})
    (repo.top / "p.png").write_bytes(PICTURES[0])
    repo.boocode("checkpoint", "-m", "Draw", "--agent", "claude-code")
    (repo.top / "p.png").write_bytes(PICTURES[1])
    repo.boocode("checkpoint", "-m", "Raise the prices", "--agent", "codex")
    repo.write("menu.txt", MENU.replace("2.50", "2.60"))
    repo.boocode("checkpoint", "-m", "Last")
    edit = {"path": "menu.txt", "old_string": "Soup 6.00", "new_string": "Soup 6.50"}
    assert repo.boocode("propose", stdin=json.dumps(edit)).code == 0
    data, extensions = tmp_path / "data", tmp_path / "extensions"
    (data / "Machine").mkdir(parents=True)
    settings = {"boocode.path": str(shutil.which("git-boocode")), "workbench.startupEditor": "none"}
    (data / "Machine/settings.json").write_text(json.dumps(settings))
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    program = os.environ["CODE_SERVER"]
    places = ("--user-data-dir", str(data), "--extensions-dir", str(extensions))
    stub = tmp_path / "code-server"
    stub.write_text(f'#!/bin/sh\nexec {program} {" ".join(places)} "$@"\n')
    stub.chmod(0o755)
    install = ("hooks", "install", "--editor", "vscode", "--program", str(stub))
    assert repo.boocode(*install).code == 0
    options = ("--auth", "none", "--disable-telemetry", "--disable-update-check")
    trusted = ("--disable-workspace-trust", "--bind-addr", f"127.0.0.1:{port}")
    server = subprocess.Popen([program, *places, *options, *trusted], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _WAIT
        while time.monotonic() < deadline:
            with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/healthz"):
                break
            time.sleep(0.2)
        with browser(tmp_path / "profile") as shown:
            shown.open(f"http://127.0.0.1:{port}/?folder={repo.top}")
            yield Code(shown)
    finally:
        server.terminate()
        server.wait()


def test_a_day_in_the_editor(code: Code, repo: Repo) -> None:
    code.view("git-boocode")
    code.row("Raise the prices")
    assert [row for row in code.rows() if "you are here" in row]
    code.row("Draw").click()
    code.row("p.png").click()
    # Pictures are shown in frames of their own, texts are not.
    code.shown.until(lambda: len(code.shown.all("iframe.webview")) == 2, _WAIT)
    assert code.shown.texts(".tab.active")[0].startswith("p.png (before and after 'Draw')")

    code.act("Raise the prices", "Restore to Before This Turn...")
    question = code.shown.one(".monaco-dialog-box").text
    assert "Restore to before 'Raise the prices'?" in question
    code.button("Restore Files Only", ".monaco-dialog-box").click()
    undo = code.button("Undo", ".notification-toast")
    assert repo.read("menu.txt").decode() == MENU
    undo.click()
    code.button("Undo", ".monaco-dialog-box").click()
    code.button("Redo", ".notification-toast")
    assert repo.read("menu.txt").decode() == MENU.replace("2.50", "2.60")

    code.view("Explorer")
    webdriver.ActionChains(code.shown.driver).double_click(code.row("menu.txt")).perform()
    lenses = code.shown.until(lambda: code.shown.all(".codelens-decoration a"), _WAIT)
    assert [lens.text.strip() for lens in lenses] == ["Accept", "Discard", "Compare"]
    lenses[0].click()
    code.button("Undo", ".notification-toast")
    assert repo.read("menu.txt").decode() == MENU.replace("2.50", "2.60").replace("6.00", "6.50")
