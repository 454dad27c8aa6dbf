"""Pictures of `git boocode view`: `python -m man.pictures.view [<directory>]`.

They show a real page, with all that a served one has: `view.png` of the README, and into a
directory the list, the overview, a turn, a phone, the dark and the forced colours. It needs
Chromium, chromedriver and selenium. Only the times are made up, and the server, of which the
pictures need no more than the turns that they open.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from git_boocode.cli.view_page import page_html
from git_boocode.repo.ids import time_of
from git_boocode.repo.repository import Repository
from git_boocode.workflows.view_data import page_data
from tests.browser.kit import Browser, browser

_HERE = Path.cwd()
PICTURE = Path(__file__).resolve().with_name("view.png")
_SIZE = (1280, 800)
_PRICES = '''\
"""Prices of the shop."""

from decimal import Decimal


def total(rows, tax=0):
    result = 0
    for row in rows:
        result = result + row.amount * row.count
    return result + result * tax


def describe(row):
    return "%s: %d pieces" % (row.name, row.count)
'''
_TEST = "from shop.prices import total\n\n\ndef test_total():\n    assert total([]) == 0\n"
_DECIMAL = {
    "result = 0": "result = Decimal(0)",
    "result = result + row.amount * row.count": "result += Decimal(row.amount) * row.count",
    "return result + result * tax": "return (result * (1 + tax)).quantize(CENT)",
    "import Decimal\n": 'import Decimal\n\nCENT = Decimal("0.01")\n',
}
_DESCRIBE = {
    'return "%s: %d pieces" % (row.name, row.count)': 'return f"{row.name}: {row.count} pieces"'
}
_SQL = "CREATE TABLE prices (\n  name text PRIMARY KEY,\n  amount numeric(10, 2) NOT NULL\n);\n"
# Minutes ago and seconds of each turn, newest first.
_TIMES = ((4, 22), (9, 48), (26, 131), (41, 75), (58, 203), (1610, 96), (1655, 310))
_ID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_SERVER = """
const details = %s;
window.fetch = async (path) => {
  const turn = details[path.replace("/turn/", "")];
  const answer = { ok: true, ...turn, conversation: { entries: [] } };
  return { ok: true, status: path === "/data" ? 304 : 200, json: async () => answer };
};
"""


class _Shot(NamedTuple):
    """A picture: of which turn, none for the overview, and how it looks."""

    name: str
    turn: str = ""
    size: tuple[int, int] = _SIZE
    dark: bool = False
    forced: bool = False


_PHONE = (390, 844)
_TURN = "Compute totals"
_README = _Shot("view", _TURN)
_SHOTS = (
    _Shot("overview"),
    _Shot("turn", _TURN, (1400, 900)),
    _Shot("dark", _TURN, dark=True),
    _Shot("dark-overview", dark=True),
    _Shot("forced", _TURN, forced=True),
    _Shot("forced-overview", forced=True),
    _Shot("phone", size=_PHONE),
    _Shot("phone-turn", _TURN, _PHONE),
    _Shot("away", "Write the migration"),
)


def main(arguments: Sequence[str]) -> int:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory) / "shop"
        top.mkdir()
        _work(top)
        os.chdir(top)
        data = _moved(page_data(Repository.discover(), len(_TIMES)))
        page = Path(directory) / "page.html"
        page.write_bytes(page_html({**data, "state": ""}, served=True))
        with browser(Path(directory) / "profile") as shown:
            source = {"source": _SERVER % json.dumps(data["details"])}
            shown.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
            PICTURE.write_bytes(_picture(shown, page.as_uri(), _README))
            for shot in _SHOTS if arguments else ():
                path = _HERE / arguments[0] / f"{shot.name}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_picture(shown, page.as_uri(), shot))
    return 0


def _picture(shown: Browser, url: str, shot: _Shot) -> bytes:
    shown.open(url, shot.size, dark=shot.dark, forced=shot.forced)
    if shot.turn:
        row = shown.until(
            lambda: next(each for each in shown.all(".row") if shot.turn in each.text), 5
        )
        row.click()
        shown.one("#turn .diff")
    picture: bytes = shown.driver.get_screenshot_as_png()
    return picture


def _moved(data: dict[str, Any]) -> dict[str, Any]:
    """The data as if turns had begun when `_TIMES` says, and what happened between them there."""
    now = time.time()
    begun = {turn["id"]: turn["started"] for turn in data["turns"]}
    moved = [now - minutes * 60 for minutes, _ in _TIMES]
    started = dict(zip(begun, moved, strict=True))

    def between(when: float) -> float:
        later = sum(start > when for start in begun.values())
        until = moved[later - 1] if later else now
        since = moved[later] if later < len(moved) else until - 600
        return since + min((until - since) * 0.6, 400)

    def move(found: re.Match[str]) -> str:
        # The id of a state begins with its time.
        when = started.get(found[0]) or between(time_of(found[0]))
        digits = f"{int(when * 1000):012x}"
        return f"{digits[:8]}-{digits[8:]}{found[0][13:]}"

    steps = (*filter(None, (data["undo"], data["redo"])),)
    for each in (*data["operations"], *data["commits"], *data["by_hand"], *steps):
        each["time"] = between(each["time"])
    for turn, start, (_, seconds) in zip(data["turns"], moved, _TIMES, strict=True):
        turn["started"] = start
        turn["ended"] = seconds and start + seconds
    found: dict[str, Any] = json.loads(_ID.sub(move, json.dumps(data)))
    for turn in found["turns"]:
        turn["short"] = turn["id"][:13]
    return found


def _work(top: Path) -> None:
    """What three agents do in seven turns, and somebody between them."""
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com"]
    for path, text in (("shop/prices.py", _PRICES), ("tests/test_prices.py", _TEST)):
        (top / path).parent.mkdir(exist_ok=True)
        (top / path).write_text(text)
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "shop"]):
        subprocess.run([*git, *arguments], cwd=top, check=True)
    claude, codex, droid = ("claude-code", "4f1d"), ("codex", "a7c2"), ("droid", "91be")
    with _turn(top, *droid, "Explain how the shop rounds prices, and write it down"):
        (top / "ROUNDING.md").write_text("# Rounding\n\nAll totals are rounded to cents.\n" * 12)
    with _turn(top, *codex, "Add a table of currencies"):
        (top / "shop/currencies.py").write_text('EURO, YEN = "EUR", "JPY"\n')
    subprocess.run([*git, "add", "-A"], cwd=top, check=True)
    subprocess.run([*git, "commit", "-qm", "Add currencies and the rules of rounding"], cwd=top)
    with _turn(top, *claude, "Where are prices added up? Explain, change nothing"):
        pass
    with _turn(top, *claude, "Compute totals with Decimal instead of floats"):
        _replace(top / "shop/prices.py", _DECIMAL)
        tested = {"path": "tests/test_prices.py", "old_string": "total([]) == 0"}
        _edit(top, {**tested, "new_string": 'total([]) == Decimal("0.00")'})
        _edit(top, {**tested, "old_string": "assert total([row]) == 7", "new_string": ""})
    _replace(top / "ROUNDING.md", {"# Rounding\n\nAll": "# Rounding of prices\n\nAll"}, 1)
    with _turn(top, *claude, "Describe rows with f-strings"):
        _replace(top / "shop/prices.py", _DESCRIBE)
    with _turn(top, *codex, "Write the migration for the table of prices"):
        (top / "migration.sql").write_text(_SQL)
    with _turn(top, *codex, "Drop the tests that are slow"):
        (top / "tests/test_prices.py").unlink()
    _boocode(top, "revert", "@")


def _replace(path: Path, texts: dict[str, str], most: int = -1) -> None:
    content = path.read_text()
    for old, new in texts.items():
        assert old in content
        content = content.replace(old, new, most)
    path.write_text(content)


@contextmanager
def _turn(top: Path, agent: str, session: str, prompt: str) -> Iterator[None]:
    """A turn of an agent, which calls its hooks."""
    own = {"session_id": session, "cwd": str(top), "turn_id": prompt, "prompt_id": prompt}
    _boocode(top, "hook", agent, "UserPromptSubmit", stdin=json.dumps({**own, "prompt": prompt}))
    yield
    _boocode(top, "hook", agent, "Stop", stdin=json.dumps(own))


def _edit(top: Path, edit: dict[str, str]) -> None:
    _boocode(top, "apply-edit", stdin=json.dumps(edit), check=False)


def _boocode(top: Path, *words: str, stdin: str = "", check: bool = True) -> None:
    command = [sys.executable, "-m", "git_boocode", *words]
    subprocess.run(command, cwd=top, input=stdin, text=True, capture_output=True, check=check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
