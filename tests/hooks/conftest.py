"""Repositories with something to accept or to take back in an editor."""

from __future__ import annotations

import pytest

from tests.hooks.editor_kit import PATH, TEXT, three_edits
from tests.repo_kit import Repo


@pytest.fixture
def proposed(repo: Repo) -> Repo:
    """A repository with a file, and the edits of three hunks in `.git/edits`."""
    repo.commit(**{PATH: TEXT})
    repo.write(".git/edits", three_edits())
    return repo


@pytest.fixture
def changed(repo: Repo) -> Repo:
    """A turn that changed a file in three places, and another file."""
    repo.commit(a=TEXT, b="one\n")
    assert repo.boocode("checkpoint", "-m", "change them", "--agent", "codex").code == 0
    repo.write("a", TEXT.replace("two\n", "TWO\n").replace("five\n", "").replace("nine", "9"))
    repo.write("b", "two\n")
    return repo
