"""The changelog is assembled from fragments of one sentence."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[2]
CHANGELOG: dict[str, Any] = runpy.run_path(str(TOP / ".ci/changelog.py"))
AVOIDED = r"\b(shall|in vain|for want of|all the same|mend|amiss|ours|so many of|at the most)\b"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/README.md").write_text("# What the next release changes\n")
    (tmp_path / "changes/7-colours.command-line.md").write_text("`log` has\ncolours.\n")
    (tmp_path / "changes/exits.breaking.md").write_text("`drop` exits with 1.\n")
    return tmp_path


def problem_of(name: str, text: str) -> str:
    """What is wrong with a fragment, or nothing."""
    if not re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(CHANGELOG['KINDS'])})\.md", name):
        return "the name is not <words>.<kind>.md with a kind of changes/README.md"
    prose = re.sub(r"`[^`]*`", "``", text)
    if not re.fullmatch(r"(?:[A-Z]|``)(?:[^.!?]|\.(?=[\w/]))*\.\n", prose):
        return "it is not one sentence with a capital letter and a full stop"
    if found := re.search(AVOIDED, prose):
        return f"'{found[0]}' has a plainer word"
    return ""


def test_every_fragment_is_one_sentence() -> None:
    files = CHANGELOG["fragments"](TOP)
    problems = {path.name: problem_of(path.name, path.read_text("utf-8")) for path in files}
    assert {name: problem for name, problem in problems.items() if problem} == {}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.edits.md", "`log` reads `a. B` of git 2.54, and\nfolds it.\n", ""),
        ("a.md", "It works.\n", "the name"),
        ("a.fixes.md", "It works.\n", "the name"),
        ("a.edits.md", "It works. It is fast.\n", "not one sentence"),
        ("a.edits.md", "it works.\n", "not one sentence"),
        ("a.edits.md", "It works\n", "not one sentence"),
        ("a.edits.md", "It mends files, which shall be whole.\n", "'shall'"),
    ],
)
def test_what_a_fragment_may_be(name: str, text: str, problem: str) -> None:
    found = problem_of(name, text)
    assert problem in found
    assert bool(found) == bool(problem)


def test_a_release_has_its_fragments_by_kind(top: Path) -> None:
    (top / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 – 2026-01-02\n\nFirst release.\n")
    CHANGELOG["main"](["release", "0.2.0"], top)
    text = re.sub(r"2[0-9-]{9}\n\n### B", "TODAY\n\n### B", (top / "CHANGELOG.md").read_text())
    assert text == (
        "# Changelog\n\n## 0.2.0 – TODAY\n\n### Breaking\n\n- `drop` exits with 1.\n\n"
        "### Command line\n\n- `log` has colours.\n\n## 0.1.0 – 2026-01-02\n\nFirst release.\n"
    )
    assert [path.name for path in (top / "changes").iterdir()] == ["README.md"]


def test_a_release_keeps_what_its_section_has(top: Path) -> None:
    old = "## 0.1.0 – unreleased\n\n### Command line\n\n- `log` lists.\n\n### Python\n\n- Typed.\n"
    (top / "CHANGELOG.md").write_text(f"# Changelog\n\n{old}")
    new = CHANGELOG["entries"](top)
    text = CHANGELOG["assembled"]((top / "CHANGELOG.md").read_text(), new, "0.1.0", "TODAY")
    assert text == (
        "# Changelog\n\n## 0.1.0 – TODAY\n\n### Command line\n\n- `log` lists.\n"
        "- `log` has colours.\n\n### Python\n\n- Typed.\n\n"
        "### Breaking\n\n- `drop` exits with 1.\n"
    )
    with pytest.raises(SystemExit, match="already released"):
        CHANGELOG["assembled"](text, new, "0.1.0", "TODAY")


def test_the_notes_of_a_release_are_its_section(top: Path) -> None:
    text = "# Changelog\n\n## 0.2.0 – TODAY\n\n- New.\n\n## 0.1.0 – 2026-01-02\n\nFirst.\n"
    assert CHANGELOG["notes"](text, "0.2.0") == "- New.\n"
    assert CHANGELOG["notes"](text, "0.1.0") == "First.\n"
    with pytest.raises(SystemExit, match=r"no section '0\.3\.0'"):
        CHANGELOG["notes"](text, "0.3.0")
    with pytest.raises(SystemExit, match=r"prepare-release 0\.2\.0"):
        CHANGELOG["notes"](text.replace("TODAY", "unreleased"), "0.2.0")


def test_the_changelog_of_this_version_can_be_released() -> None:
    """Whatever fragments there are."""
    text = (TOP / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.findall(r"^## (\S+) – unreleased$", text, re.MULTILINE)
    if version:
        done = CHANGELOG["assembled"](text, CHANGELOG["entries"](TOP), version[0], "TODAY")
        assert set(re.findall(r"^- .*", text, re.M)) <= set(re.findall(r"^- .*", done, re.M))
