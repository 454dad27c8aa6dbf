"""The page of `git boocode view` for all readers: with axe, in forced colours, by keyboard.

`AXE` names the script of axe-core, `axe.min.js` (`npm install axe-core`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.kit import fire, prompted
from tests.browser.kit import Browser, served
from tests.checkpoints.kit import take
from tests.repo_kit import Repo

pytestmark = pytest.mark.slow

AXE = os.environ.get("AXE", "")
ESCAPE, ENTER, TAB = "\ue00c", "\ue007", "\ue004"
NARROW, WIDE = (400, 800), (1400, 900)
# Of everything that axe knows; the page has no other frame.
CHECK = """
const [done] = arguments;
const rules = { "target-size": { enabled: true } };
axe.run(document, { resultTypes: ["violations"], rules }).then(({ violations }) => done(
  violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))));
"""


FOCUS = """
const focused = document.activeElement;
return [focused.id, focused.outerHTML.slice(0, 100), getComputedStyle(focused).outlineStyle];
"""


@pytest.fixture
def work(repo: Repo) -> Repo:
    """Turns in all states: in force, taken back, restored away, without an end, by hand."""
    repo.commit(**{"a.py": "def total(rows):\n    return sum(rows) * 2\n", "b": "b\n"})
    for number, agent in enumerate(("claude-code", "codex", "gemini")):
        own = {"turn_id": str(number)}
        begun = prompted(repo, prompt_id=str(number), prompt=f"Turn {number}\nand the rest")
        fire(repo, agent, "UserPromptSubmit", payload={**begun, **own})
        repo.write(f"new{number}", "one\n" * 20)
        if not number:
            repo.write("a.py", "def total(rows):\n    return sum(rows) * 3\n")
            edit = {"path": "a.py", "old_string": "nowhere at all", "new_string": "x"}
            repo.boocode("apply-edit", stdin=json.dumps(edit))
        fire(repo, agent, "Stop", payload={**prompted(repo, prompt_id=str(number)), **own})
        repo.write("b", f"by hand {number}\n")
    assert repo.boocode("revert", "@").code == 0
    repo.commit("everything", b="committed\n")
    take(label="the newest", session="mine")
    repo.write("c", "new\n")
    return repo


Step = Callable[[Browser], None]


def _nothing(page: Browser) -> None:
    page.one(".row")


def _home(page: Browser) -> None:
    page.one("#home").click()
    page.one(".numbers")


def _turn(page: Browser) -> None:
    page.all(".row")[-1].click()
    page.one("#turn .diff")


def _menu(page: Browser) -> None:
    _turn(page)
    page.one("#turn .menu summary").click()
    page.one("#command")


def _dialog(page: Browser) -> None:
    _turn(page)
    page.one("#restore").click()
    page.one("#confirm")


def _keys(page: Browser) -> None:
    page.one("#help").click()
    page.one("#dialog dl")


def _blame(page: Browser) -> None:
    _turn(page)
    button = (
        "[...document.querySelectorAll('#turn button')].find((e) => /wrote/.test(e.textContent))"
    )
    page.run(f"{button}.click()")
    page.one(".blame")


def _refusal(page: Browser) -> None:
    page.run("location.hash = 'compare/01a22687-3634-7f9e-9718-4a5f92340545/before/now'")
    page.one("#turn .next")


VIEWS: dict[str, Step] = {
    "list": _nothing,
    "overview": _home,
    "turn": _turn,
    "menu": _menu,
    "dialog": _dialog,
    "keys": _keys,
    "blame": _blame,
    "refusal": _refusal,
}


@pytest.mark.skipif(not AXE, reason="AXE does not name the script of axe-core")
def test_axe_finds_nothing(chrome: Browser, work: Repo) -> None:
    script = Path(AXE).read_text(encoding="utf-8")
    found: dict[str, Any] = {}
    with served(work.top) as url:
        for size in (NARROW, WIDE):
            for scheme in ("light", "dark", "forced"):
                for name, step in VIEWS.items():
                    chrome.open(url, size, dark=scheme == "dark", forced=scheme == "forced")
                    step(chrome)
                    chrome.run(script)
                    violations = chrome.driver.execute_async_script(CHECK)
                    if violations:
                        found[f"{name}, {scheme}, {size[0]}"] = violations
    assert found == {}


def test_the_list_is_for_the_keyboard_alone_too(chrome: Browser, work: Repo) -> None:
    """Everything of a turn is reached by Tab, and what has the focus is seen."""
    with served(work.top) as url:
        chrome.open(url, WIDE)
        chrome.one(".row")
        chrome.press("j", ENTER)
        chrome.one("#restore")
        reached = set()
        for _ in range(30):
            chrome.press(TAB)
            name, html, outline = chrome.run(FOCUS)
            assert outline != "none" or html.startswith("<body"), html
            reached.add(name)
        assert {"restore", "restore-after", "revert", "compare"} <= reached
