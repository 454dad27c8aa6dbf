from __future__ import annotations

import subprocess

import pytest

from git_boocode.checkpoints.store.catalog import count_changes
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


def test_counts_of_trees_and_of_commits(repo: Repo) -> None:
    first = repo.commit(a="a\n", **{"sub/b": "b\n"})
    second = repo.commit(a="x\n", c="c\n")
    repository = Repository.discover()
    one, two = (repo.git("rev-parse", f"{name}^{{tree}}").strip() for name in (first, second))
    empty = repository.empty_tree
    pairs = [(one, two), (second, first), (first, first), (empty, two), (first, second), (two, two)]
    assert count_changes(repository.git, pairs) == [2, 2, 0, 3, 2, 0]
    assert count_changes(repository.git, []) == []


def test_a_merge_is_compared_with_the_named_parent(repo: Repo) -> None:
    first = repo.commit(a="a\n")
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    repo.commit(a="x\n", b="b\n")
    index = repo.git("rev-parse", "HEAD").strip()
    merge = repo.git("commit-tree", "-p", first, "-p", index, "-m", "m", tree).strip()
    assert count_changes(Repository.discover().git, [(merge, first), (merge, index)]) == [0, 2]


@pytest.mark.parametrize("missing", ["12" * 20, "blob"])
@pytest.mark.sha1
def test_missing_objects_hide_no_other_checkpoint(
    repo: Repo, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repo.commit(a="a\n")
    second = repo.commit(a="x\n")
    if missing == "blob":
        missing = repo.git("rev-parse", "HEAD:a").strip()
    pairs = [(second, first)] * 40
    pairs[7] = (second, missing)
    pairs[30] = (missing, first)
    wanted: list[int | None] = [1] * 40
    wanted[7] = wanted[30] = None
    calls = 0
    real = subprocess.Popen

    def run(*args: object, **kwargs: object) -> object:
        nonlocal calls
        calls += 1
        return real(*args, **kwargs)  # type: ignore[call-overload]

    git = Repository.discover().git
    monkeypatch.setattr(subprocess, "Popen", run)
    assert count_changes(git, pairs) == wanted
    # Not one process for every pair.
    assert 0 < calls < 25
