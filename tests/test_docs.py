"""What the documents say is what the code does."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from git_boocode import __version__
from git_boocode.cli.framework import COMMANDS
from man.pictures import session
from tests.links import broken
from tests.sessions.transcript import TRANSCRIPTS

TOP = Path(__file__).parents[1]
README = (TOP / "README.md").read_text(encoding="utf-8")
DOCUMENTED = (".github", "changes", "hooks", "man", "tests")
COMMAND_LINES = re.findall(r"```sh\n(.*?)\n```", README)


def test_the_readme_opens_with_two_commands() -> None:
    assert len(COMMAND_LINES) == 2
    assert COMMAND_LINES[0].endswith("git-boocode demo")
    assert COMMAND_LINES[1].endswith("pytest")


def test_ci_runs_exactly_the_second_command() -> None:
    assert COMMAND_LINES[1] in (TOP / ".ci/run").read_text(encoding="utf-8").splitlines()


def test_the_readme_shows_every_command() -> None:
    for command in COMMANDS:
        assert re.search(rf"`(git boocode )?{command}`|git boocode {command}\b", README), command


def test_the_changelog_knows_the_version() -> None:
    assert f"## {__version__}" in (TOP / "CHANGELOG.md").read_text(encoding="utf-8")


def test_links_lead_somewhere() -> None:
    """Those of every document to files and headings."""
    below = [path for name in DOCUMENTED for path in (TOP / name).rglob("*.md")]
    documents = [*TOP.glob("*.md"), *(path for path in below if "node_modules" not in path.parts)]
    assert len(documents) > 80
    assert list(broken(documents, TOP)) == []


def test_the_readme_and_the_manual_quote_the_sessions() -> None:
    """Every example that shows output is a part of a transcript under test, word for word."""
    shown = "\n".join(path.read_text(encoding="utf-8") for path in TRANSCRIPTS)
    quoted = [part for part in README.split("```") if part.startswith("console\n")]
    for page in ("git-boocode.md", "revert.md"):
        day = (TOP / "man" / page).read_text(encoding="utf-8")
        parts = re.findall(r"(?:^    .+\n)+", day, re.MULTILINE)
        quoted += [textwrap.dedent(part) for part in parts]
    examples = [part.removeprefix("console\n") for part in quoted]
    with_output = [part for part in examples if re.search(r"^(?!\$ ).", part, re.MULTILINE)]
    assert len(with_output) > 3
    assert [part for part in with_output if part not in shown] == []


def test_the_readme_says_how_to_remove_everything() -> None:
    removed = (TOP / "tests/sessions/uninstall.md").read_text(encoding="utf-8")
    assert "$ git boocode uninstall --everything " in README
    assert "$ git boocode uninstall --everything\n" in removed


@pytest.mark.parametrize("shown", [session.RESTORE, session.REVERT])
def test_a_picture_shows_a_session(shown: session.Session) -> None:
    drawn = session.picture(list(session.lines(shown)), shown.title)
    assert shown.picture.read_text(encoding="utf-8") == drawn, "python -m man.pictures.session"
    assert f"](man/pictures/{shown.picture.name})" in README
