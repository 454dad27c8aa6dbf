"""What tests of the repository layer begin with."""

from __future__ import annotations

import pytest

from git_boocode.repo.git import Git
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


@pytest.fixture
def git(repo: Repo) -> Git:
    """Git in a repository with two files."""
    repo.commit(a="a\n", b="b\n")
    return Repository.discover().git
