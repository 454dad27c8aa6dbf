from __future__ import annotations

import pytest

from git_boocode.repo.config import FALLBACK_IDENTITY, Identity
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


@pytest.fixture(autouse=True)
def nobody(sealed: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("NAME", "EMAIL"):
        monkeypatch.delenv(f"GIT_COMMITTER_{key}")
        monkeypatch.delenv(f"GIT_AUTHOR_{key}")
    monkeypatch.delenv("EMAIL", raising=False)


def who() -> Identity:
    """The identity that holds now."""
    return Repository.discover().config.identity()


def test_ours_where_git_knows_none(repo: Repo) -> None:
    assert who() == FALLBACK_IDENTITY


def test_ours_where_the_users_is_incomplete(repo: Repo) -> None:
    repo.git("config", "user.name", "Only A Name")
    assert who() == FALLBACK_IDENTITY


def test_the_order_of_precedence(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMAIL", "environment@x")
    repo.git("config", "user.name", "user")
    assert who() == ("user", "environment@x")
    repo.git("config", "user.email", "user@x")
    assert who() == ("user", "user@x")
    repo.git("config", "committer.name", "committer")
    repo.git("config", "committer.email", "committer@x")
    assert who() == ("committer", "committer@x")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "variable")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "variable@x")
    assert who() == ("variable", "variable@x")


@pytest.mark.parametrize(("name", "cleaned"), [("A <B>", "A B"), ("A\nB", "AB"), (" A ", "A")])
def test_what_would_break_a_commit_is_dropped(repo: Repo, name: str, cleaned: str) -> None:
    repo.git("config", "user.name", name)
    repo.git("config", "user.email", "a@x")
    assert who() == (cleaned, "a@x")


def test_ours_where_nothing_is_left(repo: Repo) -> None:
    repo.git("config", "user.name", "<>")
    repo.git("config", "user.email", "a@x")
    assert who() == FALLBACK_IDENTITY
