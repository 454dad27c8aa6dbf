from __future__ import annotations

import pytest

from git_boocode.repo.gc import missing_objects
from git_boocode.repo.git import GitError
from git_boocode.repo.repository import Repository
from tests.repo_kit import Repo


def lose(repo: Repo, name: str) -> str:
    """Remove an object; returns its id."""
    identifier = repo.git("rev-parse", name).strip()
    (repo.top / ".git/objects" / identifier[:2] / identifier[2:]).unlink()
    return identifier


def commit_of(repo: Repo, **files: str) -> str:
    """A commit without parents."""
    repo.git("read-tree", "--empty")
    for path, content in files.items():
        repo.write(path, content)
        repo.git("update-index", "--add", path)
    return repo.git("commit-tree", repo.git("write-tree").strip(), stdin="x").strip()


def missing(commits: dict[str, list[str]]) -> dict[str, str]:
    return missing_objects(Repository.discover(), commits)


def test_what_lacks_what(repo: Repo) -> None:
    same = {"deep/er/f": "f\n", "name\n?with": "g\n"}
    whole = commit_of(repo, **same, other="0\n")
    blob = commit_of(repo, **same, **{"deep/lost": "1\n"})
    tree = commit_of(repo, **same, **{"gone/a": "2\n"})
    root = commit_of(repo, a="3\n")
    commit = commit_of(repo, a="4\n")
    groups = {
        "whole": [whole], "blob": [whole, blob], "tree": [tree], "root": [root],
        "commit": [commit, whole], "nothing": [],
    }  # fmt: skip
    assert missing(groups) == {}
    lost = {
        "blob": lose(repo, f"{blob}:deep/lost"),
        "tree": lose(repo, f"{tree}:gone"),
        "root": lose(repo, f"{root}^{{tree}}"),
        "commit": lose(repo, commit),
    }
    assert missing(groups) == lost


def test_history_is_not_walked(repo: Repo) -> None:
    first = repo.commit(a="1\n")
    second = repo.commit(a="2\n")
    lose(repo, f"{first}:a")
    assert missing({"x": [second]}) == {}
    assert set(missing({"x": [second, first]})) == {"x"}


@pytest.mark.sha1
def test_a_submodule_is_not_missing(repo: Repo) -> None:
    tree = repo.git("mktree", stdin=f"160000 commit {'1' * 40}\tmodule\n").strip()
    commit = repo.git("commit-tree", tree, stdin="x").strip()
    other = commit_of(repo, a="a\n")
    lost = lose(repo, f"{other}:a")
    assert missing({"x": [commit], "y": [other]}) == {"y": lost}


def test_a_very_deep_tree(repo: Repo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin="x").strip()
    # Deeper than Python may call itself.
    depth = 1020
    stream = f"commit refs/heads/deep\ncommitter a <a> 0 +0000\ndata 0\nM 100644 {blob} "
    stream += "d/" * depth + "f\n"
    repo.git("fast-import", "--quiet", stdin=stream)
    commit = repo.git("rev-parse", "refs/heads/deep").strip()
    lost = lose(repo, blob)
    assert missing({"x": [commit]}) == {"x": lost}


def test_a_damaged_object(repo: Repo) -> None:
    commit = commit_of(repo, **{"a/b": "b\n"})
    tree = lose(repo, f"{commit}:a")
    repo.write(f".git/objects/{tree[:2]}/{tree[2:]}", "no tree")
    with pytest.raises(GitError):
        missing({"x": [commit]})


def test_what_a_partial_clone_left_is_not_missing(repo: Repo) -> None:
    repo.commit(a="1\n")
    repo.commit(a="2\n")
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git(
        "clone", "-q", "--bare", "--filter=blob:none", f"file://{repo.top}", str(repo.top / "part")
    )
    clone = Repo(repo.top / "part")
    commit = clone.git("rev-parse", "main").strip()
    clone.git("config", "core.bare", "false")
    there = Repository(str(clone.top), str(clone.top), str(clone.top), "", "sha1")
    assert missing_objects(there, {"x": [commit]}) == {}
    assert "?" in clone.git("rev-list", "--objects", "--missing=print", commit)
