"""The demo runs the real commands and checks what it says; here it only has to come through."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.repo_kit import Repo

pytestmark = pytest.mark.slow


def test_the_demo_comes_through(repo: Repo) -> None:
    before = repo.files()
    result = repo.boocode("demo")
    assert result.err == ""
    assert result.code == 0
    assert result.out.count("✓") == 8
    assert result.out.startswith("git-boocode undoes what a coding agent did, takes back one turn")
    undone, taken_back, edited = (
        result.out.index(f"\n✓ {what}\n")
        for what in (
            "git status is byte for byte as before the turn",
            "tea costs 2 again, and there is cake",
            "the docstring kept its dash and quotes",
        )
    )
    assert undone < taken_back < edited
    assert repo.files() == before
    assert repo.git("for-each-ref") == ""


def test_the_scratch_repository_can_be_kept(repo: Repo) -> None:
    answer = repo.boocode("demo", "--keep", "--json").json
    assert answer["ok"] is True
    commands = [row["command"] for step in answer["steps"] for row in step["commands"]]
    assert ["git", "boocode", "apply-edit", "--diff"] in commands
    top = Path(answer["path"])
    assert (top / "report.py").exists()
    shutil.rmtree(top.parent)


def test_it_runs_whatever_the_user_has_configured(repo: Repo, sealed: Path) -> None:
    (sealed / ".gitconfig").write_text(
        "[user]\n\tuseConfigOnly = true\n[commit]\n\tgpgSign = true\n[core]\n\tautocrlf = true\n"
        "[color]\n\tui = always\n[status]\n\tshort = false\n"
    )
    assert repo.boocode("demo").code == 0
