"""The README's picture of `git boocode view`, of a real page: `python -m man.pictures.view`.

It needs Chromium, chromedriver and selenium. Only the times are made up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from git_boocode.cli.view_page import page_html
from git_boocode.repo.repository import Repository
from git_boocode.workflows.view_data import page_data
from tests.browser.kit import browser

PICTURE = Path(__file__).with_name("view.png")
_SIZE = (1180, 700)
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
_TIMES = ((2, 22), (9, 48), (16, 131), (31, 75), (44, 203))


def main() -> int:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory) / "shop"
        top.mkdir()
        _work(top)
        os.chdir(top)
        data = page_data(Repository.discover(), len(_TIMES))
        for turn, (minutes, seconds) in zip(data["turns"], _TIMES, strict=True):
            turn["started"] = time.time() - minutes * 60
            turn["ended"] = seconds and turn["started"] + seconds
        page = Path(directory) / "page.html"
        page.write_bytes(page_html(data, served=False))
        with browser(Path(directory) / "profile") as shown:
            shown.open(page.as_uri(), _SIZE)
            shown.all(".row")[3].click()
            PICTURE.write_bytes(shown.driver.get_screenshot_as_png())
    return 0


def _work(top: Path) -> None:
    """What two agents do in five turns."""
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com"]
    for path, text in (("shop/prices.py", _PRICES), ("tests/test_prices.py", _TEST)):
        (top / path).parent.mkdir(exist_ok=True)
        (top / path).write_text(text)
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "shop"]):
        subprocess.run([*git, *arguments], cwd=top, check=True)
    claude, codex = ("claude-code", "4f1d"), ("codex", "a7c2")
    with _turn(top, *claude, "Where are prices added up? Explain, change nothing"):
        pass
    with _turn(top, *claude, "Compute totals with Decimal instead of floats"):
        _replace(top / "shop/prices.py", _DECIMAL)
        tested = {"path": "tests/test_prices.py", "old_string": "total([]) == 0"}
        _edit(top, {**tested, "new_string": 'total([]) == Decimal("0.00")'})
        _edit(top, {**tested, "old_string": "assert total([row]) == 7", "new_string": ""})
    with _turn(top, *claude, "Describe rows with f-strings"):
        _replace(top / "shop/prices.py", _DESCRIBE)
    with _turn(top, *codex, "Write the migration for the table of prices"):
        (top / "migration.sql").write_text(_SQL)
    with _turn(top, *codex, "Drop the tests that are slow"):
        (top / "tests/test_prices.py").unlink()


def _replace(path: Path, texts: dict[str, str]) -> None:
    content = path.read_text()
    for old, new in texts.items():
        assert old in content
        content = content.replace(old, new)
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
    sys.exit(main())
